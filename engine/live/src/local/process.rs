//! A node's process: started in a group of its own so that it outlives the runner, found again by what its command line
//! says, and ended only when it is surely ours.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use wfe_core::CallError;

use crate::files;
use crate::local::config::NodeConfig;

/// Which process: a number alone may be given to another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The process's number; its group has the same.
    pub pid: i32,
    /// When it was started, in clock ticks since the machine booted.
    pub started: u64,
}

/// A node's process, started here or found again.
#[derive(Debug)]
pub struct Process {
    identity: Identity,
    child: Option<Child>,
}

impl Process {
    /// Starts a node; what it prints goes to its log directory.
    pub fn start(java: &Path, config: &NodeConfig) -> Result<Self, CallError> {
        let logs = config.directory.join("logs");
        let output = |name: &str| {
            let path = logs.join(name);
            File::create(&path).map_err(|e| files::error("create", &path, e))
        };
        let mut command = Command::new(java);
        command.args(config.arguments()).current_dir(&config.directory).process_group(0);
        command.stdin(Stdio::null()).stdout(output("stdout.log")?).stderr(output("stderr.log")?);
        let child = command
            .spawn()
            .map_err(|e| CallError::infrastructure("process", format!("cannot start {}: {e}", java.display())))?;
        let pid = i32::try_from(child.id()).unwrap_or(i32::MAX);
        let identity = Identity { pid, started: started(pid).unwrap_or(0) };
        files::write_json(&config.directory.join(PID_FILE), &identity)?;
        Ok(Self { identity, child: Some(child) })
    }

    /// Finds the running process of a machine: by its pid file, and when that was not written, by all command lines.
    pub fn find(run: &str, machine: &str, directory: &Path) -> Option<Self> {
        let noted: Option<Identity> = files::read_json(&directory.join(PID_FILE)).ok().flatten();
        let ours =
            |identity: &Identity| is_alive(*identity) && machine_of(identity.pid, run).as_deref() == Some(machine);
        let search = || tagged(run).into_iter().find(|(_, its)| its == machine).map(|(identity, _)| identity);
        let found = noted.filter(ours).or_else(search);
        found.map(|identity| Self { identity, child: None })
    }

    /// Nothing while it runs; once it has ended, how.
    pub fn ended(&mut self) -> Option<String> {
        if let Some(child) = &mut self.child {
            return child.try_wait().ok().flatten().map(|status| status.to_string());
        }
        (!is_alive(self.identity)).then(|| "an unknown status".to_owned())
    }

    /// Asks the whole group to end, or ends it.
    pub fn signal(&mut self, kill: bool) {
        if self.ended().is_none()
            && is_alive(self.identity)
            && let Some(group) = Pid::from_raw(self.identity.pid)
        {
            // It may have ended in between: that is what was wanted.
            let _ = kill_process_group(group, if kill { Signal::KILL } else { Signal::TERM });
        }
    }
}

const PID_FILE: &str = "process.json";

/// All running processes whose command line carries the run, with their machines.
pub fn tagged(run: &str) -> Vec<(Identity, String)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut found: Vec<(Identity, String)> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((Identity { pid, started: started(pid)? }, machine_of(pid, run)?)))
        .collect();
    found.sort_by_key(|(identity, _)| identity.pid);
    found
}

/// The machine of a process that carries the run in its command line.
fn machine_of(pid: i32, run: &str) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let value = |name: &str| {
        let mut arguments = line.split(|byte| *byte == 0).filter_map(|argument| str::from_utf8(argument).ok());
        arguments.find_map(|argument| argument.strip_prefix(name)).map(str::to_owned)
    };
    value("-Dwfe.run=").filter(|carried| carried == run).and_then(|_| value("-Dwfe.machine="))
}

fn is_alive(identity: Identity) -> bool {
    started(identity.pid) == Some(identity.started)
}

/// The start time of a process; none when there is none, or only what is left of it until its parent looks.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; fields are counted after it, from the third.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let started = fields.nth(18)?.parse().ok()?;
    (state != "Z" && state != "X").then_some(started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_start_time_is_another_process() {
        let pid = std::process::id() as i32;
        let identity = Identity { pid, started: started(pid).unwrap() };
        assert!(is_alive(identity));
        assert!(!is_alive(Identity { started: identity.started + 1, ..identity }));
    }

    #[test]
    fn a_process_that_does_not_carry_the_run_is_not_found() {
        let directory = tempfile::tempdir().unwrap();
        let pid = std::process::id() as i32;
        let identity = Identity { pid, started: started(pid).unwrap() };
        files::write_json(&directory.path().join(PID_FILE), &identity).unwrap();
        assert!(Process::find("r1", "database-1", directory.path()).is_none());
        assert!(tagged("a run that nobody has").is_empty());
    }
}
