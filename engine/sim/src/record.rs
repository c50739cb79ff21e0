//! What loads recorded: counts that add up exactly, and histograms that follow the model's distributions.

use std::collections::BTreeMap;

use wfe_core::Millis;
use wfe_core::backend::IntervalSink;
use wfe_core::capability::load::loader_name;
use wfe_core::measure::{Counts, Interval};

use crate::cluster::Cluster;
use crate::counts::{Ended, TIMEOUT, Times, counts, whole};
use crate::flow::{Flow, LoadFlow};
use crate::latency::{Kind, Late, Service, Table};
use crate::load::Load;
use crate::random;

/// The class of operations that too few replicas could answer.
const UNAVAILABLE: &str = "unavailable";
/// The class of writes that found a disk full.
const DISK_FULL: &str = "disk-full";

/// What one load did so far, and in the interval that is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorder {
    from: Millis,
    ended: [f64; 2],
    counted: [u64; 2],
    failed: BTreeMap<(Kind, &'static str), f64>,
    counted_failed: BTreeMap<(Kind, &'static str), u64>,
    timeouts: u64,
    late: Vec<Late>,
    /// Operations a second in the last interval.
    pub last_rate: f64,
}

/// Where an interval is recorded, and what its times follow from.
pub struct Scene<'a> {
    /// The cluster at the end of the interval.
    pub cluster: &'a Cluster,
    /// What flowed at the end of the interval.
    pub flow: &'a Flow,
    /// The load's number.
    pub index: usize,
    /// The seed of everything random.
    pub seed: u64,
}

/// What ended of one kind, and how long it took.
type Timed = (Kind, Ended, Times);

impl Recorder {
    /// Nothing was done yet.
    pub fn new(from: Millis) -> Self {
        Self {
            from,
            ended: [0.0; 2],
            counted: [0; 2],
            failed: BTreeMap::new(),
            counted_failed: BTreeMap::new(),
            timeouts: 0,
            late: Vec::new(),
            last_rate: 0.0,
        }
    }

    /// Operations that ended.
    pub fn operations(&self) -> u64 {
        self.ended.iter().map(|&ended| whole(ended)).sum()
    }

    /// How many of them failed.
    pub fn errors(&self) -> u64 {
        self.failed.values().map(|&failed| whole(failed)).sum::<u64>() + self.timeouts
    }

    /// The classes of operations that failed, for people.
    pub fn failures(&self) -> String {
        let classes =
            self.failed.iter().map(|((kind, class), count)| format!("{} {}: {class}", whole(*count), kind.name()));
        let timeouts = (self.timeouts > 0).then(|| format!("{}: {TIMEOUT}", self.timeouts));
        classes.chain(timeouts).collect::<Vec<String>>().join(", ")
    }

    /// Adds operations that ended while the lateness went from one value to another, seconds.
    pub fn add(&mut self, operations: f64, writes: f64, lag: (f64, f64), flow: &LoadFlow, full: bool) {
        if operations <= 0.0 {
            return;
        }
        let parts = [1.0 - writes, writes];
        for kind in Kind::ALL {
            let ended = operations * parts[kind as usize];
            self.ended[kind as usize] += ended;
            let (class, part) = match kind {
                Kind::Write if full => (DISK_FULL, flow.refused),
                _ => (UNAVAILABLE, flow.visits.failed),
            };
            if part > 0.0 && ended > 0.0 {
                *self.failed.entry((kind, class)).or_default() += ended * part.min(1.0);
            }
        }
        let piece = (lag.0 * 1000.0, lag.1 * 1000.0, operations);
        match self.late.last_mut() {
            Some(last) if last.1 <= 0.0 && piece.0 <= 0.0 && piece.1 <= 0.0 => last.2 += operations,
            _ => self.late.push(piece),
        }
    }

    /// Ends the interval and pushes it, one for each loader.
    pub fn flush(&mut self, load: &Load, scene: &Scene<'_>, to: Millis, sink: &dyn IntervalSink) {
        if to <= self.from {
            return;
        }
        let seconds = (to - self.from) as f64 / 1000.0;
        let ended: Vec<Ended> = Kind::ALL.iter().map(|&kind| self.take(kind)).collect();
        let all: u64 = ended.iter().map(Ended::all).sum();
        self.last_rate = all as f64 / seconds;
        let times = self.times(load, scene, &ended);
        let mut kinds = Vec::new();
        for (kind, (mut ended, times)) in Kind::ALL.into_iter().zip(ended.into_iter().zip(times)) {
            self.timeouts += ended.time_out(&times);
            kinds.push((kind, ended, times));
        }
        for (place, &loader) in load.loaders.iter().enumerate() {
            let mut interval = self.interval(load, loader, to);
            interval.operations = self.operations_of(load, scene.seed, place, &kinds);
            sink.push(interval);
        }
        self.from = to;
        self.late.clear();
    }

    /// What ended since the last interval.
    fn take(&mut self, kind: Kind) -> Ended {
        let until = whole(self.ended[kind as usize]);
        let all = until - std::mem::replace(&mut self.counted[kind as usize], until);
        let mut failed = Vec::new();
        for (key, sum) in self.failed.iter().filter(|((failed_kind, _), _)| *failed_kind == kind) {
            let counted = self.counted_failed.entry(*key).or_default();
            failed.push((key.1, whole(*sum) - *counted));
            *counted = whole(*sum);
        }
        let bad: u64 = failed.iter().map(|(_, count)| count).sum();
        Ended { good: all.saturating_sub(bad), failed }
    }

    fn times(&self, load: &Load, scene: &Scene<'_>, ended: &[Ended]) -> Vec<Times> {
        let c = &scene.cluster.database.constants;
        let tables = self.tables(load, scene, ended);
        let mean = tables.iter().zip([1.0 - load.writes, load.writes]).map(|(t, part)| t.mean() * part).sum::<f64>();
        let in_flight = load.in_flight() * 1000.0 / self.last_rate.max(1e-9);
        let (scale, response, service) = self.lateness(load, mean, in_flight);
        let late_ms = response.iter().map(|(from, to, part)| (from + to) / 2.0 * part).sum::<f64>();
        let times = |table: Table| {
            let table = table.scaled(scale);
            Times {
                late: table.late(&response),
                service: table.late(&service).unwrap_or(table),
                failed_ms: c.base_ms + late_ms,
                timeout_ms: c.request_timeout_s * 1000.0,
            }
        };
        tables.into_iter().map(times).collect()
    }

    /// How long operations take that are not late, by kind.
    fn tables(&self, load: &Load, scene: &Scene<'_>, ended: &[Ended]) -> Vec<Table> {
        let c = &scene.cluster.database.constants;
        let mut random = random::stream(scene.seed, &load.spec.name, self.from);
        let stall = random::lognormal(&mut random, c.stall_scatter);
        let phase = random::uniform(&mut random);
        let service = Service::new(scene.cluster, load, scene.flow, scene.index, stall);
        let table = |(&kind, ended): (&Kind, &Ended)| match &service {
            Some(service) if ended.good > 0 => service.table(kind, ended.good as f64, phase),
            _ => Table { at: vec![c.base_ms, c.base_ms * 1.01], below: vec![0.0, 1.0] },
        };
        Kind::ALL.iter().zip(ended).map(table).collect()
    }

    /// How the times scale, and the lateness of responses and of sent requests.
    ///
    /// A closed loop keeps its operations in flight whatever the cluster does, so their mean time follows from its rate.
    /// A late open loop is a full one too: what is later than its operations in flight has not been sent.
    fn lateness(&self, load: &Load, mean: f64, in_flight: f64) -> (f64, Vec<Late>, Vec<Late>) {
        let all: f64 = self.late.iter().map(|(.., operations)| operations).sum();
        let parts = self.late.iter().map(|&(from, to, operations)| {
            let (from, to) = if from <= to { (from, to) } else { (to, from) };
            (from, to, operations / all)
        });
        let response: Vec<Late> = parts.collect();
        if load.spec.rate.is_none() && all > 0.0 {
            let waiting = (in_flight - mean).max(0.0);
            let late = vec![(0.0, 2.0 * waiting, 1.0)];
            return ((in_flight / mean).min(1.0), late.clone(), late);
        }
        let sent = response.iter().map(|&(from, to, part)| (from.min(in_flight), to.min(in_flight), part)).collect();
        (1.0, response, sent)
    }

    /// An interval of a loader, in which nothing was done yet.
    fn interval(&self, load: &Load, loader: u32, to: Millis) -> Interval {
        Interval {
            load: load.spec.name.clone(),
            loader: loader_name(loader),
            from_ms: self.from,
            to_ms: to,
            warm_up: false,
            asked_rate: load.spec.rate.map(|rate| rate / f64::from(load.spec.loaders)),
            operations: BTreeMap::new(),
        }
    }

    /// What one of the loaders that still send did.
    fn operations_of(&self, load: &Load, seed: u64, place: usize, kinds: &[Timed]) -> BTreeMap<String, Counts> {
        let mut random = random::stream(seed, &load.spec.name, self.from ^ (place as u64 + 1) << 48);
        let shares = [1.0 - load.writes, load.writes];
        let used = kinds.iter().filter(|(kind, ..)| shares[*kind as usize] > 0.0);
        let counts = used.map(|(kind, ended, times)| {
            let draws = [random::uniform(&mut random), random::uniform(&mut random)];
            let part = ended.part(place as u64, load.loaders.len() as u64);
            (kind.name().to_owned(), counts(&part, times, draws, shares[*kind as usize]))
        });
        counts.collect()
    }
}
