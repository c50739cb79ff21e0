;; Imports what is no capability of this engine.
(import "wasi:cli/environment@0.2.0" (instance $environment
  (export "get-arguments" (func (result (list string))))))
(core module $module
  (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
(core instance $code (instantiate $module))
