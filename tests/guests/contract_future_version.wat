;; Was built for a version of the contract that this engine does not have.
(import "wfe:clock/clock@9.0.0" (instance $clock (export "now" (func (result u64)))))
(core module $module
  (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
(core instance $code (instantiate $module))
