;; Logs a line of five MiB: more than a line of the journal may hold.
(import "wfe:log/log@0.1.0" (instance $log (export "write" (func (param "level" string) (param "message" string)))))
(core func $write (canon lower (func $log "write") (memory $memory)))
(core module $module
  (import "libc" "memory" (memory 1))
  (import "log" "write" (func $write (param i32 i32 i32 i32)))
  (data (i32.const 256) "info")
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (drop (memory.grow (i32.const 96)))
    (memory.fill (i32.const 65536) (i32.const 0x61) (i32.const 5242880))
    (call $write (i32.const 256) (i32.const 4) (i32.const 65536) (i32.const 5242880))
    (unreachable)))
(core instance $code (instantiate $module
  (with "libc" (instance $libc))
  (with "log" (instance (export "write" (func $write))))))
