//! Input that is wrong in ways that no schema knows: hostile files, plugins that are none, disks that are full.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use wfe_tests::{SmallDisk, named};

use crate::place::{Place, QUICK};

/// What both `wfe validate` and `wfe run` say of a file; the same, and no run is made.
fn refused(place: &Place, file: &str) -> String {
    let [validated, run] = ["validate", "run"].map(|command| place.seen(&[command, file]));
    assert_eq!(validated, run);
    assert!(validated.starts_with("exit code 2\n"), "{validated}");
    assert!(place.runs().is_empty());
    validated
}

#[test]
fn hostile_workflow_files() {
    let place = Place::new();
    let mut bomb = "a: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        bomb += &format!("b{level}: &a{level} [{}]\n", [format!("*a{}", level - 1).as_str(); 9].join(", "));
    }
    place.write("bomb.yaml", bomb);
    place.write("large.yaml", vec![b'x'; 10_000_000]);
    place.write("nul.yaml", format!("{QUICK}\0"));
    place.write("tabs.yaml", QUICK.replace("  cluster", "\tcluster"));
    place.write("deep.yaml", "[".repeat(100_000));
    let files = ["bomb.yaml", "large.yaml", "nul.yaml", "tabs.yaml", "deep.yaml", "/dev/zero"];
    let all: Vec<String> =
        files.iter().map(|file| refused(&place, file).replace("exit code 2\n--- stderr\n", "")).collect();
    assert_snapshot!(all.join("\n"), @r#"
    error: the file has more than 200000 values, aliases written out
     --> bomb.yaml:5:9
      |
    5 | b4: &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3]
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: the file has 10000000 bytes; a workflow may have 1048576
     --> large.yaml:1:1
      |
    1 |
      | ^

    error: the file holds a NUL byte, which no text file has
      --> nul.yaml:24:1
       |
    24 | \u{0}
       | ^^^^^

    error: this is not valid YAML: tabs disallowed within this context (block indentation)
     --> tabs.yaml:7:2
      |
    7 |     cluster:
      |     ^
      = help: indent with spaces: YAML does not take tabs

    error: values are nested more than 32 deep
     --> deep.yaml:1:256
      |
    1 | …[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…
      |                                          ^

    error: the file has 67108864 bytes; a workflow may have 1048576
     --> /dev/zero:1:1
      |
    1 |
      | ^
    "#);
}

#[test]
fn files_that_are_no_plugins() {
    let place = Place::new();
    place.write("text.wasm", "not a component");
    place.write("empty.wasm", "");
    place.write("module.wasm", b"\0asm\x01\0\0\0");
    place.write("torn.wasm", b"\0asm\x0d\0\x01\0\x07");
    let mut all = String::new();
    for file in ["text", "empty", "module", "torn", "missing"] {
        place.write("w.yaml", format!("name: a\nsteps:\n  b: {{ uses: ./{file}.wasm }}\n"));
        all += &refused(&place, "w.yaml").replace("exit code 2\n--- stderr\n", "");
        all += "\n";
    }
    assert_snapshot!(all, @r#"
    error: plugin `./text.wasm`: it is no WebAssembly file
     --> w.yaml:3:14
      |
    3 |   b: { uses: ./text.wasm }
      |              ^^^^^^^^^^^

    error: plugin `./empty.wasm`: it is no WebAssembly file
     --> w.yaml:3:14
      |
    3 |   b: { uses: ./empty.wasm }
      |              ^^^^^^^^^^^^

    error: plugin `./module.wasm`: it is a WebAssembly module and no component: build it for the target wasm32-wasip2
     --> w.yaml:3:14
      |
    3 |   b: { uses: ./module.wasm }
      |              ^^^^^^^^^^^^^

    error: plugin `./torn.wasm`: not a WebAssembly component that this wfe can run: failed to parse WebAssembly module: unexpected end-of-file (at offset 0x9)
     --> w.yaml:3:14
      |
    3 |   b: { uses: ./torn.wasm }
      |              ^^^^^^^^^^^

    error: plugin `./missing.wasm`: ./missing.wasm cannot be read: No such file or directory (os error 2)
     --> w.yaml:3:14
      |
    3 |   b: { uses: ./missing.wasm }
      |              ^^^^^^^^^^^^^^
    "#);
}

/// The plugin's mistake stands at its place in the workflow, for programs too.
#[test]
fn a_missing_plugin_is_a_diagnostic() {
    let place = Place::new();
    place.write("w.yaml", "name: a\nsteps:\n  b: { uses: ./missing.wasm }\n");
    let output = place.wfe(&["validate", "--json", "w.yaml"]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["files"][0]["diagnostics"][0]["line"], 3, "{said:#}");
}

#[test]
fn faults_files_with_mistakes() {
    let place = Place::quick();
    let wrong = [
        "- earthquake: { at: 1 }",
        "- join-fails: { join: 1 }\n- join-fails: { join: one }",
        "- machine-lost: { machine: i-0001 }",
        "- capacity: { machine-type: a, at: 1 }",
        "- [",
        "join-fails: { join: 1 }",
        "- machine-lost: { machine: i-0001, at: 1e12 }",
    ];
    let mut all = String::new();
    for text in wrong {
        place.write("faults.yaml", text);
        let seen = place.seen(&["run", "quick.yaml", "--faults", "faults.yaml"]);
        assert!(seen.starts_with("exit code 2\n--- stderr\nerror: "), "{seen}");
        let lines = seen.lines().skip(2).filter(|line| !line.starts_with("  = help: faults are a list"));
        all += &lines.collect::<Vec<_>>().join("\n");
        all += "\n\n";
    }
    assert_snapshot!(all, @r#"
    error: unknown variant `earthquake`, expected one of machine-lost, capacity, join-fails, terminate-fails, active-reads, loader-lost, answer-lost, answer-late, applied-twice, listed-late
     --> faults.yaml:1:3
      |
    1 | - earthquake: { at: 1 }
      |   ^^^^^^^^^^

    error: invalid u32
     --> faults.yaml:2:23
      |
    2 | - join-fails: { join: one }
      |                       ^^^

    error: missing field `at`
     --> faults.yaml:1:19
      |
    1 | - machine-lost: { machine: i-0001 }
      |                   ^^^^^^^

    error: unknown field `at`, expected one of machine-type
     --> faults.yaml:1:32
      |
    1 | - capacity: { machine-type: a, at: 1 }
      |                                ^^

    error: unclosed bracket '['
     --> faults.yaml:1:3
      |
    1 | - [
      |   ^

    error: a list of faults is wanted here
     --> faults.yaml:1:1
      |
    1 | join-fails: { join: 1 }
      | ^^^^^^^^^^

    error: a time or an amount is at most 100000000, three years of seconds, not 1e12
     --> faults.yaml:1:1
      |
    1 | - machine-lost: { machine: i-0001, at: 1e12 }
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn a_runs_directory_that_cannot_be_made() {
    let place = Place::quick();
    assert_snapshot!(place.seen(&["run", "quick.yaml", "--runs-dir", "/proc/runs"]), @r#"
    exit code 4
    --- stderr
    error: /proc/runs: making the directory: No such file or directory (os error 2)
    "#);
}

/// `result.json` without what differs between runs that are the same.
fn comparable(result: &str) -> Value {
    let mut result: Value = serde_json::from_str(result).unwrap();
    ["run", "started", "wall_s"].into_iter().for_each(|key| result[key] = Value::Null);
    result
}

/// The disk is full at the run's first file, in the middle of its journal, or when its reports are written: exit code 4,
/// a message that names the file, and once there is room `wfe resume` ends as if nothing had happened.
#[test]
fn a_full_disk() {
    let whole = Place::quick();
    whole.stdout(&["run", "quick.yaml"]);
    let expected = comparable(&whole.result());
    let mut said = Vec::new();
    for kib in (4..).step_by(20) {
        let place = Place::quick();
        let Some(disk) = SmallDisk::mount(&place.path("small"), &format!("{kib}k")) else {
            eprintln!("not tested: no file system can be mounted here; it needs root");
            return;
        };
        let output = place.wfe(&["run", "quick.yaml", "--runs-dir", "small"]).output().unwrap();
        if output.status.success() {
            break;
        }
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{kib} KiB: {errors}");
        said.push(errors.lines().skip_while(|line| !line.starts_with("error: ")).collect::<Vec<_>>().join("\n"));
        disk.grow();
        let runs: Vec<_> = fs::read_dir(disk.path()).unwrap().map(|run| run.unwrap().path()).collect();
        // Where not even the first file had room, no run is left.
        let [run] = &runs[..] else { continue };
        place.stdout(&["resume", "--runs-dir", "small"]);
        assert_eq!(comparable(&fs::read_to_string(run.join("result.json")).unwrap()), expected, "{kib} KiB");
    }
    assert!(said.iter().all(|error| error.contains("No space left on device (os error 28)")), "{said:#?}");
    let first =
        |kind: &str| said.iter().find(|error| error.contains(kind)).unwrap_or_else(|| panic!("{kind}: {said:#?}"));
    let _named = named();
    assert_snapshot!(format!("{}\n\n{}", first("journal.jsonl"), first("report")), @r#"
    error: [directory]/small/quick-[stamp]/journal.jsonl: writing the journal: No space left on device (os error 28)
    the run stopped there and its machines may still run: when the cause is gone, `wfe resume` carries on

    error: cannot write [directory]/small/quick-[stamp]/report.html: No space left on device (os error 28)
    the run is over; when the cause is gone, `wfe report` makes its reports again
    "#);
}
