;; Describes a kind of step whose parameters are no JSON Schema.
(component $guest
  (import "wfe:types/types@0.1.0" (instance $types
    (type $record (record (field "kind" string) (field "code" string) (field "message" string)
      (field "retry-after-ms" (option u64)) (field "details" string)))
    (export "error" (type (eq $record)))))
  (alias export $types "error" (type $error))
  (core module $module
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
    (data (i32.const 64) "{\"kinds\":[{\"name\":\"a\",\"summary\":\"\",\"parameters\":{\"type\":7},\"outputs\":[]}]}")
    (func (export "describe") (result i32)
      (i32.store (i32.const 16) (i32.const 64))
      (i32.store (i32.const 20) (i32.const 74))
      (i32.const 16))
    (func (export "run") (param i32 i32 i32 i32) (result i32) (unreachable)))
  (core instance $code (instantiate $module))
  (alias core export $code "memory" (core memory $memory))
  (alias core export $code "cabi_realloc" (core func $realloc))
  (func $describe (result string) (canon lift (core func $code "describe") (memory $memory)))
  (func $run (param "kind" string) (param "parameters" string) (result (result string (error $error)))
    (canon lift (core func $code "run") (memory $memory) (realloc $realloc)))
  (instance $plugin (export "describe" (func $describe)) (export "run" (func $run)))
  (export "wfe:step/plugin@0.1.0" (instance $plugin)))
