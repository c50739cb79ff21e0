;; Answers a JSON object of five MiB: more than a line of the journal may hold.
(core module $module
  (import "libc" "memory" (memory 1))
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (local $end i32)
    (drop (memory.grow (i32.const 96)))
    (local.set $end (i32.const 5308416))
    (memory.fill (i32.const 65536) (i32.const 0x61) (i32.const 5242880))
    ;; {"a":"aaa…aaa"}
    (i64.store (i32.const 65536) (i64.const 0x6161223a2261227b))
    (i32.store8 (i32.sub (local.get $end) (i32.const 2)) (i32.const 0x22))
    (i32.store8 (i32.sub (local.get $end) (i32.const 1)) (i32.const 0x7d))
    (i32.store8 (i32.const 32) (i32.const 0))
    (i32.store (i32.const 40) (i32.const 65536))
    (i32.store (i32.const 44) (i32.const 5242880))
    (i32.const 32)))
(core instance $code (instantiate $module (with "libc" (instance $libc))))
