;; Asks the time 100,000 times and answers no outputs: for measurements of what a call costs.
(import "wfe:clock/clock@0.1.0" (instance $clock (export "now" (func (result u64)))))
(core func $now (canon lower (func $clock "now")))
(core module $module
  (import "libc" "memory" (memory 1))
  (import "clock" "now" (func $now (result i64)))
  (data (i32.const 256) "{}")
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (local $left i32)
    (local.set $left (i32.const 100000))
    (loop $again
      (drop (call $now))
      (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (i32.store (i32.const 40) (i32.const 256))
    (i32.store (i32.const 44) (i32.const 2))
    (i32.const 32)))
(core instance $code (instantiate $module
  (with "libc" (instance $libc))
  (with "clock" (instance (export "now" (func $now))))))
