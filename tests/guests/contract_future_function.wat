;; Imports a function that the contract may have one day.
(import "wfe:clock/clock@0.1.0" (instance $clock (export "sleep-until" (func (param "at-ms" u64)))))
(core module $module
  (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
(core instance $code (instantiate $module))
