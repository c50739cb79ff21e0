//! Step `provision`: creates machines and forms a cluster of them, the exact set that was asked for or none.

mod members;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wfe_sdk::check::Check;
use wfe_sdk::machines::Request;
use wfe_sdk::{Database, Duration, MachineType, Result, clock, cluster, log, machines, step};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Product and version, such as `cassandra 5.0`.
    database: Database,
    /// The machines of the database's nodes.
    #[schemars(length(min = 1))]
    nodes: Vec<NodeGroup>,
    /// The machines that send load.
    loaders: Option<LoaderGroup>,
    /// The longest wait until all machines run.
    #[serde(default = "boot_timeout")]
    #[schemars(range(max = 2_592_000), extend("exclusiveMinimum" = 0))]
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

fn check(p: &Parameters, check: &mut Check) {
    for (n, group) in p.nodes.iter().enumerate().filter(|(_, group)| group.racks > group.count) {
        let message = format!("{} racks cannot each have one of {} machines", group.racks, group.count);
        check.refuse([&format!("/nodes/{n}/racks"), &format!("/nodes/{n}/count")], message);
    }
    let asked: u64 = requests(p).iter().map(|request| u64::from(request.count)).sum();
    let Some(granted) = check.grants.cloud.as_ref().map(|cloud| cloud.machines) else { return };
    if asked > u64::from(granted) {
        let message =
            format!("{asked} machines are asked for with the loaders, and `grants.cloud.machines` is {granted}");
        check.refuse(["/nodes", "/loaders"], message);
    }
}

fn provision(p: Parameters) -> Result<Outputs> {
    step::phase("machines");
    let groups = machines::obtain(&requests(&p), p.boot_timeout)?;
    let (loaders, nodes): (Vec<_>, Vec<_>) = groups.into_iter().partition(|machine| machine.role == LOADER);

    step::phase("cluster");
    let ids: Vec<_> = nodes.iter().map(|machine| machine.id.clone()).collect();
    step::progress(None, format!("starting {} on {} machines", p.database, ids.len()));
    form(&p.database.0, &ids)?;
    members::check(&nodes, &cluster::nodes()?)?;
    log::info(format!("{} runs on {} nodes", p.database, ids.len()));
    Ok(Outputs { nodes: ids.len(), machines: ids, loaders: loaders.len(), database: p.database.0 })
}

/// The longest wait for nodes that an earlier attempt told to form a cluster.
const PATIENCE: Duration = Duration::seconds(900.0);
/// The pause between two looks at them.
const LOOK: Duration = Duration::seconds(5.0);

/// Forms a cluster of machines. Where an earlier attempt began to, whose answer may be lost, the topology says when that
/// is over.
fn form(database: &str, machines: &[String]) -> Result<()> {
    if step::info().number > 1 && cluster::nodes().is_ok_and(|nodes| members::are(machines, &nodes)) {
        let end = clock::now().0 + PATIENCE.0;
        while clock::now().0 < end && members::forming(&cluster::nodes()?) {
            clock::sleep(LOOK);
        }
        return Ok(());
    }
    cluster::create(database, machines)?.wait(None).map_err(|e| e.context("the cluster was not formed"))
}

const DATABASE: &str = "database";
const LOADER: &str = "loader";

/// What is asked of the cloud, the nodes first.
fn requests(p: &Parameters) -> Vec<Request> {
    let request = |role: &str, count, machine_type: &MachineType, racks| Request {
        role: role.into(),
        machine_type: machine_type.0.clone(),
        count,
        racks,
    };
    let nodes = p.nodes.iter().map(|group| request(DATABASE, group.count, &group.r#type, group.racks));
    let loaders = p.loaders.iter().map(|group| request(LOADER, group.count, &group.r#type, 1));
    nodes.chain(loaders).collect()
}

wfe_sdk::plugin! {
    "provision": provision, "Creates machines and forms a database cluster of them.", check: check,
    phases: ["machines", "cluster"]
}

#[cfg(test)]
mod tests {
    use wfe_sdk::check::{CloudGrant, Grants};

    use super::*;

    /// What is wrong with groups of so many nodes in so many racks, two loaders and so many granted machines.
    fn said(groups: &[(u32, u32)], granted: u32) -> Vec<String> {
        let group = |&(count, racks): &(u32, u32)| NodeGroup { count, r#type: MachineType("i4i.large".into()), racks };
        let p = Parameters {
            database: Database("scylla 2025.2".into()),
            nodes: groups.iter().map(group).collect(),
            loaders: Some(LoaderGroup { count: 2, r#type: MachineType("c6i.2xlarge".into()) }),
            boot_timeout: boot_timeout(),
        };
        let cloud = CloudGrant { types: vec!["i4i.large".into(), "c6i.2xlarge".into()], machines: granted };
        let grants = Grants { cloud: Some(cloud), ..Grants::default() };
        let mut found = Check::new(grants, None);
        check(&p, &mut found);
        found.problems().iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
    }

    #[test]
    fn machines_must_fit_their_racks_and_grants() {
        assert!(said(&[(3, 3), (4, 1)], 9).is_empty());
        assert_eq!(said(&[(3, 3), (2, 3)], 7), ["/nodes/1/racks: 3 racks cannot each have one of 2 machines"]);
        assert_eq!(
            said(&[(3, 3), (4, 1)], 8),
            ["/nodes: 9 machines are asked for with the loaders, and `grants.cloud.machines` is 8"]
        );
        assert_eq!(said(&[(u32::MAX, 1), (u32::MAX, 1)], 8).len(), 1);
    }
}
