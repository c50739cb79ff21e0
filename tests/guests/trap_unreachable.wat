;; Panics.
(core module $module
  (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
(core instance $code (instantiate $module))
