;; Panics while it checks parameters.
(core module $module
  (func (export "check") (param i32 i32 i32 i32 i32 i32) (result i32) (unreachable))
  (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
(core instance $code (instantiate $module))
