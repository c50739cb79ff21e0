;; Takes memory until there is no more.
(core module $module
  (import "libc" "memory" (memory 1))
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (loop $more
      (drop (memory.grow (i32.const 16)))
      (br $more))
    (unreachable)))
(core instance $code (instantiate $module (with "libc" (instance $libc))))
