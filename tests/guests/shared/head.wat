;; Begins each guest: its error type, its memory, and `describe`.
(component $guest
  (import "wfe:types/types@0.1.0" (instance $types
    (type $record (record (field "kind" string) (field "code" string) (field "message" string)
      (field "retry-after-ms" (option u64)) (field "details" string)))
    (export "error" (type (eq $record)))))
  (alias export $types "error" (type $error))

  (core module $libc-module
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
      (local $at i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (local.set $at (global.get $next))
      (global.set $next (i32.add (global.get $next) (local.get $size)))
      (local.get $at))
    (data (i32.const 1024) "{\"kinds\":[{\"name\":\"guest\",\"summary\":\"Misbehaves.\",\"parameters\":{\"type\":\"object\"},\"outputs\":{\"type\":\"object\"}}]}")
    (func (export "describe") (result i32)
      (i32.store (i32.const 16) (i32.const 1024))
      (i32.store (i32.const 20) (i32.const 111))
      (i32.const 16)))
  (core instance $libc (instantiate $libc-module))
  (alias core export $libc "memory" (core memory $memory))
  (alias core export $libc "cabi_realloc" (core func $realloc))
