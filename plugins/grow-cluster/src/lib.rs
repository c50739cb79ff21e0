//! Step `grow-cluster`: adds nodes to a running cluster, and believes the cluster's own topology that they are in.

mod topology;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wfe_sdk::check::Check;
use wfe_sdk::cluster::Node;
use wfe_sdk::machines::Request;
use wfe_sdk::{Duration, Error, MachineType, Result, clock, cluster, log, machines, step};

use topology::Joined;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The machines to add.
    #[schemars(length(min = 1))]
    add: Vec<Group>,
    /// All at the same time instead of one after another.
    #[serde(default)]
    together: bool,
    /// The longest that one join may take; without it, until the step's own timeout.
    #[schemars(range(max = 2_592_000), extend("exclusiveMinimum" = 0))]
    timeout: Option<Duration>,
    /// The longest wait until all machines run.
    #[serde(default = "boot_timeout")]
    #[schemars(range(max = 2_592_000), extend("exclusiveMinimum" = 0))]
    boot_timeout: Duration,
}

/// Equal machines.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Group {
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

#[derive(Serialize, JsonSchema)]
struct Outputs {
    /// How many nodes the cluster has now.
    nodes: usize,
    /// Ids of the new nodes' machines.
    machines: Vec<String>,
    /// How long each join took.
    joins: Vec<Duration>,
}

fn boot_timeout() -> Duration {
    Duration::seconds(900.0)
}

fn one() -> u32 {
    1
}

fn check(p: &Parameters, check: &mut Check) {
    let asked: u64 = p.add.iter().map(|group| u64::from(group.count)).sum();
    let Some(granted) = check.grants.cloud.as_ref().map(|cloud| cloud.machines) else { return };
    if asked > u64::from(granted) {
        let message = format!("{asked} machines are asked for, and `grants.cloud.machines` is {granted}");
        check.refuse(["/add"], message);
    }
}

fn grow(p: Parameters) -> Result<Outputs> {
    step::phase("machines");
    let machines = machines::obtain(&requests(&p.add), p.boot_timeout)?;
    let ids: Vec<_> = machines.into_iter().map(|machine| machine.id).collect();

    let mut joins = Vec::new();
    if p.together || ids.len() == 1 {
        step::phase("join");
        joins.push(join(&ids, p.timeout)?);
    } else {
        for (n, id) in ids.iter().enumerate() {
            step::phase(&format!("join-{}", n + 1));
            joins.push(join(std::slice::from_ref(id), p.timeout)?);
        }
    }

    step::phase("settle");
    let nodes = settle(&ids)?;
    Ok(Outputs { nodes: nodes.len(), machines: ids, joins })
}

/// Equal machines for each group.
fn requests(groups: &[Group]) -> Vec<Request> {
    let request = |group: &Group| Request {
        role: "database".into(),
        machine_type: group.r#type.0.clone(),
        count: group.count,
        racks: group.racks,
    };
    groups.iter().map(request).collect()
}

/// How long a node that is still joining is waited for when the join itself has already ended.
const GRACE: Duration = Duration::seconds(60.0);
/// The pause between two looks at the topology meanwhile.
const LOOK: Duration = Duration::seconds(5.0);

/// Joins machines at the same time; answers how long it took.
fn join(machines: &[String], timeout: Option<Duration>) -> Result<Duration> {
    let start = clock::now();
    step::progress(None, format!("joining {}", machines.join(", ")));
    let new = strangers(machines)?;
    let said = match new.is_empty() {
        // An earlier attempt began to join them: the topology says when that is over.
        true => Ok(()),
        false => cluster::join(&new).and_then(|operation| operation.wait_and(timeout, || members(machines).map(drop))),
    };
    let patience = if new.is_empty() { timeout } else { Some(GRACE) };
    let joined = after_join(machines, patience)?;
    let took = Duration(clock::now().0 - start.0);
    match (said, joined) {
        (said, Joined::All) => {
            if let Err(error) = said {
                log::warn(format!("the join was reported as failed, yet all nodes are up: {}", error.message));
            }
            log::info(format!("{} joined in {took}", machines.join(", ")));
            Ok(took)
        }
        (Err(error), Joined::Not(missing)) => Err(error.context(&format!("{missing} after {took}"))),
        (Ok(()), Joined::Not(missing)) => {
            Err(Error::product("not-joined", format!("the join ended without an error, but {missing}")))
        }
    }
}

/// The machines that are no members of the cluster; an earlier attempt may have joined some.
fn strangers(machines: &[String]) -> Result<Vec<String>> {
    let nodes = members(machines)?;
    let is_new = |id: &&String| nodes.iter().all(|node| node.machine != **id);
    Ok(machines.iter().filter(is_new).cloned().collect())
}

/// The nodes. That one of them is lost is an error: a join streams from the members, and ends without one of them only
/// after hours; what became of the joining machines the join itself tells.
fn members(joining: &[String]) -> Result<Vec<Node>> {
    cluster::nodes_unless_lost(|node| !joining.contains(&node.machine))
}

/// Reads from the topology whether the machines are nodes now; those that are just joining get so much time.
fn after_join(machines: &[String], patience: Option<Duration>) -> Result<Joined> {
    let end = patience.map(|patience| clock::now().0 + patience.0);
    loop {
        let nodes = members(machines)?;
        let joined = topology::joined(machines, &nodes);
        let late = end.is_some_and(|end| clock::now().0 >= end);
        if joined == Joined::All || !topology::joining(machines, &nodes) || late {
            return Ok(joined);
        }
        clock::sleep(LOOK);
    }
}

/// All members are up, the old ones too; keeps the disk usage of this moment.
fn settle(machines: &[String]) -> Result<Vec<Node>> {
    let nodes = cluster::snapshot("scale-out")?;
    if let Joined::Not(missing) = topology::joined(machines, &nodes) {
        return Err(Error::product("not-joined", missing));
    }
    match nodes.iter().find(|node| !node.is_up()) {
        Some(node) => {
            Err(Error::product("node-not-up", format!("{} on {} is {}", node.name, node.machine, node.state)))
        }
        None => Ok(nodes),
    }
}

wfe_sdk::plugin! {
    "grow-cluster": grow, "Adds nodes to a running cluster.", check: check,
    phases: ["machines", "join", "join-1", "join-2", "join-3", "join-4", "join-5", "join-6", "join-7", "join-8", "join-9", "settle"]
}

#[cfg(test)]
mod tests {
    use wfe_sdk::check::{CloudGrant, Grants};

    use super::*;

    #[test]
    fn no_more_machines_than_granted() {
        let said = |counts: &[u32], granted| {
            let group = |&count: &u32| Group { count, r#type: MachineType("i4i.4xlarge".into()), racks: 3 };
            let add = counts.iter().map(group).collect();
            let p = Parameters { add, together: true, timeout: None, boot_timeout: boot_timeout() };
            let cloud = CloudGrant { types: vec!["i4i.4xlarge".into()], machines: granted };
            let mut found = Check::new(Grants { cloud: Some(cloud), ..Grants::default() }, None);
            check(&p, &mut found);
            found.problems().iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect::<Vec<_>>()
        };
        assert!(said(&[1, 2], 3).is_empty());
        assert_eq!(said(&[2, 2], 3), ["/add: 4 machines are asked for, and `grants.cloud.machines` is 3"]);
    }
}
