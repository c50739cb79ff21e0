;; Computes without end and without a call.
(core module $module
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (loop $forever (br $forever))
    (unreachable)))
(core instance $code (instantiate $module))
