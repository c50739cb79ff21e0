//! Who carries out a run: the process that holds the lock on its journal, with what tells it from others.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::clock::wall_seconds;
use crate::directory::{self, DirectoryError};

/// Name of the file in a run's directory. The lock is the truth; the file only says who took it last.
const FILE: &str = "owner.json";

/// A process that carries out a run, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: i32,
    /// When it was started, in clock ticks since its machine booted: a number alone may be given again.
    pub started: u64,
    /// Which boot of which machine it belongs to.
    pub boot: String,
    /// The machine's name.
    pub host: String,
    /// RFC 3339 wall time at which it took the run.
    pub since: String,
}

impl Owner {
    /// This process.
    fn this() -> Self {
        let pid = std::process::id() as i32;
        Self {
            pid,
            started: started(pid).unwrap_or_default(),
            boot: kernel("random/boot_id"),
            host: kernel("hostname"),
            since: wall_seconds(),
        }
    }

    /// Writes down that this process owns the run from now on.
    pub fn claim(run: &Path) -> Result<(), DirectoryError> {
        let text = serde_json::to_vec(&Self::this()).expect("numbers and texts can be encoded");
        directory::write(&run.join(FILE), &text)
    }

    /// Who owned the run last; none when nobody wrote it down.
    pub fn last(run: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(run.join(FILE)).ok()?).ok()
    }

    /// Whether the process runs on this machine.
    pub fn is_here(&self) -> bool {
        self.boot == kernel("random/boot_id") && started(self.pid) == Some(self.started)
    }

    /// Whether the process was on this machine and is gone; of one on another machine nothing is known.
    pub fn is_gone(&self) -> bool {
        self.host == kernel("hostname") && !self.is_here()
    }

    /// Asks the process to end in order; false when it does not run on this machine.
    pub fn terminate(&self) -> bool {
        let pid = Pid::from_raw(self.pid).filter(|_| self.is_here());
        pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} on {}, since {}", self.pid, self.host, self.since)
    }
}

/// A fact of the running kernel: `random/boot_id` tells one boot of one machine from all others. Empty where the system
/// does not say.
fn kernel(name: &str) -> String {
    fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).map(|fact| fact.trim().to_owned()).unwrap_or_default()
}

/// When a process was started, in clock ticks since the machine booted.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; fields are counted after it, from the third.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
