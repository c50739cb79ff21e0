//! All recorded intervals of a run, in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::packed::{Encoder, Packed};
use super::{Counts, Interval};
use crate::Millis;

/// All recorded intervals of a run, packed, by load and loader.
#[derive(Default)]
pub struct Recording {
    pub(super) loads: BTreeMap<String, Load>,
    encoder: Encoder,
}

/// One load's loaders with their intervals in order.
#[derive(Default)]
pub(super) struct Load {
    pub(super) loaders: BTreeMap<String, Vec<Recorded>>,
}

/// One interval, packed.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its first millisecond.
    pub from_ms: Millis,
    /// The millisecond after its last.
    pub to_ms: Millis,
    /// Whether it is left out of measurements.
    pub warm_up: bool,
    /// Asked operations a second of this loader.
    pub asked_rate: Option<f64>,
    /// What was done, by kind of operation.
    pub operations: BTreeMap<String, RecordedCounts>,
}

/// What one kind of operation did in one interval, packed.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCounts {
    /// Response times.
    pub response: Packed,
    /// Service times.
    pub service: Packed,
    /// Exact greatest response time, nanoseconds.
    pub max_response_ns: u64,
    /// Exact greatest service time, nanoseconds.
    pub max_service_ns: u64,
    /// Values over the histograms' bound.
    pub clamped: u64,
    /// Failed operations by class.
    pub errors: BTreeMap<String, u64>,
    /// The part of the asked rate that this kind has.
    pub share: f64,
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Announces a loader, so that it counts as missing when it never records anything.
    pub fn expect_loader(&mut self, load: &str, loader: &str) {
        let load = self.loads.entry(load.into()).or_default();
        load.loaders.entry(loader.into()).or_default();
    }

    /// Takes one whole interval. Answers false, and leaves it out, when it begins before the loader's last one ended:
    /// a resumed run may offer again what it recorded before, and nothing may count twice.
    pub fn push(&mut self, interval: Interval) -> bool {
        let fits = self.fits(&interval);
        if fits {
            let recorded = Recorded::of(&interval, &mut self.encoder);
            self.insert(interval, recorded);
        }
        fits
    }

    /// Whether [`Self::push`] would take it.
    pub fn fits(&self, interval: &Interval) -> bool {
        let load = self.loads.get(&interval.load);
        let last = load.and_then(|load| load.loaders.get(&interval.loader)).and_then(|recorded| recorded.last());
        interval.from_ms >= last.map_or(0, |last| last.to_ms) && interval.to_ms > interval.from_ms
    }

    /// Takes an interval that fits and is packed already.
    pub(crate) fn insert(&mut self, interval: Interval, recorded: Recorded) {
        let load = self.loads.entry(interval.load).or_default();
        load.loaders.entry(interval.loader).or_default().push(recorded);
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.end_ms() == 0
    }

    /// The millisecond after the last recorded one; 0 when there is none.
    pub fn end_ms(&self) -> Millis {
        let ends = self.loads.values().flat_map(Load::all).map(|interval| interval.to_ms);
        ends.max().unwrap_or(0)
    }

    /// The length of the longest recorded interval that overlaps the window; 0 when there is none.
    pub fn interval_ms(&self, from_ms: Millis, to_ms: Millis) -> Millis {
        let overlapping = self.loads.values().flat_map(|load| load.loaders.values());
        let lengths = overlapping.flat_map(|loader| between(loader, from_ms, to_ms)).map(|i| i.to_ms - i.from_ms);
        lengths.max().unwrap_or(0)
    }

    /// The kinds of operation that were recorded at any time.
    pub fn operations(&self) -> BTreeSet<&str> {
        let all = self.loads.values().flat_map(Load::all);
        all.flat_map(|interval| interval.operations.keys()).map(String::as_str).collect()
    }
}

impl Load {
    fn all(&self) -> impl Iterator<Item = &Recorded> {
        self.loaders.values().flatten()
    }

    /// The first and the last recorded millisecond of all loaders.
    pub(super) fn life(&self) -> Option<(Millis, Millis)> {
        let starts = self.loaders.values().filter_map(|loader| loader.first()).map(|first| first.from_ms);
        let ends = self.loaders.values().filter_map(|loader| loader.last()).map(|last| last.to_ms);
        Some((starts.min()?, ends.max()?))
    }
}

/// The intervals of one loader that overlap a window.
pub(super) fn between(loader: &[Recorded], from_ms: Millis, to_ms: Millis) -> &[Recorded] {
    let first = loader.partition_point(|interval| interval.to_ms <= from_ms);
    let last = loader.partition_point(|interval| interval.from_ms < to_ms);
    loader.get(first..last).unwrap_or_default()
}

impl Recorded {
    /// Packs an interval.
    pub(crate) fn of(interval: &Interval, encoder: &mut Encoder) -> Self {
        let operations = interval.operations.iter();
        Self {
            from_ms: interval.from_ms,
            to_ms: interval.to_ms,
            warm_up: interval.warm_up,
            asked_rate: interval.asked_rate.filter(|rate| rate.is_finite()),
            operations: operations.map(|(name, counts)| (name.clone(), pack(counts, encoder))).collect(),
        }
    }
}

fn pack(counts: &Counts, encoder: &mut Encoder) -> RecordedCounts {
    RecordedCounts {
        response: Packed::of(&counts.response, encoder),
        service: Packed::of(&counts.service, encoder),
        max_response_ns: counts.max_response_ns,
        max_service_ns: counts.max_service_ns,
        clamped: counts.clamped,
        errors: counts.errors.iter().map(|(class, times)| (class.clone(), times.len())).collect(),
        share: if counts.share.is_finite() { counts.share } else { 0.0 },
    }
}
