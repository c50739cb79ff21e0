;; Uses a capability while it describes itself.
(component
  (import "wfe:clock/clock@0.1.0" (instance $clock (export "now" (func (result u64)))))
  (core func $now (canon lower (func $clock "now")))
  (core module $module
    (import "clock" "now" (func $now (result i64)))
    (memory (export "memory") 1)
    (func (export "describe") (result i32) (drop (call $now)) (i32.const 16)))
  (core instance $code (instantiate $module (with "clock" (instance (export "now" (func $now))))))
  (func $describe (result string) (canon lift (core func $code "describe") (memory $code "memory")))
  (instance $plugin (export "describe" (func $describe)))
  (export "wfe:step/plugin@0.1.0" (instance $plugin)))
