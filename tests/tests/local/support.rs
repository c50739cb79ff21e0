//! Processes of `wfe` that are watched while they run, and the nodes that they start.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use wfe_tests::wfe;

static ALONE: Mutex<()> = Mutex::new(());

/// Keeps other tests of this file waiting: the machine is too small for the nodes of two.
pub fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory of its own for a workflow and its runs. Nodes that a failed test leaves behind are killed with it.
pub struct Place(TempDir);

impl Place {
    pub fn new(workflow: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path("test.yaml"), workflow).unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn wfe(&self, arguments: &[&str]) -> Command {
        let mut command = wfe();
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    /// Runs `test.yaml` on the local backend to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.wfe(&[&["run", "test.yaml", "--backend", "local"], arguments].concat()).output().unwrap()
    }

    /// Starts `test.yaml` on the local backend.
    pub fn start(&self) -> Started {
        self.start_with(&["run", "test.yaml", "--backend", "local"])
    }

    /// Starts a command.
    pub fn start_with(&self, arguments: &[&str]) -> Started {
        let said = self.path("said");
        let mut command = self.wfe(arguments);
        let child = command.stdout(Stdio::null()).stderr(File::create(&said).unwrap()).spawn().unwrap();
        Started { child, said }
    }

    /// The directory of the only run.
    pub fn the_run(&self) -> PathBuf {
        let runs: Vec<PathBuf> = fs::read_dir(self.path(".wfe/runs")).unwrap().map(|run| run.unwrap().path()).collect();
        let [run] = &runs[..] else { panic!("one run is expected: {runs:?}") };
        run.clone()
    }

    pub fn result(&self) -> Value {
        serde_json::from_slice(&fs::read(self.the_run().join("result.json")).unwrap()).unwrap()
    }

    /// The nodes that run.
    pub fn nodes(&self) -> Vec<u32> {
        let is_node = |command: &str| command.contains("-Dwfe.machine=");
        processes(|command| command.contains(self.0.path().to_str().unwrap()) && is_node(command))
    }

    /// Everything that a run made is given back, and no node of it runs.
    pub fn nothing_is_left(&self, result: &Value) {
        for resource in result["resources"].as_array().unwrap() {
            assert_eq!(resource["state"], "deleted", "{resource}");
        }
        assert_eq!(self.nodes(), Vec::<u32>::new(), "nodes are left");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.nodes().into_iter().for_each(|node| signal("KILL", node));
    }
}

/// A process of `wfe`.
pub struct Started {
    child: Child,
    said: PathBuf,
}

impl Started {
    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        signal(name, self.child.id());
    }

    /// Waits until it has said something.
    pub fn wait_for(&mut self, text: &str) {
        for _ in 0..1_200 {
            if self.said().contains(text) {
                return;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "it has ended without `{text}`: {}", self.said());
            pause(100);
        }
        panic!("it did not say `{text}`: {}", self.said());
    }

    /// Waits until it has ended, but only so long; answers its exit code and what it said.
    pub fn end(mut self, seconds: u32) -> (Option<i32>, String) {
        for _ in 0..seconds * 10 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code(), self.said());
            }
            pause(100);
        }
        panic!("it has not ended after {seconds} s: {}", self.said());
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.said).unwrap()).into_owned()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Lets real time pass.
pub fn pause(ms: u64) {
    #[allow(clippy::disallowed_methods, reason = "the processes that are watched live in real time")]
    std::thread::sleep(Duration::from_millis(ms));
}

/// Sends a signal to a process.
pub fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).stderr(Stdio::null()).status();
    assert!(sent.is_ok(), "`kill` is not there");
}

/// The Java processes whose command line has this text: nodes, and tools that ask one.
pub fn processes_of(text: &str) -> Vec<u32> {
    processes(|command| command.contains(text) && command.contains("java"))
}

fn processes(wanted: impl Fn(&str) -> bool) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse::<u32>().ok()?;
        let command = fs::read(Path::new("/proc").join(process.to_string()).join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).into_owned();
        wanted(&command).then_some(process)
    });
    processes.collect()
}

/// A workflow that makes a cluster of one node, and more steps.
pub fn one_node(steps: &str) -> String {
    format!(
        "name: one\nsteps:\n  cluster:\n    uses: provision\n    with:\n      database: cassandra 5.0\n      \
         nodes: [{{ count: 1, type: i4i.large }}]\n    grants: {{ cloud: {{ types: [i4i.large], machines: 1 }} }}\n{steps}"
    )
}
