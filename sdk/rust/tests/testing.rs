//! The functions for tests of built plugins, on a built-in plugin. `WFE` names the `wfe` to use; `cargo xtask test` sets it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use wfe_sdk::testing;

const WORKFLOW: &str = "tests/workflows/quiet.yaml";

#[derive(Debug, Deserialize)]
struct Outputs {
    waited: f64,
}

/// Runs the workflow in a directory of its own, which is gone at the end.
struct Recorded {
    runs: PathBuf,
}

impl Recorded {
    fn new(name: &str) -> Self {
        let runs = std::env::temp_dir().join(format!("wfe-sdk-{}-{name}", std::process::id()));
        let wfe = std::env::var_os("WFE").unwrap_or_else(|| "wfe".into());
        let run = Command::new(wfe).args(["run", WORKFLOW, "--runs-dir"]).arg(&runs).output().expect("wfe starts");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        Self { runs }
    }

    fn run(&self) -> PathBuf {
        let mut runs = std::fs::read_dir(&self.runs).expect("the runs are there");
        runs.next().expect("there is one").expect("it can be read").path()
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.runs));
    }
}

fn component(name: &str) -> PathBuf {
    Path::new("../../plugins/components").join(name)
}

#[test]
fn a_plugin_survives_crashes() {
    testing::survives_crashes(WORKFLOW).expect("it does");
    let missing = testing::survives_crashes("tests/workflows/none.yaml").expect_err("there is no such file");
    assert!(missing.contains("none.yaml cannot be read"), "{missing}");
}

#[test]
fn outputs_of_a_recorded_step_can_be_checked() {
    let recorded = Recorded::new("outputs");
    let outputs: Outputs = testing::replay(recorded.run(), "quiet", component("wait-stable.wasm")).expect("it replays");
    assert!((30.0..600.0).contains(&outputs.waited), "{outputs:?}");
}

/// A line of the journal with another time to hold, and its checksum.
fn held_longer(line: &str) -> String {
    let (_, entry) = line.split_once(',').expect("a checksum comes first");
    let entry = entry.replace(r#""hold":30}"#, r#""hold":300}"#);
    format!(r#"{{"crc":"{:08x}",{entry}"#, crc32fast::hash(format!("{{{entry}").as_bytes()))
}

#[test]
fn what_did_not_happen_then_is_an_error() {
    let recorded = Recorded::new("other");
    let journal = recorded.run().join("journal.jsonl");
    let entries = std::fs::read_to_string(&journal).expect("the journal is there");
    let changed: String = entries.lines().map(|line| held_longer(line) + "\n").collect();
    std::fs::write(&journal, changed).expect("it can be written");
    let replayed = testing::replay::<Outputs>(recorded.run(), "quiet", component("wait-stable.wasm"));
    let why = replayed.expect_err("it waits for longer than then");
    assert!(why.contains("; in the run: succeeded: {"), "{why}");
    let nothing = testing::replay::<Outputs>(recorded.run(), "noise", component("wait-stable.wasm"));
    assert!(nothing.expect_err("there is no such step").contains("no step `noise`"));
}
