//! The cluster: brought up and grown by operations that can be taken up again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::try_join_all;
use sha2::{Digest, Sha256};
use wfe_core::capability::cluster::{Create, Join};
use wfe_core::error::kind;
use wfe_core::{CallError, Millis};

use crate::local::ask::ask;
use crate::local::config::NodeConfig;
use crate::local::process::Process;
use crate::local::world::{Cluster, Member, World, ip_of};
use crate::local::{addresses, jars, log, machines, roles, tokens, types};
use crate::lock;

/// What a cluster can run.
pub const DATABASE: &str = "cassandra 5.0";

/// Begins to form a cluster; answers the operation.
pub fn create(world: &Arc<World>, key: &str, request: &Create) -> Result<String, CallError> {
    if request.database.split_whitespace().ne(DATABASE.split_whitespace()) {
        let message = format!("the local backend can run `{DATABASE}` and nothing else, not `{}`", request.database);
        return Err(CallError::request("unknown-database", message));
    }
    begin(world, "create", key, &request.machines)
}

/// Begins to add members; answers the operation.
pub fn join(world: &Arc<World>, key: &str, request: &Join) -> Result<String, CallError> {
    begin(world, "join", key, &request.machines)
}

/// Finds the processes of an earlier life of the run again, and takes up its unfinished operations.
pub fn adopt(world: &Arc<World>) -> Result<(), CallError> {
    let cluster = lock(&world.cluster).clone();
    for member in &cluster.members {
        let found = Process::find(&world.run.id, &member.machine, &world.directory(&member.machine));
        lock(&world.processes).extend(found.map(|process| (member.machine.clone(), process)));
    }
    for id in cluster.operations.keys() {
        take_up(world, id);
    }
    Ok(())
}

fn begin(world: &Arc<World>, verb: &str, key: &str, machines: &[String]) -> Result<String, CallError> {
    let digest: String = Sha256::digest(key)[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let id = format!("{verb}-{digest}");
    if !lock(&world.cluster).operations.contains_key(&id) {
        check(world, verb, machines)?;
        let racks =
            machines.iter().map(|m| Ok(world.machine(m)?.machine.rack)).collect::<Result<Vec<_>, CallError>>()?;
        let rack_of = |machine: &str| world.machine(machine).map_or(1, |record| record.machine.rack);
        world.change_cluster(|cluster| {
            let names: Vec<String> = machines
                .iter()
                .zip(racks)
                .map(|(machine, rack)| add_member(cluster, machine, rack, verb == "create", &rack_of))
                .collect();
            cluster.operations.insert(id.clone(), names);
        })?;
    }
    take_up(world, &id);
    Ok(id)
}

fn check(world: &World, verb: &str, machines: &[String]) -> Result<(), CallError> {
    if machines.is_empty() {
        return Err(CallError::request("no-machines", format!("there is no machine to {verb} a cluster with")));
    }
    for id in machines {
        let machine = world.machine(id)?.machine;
        if machine.role != "database" || machine.state != "running" {
            let message = format!("machine {id} is a {} {} and cannot run a node", machine.state, machine.role);
            return Err(CallError::request("unfit-machine", message));
        }
    }
    let cluster = lock(&world.cluster);
    if let Some(taken) = cluster.members.iter().find(|member| machines.contains(&member.machine)) {
        let message = format!("machine {} already runs {}", taken.machine, taken.name);
        return Err(CallError::request("machine-taken", message));
    }
    match (verb, cluster.members.is_empty()) {
        ("create", false) => {
            Err(CallError::request("cluster-exists", "this run has a cluster: add machines by joining"))
        }
        ("join", true) => Err(CallError::request("no-cluster", "this run has no cluster that could be joined")),
        _ => Ok(()),
    }
}

fn add_member(
    cluster: &mut Cluster,
    machine: &str,
    rack: u32,
    founder: bool,
    rack_of: &impl Fn(&str) -> u32,
) -> String {
    let neighbours = cluster.members.iter().filter(|member| rack_of(&member.machine) == rack);
    let taken: Vec<i64> = neighbours.flat_map(|member| member.tokens.clone()).collect();
    let name = format!("node-{}", cluster.members.len() + 1);
    let tokens = tokens::choose(&taken, rack);
    cluster.members.push(Member { name: name.clone(), machine: machine.into(), tokens, founder, ready: false });
    name
}

/// Carries an operation out beside the calls, unless that is being done already. Every part of it can be done twice.
fn take_up(world: &Arc<World>, id: &str) {
    if !world.operations.begin(id, "starting") {
        return;
    }
    let (world, id) = (world.clone(), id.to_owned());
    tokio::spawn(async move {
        let result = bring_up(&world, &id).await;
        world.operations.end(&id, result);
    });
}

async fn bring_up(world: &Arc<World>, id: &str) -> Result<String, CallError> {
    let (members, total) = {
        let cluster = lock(&world.cluster);
        let names = cluster.operations.get(id).cloned().unwrap_or_default();
        let members: Vec<Member> = cluster.members.iter().filter(|m| names.contains(&m.name)).cloned().collect();
        (members, cluster.members.len())
    };
    if members.iter().all(|member| member.ready) {
        return Ok(format!("all {} nodes are ready", members.len()));
    }
    world.operations.progress(id, None, format!("fetching Cassandra {} if it is not cached", jars::VERSION));
    let cache = world.options.cache.clone();
    let (java, jars) = blocking(move || Ok((jars::java()?, jars::resolve(&cache)?))).await?;
    let start = |member: Member| node_ready(world, id, java.clone(), jars.clone(), member);
    let mut rest = members.clone();
    if members.iter().all(|member| member.founder) {
        // The others ask the first for the cluster, and give up when it does not listen yet.
        listens(world, &java, &jars, &rest[0]).await?;
    } else {
        rest.retain(|member| !member.ready);
    }
    try_join_all(rest.into_iter().map(start)).await?;
    try_join_all(members.iter().map(|member| sees_all(world, member, total - 1))).await?;
    roles::ensure(&world.control.session(world.run.clock.as_ref(), world.any_node()?).await?).await?;
    Ok(format!("all {} nodes are ready", members.len()))
}

/// Starts a node and waits until it takes connections.
async fn listens(world: &Arc<World>, java: &Path, jars: &Path, member: &Member) -> Result<(), CallError> {
    ensure_started(world, java, jars.to_owned(), member)?;
    let address = world.cql_address(member)?;
    let deadline = world.run.clock.now().saturating_add(world.options.start_timeout_ms);
    while tokio::net::TcpStream::connect(address).await.is_err() {
        fail_if_dead(world, member)?;
        fail_if_late(world, member, deadline)?;
        world.pause(250).await;
    }
    Ok(())
}

fn fail_if_late(world: &World, member: &Member, deadline: Millis) -> Result<(), CallError> {
    if world.run.clock.now() < deadline {
        return Ok(());
    }
    let message = format!("{} was not ready after {} s", member.name, world.options.start_timeout_ms / 1_000);
    Err(CallError::new(kind::TIMEOUT, "node-not-ready", message))
}

/// Runs work that blocks.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CallError> + Send + 'static,
) -> Result<T, CallError> {
    let failed = |e| CallError::infrastructure("internal", format!("work in the background broke off: {e}"));
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

async fn node_ready(
    world: &Arc<World>,
    operation: &str,
    java: PathBuf,
    jars: PathBuf,
    member: Member,
) -> Result<(), CallError> {
    ensure_started(world, &java, jars, &member)?;
    let deadline = world.run.clock.now().saturating_add(world.options.start_timeout_ms);
    while !answers(world, &member).await {
        fail_if_dead(world, &member)?;
        fail_if_late(world, &member, deadline)?;
        world.pause(250).await;
    }
    world.change_cluster(|cluster| {
        cluster.members.iter_mut().filter(|m| m.name == member.name).for_each(|m| m.ready = true);
    })?;
    let (ready, all) = progress(world, operation);
    world.operations.progress(operation, Some(ready as f64 / all as f64), format!("{ready} of {all} nodes are ready"));
    Ok(())
}

fn progress(world: &World, operation: &str) -> (usize, usize) {
    let cluster = lock(&world.cluster);
    let names = cluster.operations.get(operation).cloned().unwrap_or_default();
    (cluster.members.iter().filter(|member| names.contains(&member.name) && member.ready).count(), names.len())
}

fn ensure_started(world: &World, java: &Path, jars: PathBuf, member: &Member) -> Result<(), CallError> {
    let mut processes = lock(&world.processes);
    if processes.contains_key(&member.machine) {
        return Ok(());
    }
    // Asked while the processes are locked: who gives the machine back marks it first and looks for processes then.
    machines::running(world, std::slice::from_ref(&member.machine))?;
    let config = config_of(world, member, jars)?;
    addresses::check_free(config.address)?;
    config.write()?;
    processes.insert(member.machine.clone(), Process::start(java, &config)?);
    Ok(())
}

fn config_of(world: &World, member: &Member, jars: PathBuf) -> Result<NodeConfig, CallError> {
    let record = world.machine(&member.machine)?;
    let founders: Vec<String> = {
        let cluster = lock(&world.cluster);
        cluster.members.iter().filter(|member| member.founder).map(|member| member.machine.clone()).collect()
    };
    let seeds = if member.founder { &founders[..1] } else { &founders[..] };
    let seeds = seeds.iter().map(|id| ip_of(&world.machine(id)?.machine)).collect::<Result<Vec<_>, _>>()?;
    Ok(NodeConfig {
        run: world.run.id.clone(),
        machine: member.machine.clone(),
        directory: world.directory(&member.machine),
        jars,
        address: ip_of(&record.machine)?,
        seeds,
        jmx_port: record.jmx_port,
        rack: record.machine.rack,
        disk_bytes: types::describe(&record.machine.machine_type)?.disk_bytes,
        tokens: member.tokens.clone(),
        bootstrap: !member.founder,
        role_copies: founders.len().min(3),
        heap_mib: world.options.heap_mib,
        settings: world.options.settings.clone(),
    })
}

/// Whether a node answers questions and has its share of the data.
async fn answers(world: &World, member: &Member) -> bool {
    let Ok(address) = world.cql_address(member) else { return false };
    matches!(ask(world, address).await, Some(facts) if facts.bootstrapped)
}

/// What a node writes when its start has failed although its process lives on.
const GAVE_UP: &[&str] = &["Error while waiting on bootstrap to complete", "Some data streaming failed"];

fn fail_if_dead(world: &World, member: &Member) -> Result<(), CallError> {
    let logs = world.directory(&member.machine).join("logs");
    let ended = match lock(&world.processes).get_mut(&member.machine) {
        Some(process) => process.ended(),
        None => Some("an unknown status".to_owned()),
    };
    let words = match ended {
        Some(status) => format!("ended with {status}"),
        None => {
            let said = log::read(&logs.join("system.log"));
            let Some(line) = said.iter().find(|line| GAVE_UP.iter().any(|words| line.message.contains(words))) else {
                return Ok(());
            };
            format!("could not become a member ({})", line.message)
        }
    };
    let lines = log::last_words(&logs);
    Err(death(&member.name, &member.machine, &words, &lines))
}

fn death(node: &str, machine: &str, how: &str, lines: &[String]) -> CallError {
    let (kind, code) = if lines.iter().any(|line| line.contains("Address already in use")) {
        (kind::INFRASTRUCTURE, "port-in-use")
    } else if lines.iter().any(|line| line.starts_with("ERROR")) {
        (kind::PRODUCT, "node-died")
    } else {
        (kind::INFRASTRUCTURE, "node-died")
    };
    let said =
        if lines.is_empty() { "it wrote no log".into() } else { format!("its last lines:\n{}", lines.join("\n")) };
    CallError::new(kind, code, format!("{node} on {machine} {how} before it was ready; {said}"))
}

/// Waits until a node knows all others.
async fn sees_all(world: &World, member: &Member, others: usize) -> Result<(), CallError> {
    let address = world.cql_address(member)?;
    let deadline = world.run.clock.now().saturating_add(world.options.start_timeout_ms);
    loop {
        let seen = ask(world, address).await.map_or(0, |facts| facts.peers);
        if seen >= others {
            return Ok(());
        }
        fail_if_dead(world, member)?;
        if world.run.clock.now() >= deadline {
            let message = format!("{} sees {seen} of {others} other nodes", member.name);
            return Err(CallError::product("nodes-apart", message));
        }
        world.pause(250).await;
    }
}
