//! The loaders that a window is about, and their intervals one after another.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::iter::Peekable;

use super::Interval;
use super::coverage::{Coverage, union};
use super::recording::{Recording, Track};
use super::runs::Span;
use super::text::seconds;
use crate::Millis;

/// One loader in a window.
pub(super) struct Source<'a> {
    pub(super) load: &'a str,
    pub(super) loader: &'a str,
    pub(super) coverage: Coverage,
    recording: &'a Recording,
    track: &'a Track,
    from_ms: Millis,
    to_ms: Millis,
}

/// An interval that counts.
pub(super) struct Counted<'a> {
    pub(super) from_ms: Millis,
    pub(super) to_ms: Millis,
    /// None when it cannot be read again.
    pub(super) interval: Option<Cow<'a, Interval>>,
}

/// Intervals that count, in order, each loaded when its turn comes.
pub(super) type Reel<'a> = Peekable<Box<dyn Iterator<Item = Counted<'a>> + 'a>>;

impl Recording {
    /// The loaders that a window is about.
    pub(super) fn sources(&self, from_ms: Millis, to_ms: Millis, notes: &mut Vec<String>) -> Vec<Source<'_>> {
        let mut sources = Vec::new();
        for (name, load) in &self.loads {
            let Some((start, end)) = load.life() else { continue };
            if start >= to_ms || end <= from_ms {
                continue;
            }
            let all = load.loaders.iter();
            let found: Vec<_> =
                all.map(|(loader, track)| self.source((name, loader), track, (from_ms, to_ms))).collect();
            let overlap = end.min(to_ms) - start.max(from_ms);
            if found.iter().all(Source::is_empty) && overlap < self.interval_ms(from_ms, to_ms) {
                notes.push(format!("{name}: only {} of it lie in the window; left out", seconds(overlap)));
                continue;
            }
            sources.extend(found);
        }
        sources
    }

    fn source<'a>(
        &'a self,
        (load, loader): (&'a str, &'a str),
        track: &'a Track,
        (from_ms, to_ms): (Millis, Millis),
    ) -> Source<'a> {
        let spans = track.runs.between(from_ms, to_ms).map(|span| (span.from_ms, span.to_ms, span.warm_up));
        let coverage = Coverage::of(spans, from_ms, to_ms);
        Source { load, loader, coverage, recording: self, track, from_ms, to_ms }
    }
}

impl<'a> Source<'a> {
    /// The spans of the intervals that count.
    pub(super) fn spans(&self) -> impl Iterator<Item = Span<'a>> + use<'a> {
        let (from_ms, to_ms) = (self.from_ms, self.to_ms);
        let inside = move |span: &Span| !span.warm_up && span.from_ms >= from_ms && span.to_ms <= to_ms;
        self.track.runs.between(from_ms, to_ms).filter(inside)
    }

    /// Whether nothing counts.
    pub(super) fn is_empty(&self) -> bool {
        self.spans().next().is_none()
    }

    /// The kinds of operation that it did.
    pub(super) fn operations(&self) -> BTreeSet<&'a str> {
        let mut all: BTreeSet<&str> = BTreeSet::new();
        let mut last = None;
        for span in self.spans() {
            // Most intervals have those of the one before.
            if !last.replace(span.operations).is_some_and(|last| std::ptr::eq(last, span.operations)) {
                all.extend(span.operations.iter().map(String::as_str));
            }
        }
        all
    }

    /// What its counted intervals cover, those that follow each other as one.
    pub(super) fn covered(&self) -> Vec<(Millis, Millis)> {
        union(self.spans().map(|span| (span.from_ms, span.to_ms)))
    }

    /// The intervals that count, in order.
    pub(super) fn counted(&self) -> Reel<'a> {
        let recent = &self.track.recent;
        let first_recent = recent.front().map_or(Millis::MAX, |interval| interval.from_ms);
        let in_memory = self.spans().next().is_none_or(|first| first.from_ms >= first_recent);
        let mut older = (!in_memory).then(|| self.recording.older(self.load, self.loader, self.from_ms).peekable());
        let mut recent = recent.range(recent.partition_point(|interval| interval.from_ms < self.from_ms)..);
        let mut load = move |span: Span| match span.from_ms < first_recent {
            true => {
                let older = older.as_mut()?;
                while older.next_if(|read| read.from_ms < span.from_ms).is_some() {}
                older.next_if(|read| (read.from_ms, read.to_ms) == (span.from_ms, span.to_ms)).map(Cow::Owned)
            }
            false => recent.find(|interval| interval.from_ms == span.from_ms).map(Cow::Borrowed),
        };
        let counted = move |span: Span| Counted { from_ms: span.from_ms, to_ms: span.to_ms, interval: load(span) };
        let reel: Box<dyn Iterator<Item = Counted<'a>> + 'a> = Box::new(self.spans().map(counted));
        reel.peekable()
    }
}
