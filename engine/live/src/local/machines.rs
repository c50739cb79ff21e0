//! Machines: created as directories, given back with everything that belongs to them but their logs.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use wfe_core::CallError;
use wfe_core::backend::Found;
use wfe_core::capability::cloud::{Machine, Request};
use wfe_core::event::step_of_key;
use wfe_core::ledger::MACHINE;

use crate::control::cql_address;
use crate::local::addresses::{self, CQL_PORT};
use crate::local::process::{self, Process};
use crate::local::types;
use crate::local::world::{MachineRecord, World, ip_of};
use crate::{files, lock};

/// Creates machines; the same key answers the same machines again.
pub fn create(world: &World, key: &str, request: &Request) -> Result<Vec<Machine>, CallError> {
    let existing: Vec<Machine> =
        lock(&world.machines).values().filter(|record| record.key == key).map(|r| r.machine.clone()).collect();
    let there = existing.len() as u32;
    let machine_type = types::describe(&request.machine_type)?;
    check(request, machine_type.disk_bytes)?;
    let mut machines = existing;
    for n in there..request.count {
        let record = add(world, key, request, n)?;
        machines.push(record.machine.clone());
        world.keep_machine(record)?;
    }
    Ok(machines)
}

fn check(request: &Request, disk_bytes: u64) -> Result<(), CallError> {
    if request.count == 0 || request.racks == 0 {
        return Err(CallError::request("nothing-to-create", "a count and a number of racks are at least 1"));
    }
    if !matches!(request.role.as_str(), "database" | "loader") {
        let message = format!("a machine's role is `database` or `loader`, not `{}`", request.role);
        return Err(CallError::request("unknown-role", message));
    }
    if request.role == "database" && disk_bytes == 0 {
        let message = format!("machine type `{}` has no disk of its own: take it for loaders", request.machine_type);
        return Err(CallError::request("no-disk", message));
    }
    Ok(())
}

fn add(world: &World, key: &str, request: &Request, n: u32) -> Result<MachineRecord, CallError> {
    let id = next_id(world, &request.role);
    let database = request.role == "database";
    let address = if database { next_address(world)?.to_string() } else { "127.0.0.1".into() };
    let machine = Machine {
        id,
        role: request.role.clone(),
        machine_type: request.machine_type.clone(),
        step: step_of_key(key).into(),
        rack: n % request.racks + 1,
        state: "running".into(),
        address,
    };
    let jmx_port = if database { addresses::free_port()? } else { 0 };
    Ok(MachineRecord { key: key.into(), machine, jmx_port, expires: None })
}

fn next_id(world: &World, role: &str) -> String {
    let machines = lock(&world.machines);
    let count = machines.values().filter(|record| record.machine.role == role).count();
    format!("{role}-{}", count + 1)
}

/// The next address of the block; addresses are not used twice in a run.
fn next_address(world: &World) -> Result<std::net::Ipv4Addr, CallError> {
    let used = lock(&world.machines).values().filter(|record| record.machine.role == "database").count();
    let number = u8::try_from(used + 1).ok().filter(|n| *n < 255);
    let number = number.ok_or_else(|| {
        CallError::infrastructure("no-capacity", "a run on this machine can have at most 254 database machines")
    })?;
    let address = addresses::address(world.block(), number);
    addresses::check_free(address)?;
    Ok(address)
}

/// The asked machines, which run from the moment they exist.
pub fn running(world: &World, ids: &[String]) -> Result<Vec<Machine>, CallError> {
    let mut machines = Vec::new();
    for id in ids {
        let machine = world.machine(id)?.machine;
        if machine.state != "running" {
            let message = format!("machine {id} is {}: it will not run again", machine.state);
            return Err(CallError::infrastructure("machine-lost", message));
        }
        machines.push(machine);
    }
    Ok(machines)
}

/// The machines that are not terminated.
pub fn list(world: &World) -> Vec<Machine> {
    let machines = lock(&world.machines);
    machines.values().map(|record| record.machine.clone()).filter(|machine| machine.state != TERMINATED).collect()
}

/// Everything that carries the run's tag: its machines. One is there as long as a process of it is.
pub fn audit(world: &World) -> Vec<Found> {
    let records = lock(&world.machines);
    let mut there: BTreeMap<String, Option<&MachineRecord>> =
        process::tagged(&world.run.id).into_iter().map(|(_, id)| (id.clone(), records.get(&id))).collect();
    let live = records.values().filter(|record| record.machine.state != TERMINATED);
    there.extend(live.map(|record| (record.machine.id.clone(), Some(record))));
    let found = there.into_iter().map(|(id, record)| Found {
        kind: MACHINE.into(),
        id,
        description: record.map(|record| record.machine.machine_type.clone()).unwrap_or_default(),
        key: record.map(|record| record.key.clone()).unwrap_or_default(),
    });
    found.collect()
}

/// Writes on machines when they are not wanted any more, or takes it away again; the error is the first machine's on which
/// it cannot be written.
pub fn keep(world: &World, ids: &[String], until: Option<&str>) -> Result<(), CallError> {
    let write = |id: &String| {
        let record = world.machine(id)?;
        world.keep_machine(MachineRecord { expires: until.map(str::to_owned), ..record })
    };
    ids.iter().map(write).fold(Ok(()), Result::and)
}

/// Ends the machines' processes, keeps their logs and removes their directories.
pub async fn terminate(world: &Arc<World>, ids: &[String]) -> Result<(), CallError> {
    let records = ids.iter().map(|id| world.machine(id)).collect::<Result<Vec<_>, _>>()?;
    let live: Vec<MachineRecord> = records.into_iter().filter(|r| r.machine.state != TERMINATED).collect();
    for record in &live {
        // From here on nothing is started on it any more.
        world.keep_machine(record.in_state("shutting-down"))?;
    }
    end_processes(world, ids).await?;
    for record in live {
        if record.machine.role == "database" {
            let address = cql_address(ip_of(&record.machine)?, CQL_PORT);
            world.control.forget(address).await;
            world.statements.forget(address).await;
        }
        keep_logs(world, &record.machine.id)?;
        files::remove_dir(&world.directory(&record.machine.id))?;
        world.keep_machine(record.in_state(TERMINATED))?;
    }
    Ok(())
}

/// The state of a machine that is gone.
const TERMINATED: &str = "terminated";

/// How long a node may take to end when asked, before it is killed, milliseconds. Its data is thrown away anyway.
const GRACE_MS: u64 = 4_000;

async fn end_processes(world: &World, machines: &[String]) -> Result<(), CallError> {
    let mut processes: Vec<(String, Process)> = Vec::new();
    for id in machines {
        let known = lock(&world.processes).remove(id);
        let process = known.or_else(|| Process::find(&world.run.id, id, &world.directory(id)));
        processes.extend(process.map(|process| (id.clone(), process)));
    }
    for kill in [false, true] {
        processes.iter_mut().for_each(|(_, process)| process.signal(kill));
        let deadline = world.run.clock.now() + GRACE_MS;
        while !processes.is_empty() && world.run.clock.now() < deadline {
            processes.retain_mut(|(_, process)| process.ended().is_none());
            world.pause(50).await;
        }
    }
    let left: Vec<String> = processes.iter().map(|(id, _)| id.clone()).collect();
    if left.is_empty() {
        return Ok(());
    }
    lock(&world.processes).extend(processes);
    Err(CallError::infrastructure(
        "process",
        format!("the processes of {} do not end even when killed", left.join(", ")),
    ))
}

fn keep_logs(world: &World, machine: &str) -> Result<(), CallError> {
    let (logs, kept) = (world.directory(machine).join("logs"), world.kept_logs(machine));
    for name in ["system.log", "stdout.log", "stderr.log"] {
        let from = logs.join(name);
        if from.metadata().is_ok_and(|metadata| metadata.len() > 0) {
            files::create_dir(&kept)?;
            fs::rename(&from, kept.join(name)).map_err(|e| files::error("move", &from, e))?;
        }
    }
    Ok(())
}
