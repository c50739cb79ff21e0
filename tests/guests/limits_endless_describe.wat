;; Never ends describing itself.
(component
  (core module $module
    (memory (export "memory") 1)
    (func (export "describe") (result i32) (loop $forever (br $forever)) (unreachable)))
  (core instance $code (instantiate $module))
  (func $describe (result string) (canon lift (core func $code "describe") (memory $code "memory")))
  (instance $plugin (export "describe" (func $describe)))
  (export "wfe:step/plugin@0.1.0" (instance $plugin)))
