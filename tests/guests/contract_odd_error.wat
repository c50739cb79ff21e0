;; Fails with an error of a kind that the contract does not know.
(core module $module
  (import "libc" "memory" (memory 1))
  (data (i32.const 256) "moon")
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (i32.store8 (i32.const 32) (i32.const 1))
    (i32.store (i32.const 40) (i32.const 256)) (i32.store (i32.const 44) (i32.const 4))
    (i32.store (i32.const 48) (i32.const 256)) (i32.store (i32.const 52) (i32.const 4))
    (i32.store (i32.const 56) (i32.const 256)) (i32.store (i32.const 60) (i32.const 4))
    (i32.store (i32.const 80) (i32.const 256)) (i32.store (i32.const 84) (i32.const 4))
    (i32.const 32)))
(core instance $code (instantiate $module (with "libc" (instance $libc))))
