//! The simulated cloud: machines, from the request until they are given back.

use std::collections::BTreeSet;

use wfe_core::backend::Found;
use wfe_core::capability::cloud::{self, MachineType};
use wfe_core::error::kind;
use wfe_core::event::step_of_key;
use wfe_core::ledger::MACHINE;
use wfe_core::{CallError, Millis};

use crate::calibration::{GIB, Hardware, calibration};
use crate::faults::Faults;
use crate::random;

/// The most machines of one request.
const MOST_MACHINES: u32 = 256;

/// The role of machines that send load.
const LOADER: &str = "loader";

/// All machines that were ever asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fleet {
    machines: Vec<Machine>,
    /// The types of which there were none when they were asked for.
    refused: BTreeSet<String>,
}

/// One machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Such as `i-0001`.
    pub id: String,
    /// The key of the call that asked for it.
    pub key: String,
    /// When it is not wanted any more, RFC 3339, if it stays after its run.
    pub expires: Option<String>,
    /// What it is for.
    pub role: String,
    /// The provider's name of its type.
    pub machine_type: String,
    /// Facts of its type.
    pub hardware: Hardware,
    /// Counts from 1.
    pub rack: u32,
    /// When it runs.
    pub runs_at: Millis,
    /// When the provider begins to list it.
    pub listed_at: Millis,
    /// When a fault takes it.
    pub lost_at: Option<Millis>,
    /// When it was given back.
    pub terminated_at: Option<Millis>,
}

impl Machine {
    /// `pending`, `running`, `terminated` or `lost`.
    pub fn state(&self, now: Millis) -> &'static str {
        match self {
            machine if machine.terminated_at.is_some_and(|at| at <= now) => "terminated",
            machine if machine.lost_at.is_some_and(|at| at <= now) => "lost",
            machine if machine.runs_at > now => "pending",
            _ => "running",
        }
    }

    fn is_listed(&self, now: Millis) -> bool {
        self.listed_at <= now && self.state(now) != "terminated"
    }

    fn answer(&self, index: usize, now: Millis) -> cloud::Machine {
        let address = if self.runs_at > now { String::new() } else { address(index) };
        cloud::Machine {
            id: self.id.clone(),
            role: self.role.clone(),
            machine_type: self.machine_type.clone(),
            step: step_of_key(&self.key).into(),
            rack: self.rack,
            state: self.state(now).into(),
            address,
        }
    }
}

fn address(index: usize) -> String {
    format!("10.0.{}.{}", index / 250, index % 250 + 1)
}

impl Fleet {
    /// Asks for machines.
    pub fn create(
        &mut self,
        key: &str,
        request: &cloud::Request,
        faults: &Faults,
        seed: u64,
        now: Millis,
    ) -> Result<Vec<cloud::Machine>, CallError> {
        let hardware = calibration().hardware(&request.machine_type)?;
        if request.count == 0 || request.count > MOST_MACHINES || request.racks == 0 {
            let message = format!(
                "cannot create {} machines in {} rack(s): ask for 1 to {MOST_MACHINES} machines in at least one rack",
                request.count, request.racks
            );
            return Err(CallError::request("bad-request", message));
        }
        if faults.no_capacity(&request.machine_type) {
            self.refused.insert(request.machine_type.clone());
            let message =
                format!("no capacity for {} x {}: try another type or later", request.count, request.machine_type);
            return Err(CallError {
                retry_after_ms: Some(60_000),
                ..CallError::infrastructure("no-capacity", message)
            });
        }
        let first = self.machines.len();
        for number in 0..request.count {
            self.machines.push(self.machine(key, request, hardware, number, faults, seed, now));
        }
        Ok(self.machines.iter().enumerate().skip(first).map(|(index, m)| m.answer(index, now)).collect())
    }

    #[allow(clippy::too_many_arguments, reason = "each is one fact of one machine")]
    fn machine(
        &self,
        key: &str,
        request: &cloud::Request,
        hardware: Hardware,
        number: u32,
        faults: &Faults,
        seed: u64,
        now: Millis,
    ) -> Machine {
        let index = self.machines.len() as u64 + 1;
        let id = format!("i-{index:04}");
        let scatter = random::lognormal(&mut random::stream(seed, "boot", index), 0.1);
        Machine {
            lost_at: faults.lost_at(&id).map(|at| at.max(now + 1)),
            id,
            key: key.into(),
            expires: None,
            role: request.role.clone(),
            machine_type: request.machine_type.clone(),
            hardware,
            rack: number % request.racks + 1,
            listed_at: now + faults.listed_late(),
            runs_at: now + (hardware.boot_s * scatter * 1000.0) as Millis,
            terminated_at: None,
        }
    }

    /// Whether nothing was made.
    pub fn is_empty(&self) -> bool {
        self.machines.is_empty()
    }

    /// Whether that machine was made.
    pub fn was_made(&self, id: &str) -> bool {
        self.machines.iter().any(|machine| machine.id == id)
    }

    /// Whether that machine was lost until now, before it was given back.
    pub fn was_lost(&self, id: &str, now: Millis) -> bool {
        let lost = |machine: &Machine, at: Millis| at <= now && machine.terminated_at.is_none_or(|end| at < end);
        self.machines.iter().any(|machine| machine.id == id && machine.lost_at.is_some_and(|at| lost(machine, at)))
    }

    /// Whether there was no machine of that type when somebody asked for one.
    pub fn was_refused(&self, machine_type: &str) -> bool {
        self.refused.contains(machine_type)
    }

    /// Gives machines back; answers those that went away just now.
    pub fn terminate(&mut self, ids: &[String], now: Millis) -> Result<Vec<String>, CallError> {
        for id in ids {
            self.find(id)?;
        }
        let mut gone = Vec::new();
        for machine in &mut self.machines {
            if ids.contains(&machine.id) && machine.terminated_at.is_none() {
                machine.terminated_at = Some(now);
                gone.push(machine.id.clone());
            }
        }
        Ok(gone)
    }

    /// The machine of that id.
    pub fn find(&self, id: &str) -> Result<&Machine, CallError> {
        self.machines
            .iter()
            .find(|machine| machine.id == id)
            .ok_or_else(|| CallError::request("unknown-machine", format!("this run has no machine `{id}`")))
    }

    /// The loader machines that run, and those that were lost since all of them ran: one that was lost before was replaced.
    pub fn loaders(&self, now: Millis) -> Vec<String> {
        let loaders = self.machines.iter().filter(|m| m.role == LOADER && m.terminated_at.is_none());
        let complete = loaders.clone().map(|machine| machine.runs_at).max().unwrap_or(0);
        let lost = |machine: &Machine| machine.lost_at.is_some_and(|at| complete < at && at <= now);
        loaders.filter(|m| m.state(now) == "running" || lost(m)).map(|m| m.id.clone()).collect()
    }

    /// The machine of that id, if it runs.
    pub fn running(&self, id: &str, now: Millis) -> Result<&Machine, CallError> {
        let machine = self.find(id)?;
        match machine.state(now) {
            "running" => Ok(machine),
            "lost" => Err(lost(id)),
            state => {
                let message = format!("machine {id} is {state}: wait until it runs");
                Err(CallError::request("not-running", message))
            }
        }
    }

    /// The listed machines that are not given back.
    pub fn list(&self, now: Millis) -> Vec<cloud::Machine> {
        let there = self.machines.iter().enumerate().filter(|(_, machine)| machine.is_listed(now));
        there.map(|(index, machine)| machine.answer(index, now)).collect()
    }

    /// Everything that is listed, with the key of the call that asked for it.
    pub fn audit(&self, now: Millis) -> Vec<Found> {
        let there = self.machines.iter().filter(|machine| machine.is_listed(now));
        let found = |machine: &Machine| Found {
            kind: MACHINE.into(),
            id: machine.id.clone(),
            description: machine.machine_type.clone(),
            key: machine.key.clone(),
        };
        there.map(found).collect()
    }

    /// Writes on machines when they are not wanted any more, or takes it away again.
    pub fn keep(&mut self, ids: &[String], until: Option<&str>) {
        for machine in self.machines.iter_mut().filter(|machine| ids.contains(&machine.id)) {
            machine.expires = until.map(str::to_owned);
        }
    }

    /// The machines of a wait once all of them run; none while some still boot.
    pub fn all_running(&self, ids: &[String], now: Millis) -> Result<Option<Vec<cloud::Machine>>, CallError> {
        let mut answers = Vec::new();
        let mut waiting = false;
        for id in ids {
            let machine = self.find(id)?;
            match machine.state(now) {
                "pending" => waiting = true,
                _ => {
                    self.running(id, now)?;
                    let index = self.machines.iter().position(|m| m.id == *id).unwrap_or(0);
                    answers.push(machine.answer(index, now));
                }
            }
        }
        Ok((!waiting).then_some(answers))
    }

    /// The machines that a fault takes after `from` and until `to`.
    pub fn lost_between(&self, from: Millis, to: Millis) -> Vec<String> {
        let lost = self.machines.iter().filter(|m| m.terminated_at.is_none());
        lost.filter(|m| m.lost_at.is_some_and(|at| from < at && at <= to)).map(|m| m.id.clone()).collect()
    }

    /// When the next machine starts to run, or is lost.
    pub fn next_change(&self, now: Millis) -> Option<Millis> {
        let moments = self.machines.iter().flat_map(|m| [Some(m.runs_at), m.lost_at]).flatten();
        moments.filter(|&at| at > now).min()
    }
}

/// The error of a machine that is gone.
pub fn lost(id: &str) -> CallError {
    CallError::infrastructure("machine-lost", format!("machine {id} is lost"))
}

/// The error of a wait that took too long.
pub fn timed_out(what: &str, timeout_ms: u64) -> CallError {
    CallError::new(kind::TIMEOUT, "timeout", format!("{what} took longer than {} s", timeout_ms as f64 / 1000.0))
}

/// What the cloud knows of a machine type.
pub fn describe(name: &str) -> Result<MachineType, CallError> {
    let hardware = calibration().hardware(name)?;
    Ok(MachineType {
        name: name.into(),
        vcpus: hardware.vcpus,
        memory_bytes: (hardware.memory_gib * GIB) as u64,
        disk_bytes: hardware.disk_bytes() as u64,
        network_bps: (hardware.network_gbit_s * 1e9) as u64,
        hourly_usd: hardware.hourly_usd,
    })
}
