//! The simulated world: its state, and how it moves on in time.
//!
//! Time passes in steps during which nothing changes but what flows. Where a step ends follows from the state alone, so
//! looking at the world never changes it: a look between two steps is made on a copy. Only a call that changes something
//! cuts a step short.

use std::borrow::Cow;
use std::collections::BTreeMap;

use wfe_core::Millis;
use wfe_core::backend::IntervalSink;

use crate::apply::Made;
use crate::cluster::{Cluster, Loss, NodeState};
use crate::faults::Faults;
use crate::fleet::Fleet;
use crate::flow::{Flow, flow};
use crate::load::{Load, State};
use crate::operation::{Operation, Work};
use crate::record::Scene;

/// Longest step while data move.
const MOVING_MS: Millis = 1_000;
/// Longest step while a load runs, and the length of recorded intervals.
const LOADED_MS: Millis = 10_000;
/// The same while loads only write.
const FILLING_MS: Millis = 30_000;
/// Longest step while nothing happens.
const IDLE_MS: Millis = 600_000;

/// The world.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    pub(crate) seed: u64,
    pub(crate) faults: Faults,
    pub(crate) now: Millis,
    pub(crate) fleet: Fleet,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) loads: Vec<Load>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) answers: BTreeMap<String, Made>,
    /// How often each function that changes something was called.
    pub(crate) calls: BTreeMap<&'static str, u32>,
}

/// The next step: what flows, and until when.
struct Plan {
    until: Millis,
    flow: Flow,
}

impl World {
    /// An empty world at time 0.
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self {
            seed,
            faults,
            now: 0,
            fleet: Fleet::default(),
            cluster: None,
            loads: Vec::new(),
            operations: Vec::new(),
            answers: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    /// Moves on by whole steps, as far as they end at or before `to`. Answers when the next step ends.
    pub fn advance(&mut self, to: Millis, sink: &dyn IntervalSink) -> Millis {
        loop {
            let plan = self.plan();
            if plan.until > to {
                return plan.until;
            }
            let until = plan.until;
            self.pass(&plan, until, sink);
        }
    }

    /// Moves on to `to` exactly.
    pub fn advance_exactly(&mut self, to: Millis, sink: &dyn IntervalSink) {
        self.advance(to, sink);
        if self.now < to {
            let plan = self.plan();
            self.pass(&plan, to, sink);
        }
    }

    /// The world at a moment between two steps.
    pub fn at(&self, moment: Millis) -> Cow<'_, Self> {
        if self.now >= moment {
            return Cow::Borrowed(self);
        }
        let mut world = Self {
            faults: self.faults.clone(),
            fleet: self.fleet.clone(),
            cluster: self.cluster.clone(),
            loads: self.loads.clone(),
            operations: self.operations.clone(),
            // What was answered before does not matter to how things flow.
            answers: BTreeMap::new(),
            calls: BTreeMap::new(),
            ..*self
        };
        let plan = world.plan();
        world.flow_until(&plan, moment.min(plan.until));
        Cow::Owned(world)
    }

    /// What flows now.
    pub fn flow(&self) -> Flow {
        self.cluster.as_ref().map(|cluster| flow(cluster, &self.loads, self.now)).unwrap_or_default()
    }

    fn plan(&self) -> Plan {
        let flow = self.flow();
        let stride = self.stride();
        let mut until = (self.now / stride + 1) * stride;
        let events = [
            self.fleet.next_change(self.now),
            self.faults.next_change(self.now),
            self.next_milestone(),
            self.full_at(&flow),
            self.settled_at(&flow),
        ];
        for event in events.into_iter().flatten() {
            until = until.min(event.max(self.now + 1));
        }
        Plan { until, flow }
    }

    fn stride(&self) -> Millis {
        let running = || self.loads.iter().filter(|load| load.running());
        let moving = self.operations.iter().any(|op| op.ended.is_none() && matches!(op.work, Work::Balance { .. }));
        let debt = self.cluster.iter().flat_map(|cluster| &cluster.nodes).any(|node| node.debt > 0.0);
        match () {
            () if moving => MOVING_MS,
            () if running().any(|load| interval_ms(load) == LOADED_MS) || debt => LOADED_MS,
            () if running().next().is_some() => FILLING_MS,
            () => IDLE_MS,
        }
    }

    /// When an operation comes to its next stage.
    fn next_milestone(&self) -> Option<Millis> {
        let moments = self.operations.iter().filter(|op| op.ended.is_none()).filter_map(|op| match &op.work {
            Work::Create { ready, .. } => Some(*ready),
            Work::Join { left_s, .. } => Some(self.now + (left_s * self.join_factor() * 1000.0).ceil() as Millis),
            Work::Hopeless { gives_up, .. } => Some(*gives_up),
            Work::Balance { .. } => None,
        });
        moments.min()
    }

    /// How much slower nodes join than undisturbed.
    fn join_factor(&self) -> f64 {
        let Some(cluster) = &self.cluster else { return 1.0 };
        let c = &cluster.database.constants;
        let late = self.loads.iter().any(|load| load.running() && load.lag > c.join_slow_lag_s);
        if late { 1.0 + c.join_slow } else { 1.0 }
    }

    /// When the first disk is full.
    fn full_at(&self, flow: &Flow) -> Option<Millis> {
        let cluster = self.cluster.as_ref().filter(|cluster| !cluster.full())?;
        let growth: f64 = self
            .loads
            .iter()
            .zip(&flow.loads)
            .map(|(load, flow)| growth(cluster, load, flow.rate, flow.refused).1)
            .sum();
        if growth <= 0.0 {
            return None;
        }
        let nodes = cluster.nodes.iter().zip(cluster.used()).zip(cluster.parts());
        let up = nodes.filter(|((node, _), part)| node.state == NodeState::Up && *part > 0.0);
        let seconds = up.map(|((node, used), part)| (node.hardware.disk_bytes() - used) / (part * growth));
        seconds.min_by(f64::total_cmp).filter(|s| *s < 1e9).map(|s| self.now + (s * 1000.0).ceil() as Millis)
    }

    /// When the first node has no compaction left.
    fn settled_at(&self, flow: &Flow) -> Option<Millis> {
        let cluster = self.cluster.as_ref()?;
        let c = &cluster.database.constants;
        let seconds = cluster.nodes.iter().zip(&flow.nodes).filter_map(|(node, flow)| {
            let (made, room) = flow.compaction(node, c);
            (node.debt > 0.0 && room > made).then(|| node.debt / (room - made))
        });
        seconds.min_by(f64::total_cmp).filter(|s| *s < 1e9).map(|s| self.now + (s * 1000.0).ceil() as Millis)
    }

    /// Lets time pass, and what is due at its end happen.
    fn pass(&mut self, plan: &Plan, to: Millis, sink: &dyn IntervalSink) {
        let from = self.now;
        self.flow_until(plan, to);
        let struck = self.faults.next_change(from) == Some(to);
        for index in 0..self.loads.len() {
            let load = &self.loads[index];
            if load.running() && (struck || to.is_multiple_of(interval_ms(load))) {
                self.flush(index, &plan.flow, sink);
            }
        }
        if struck {
            self.set_faults();
        }
        for machine in self.fleet.lost_between(from, to) {
            self.lose(&machine, Loss::Fault, sink);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.watch_disks(to);
        }
        self.finish_operations();
    }

    /// Lets the faults of this moment act on nodes and loaders.
    pub(crate) fn set_faults(&mut self) {
        let (faults, now) = (&self.faults, self.now);
        for node in self.cluster.iter_mut().flat_map(|cluster| &mut cluster.nodes) {
            node.active_reads = faults.active_reads(&node.name, now).cloned();
        }
        for load in self.loads.iter_mut().filter(|load| load.running()) {
            let name = &load.spec.name;
            let lost: Vec<u32> =
                load.loaders.iter().copied().filter(|loader| faults.loader_lost(name, loader + 1, now)).collect();
            load.lose_loaders(|loader| lost.contains(&loader));
        }
    }

    /// Ends the open interval of a load.
    pub(crate) fn flush(&mut self, index: usize, flow: &Flow, sink: &dyn IntervalSink) {
        let Some(cluster) = &self.cluster else { return };
        let scene = Scene { cluster, flow, index, seed: self.seed };
        let mut recorder = self.loads[index].recorder.clone();
        recorder.flush(&self.loads[index], &scene, self.now, sink);
        self.loads[index].recorder = recorder;
    }

    /// Takes a machine away; a loader's loads go on without it, and loads fail when it was the last node. Open intervals
    /// end here, so that each of them follows one distribution.
    pub(crate) fn lose(&mut self, machine: &str, why: Loss, sink: &dyn IntervalSink) {
        let flow = self.flow();
        let running: Vec<usize> = (0..self.loads.len()).filter(|&index| self.loads[index].running()).collect();
        running.iter().for_each(|&index| self.flush(index, &flow, sink));
        let now = self.now;
        running.iter().for_each(|&index| self.loads[index].lose_machine(machine));
        let Some(cluster) = &mut self.cluster else { return };
        if cluster.lose(machine, why, now) && !cluster.alive() {
            let failed = || State::Failed("every node of the cluster is down".into());
            running.iter().for_each(|&index| self.loads[index].state = failed());
        }
    }

    /// Lets everything flow until a moment of the step.
    fn flow_until(&mut self, plan: &Plan, to: Millis) {
        let seconds = (to - self.now) as f64 / 1000.0;
        self.flow_loads(&plan.flow, seconds);
        self.flow_nodes(&plan.flow, seconds);
        let factor = self.join_factor();
        for operation in self.operations.iter_mut().filter(|op| op.ended.is_none()) {
            if let Work::Join { left_s, .. } = &mut operation.work {
                *left_s -= seconds / factor;
            }
        }
        self.now = to;
    }

    fn flow_loads(&mut self, flow: &Flow, seconds: f64) {
        let Some(cluster) = &mut self.cluster else { return };
        let full = cluster.full();
        let (mut asked, mut served, mut late) = (0.0, 0.0, false);
        for (load, flow) in self.loads.iter_mut().zip(&flow.loads).filter(|(load, _)| load.running()) {
            let lag = load.lag;
            let operations = serve(load, flow.rate, seconds);
            load.recorder.add(operations, load.writes, (lag, load.lag), flow, full);
            cluster.hints += operations * load.writes * (1.0 - flow.refused).max(0.0) * flow.visits.missed;
            let (rows, bytes) = growth(cluster, load, operations, flow.refused);
            let there = cluster.rows.max((cluster.rows + rows).min(load.spec.rows as f64));
            cluster.copy += if rows > 0.0 { bytes * (there - cluster.rows) / rows } else { 0.0 };
            cluster.rows = there;
            if let Some(rate) = load.asked() {
                asked += rate;
                served += flow.rate;
                late |= load.lag > 0.0;
            }
        }
        let overload = if served > 0.0 { (asked / served - 1.0).max(0.0) } else { 0.0 };
        cluster.pressure = if late { cluster.pressure + overload * seconds } else { 0.0 };
    }

    fn flow_nodes(&mut self, flow: &Flow, seconds: f64) {
        let Some(cluster) = &mut self.cluster else { return };
        let c = cluster.database.constants.clone();
        let keep = 0.8_f64.powf(seconds);
        for (node, flow) in cluster.nodes.iter_mut().zip(&flow.nodes) {
            let (made, room) = flow.compaction(node, &c);
            node.debt = (node.debt + (made - room) * seconds).max(0.0);
            node.busy = keep * node.busy + (1.0 - keep) * flow.cpu_use.max(flow.disk_use);
        }
        let tablet = cluster.tablet_bytes();
        let sites = cluster.sites();
        if let Some(tablets) = &mut cluster.tablets {
            let part = |rate: &f64| if tablet > 0.0 { rate * seconds / tablet } else { 1.0 };
            let parts: Vec<f64> = flow.streams.iter().map(part).collect();
            tablets.carry(&parts, &sites);
        }
    }

    /// Ends the stages of operations that are over.
    fn finish_operations(&mut self) {
        for index in 0..self.operations.len() {
            if self.operations[index].ended.is_none() {
                self.finish_operation(index);
            }
        }
    }
}

/// The length of a load's intervals.
fn interval_ms(load: &Load) -> Millis {
    if load.writes >= 1.0 { FILLING_MS } else { LOADED_MS }
}

/// Lets a load run for a time at a rate; answers the operations that ended, never more than were asked for.
fn serve(load: &mut Load, rate: f64, seconds: f64) -> f64 {
    match load.asked() {
        Some(asked) if asked > 0.0 => {
            let lag = load.lag + seconds - rate * seconds / asked;
            load.lag = if lag > 1e-9 { lag } else { 0.0 };
            if lag > 0.0 { rate * seconds } else { (rate * seconds + lag * asked).max(0.0) }
        }
        Some(_) => 0.0,
        None => rate * seconds,
    }
}

/// New rows, and bytes of one copy, that so many operations of a load make.
fn growth(cluster: &Cluster, load: &Load, operations: f64, refused: f64) -> (f64, f64) {
    let rows = operations * load.writes * (1.0 - refused).max(0.0) * load.new_part(cluster.rows);
    (rows, rows * load.row_bytes() * cluster.database.constants.overhead)
}
