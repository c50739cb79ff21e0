;; Imports a function of the contract with another type.
(import "wfe:clock/clock@0.1.0" (instance $clock (export "now" (func (result string)))))
(core func $now (canon lower (func $clock "now") (memory $memory) (realloc $realloc)))
(core module $module
  (import "clock" "now" (func $now (param i32)))
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (call $now (i32.const 32))
    (unreachable)))
(core instance $code (instantiate $module (with "clock" (instance (export "now" (func $now))))))
