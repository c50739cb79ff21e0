;; Has something against a value that is not there, in words that would clear a terminal.
(core module $module
  (import "libc" "memory" (memory 1))
  (data (i32.const 256) "/nodes/0/count")
  (data (i32.const 320) "\1b[2Jnothing is good enough")
  (data (i32.const 512) "\00\01\00\00\0e\00\00\00\40\01\00\00\1a\00\00\00")
  (data (i32.const 544) "\00\02\00\00\01\00\00\00")
  (func (export "check") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 544))
  (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
(core instance $code (instantiate $module (with "libc" (instance $libc))))
