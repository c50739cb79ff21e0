;; Exports the interface of a plugin without `describe`.
(component
  (core module $module (func (export "run")))
  (core instance $code (instantiate $module))
  (func $run (canon lift (core func $code "run")))
  (instance $plugin (export "run" (func $run)))
  (export "wfe:step/plugin@0.1.0" (instance $plugin)))
