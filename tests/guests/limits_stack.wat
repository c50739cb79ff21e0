;; Calls itself without end.
(core module $module
  (func $deeper (param i32) (result i32)
    (i32.add (i32.const 1) (call $deeper (i32.add (local.get 0) (i32.const 1)))))
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (call $deeper (i32.const 0))))
(core instance $code (instantiate $module))
