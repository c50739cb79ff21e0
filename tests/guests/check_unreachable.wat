;; Breaks while it checks parameters.
  (core module $code-module
    (import "libc" "memory" (memory 1))
    (func (export "check") (param i32 i32 i32 i32 i32 i32) (result i32) (unreachable))
    (func (export "run") (param $kind i32) (param $kind-length i32) (param $p i32) (param $p-length i32) (result i32)
      (unreachable)))
