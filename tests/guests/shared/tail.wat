;; Ends each guest: lifts `describe` and its own `run` to the interface of a plugin.
  (func $describe (result string)
    (canon lift (core func $libc "describe") (memory $memory)))
  (func $run (param "kind" string) (param "parameters" string) (result (result string (error $error)))
    (canon lift (core func $code "run") (memory $memory) (realloc $realloc)))
  (instance $plugin (export "describe" (func $describe)) (export "run" (func $run)))
  (export "wfe:step/plugin@0.1.0" (instance $plugin)))
