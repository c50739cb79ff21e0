;; Answers a million problems whose texts are all the same half MiB: far more than the host could hold.
(core module $module
  (import "libc" "memory" (memory 1))
  (data (i32.const 544) "\00\00\02\00\40\42\0f\00")
  (func (export "check") (param i32 i32 i32 i32 i32 i32) (result i32)
    (local $at i32)
    (drop (memory.grow (i32.const 300)))
    (local.set $at (i32.const 131072))
    (loop $next
      (i32.store offset=4 (local.get $at) (i32.const 524288))
      (i32.store offset=12 (local.get $at) (i32.const 524288))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 16131072))))
    (i32.const 544))
  (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
(core instance $code (instantiate $module (with "libc" (instance $libc))))
