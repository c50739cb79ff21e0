;; Uses a capability while it checks parameters.
(import "wfe:clock/clock@0.1.0" (instance $clock (export "now" (func (result u64)))))
(core func $now (canon lower (func $clock "now")))
(core module $module
  (import "clock" "now" (func $now (result i64)))
  (func (export "check") (param i32 i32 i32 i32 i32 i32) (result i32) (drop (call $now)) (unreachable))
  (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
(core instance $code (instantiate $module (with "clock" (instance (export "now" (func $now))))))
