//! Response times: the distribution of an operation's time, from the queues of the nodes that it visits.

use wfe_core::measure::HIGHEST_NS;

use crate::calibration::Constants;
use crate::cluster::Cluster;
use crate::flow::{Flow, NodeFlow, rules};
use crate::load::{Load, MOST_COPIES};
use crate::tablets::{Set, members};

/// Ratio of neighbouring points of a table.
const RATIO: f64 = 1.015;
/// The most points of a table.
const MOST_POINTS: usize = 2_000;
/// Nanoseconds of a millisecond.
const MS: f64 = 1e6;

/// The two kinds of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `read`
    Read,
    /// `write`
    Write,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// The name in recorded intervals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Mean times of one node, ms.
#[derive(Debug, Clone, Copy)]
struct Times {
    read: f64,
    write: f64,
    stall: f64,
}

/// What the times of a load's operations follow from.
#[derive(Debug, Clone)]
pub struct Service {
    base: f64,
    stall_ms: f64,
    quorum: usize,
    nodes: Vec<Times>,
    read_groups: Vec<(Set, f64)>,
    write_sets: Vec<(Set, f64)>,
}

impl Service {
    /// The times of the operations of a load in this flow; `stall` scales the chance of stalls.
    pub fn new(cluster: &Cluster, load: &Load, flow: &Flow, index: usize, stall: f64) -> Option<Self> {
        let tablets = cluster.tablets.as_ref()?;
        let miss = &flow.loads.get(index)?.miss;
        if miss.is_empty() {
            return None;
        }
        let c = &cluster.database.constants;
        let busy: Vec<f64> = cluster.nodes.iter().map(|node| node.busy).collect();
        let rules = rules(cluster, load, &busy);
        let nodes = cluster.nodes.iter().zip(&flow.nodes).zip(miss);
        let (read_groups, write_sets) = (rules.read_groups(tablets), rules.write_sets(tablets));
        (!write_sets.is_empty()).then(|| Self {
            base: c.base_ms,
            stall_ms: c.stall_ms,
            quorum: load.quorum() as usize,
            nodes: nodes.map(|((node, flow), &miss)| times(c, &node.hardware, flow, miss, stall)).collect(),
            read_groups,
            write_sets,
        })
    }

    /// The distribution of one kind of operation, up to where fewer than one in `count` is; `phase` from 0 to 1 shifts
    /// the points.
    pub fn table(&self, kind: Kind, count: f64, phase: f64) -> Table {
        let mut table = Table { at: vec![self.base], below: vec![0.0] };
        let mut x = 0.01 * RATIO.powf(phase);
        let mut chance = Vec::with_capacity(self.nodes.len());
        while table.at.len() < MOST_POINTS {
            let below = self.below(kind, x, &mut chance);
            table.at.push(self.base + x);
            table.below.push(below);
            if (1.0 - below) * count < 0.01 {
                break;
            }
            x = (self.base + x) * RATIO - self.base;
        }
        if let Some(last) = table.below.last_mut() {
            *last = 1.0;
        }
        table
    }

    /// The chance that an operation takes at most `x` ms more than the base; `chance` becomes that of each node.
    fn below(&self, kind: Kind, x: f64, chance: &mut Vec<f64>) -> f64 {
        let long = (-x / self.stall_ms).exp();
        chance.clear();
        chance.extend(self.nodes.iter().map(|node| self.node_below(node, kind, x, long)));
        let sets = match kind {
            Kind::Read => &self.read_groups,
            Kind::Write => &self.write_sets,
        };
        let one = |&(set, weight): &(Set, f64)| match kind {
            Kind::Read => weight * members_of(set, chance).product::<f64>(),
            Kind::Write => weight * at_least(self.quorum, members_of(set, chance)),
        };
        sets.iter().map(one).sum::<f64>().clamp(0.0, 1.0)
    }

    /// The chance that one node answers within `x` ms: an exponential time, now and then with a stall on top.
    fn node_below(&self, node: &Times, kind: Kind, x: f64, long: f64) -> f64 {
        let mean = match kind {
            Kind::Read => node.read,
            Kind::Write => node.write,
        };
        let short = (-x / mean).exp();
        let apart = self.stall_ms - mean;
        let stalled = match apart.abs() < 1e-6 * mean {
            true => short * (1.0 + x / mean),
            false => (self.stall_ms * long - mean * short) / apart,
        };
        1.0 - (1.0 - node.stall) * short - node.stall * stalled
    }
}

fn members_of(set: Set, chance: &[f64]) -> impl Iterator<Item = f64> {
    members(set).map(|node| chance[node])
}

/// The chance that at least `quorum` of independent events happen.
fn at_least(quorum: usize, chances: impl Iterator<Item = f64>) -> f64 {
    let mut exactly = [0.0; MOST_COPIES as usize + 1];
    exactly[0] = 1.0;
    for (done, chance) in chances.enumerate() {
        for happened in (0..=done).rev() {
            exactly[happened + 1] += exactly[happened] * chance;
            exactly[happened] *= 1.0 - chance;
        }
    }
    exactly[quorum..].iter().sum()
}

fn times(c: &Constants, hardware: &crate::calibration::Hardware, flow: &NodeFlow, miss: f64, stall: f64) -> Times {
    let part = flow.part;
    let each = if flow.requests > 0.0 { flow.cpu / flow.requests * 1000.0 } else { 0.0 };
    let queue = each / part / (1.0 - flow.cpu_use);
    let transfer = c.read_bytes_a_miss / hardware.read_bw() / part * 1000.0;
    let wait = flow.disk_use / (2.0 * (1.0 - flow.disk_use));
    let block = |rate: f64, bandwidth: f64| c.stream_block_bytes / bandwidth * 500.0 * (rate / bandwidth);
    let blocks = block(flow.stream_out, hardware.read_bw()) + block(flow.stream_in, hardware.write_bw());
    let scheduled = c.scheduling_ms / part + queue;
    Times {
        read: scheduled + miss * (c.disk_ms + transfer * (1.0 + wait) + blocks),
        write: scheduled + c.commit_ms / part,
        stall: (c.stall_us * 1e-6 * flow.requests / hardware.cpus() * stall).min(0.5),
    }
}

/// A distribution of times as a table: the chance to be below each point.
#[derive(Debug, Clone)]
pub struct Table {
    /// The points, ms, ascending.
    pub at: Vec<f64>,
    /// The chance of at most this time, from 0 to 1.
    pub below: Vec<f64>,
}

/// Operations that are late by a time between two bounds (ms, equally likely), with their part of all.
pub type Late = (f64, f64, f64);

impl Table {
    /// The mean, ms.
    pub fn mean(&self) -> f64 {
        let end = self.at[self.at.len() - 1];
        end - self.integrals()[self.at.len() - 1]
    }

    /// All times multiplied by a factor.
    pub fn scaled(mut self, factor: f64) -> Self {
        self.at.iter_mut().for_each(|at| *at *= factor);
        self
    }

    /// The times with lateness added; none when nothing is late.
    pub fn late(&self, pieces: &[Late]) -> Option<Self> {
        if pieces.iter().all(|(_, to, _)| *to <= 0.0) {
            return None;
        }
        let integrals = self.integrals();
        let from = self.at[0] + pieces.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
        let to = self.at[self.at.len() - 1] + pieces.iter().map(|p| p.1).fold(0.0, f64::max);
        let mut at = vec![from];
        let mut point = from;
        while point < to && at.len() < MOST_POINTS {
            point = (point * RATIO).min(to);
            at.push(point);
        }
        let mut below: Vec<f64> =
            at.iter().map(|&t| pieces.iter().map(|p| self.late_below(&integrals, t, p)).sum()).collect();
        below[0] = 0.0;
        if let Some(last) = below.last_mut() {
            *last = 1.0;
        }
        Some(Self { at, below })
    }

    /// The chance to be below `t`, and to be of this piece.
    fn late_below(&self, integrals: &[f64], t: f64, &(from, to, part): &Late) -> f64 {
        let width = to - from;
        if width < 1e-9 {
            return part * self.value(&self.below, t - from, 1.0);
        }
        let integral = |x: f64| {
            let end = self.at[self.at.len() - 1];
            if x > end { integrals[integrals.len() - 1] + x - end } else { self.value(integrals, x, 0.0) }
        };
        part * ((integral(t - from) - integral(t - to)) / width).clamp(0.0, 1.0)
    }

    /// The integral of the chance up to each point.
    fn integrals(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let mut integrals = vec![0.0];
        for index in 1..self.at.len() {
            sum += (self.at[index] - self.at[index - 1]) * (self.below[index] + self.below[index - 1]) / 2.0;
            integrals.push(sum);
        }
        integrals
    }

    /// A value between the points; 0 before the first and `after` behind the last.
    fn value(&self, values: &[f64], x: f64, after: f64) -> f64 {
        if x <= self.at[0] {
            return 0.0;
        }
        let right = self.at.partition_point(|&at| at < x);
        if right == self.at.len() {
            return after;
        }
        let part = (x - self.at[right - 1]) / (self.at[right] - self.at[right - 1]);
        values[right - 1] + part * (values[right] - values[right - 1])
    }

    /// The chance to take longer than a time.
    pub fn above(&self, t: f64) -> f64 {
        1.0 - self.value(&self.below, t, 1.0)
    }

    /// The time at a quantile, ns.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let right = self.below.partition_point(|&below| below < quantile).clamp(1, self.at.len() - 1);
        let (low, high) = (self.below[right - 1], self.below[right]);
        let part = if high > low { ((quantile - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 };
        nanoseconds(self.at[right - 1] + part * (self.at[right] - self.at[right - 1]))
    }
}

/// A time in ns that a histogram can hold.
pub fn nanoseconds(ms: f64) -> u64 {
    ((ms * MS).round() as u64).clamp(1, HIGHEST_NS)
}
