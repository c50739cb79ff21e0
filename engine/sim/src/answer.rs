//! Questions to the world. Asking changes nothing.

use serde_json::Value;
use wfe_core::backend::answer;
use wfe_core::capability::{cluster, observe, operation};
use wfe_core::{Call, CallError, Millis};

use crate::cluster::NodeState;
use crate::fleet::describe;
use crate::world::World;

/// Bytes of one pending compaction.
const COMPACTION_BYTES: f64 = 1e9;

impl World {
    /// Answers a question at a moment up to which the world has advanced by whole steps.
    pub fn ask(&self, call: &Call, now: Millis) -> Result<Value, CallError> {
        match call {
            Call::MachinesList(_) => answer(self.fleet.list(now)),
            Call::MachinesDescribeType(of) => answer(describe(&of.name)?),
            Call::ClusterNodes(_) | Call::ClusterSnapshot(_) => answer(self.at(now).nodes()?),
            Call::LoadStatus(of) => {
                let world = self.at(now);
                answer(world.loads[world.find_load(&of.load)?].status())
            }
            Call::EventsSince(since) => answer(self.events(since)),
            Call::CqlQuery(_) | Call::CqlExecute(_) => {
                Err(CallError::unsupported("the simulator has no rows: CQL statements need a real database"))
            }
            other => Err(CallError::unsupported(format!("the simulator does not answer `{}`", other.name()))),
        }
    }

    fn nodes(&self) -> Result<Vec<cluster::Node>, CallError> {
        let cluster = self.cluster()?;
        let (used, flow) = (cluster.used(), self.flow());
        let up = cluster.up().count_ones().max(1);
        let node = |index: usize| {
            let node = &cluster.nodes[index];
            cluster::Node {
                name: node.name.clone(),
                machine: node.machine.clone(),
                machine_type: node.machine_type.clone(),
                rack: node.rack,
                state: state(node.state).into(),
                used_bytes: used[index] as u64,
                total_bytes: node.hardware.disk_bytes() as u64,
                signals: signals(cluster, &flow, index, (cluster.hints / f64::from(up)).floor()),
            }
        };
        Ok((0..cluster.nodes.len()).map(node).collect())
    }

    fn events(&self, since: &observe::Since) -> Vec<observe::DatabaseEvent> {
        let least = rank(&since.severity);
        let events = self.cluster.iter().flat_map(|cluster| &cluster.events);
        let wanted = events.filter(|event| event.at_ms >= since.from_ms && rank(&event.severity) >= least);
        wanted.take(since.limit as usize).cloned().collect()
    }

    /// The state of operations.
    pub fn statuses(&self, ids: &[String], now: Millis) -> Result<Vec<operation::Status>, CallError> {
        let held = self.cluster.as_ref().map(|c| c.tablets.as_ref().map_or(Vec::new(), |t| t.held(c.nodes.len())));
        let held = held.unwrap_or_default();
        let status = |id: &String| match self.operations.iter().find(|operation| operation.id == *id) {
            Some(operation) => Ok(operation.status(now, &held)),
            None => Err(CallError::request("unknown-operation", format!("this run has no operation `{id}`"))),
        };
        ids.iter().map(status).collect()
    }
}

fn signals(
    cluster: &crate::cluster::Cluster,
    flow: &crate::flow::Flow,
    index: usize,
    hints: f64,
) -> Vec<cluster::Signal> {
    let node = &cluster.nodes[index];
    let there = flow.nodes.get(index).copied().unwrap_or_default();
    let moves = cluster.tablets.iter().flat_map(|tablets| &tablets.moves);
    let streams = moves.filter(|m| m.from == index || m.to == index).count() as f64;
    let up = node.state == NodeState::Up;
    let busiest_writes = there.ingest / (node.hardware.write_bw() / 4.0);
    let values = [
        ("compactions", (node.debt / COMPACTION_BYTES).ceil()),
        ("compaction-debt-bytes", node.debt.ceil()),
        ("streams", streams),
        ("hints", if up { hints } else { 0.0 }),
        ("pending-reads", if there.reads > 0.0 { there.waiting() } else { 0.0 }),
        ("pending-writes", if busiest_writes > 0.99 { there.waiting() + 1.0 } else { 0.0 }),
        ("joining", f64::from(node.state == NodeState::Joining)),
        ("cpu", there.all_cpu_use(node).min(1.0)),
        ("disk-busy", (there.read_use(node) + there.stream_out / node.hardware.read_bw().max(1.0)).min(1.0)),
    ];
    values.map(|(name, value)| cluster::Signal { name: name.into(), value }).into()
}

fn state(state: NodeState) -> &'static str {
    match state {
        NodeState::Joining => "joining",
        NodeState::Up => "up",
        NodeState::Down => "down",
    }
}

fn rank(severity: &str) -> u8 {
    match severity {
        "error" => 2,
        "warn" => 1,
        _ => 0,
    }
}
