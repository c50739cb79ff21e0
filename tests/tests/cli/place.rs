//! A directory of its own in which `wfe` is called.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use wfe_tests::{cluster, seen, wfe};

/// A directory of its own in which `wfe` is called.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A place with a workflow in it, `quick.yaml`.
    pub fn quick() -> Self {
        let place = Self::new();
        place.write("quick.yaml", QUICK);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn wfe(&self, arguments: &[&str]) -> Command {
        let mut command = wfe();
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    pub fn seen(&self, arguments: &[&str]) -> String {
        seen(&mut self.wfe(arguments))
    }

    /// Runs a command that must succeed; answers what it printed.
    pub fn stdout(&self, arguments: &[&str]) -> String {
        let output = self.wfe(arguments).output().unwrap();
        let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stdout}{stderr}");
        stdout
    }

    /// The directories of runs, in the order of their names.
    pub fn runs(&self) -> Vec<PathBuf> {
        let Ok(runs) = fs::read_dir(self.path(".wfe/runs")) else { return Vec::new() };
        let mut runs: Vec<PathBuf> = runs.map(|run| run.unwrap().path()).collect();
        runs.sort();
        runs
    }

    /// Leaves the first entries of the only run's journal, as a process that dies after the last of them does.
    pub fn keep_entries(&self, entries: usize) {
        let [run] = &self.runs()[..] else { panic!("one run is expected in {:?}", self.runs()) };
        let journal = run.join("journal.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, text.split_inclusive('\n').take(entries).collect::<String>()).unwrap();
    }

    /// The only run's `result.json`.
    pub fn result(&self) -> String {
        let [run] = &self.runs()[..] else { panic!("one run is expected in {:?}", self.runs()) };
        fs::read_to_string(run.join("result.json")).unwrap()
    }
}

/// A small workflow, rehearsed in a few hundredths of a second.
pub const QUICK: &str = concat!(
    "name: quick\ninputs:\n  rate: { type: rate, default: 5000/s }\nprofiles:\n  slow: { rate: 100/s }\nsteps:\n",
    cluster!(),
    "  traffic:
    needs: [cluster]
    uses: load
    background: true
    with: { mix: { write: 1, read: 1 }, rate: \"${{ inputs.rate }}\", rows: 100000 }
  steady:
    needs: [traffic]
    uses: measure
    with: { for: 1m }
    limits: { read.p99: <= 10ms }
"
);
