;; A module, not a component.
(module (func (export "run")))
