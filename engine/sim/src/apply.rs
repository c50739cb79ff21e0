//! Calls that change the world. Each takes no time at all: what takes time is an operation, or a machine that boots.

use serde_json::Value;
use wfe_core::backend::{IntervalSink, answer};
use wfe_core::capability::{cluster, load};
use wfe_core::{Call, CallError, Millis};

use crate::calibration::calibration;
use crate::cluster::{Cluster, Loss, Node, NodeState};
use crate::fleet::Machine;
use crate::load::{Load, State};
use crate::operation::{Operation, Work};
use crate::tablets::{MOST_NODES, Tablets};
use crate::world::World;

/// A call that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// What its caller is told.
    pub answer: Result<Value, CallError>,
    /// When.
    pub answered_at: Millis,
}

/// Whether a call changes the world.
pub fn changes(call: &Call) -> bool {
    matches!(
        call,
        Call::MachinesCreate(_)
            | Call::MachinesTerminate(_)
            | Call::ClusterCreate(_)
            | Call::ClusterJoin(_)
            | Call::ClusterFlush(_)
            | Call::LoadStart(_)
            | Call::LoadSetRate(_)
            | Call::LoadStop(_)
    )
}

impl World {
    /// Makes a call at a moment; the same key gets the same answer again.
    pub fn apply(&mut self, key: &str, call: &Call, at: Millis, sink: &dyn IntervalSink) -> Made {
        if let Some(made) = self.answers.get(key) {
            return made.clone();
        }
        self.advance_exactly(at, sink);
        let number = self.count(call);
        let made = self.make(key, call, sink);
        if self.faults.applied_twice(call.name(), number) {
            drop(self.make(key, call, sink));
        }
        let answer = self.faults.answer_lost(call.name(), number).map_or(made, Err);
        self.set_faults();
        let made = Made { answer, answered_at: at + self.faults.answer_late(call.name(), number) };
        self.answers.insert(key.into(), made.clone());
        made
    }

    /// Which of the calls of its name it is, from 1.
    fn count(&mut self, call: &Call) -> u32 {
        let number = self.calls.entry(call.name()).or_default();
        *number += 1;
        *number
    }

    /// How late the next call of that name will be answered, milliseconds.
    pub(crate) fn next_answer_late(&self, call: &Call) -> Millis {
        self.faults.answer_late(call.name(), self.calls.get(call.name()).copied().unwrap_or(0) + 1)
    }

    fn make(&mut self, key: &str, call: &Call, sink: &dyn IntervalSink) -> Result<Value, CallError> {
        match call {
            Call::MachinesCreate(create) => {
                let (faults, seed, now) = (&self.faults, self.seed, self.now);
                answer(self.fleet.create(key, &create.request, faults, seed, now)?)
            }
            Call::MachinesTerminate(terminate) => {
                let stuck = |id: &String| self.faults.terminate_fails(id);
                let (stuck, ids): (Vec<_>, Vec<_>) = terminate.ids.iter().cloned().partition(stuck);
                for machine in self.fleet.terminate(&ids, self.now)? {
                    self.lose(&machine, Loss::Asked, sink);
                }
                self.fail_orphans();
                refuse_to_take_back(&stuck).map(|()| Value::Null)
            }
            Call::ClusterCreate(create) => answer(self.create_cluster(create)?),
            Call::ClusterJoin(join) => answer(self.join(join)?),
            Call::ClusterFlush(_) => self.cluster().map(|_| Value::Null),
            Call::LoadStart(start) => answer(self.start_load(&start.spec, sink)?),
            Call::LoadSetRate(set) => self.set_rate(set, sink),
            Call::LoadStop(stop) => answer(self.stop_load(&stop.load, sink)?),
            other => Err(CallError::unsupported(format!("`{}` does not change the simulated world", other.name()))),
        }
    }

    /// The cluster, if there is one.
    pub(crate) fn cluster(&self) -> Result<&Cluster, CallError> {
        self.cluster
            .as_ref()
            .ok_or_else(|| CallError::request("no-cluster", "there is no cluster yet: create one first"))
    }

    fn create_cluster(&mut self, create: &cluster::Create) -> Result<String, CallError> {
        if self.cluster.as_ref().is_some_and(|c| c.nodes.iter().any(|node| node.state != NodeState::Down)) {
            return Err(CallError::request("cluster-exists", "this run has a cluster already: add nodes by a join"));
        }
        let database = calibration().database(&create.database)?;
        let nodes = self.new_nodes(&create.machines, 0)?;
        let seconds = database.constants.create_s;
        self.cluster = Some(Cluster::new(database, nodes));
        let ready = self.now + (seconds * 1000.0) as Millis;
        Ok(self.begin("create", Work::Create { from: self.now, ready }))
    }

    fn join(&mut self, join: &cluster::Join) -> Result<String, CallError> {
        let cluster = self.cluster()?;
        if self.operations.iter().any(|operation| operation.ended.is_none()) {
            return Err(CallError::request(
                "busy",
                "the cluster is still changing: wait for the operation that is under way",
            ));
        }
        if !cluster.alive() {
            return Err(CallError::product("cluster-down", "no node of the cluster is up to join"));
        }
        let first = cluster.nodes.len();
        let members = cluster.nodes.iter().filter(|node| node.state == NodeState::Up).count() as f64;
        let c = cluster.database.constants.clone();
        let number = self.joins() + 1;
        let hopeless = self.faults.join_fails(number) || cluster.pressure * members > c.pressure_limit;
        let nodes = self.new_nodes(&join.machines, first)?;
        let numbers: Vec<usize> = (first..first + nodes.len()).collect();
        if let Some(cluster) = &mut self.cluster {
            cluster.nodes.extend(nodes);
        }
        let gives_up = self.now + (c.join_timeout_s * 1000.0) as Millis;
        Ok(self.begin(
            "join",
            match hopeless {
                true => Work::Hopeless { nodes: numbers, gives_up },
                false => Work::Join { nodes: numbers, left_s: c.join_s, all_s: c.join_s },
            },
        ))
    }

    /// How many joins began.
    pub(crate) fn joins(&self) -> u32 {
        self.operations.iter().filter(|op| op.id.starts_with("join-")).count() as u32
    }

    fn begin(&mut self, kind: &str, work: Work) -> String {
        let prefix = format!("{kind}-");
        let number = self.operations.iter().filter(|op| op.id.starts_with(&prefix)).count() + 1;
        let id = format!("{kind}-{number}");
        self.operations.push(Operation::new(id.clone(), work));
        id
    }

    /// New nodes on running machines, numbered after those that are there.
    fn new_nodes(&self, machines: &[String], first: usize) -> Result<Vec<Node>, CallError> {
        if machines.is_empty() || first + machines.len() > MOST_NODES {
            let message = format!("a cluster has 1 to {MOST_NODES} nodes, not {}", first + machines.len());
            return Err(CallError::request("bad-request", message));
        }
        let mut nodes: Vec<Node> = Vec::new();
        for id in machines {
            let machine = self.fleet.running(id, self.now)?;
            self.fit(machine)?;
            if nodes.iter().any(|node| node.machine == *id) {
                return Err(in_use(id));
            }
            nodes.push(Node {
                name: format!("node-{}", first + nodes.len() + 1),
                machine: id.clone(),
                machine_type: machine.machine_type.clone(),
                hardware: machine.hardware,
                rack: machine.rack,
                state: NodeState::Joining,
                debt: 0.0,
                busy: 0.0,
                marks: 0,
                active_reads: None,
            });
        }
        Ok(nodes)
    }

    /// Whether a machine can carry a new node.
    fn fit(&self, machine: &Machine) -> Result<(), CallError> {
        let here = |node: &Node| node.machine == machine.id && node.state != NodeState::Down;
        if self.cluster.iter().flat_map(|cluster| &cluster.nodes).any(here) {
            return Err(in_use(&machine.id));
        }
        if machine.hardware.disk_gib <= 0.0 {
            let message = format!("machine {} ({}) has no local disk for a database", machine.id, machine.machine_type);
            return Err(CallError::request("no-disk", message));
        }
        Ok(())
    }

    fn start_load(&mut self, spec: &str, sink: &dyn IntervalSink) -> Result<String, CallError> {
        let mut load = Load::parse(spec, self.now)?;
        let seed = self.seed;
        let cluster = match &mut self.cluster {
            Some(cluster) if cluster.alive() => cluster,
            _ => return Err(CallError::request("no-cluster", "there is no cluster to load: create one first")),
        };
        let name = load.spec.name.clone();
        if self.loads.iter().any(|other| other.spec.name == name && other.running()) {
            return Err(CallError::request("load-exists", format!("a load `{name}` runs already: stop it first")));
        }
        let copies = load.spec.replication;
        match &cluster.tablets {
            Some(tablets) if tablets.replication != copies => {
                let message =
                    format!("load `{name}` asks for {copies} copies, but the table has {}", tablets.replication);
                return Err(CallError::request("bad-load", message));
            }
            Some(_) => {}
            None => {
                let tablets = Tablets::place(cluster.database.constants.tablets, copies, &cluster.sites(), seed);
                let message = format!("load `{name}` asks for {copies} copies, more than nodes are up");
                cluster.tablets = Some(tablets.ok_or_else(|| CallError::request("bad-load", message))?);
            }
        }
        load.loaders.iter().for_each(|&loader| sink.expect(&name, &load::loader_name(loader)));
        load.machines = self.fleet.loaders(self.now);
        for machine in load.machines.clone().iter().filter(|id| self.fleet.was_lost(id, self.now)) {
            load.lose_machine(machine);
        }
        self.loads.push(load);
        Ok(name)
    }

    /// The number of a load; the last one of its name, which is free again once a load has ended.
    pub(crate) fn find_load(&self, name: &str) -> Result<usize, CallError> {
        let message = || CallError::request("unknown-load", format!("this run has no load `{name}`"));
        self.loads.iter().rposition(|load| load.spec.name == name).ok_or_else(message)
    }

    fn set_rate(&mut self, set: &load::SetRate, sink: &dyn IntervalSink) -> Result<Value, CallError> {
        let index = self.find_load(&set.load)?;
        if !(set.rate.is_finite() && set.rate >= 0.0) {
            return Err(CallError::request("bad-rate", format!("a rate must be 0 or more, not {}", set.rate)));
        }
        if self.loads[index].running() {
            self.flush(index, &self.flow(), sink);
            self.loads[index].spec.rate = Some(set.rate);
        }
        Ok(Value::Null)
    }

    fn stop_load(&mut self, name: &str, sink: &dyn IntervalSink) -> Result<load::Status, CallError> {
        let index = self.find_load(name)?;
        self.stop(index, sink);
        Ok(self.loads[index].status())
    }

    /// Stops a load and ends its open interval.
    pub(crate) fn stop(&mut self, index: usize, sink: &dyn IntervalSink) {
        if self.loads[index].running() {
            self.flush(index, &self.flow(), sink);
            self.loads[index].state = State::Stopped;
        }
    }
}

fn in_use(machine: &str) -> CallError {
    CallError::request("machine-in-use", format!("machine {machine} has a node already"))
}

/// The provider's answer for machines that it does not take back.
fn refuse_to_take_back(stuck: &[String]) -> Result<(), CallError> {
    match stuck {
        [] => Ok(()),
        stuck => {
            let message = format!("the provider did not terminate {}: internal error", stuck.join(", "));
            Err(CallError::infrastructure("terminate-failed", message))
        }
    }
}
