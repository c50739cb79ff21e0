//! Tests of a built plugin, for `#[test]` functions of its crate.
//!
//! ```no_run
//! use std::path::Path;
//! use wfe_sdk::{testing, Result};
//! # #[derive(serde::Deserialize)] struct Outputs { waited: f64 }
//!
//! #[test]
//! fn it_survives_a_crash_at_every_call() {
//!     testing::survives_crashes("tests/space.yaml").unwrap();
//! }
//!
//! #[test]
//! fn it_waited_in_the_run_of_last_night() {
//!     let run = Path::new("tests/runs/space-20261103-021500-k3Ab");
//!     let outputs: Outputs = testing::replay(run, "room", "wait-for-space.wasm").unwrap();
//!     assert!(outputs.waited < 600.0);
//! }
//! ```
//!
//! They run `wfe`: the program that the environment variable `WFE` names, or the one on the path.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Rehearses a workflow that uses the plugin, kills the rehearsal after every entry of its journal and resumes it: each
/// step must end in the same way each time. The error is what `wfe plugin test` said.
pub fn survives_crashes(workflow: impl AsRef<Path>) -> Result<(), String> {
    let said = wfe(&["plugin".as_ref(), "test".as_ref(), workflow.as_ref().as_os_str()])?;
    if said.status.success() { Ok(()) } else { Err(text(&said.stdout) + &text(&said.stderr)) }
}

/// Runs a plugin file against what happened to a step in a recorded run, offline, and answers its outputs. Of the run's
/// directory, which has the name of the run, only `journal.jsonl` is needed.
///
/// The error says where the plugin asked something else than then, where it ended otherwise, or what `wfe replay` said.
pub fn replay<O: DeserializeOwned>(run: impl AsRef<Path>, step: &str, plugin: impl AsRef<Path>) -> Result<O, String> {
    let run = run.as_ref();
    let runs = run.parent().filter(|runs| !runs.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = run.file_name().ok_or_else(|| format!("{} is no run's directory", run.display()))?;
    let options = ["--json".as_ref(), "--runs-dir".as_ref(), runs.as_os_str(), "--plugin".as_ref()];
    let arguments = [&["replay".as_ref(), name, step.as_ref()], &options[..], &[plugin.as_ref().as_os_str()]].concat();
    let said = wfe(&arguments)?;
    let Ok(Replayed { same, outcome, outputs, then }) = serde_json::from_slice(&said.stdout) else {
        return Err(text(&said.stderr));
    };
    match outputs.filter(|_| same) {
        Some(outputs) => serde_json::from_value(outputs).map_err(|e| format!("its outputs are others: {e}")),
        None => Err(format!("{outcome}; in the run: {}", then.as_deref().unwrap_or("not over"))),
    }
}

/// What of the answer of `wfe replay --json` matters here.
#[derive(Deserialize)]
struct Replayed {
    same: bool,
    outcome: String,
    outputs: Option<serde_json::Value>,
    then: Option<String>,
}

fn wfe(arguments: &[&OsStr]) -> Result<Output, String> {
    let program = std::env::var_os("WFE").unwrap_or_else(|| "wfe".into());
    let output = Command::new(&program).args(arguments).output();
    output.map_err(|e| format!("cannot run {}: {e}; WFE names the program", program.display()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
