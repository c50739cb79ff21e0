;; Does nothing and answers no outputs: for measurements of what a step costs.
(core module $module
  (import "libc" "memory" (memory 1))
  (data (i32.const 256) "{}")
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (i32.store (i32.const 40) (i32.const 256))
    (i32.store (i32.const 44) (i32.const 2))
    (i32.const 32)))
(core instance $code (instantiate $module (with "libc" (instance $libc))))
