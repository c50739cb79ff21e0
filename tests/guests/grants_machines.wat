;; Asks for five machines of the type i4i.large, and fails with the error that it gets.
(import "wfe:cloud/machines@0.1.0" (instance $machines
  (alias outer $guest $error (type $outer-error))
  (export "error" (type $error (eq $outer-error)))
  (type $request-record (record (field "role" string) (field "machine-type" string) (field "count" u32) (field "racks" u32)))
  (export "request" (type $request (eq $request-record)))
  (type $machine-record (record (field "id" string) (field "role" string) (field "machine-type" string)
    (field "rack" u32) (field "state" string) (field "address" string)))
  (export "machine" (type $machine (eq $machine-record)))
  (export "create" (func (param "request" $request) (result (result (list $machine) (error $error)))))))
(core func $create (canon lower (func $machines "create") (memory $memory) (realloc $realloc)))
(core module $module
  (import "libc" "memory" (memory 1))
  (import "machines" "create" (func $create (param i32 i32 i32 i32 i32 i32 i32)))
  (data (i32.const 256) "databasei4i.large{\"created\":5}")
  (func (export "run") (param i32 i32 i32 i32) (result i32)
    (call $create (i32.const 256) (i32.const 8) (i32.const 264) (i32.const 9) (i32.const 5) (i32.const 1) (i32.const 32))
    (if (i32.eqz (i32.load8_u (i32.const 32)))
      (then
        (i32.store (i32.const 40) (i32.const 273))
        (i32.store (i32.const 44) (i32.const 13))))
    (i32.const 32)))
(core instance $code (instantiate $module
  (with "libc" (instance $libc))
  (with "machines" (instance (export "create" (func $create))))))
