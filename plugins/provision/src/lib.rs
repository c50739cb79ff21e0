//! Step `provision`: creates machines and forms a cluster of them, the exact set that was asked for or none.

mod machines;
mod members;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wfe_sdk::machines::Request;
use wfe_sdk::{Duration, Error, MachineType, Result, cluster, log, step};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Product and version, such as `cassandra 5.0`.
    database: String,
    /// The machines of the database's nodes.
    nodes: Vec<NodeGroup>,
    /// The machines that send load.
    loaders: Option<LoaderGroup>,
    /// The longest wait until all machines run.
    #[serde(default = "boot_timeout")]
    boot_timeout: Duration,
}

/// Equal machines for nodes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NodeGroup {
    /// How many.
    #[schemars(range(min = 1))]
    count: u32,
    /// The provider's name of the machine type.
    r#type: MachineType,
    /// Spread evenly over so many racks.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    racks: u32,
}

/// Equal machines for loaders.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoaderGroup {
    /// How many.
    #[schemars(range(min = 1))]
    count: u32,
    /// The provider's name of the machine type.
    r#type: MachineType,
}

#[derive(Serialize, JsonSchema)]
struct Outputs {
    /// How many nodes the cluster has.
    nodes: usize,
    /// Ids of the nodes' machines.
    machines: Vec<String>,
    /// How many loader machines there are.
    loaders: usize,
    /// Product and version.
    database: String,
}

fn boot_timeout() -> Duration {
    Duration::seconds(900.0)
}

fn one() -> u32 {
    1
}

fn provision(p: Parameters) -> Result<Outputs> {
    step::phase("machines");
    let groups = machines::get(&requests(&p)?, p.boot_timeout)?;
    let (loaders, nodes): (Vec<_>, Vec<_>) = groups.into_iter().partition(|machine| machine.role == LOADER);

    step::phase("cluster");
    let ids: Vec<_> = nodes.iter().map(|machine| machine.id.clone()).collect();
    step::progress(None, format!("starting {} on {} machines", p.database, ids.len()));
    cluster::create(&p.database, &ids)?.wait(None).map_err(|e| e.context("the cluster was not formed"))?;
    members::check(&nodes, &cluster::nodes()?)?;
    log::info(format!("{} runs on {} nodes", p.database, ids.len()));
    Ok(Outputs { nodes: ids.len(), machines: ids, loaders: loaders.len(), database: p.database })
}

const DATABASE: &str = "database";
const LOADER: &str = "loader";

fn requests(p: &Parameters) -> Result<Vec<Request>> {
    let request = |role: &str, count, machine_type: &MachineType, racks| Request {
        role: role.into(),
        machine_type: machine_type.0.clone(),
        count,
        racks,
    };
    let nodes = p.nodes.iter().map(|group| request(DATABASE, group.count, &group.r#type, group.racks));
    let loaders = p.loaders.iter().map(|group| request(LOADER, group.count, &group.r#type, 1));
    let requests: Vec<_> = nodes.chain(loaders).collect();
    if p.nodes.is_empty() {
        return Err(Error::request("no-nodes", "a cluster needs at least one group of nodes"));
    }
    match requests.iter().find(|request| request.count == 0 || request.racks == 0) {
        Some(wrong) => Err(Error::request(
            "racks",
            format!("{} machines of type {} cannot stand in {} racks", wrong.count, wrong.machine_type, wrong.racks),
        )),
        None => Ok(requests),
    }
}

wfe_sdk::plugin! {
    "provision": provision, "Creates machines and forms a database cluster of them.", phases: ["machines", "cluster"]
}
