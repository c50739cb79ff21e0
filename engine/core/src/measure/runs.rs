//! Which intervals a loader recorded: all that is known of them without their histograms, in little room.

use std::collections::BTreeSet;

use super::Interval;
use crate::Millis;

/// The spans of a loader's intervals, in order. Intervals that follow each other and are alike are one entry, so a load
/// takes the same room however long it runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs(Vec<Run>);

/// Intervals that follow each other and are alike.
#[derive(Debug, Clone)]
struct Run {
    from_ms: Millis,
    length_ms: Millis,
    count: u64,
    warm_up: bool,
    operations: BTreeSet<String>,
}

/// One recorded interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) from_ms: Millis,
    pub(super) to_ms: Millis,
    pub(super) warm_up: bool,
    /// The kinds of operation that it has counts of.
    pub(super) operations: &'a BTreeSet<String>,
}

impl Runs {
    /// Adds an interval after all others.
    pub(super) fn push(&mut self, interval: &Interval) {
        match self.0.last_mut().filter(|run| run.goes_on_with(interval)) {
            Some(run) => run.count += 1,
            None => self.0.push(Run {
                from_ms: interval.from_ms,
                length_ms: interval.to_ms - interval.from_ms,
                count: 1,
                warm_up: interval.warm_up,
                operations: interval.operations.keys().cloned().collect(),
            }),
        }
    }

    /// The first and the last recorded millisecond.
    pub(super) fn life(&self) -> Option<(Millis, Millis)> {
        Some((self.0.first()?.from_ms, self.0.last()?.to_ms()))
    }

    /// The kinds of operation that were recorded at any time.
    pub(super) fn operations(&self) -> impl Iterator<Item = &String> {
        self.0.iter().flat_map(|run| &run.operations)
    }

    /// The intervals that overlap a window.
    pub(super) fn between(&self, from_ms: Millis, to_ms: Millis) -> impl Iterator<Item = Span<'_>> + Clone {
        let first = self.0.partition_point(|run| run.to_ms() <= from_ms);
        let last = self.0.partition_point(|run| run.from_ms < to_ms);
        self.0.get(first..last).unwrap_or_default().iter().flat_map(move |run| run.between(from_ms, to_ms))
    }
}

impl Run {
    fn to_ms(&self) -> Millis {
        self.from_ms + self.count * self.length_ms
    }

    fn goes_on_with(&self, next: &Interval) -> bool {
        self.to_ms() == next.from_ms
            && self.length_ms == next.to_ms - next.from_ms
            && self.warm_up == next.warm_up
            && self.operations.iter().eq(next.operations.keys())
    }

    fn between(&self, from_ms: Millis, to_ms: Millis) -> impl Iterator<Item = Span<'_>> + Clone {
        let first = from_ms.saturating_sub(self.from_ms) / self.length_ms;
        let last = to_ms.saturating_sub(self.from_ms).div_ceil(self.length_ms).min(self.count);
        (first..last).map(|number| {
            let from_ms = self.from_ms + number * self.length_ms;
            let Self { length_ms, warm_up, ref operations, .. } = *self;
            Span { from_ms, to_ms: from_ms + length_ms, warm_up, operations }
        })
    }
}
