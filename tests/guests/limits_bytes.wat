;; Tells its progress in words of a MiB, again and again.
(import "wfe:step/context@0.1.0" (instance $context
  (export "progress" (func (param "fraction" (option float64)) (param "message" string)))))
(core func $progress (canon lower (func $context "progress") (memory $memory)))
(core module $module
  (import "libc" "memory" (memory 1))
  (import "context" "progress" (func $progress (param i32 f64 i32 i32)))
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (drop (memory.grow (i32.const 32)))
    (memory.fill (i32.const 65536) (i32.const 0x61) (i32.const 1048576))
    (loop $again
      (call $progress (i32.const 0) (f64.const 0) (i32.const 65536) (i32.const 1048576))
      (br $again))
    (unreachable)))
(core instance $code (instantiate $module
  (with "libc" (instance $libc))
  (with "context" (instance (export "progress" (func $progress))))))
