;; Describes itself, but has no `run`.
(component
  (core module $module
    (memory (export "memory") 1)
    (data (i32.const 64) "{\"kinds\":[{\"name\":\"a\",\"summary\":\"\",\"parameters\":{},\"outputs\":{}}]}")
    (func (export "describe") (result i32)
      (i32.store (i32.const 16) (i32.const 64))
      (i32.store (i32.const 20) (i32.const 66))
      (i32.const 16)))
  (core instance $code (instantiate $module))
  (func $describe (result string) (canon lift (core func $code "describe") (memory $code "memory")))
  (instance $plugin (export "describe" (func $describe)))
  (export "wfe:step/plugin@0.1.0" (instance $plugin)))
