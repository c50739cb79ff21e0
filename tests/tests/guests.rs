//! Plugins that misbehave, each in a file of `guests/`: the run ends in order, with a message that says what happened.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

use std::collections::BTreeSet;
use std::fs;

use insta::assert_snapshot;
use wfe_tests::{assemble, named, repository, seen, wfe};

/// What a user sees of a run whose only step is that guest.
fn run(name: &str) -> String {
    run_granted(name, "")
}

/// The same, with `grants` below the step.
fn run_granted(name: &str, grants: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("guest.wasm"), assemble(name)).unwrap();
    let workflow = format!("name: guest\nsteps:\n  step:\n    uses: ./guest.wasm\n{grants}");
    fs::write(directory.path().join("guest.yaml"), workflow).unwrap();
    seen(wfe().current_dir(directory.path()).args(["run", "guest.yaml"]))
}

#[test]
fn every_guest_has_a_test() {
    let files = fs::read_dir(repository().join("tests/guests")).unwrap().map(|entry| entry.unwrap().path());
    let guests: BTreeSet<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "wat"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let tests = include_str!("guests.rs");
    let untested: Vec<_> = guests.iter().filter(|guest| !tests.contains(&format!("fn {guest}()"))).collect();
    assert!(!guests.is_empty() && untested.is_empty(), "no test for {untested:?}");
}

/// What a step without outputs looks like from outside, whatever it asks.
fn passes(guest: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("guest.wasm"), assemble(guest)).unwrap();
    fs::write(directory.path().join("guest.yaml"), "name: guest\nsteps:\n  step: { uses: ./guest.wasm }\n").unwrap();
    let output = wfe().current_dir(directory.path()).args(["run", "guest.yaml", "--json"]).output().unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&result["verdict"], &result["steps"][0]["status"]),
        (&"pass".into(), &"succeeded".into()),
        "{result:#}"
    );
}

#[test]
fn asks() {
    passes("asks");
}

#[test]
fn ends() {
    passes("ends");
}

#[test]
fn check_asks() {
    let _named = named();
    assert_snapshot!(run("check_asks"), @r#"
    exit code 2
    --- stderr
    error: the plugin of `./guest.wasm` cannot check its parameters: `clock/clock.now` was called while the plugin checked parameters (infrastructure, plugin-broken)
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn check_endless() {
    let _named = named();
    assert_snapshot!(run("check_endless"), @r#"
    exit code 2
    --- stderr
    error: the plugin of `./guest.wasm` cannot check its parameters: it computed for five seconds without a call
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn check_floods() {
    let _named = named();
    assert_snapshot!(run("check_floods"), @r#"
    exit code 2
    --- stderr
    error: the plugin of `./guest.wasm` cannot check its parameters: too much data is being copied between the host and the guest: fuel allocated for hostcalls has been exhausted
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn check_refuses() {
    let _named = named();
    assert_snapshot!(run("check_refuses"), @r#"
    exit code 2
    --- stderr
    error: `nodes[0].count`: \u{1b}[2Jnothing is good enough
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn check_unreachable() {
    let _named = named();
    assert_snapshot!(run("check_unreachable"), @r#"
    exit code 2
    --- stderr
    error: the plugin of `./guest.wasm` cannot check its parameters: it panicked
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn check_wrong_type() {
    let _named = named();
    assert_snapshot!(run("check_wrong_type"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: cannot check parameters: failed to convert function to given type: type mismatch with parameters: expected 3-tuple, found 1-tuple
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_bad_outputs() {
    let _named = named();
    assert_snapshot!(run("contract_bad_outputs"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: its outputs are no JSON object: a fault of the plugin.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, bad-outputs): its outputs are no JSON object: a fault of the plugin
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn contract_bad_schema() {
    let _named = named();
    assert_snapshot!(run("contract_bad_schema"), @r#"
    exit code 2
    --- stderr
    error: the plugin of `./guest.wasm` describes its parameters with a broken schema
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
      = help: the schema is not valid against metaschema
    "#);
}

#[test]
fn contract_core_module() {
    let _named = named();
    assert_snapshot!(run("contract_core_module"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: it is a WebAssembly module and no component: build it for the target wasm32-wasip2
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_describe_asks() {
    let _named = named();
    assert_snapshot!(run("contract_describe_asks"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: does not describe itself: `clock/clock.now` was called while the plugin described itself (infrastructure, plugin-broken)
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_describes_nothing() {
    let _named = named();
    assert_snapshot!(run("contract_describes_nothing"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: describes itself in a way that cannot be read: expected value at line 1 column 1
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_empty() {
    let _named = named();
    assert_snapshot!(run("contract_empty"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: does not export `wfe:step/plugin@0.1.0`
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_foreign_import() {
    let _named = named();
    assert_snapshot!(run("contract_foreign_import"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: imports `wasi:cli/environment@0.2.0` `get-arguments`, which this wfe does not have
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_future_function() {
    let _named = named();
    assert_snapshot!(run("contract_future_function"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: imports `wfe:clock/clock@0.1.0` `sleep-until`, which this wfe does not have
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_future_version() {
    let _named = named();
    assert_snapshot!(run("contract_future_version"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: imports `wfe:clock/clock@9.0.0` `now`, which this wfe does not have
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_no_describe() {
    let _named = named();
    assert_snapshot!(run("contract_no_describe"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: `wfe:step/plugin@0.1.0` has no `describe`
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_no_run() {
    let _named = named();
    assert_snapshot!(run("contract_no_run"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: cannot be run: it exports no `run`
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn contract_odd_error() {
    let _named = named();
    assert_snapshot!(run("contract_odd_error"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: moon.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (moon, moon): moon
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn contract_wrong_type() {
    let _named = named();
    assert_snapshot!(run("contract_wrong_type"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: plugin `./guest.wasm` was ended: the answer of `clock/clock.now`: 0 does not fit the contract's type.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, trapped): plugin `./guest.wasm` was ended: the answer of `clock/clock.now`: 0 does not fit the contract's type
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn limits_calls() {
    let _named = named();
    assert_snapshot!(run("limits_calls"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: 200000 calls in one attempt: it asks too often.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, plugin-broken): 200000 calls in one attempt: it asks too often
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn limits_endless_describe() {
    let _named = named();
    assert_snapshot!(run("limits_endless_describe"), @r#"
    exit code 2
    --- stderr
    error: plugin `./guest.wasm`: does not describe itself: it computed for five seconds without a call
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
    "#);
}

#[test]
fn limits_endless_loop() {
    let _named = named();
    assert_snapshot!(run("limits_endless_loop"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: plugin `./guest.wasm` was ended: it computed for five seconds without a call.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, endless): plugin `./guest.wasm` was ended: it computed for five seconds without a call
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn limits_bytes() {
    let _named = named();
    assert_snapshot!(run("limits_bytes"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: its calls take more than 256 MiB of the journal.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, plugin-broken): its calls take more than 256 MiB of the journal
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn limits_log() {
    let _named = named();
    assert_snapshot!(run("limits_log"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: `log/log.write` was asked with too much: [directory]/.wfe/runs/guest-[stamp]/journal.jsonl: an event of 5243379 bytes is larger than a journal's line may be (4194304 bytes).

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, plugin-broken): `log/log.write` was asked with too much: [directory]/.wfe/runs/guest-[stamp]/journal.jsonl: an event of 5243379 bytes is larger than a journal's line may be (4194304 bytes)
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn limits_memory() {
    let _named = named();
    assert_snapshot!(run("limits_memory"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: plugin `./guest.wasm` was ended: it may use 64 MiB of memory (forcing trap when growing memory to 67174400 bytes).

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, memory): plugin `./guest.wasm` was ended: it may use 64 MiB of memory (forcing trap when growing memory to 67174400 bytes)
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn limits_outputs() {
    let _named = named();
    assert_snapshot!(run("limits_outputs"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: what it answered is too large: [directory]/.wfe/runs/guest-[stamp]/journal.jsonl: an event of 5243007 bytes is larger than a journal's line may be (4194304 bytes).

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, bad-outputs): what it answered is too large: [directory]/.wfe/runs/guest-[stamp]/journal.jsonl: an event of 5243007 bytes is larger than a journal's line may be (4194304 bytes)
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn limits_stack() {
    let _named = named();
    assert_snapshot!(run("limits_stack"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: plugin `./guest.wasm` was ended: its stack overflowed.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, stack): plugin `./guest.wasm` was ended: its stack overflowed
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn trap_not_utf8() {
    let _named = named();
    assert_snapshot!(run("trap_not_utf8"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: plugin `./guest.wasm` was ended: invalid utf-8 sequence of 1 bytes from index 0.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, trapped): plugin `./guest.wasm` was ended: invalid utf-8 sequence of 1 bytes from index 0
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn trap_unreachable() {
    let _named = named();
    assert_snapshot!(run("trap_unreachable"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: plugin `./guest.wasm` was ended: it panicked; its log may say why.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, panicked): plugin `./guest.wasm` was ended: it panicked; its log may say why
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn trap_wild_pointer() {
    let _named = named();
    assert_snapshot!(run("trap_wild_pointer"), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: plugin `./guest.wasm` was ended: pointer out of bounds of memory.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: FAILED (infrastructure, trapped): plugin `./guest.wasm` was ended: pointer out of bounds of memory
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

/// A plugin that can create machines is not even started without the grant.
#[test]
fn grants_machines() {
    let _named = named();
    assert_snapshot!(run("grants_machines"), @r#"
    exit code 2
    --- stderr
    error: the plugin of `./guest.wasm` can create or terminate machines, which this step does not grant
     --> guest.yaml:4:11
      |
    4 |     uses: ./guest.wasm
      |           ^^^^^^^^^^^^
      = help: if it may, add to the step:
              grants:
                cloud: { types: [TYPE], machines: 3 }
    "#);
}

#[test]
fn grants_machines_too_many() {
    let _named = named();
    let grants = "    grants: { cloud: { types: [i4i.large], machines: 4 } }\n";
    assert_snapshot!(run_granted("grants_machines", grants), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: `step` is granted 4 machines, has 0 and asks for 5 more.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: cloud/machines.create answered (denied, not-granted): `step` is granted 4 machines, has 0 and asks for 5 more
     0:00:00  step: FAILED (denied, not-granted): `step` is granted 4 machines, has 0 and asks for 5 more
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

#[test]
fn grants_machines_of_another_type() {
    let _named = named();
    let grants = "    grants: { cloud: { types: [i4i.4xlarge], machines: 5 } }\n";
    assert_snapshot!(run_granted("grants_machines", grants), @r#"
    exit code 4
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  guest on sim, 0:00:00
    Step `step` failed: `step` is not granted machines of type `i4i.large`.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: cloud/machines.create answered (denied, not-granted): `step` is not granted machines of type `i4i.large`
     0:00:00  step: FAILED (denied, not-granted): `step` is not granted machines of type `i4i.large`
     0:00:00  finally
     0:00:00  verdict: infrastructure
    "#);
}

/// Granted machines are made, and given back although the plugin leaves them.
#[test]
fn grants_machines_enough() {
    let _named = named();
    let grants = "    grants: { cloud: { types: [i4i.large], machines: 5 } }\n";
    assert_snapshot!(run_granted("grants_machines", grants), @r#"
    exit code 0
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    PASS  guest on sim, 0:00:12
    Every step succeeded; the workflow sets no limits.

    Report: [directory]/.wfe/runs/guest-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run guest-[stamp] begins on sim (SIMULATED)
     0:00:00  step: started
     0:00:00  step: succeeded
     0:00:00  finally
     0:00:12  machine i-0001 deleted
     0:00:12  machine i-0002 deleted
     0:00:12  machine i-0003 deleted
     0:00:12  machine i-0004 deleted
     0:00:12  machine i-0005 deleted
     0:00:12  verdict: pass
    "#);
}
