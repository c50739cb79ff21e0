//! All recorded intervals of a run, in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::Interval;
use crate::Millis;

/// All recorded intervals of a run, by load and loader.
#[derive(Default)]
pub struct Recording {
    pub(super) loads: BTreeMap<String, Load>,
}

/// One load's loaders with their intervals in order.
#[derive(Default)]
pub(super) struct Load {
    pub(super) loaders: BTreeMap<String, Vec<Interval>>,
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

    /// Whether a loader was announced or recorded something.
    pub fn knows(&self, load: &str, loader: &str) -> bool {
        self.loads.get(load).is_some_and(|load| load.loaders.contains_key(loader))
    }

    /// Takes one whole interval. Answers false, and leaves it out, when it begins before the loader's last one ended:
    /// a resumed run may offer again what it recorded before, and nothing may count twice.
    pub fn push(&mut self, mut interval: Interval) -> bool {
        let fits = self.fits(&interval);
        if fits {
            interval.asked_rate = interval.asked_rate.filter(|rate| rate.is_finite());
            interval.operations.values_mut().filter(|counts| !counts.share.is_finite()).for_each(|c| c.share = 0.0);
            let load = self.loads.entry(interval.load.clone()).or_default();
            load.loaders.entry(interval.loader.clone()).or_default().push(interval);
        }
        fits
    }

    /// Whether [`Self::push`] would take it.
    pub fn fits(&self, interval: &Interval) -> bool {
        let load = self.loads.get(&interval.load);
        let last = load.and_then(|load| load.loaders.get(&interval.loader)).and_then(|recorded| recorded.last());
        interval.from_ms >= last.map_or(0, |last| last.to_ms) && interval.to_ms > interval.from_ms
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
    fn all(&self) -> impl Iterator<Item = &Interval> {
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
pub(super) fn between(loader: &[Interval], from_ms: Millis, to_ms: Millis) -> &[Interval] {
    let first = loader.partition_point(|interval| interval.to_ms <= from_ms);
    let last = loader.partition_point(|interval| interval.from_ms < to_ms);
    loader.get(first..last).unwrap_or_default()
}
