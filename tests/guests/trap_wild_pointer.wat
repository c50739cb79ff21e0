;; Answers a pointer outside of its memory.
(core module $module
  (func (export "run") (param i32 i32 i32 i32) (result i32) (i32.const 0x7ffffff8)))
(core instance $code (instantiate $module))
