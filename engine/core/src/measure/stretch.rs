//! Every stretch of a given length inside a window, sliding by one interval.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::recording::Recording;
use super::source::{Reel, Source};
use super::sums::Sums;
use super::{Counts, Interval, Percentiles};
use crate::Millis;

/// What a rule needs to know of a stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Its first millisecond.
    pub from_ms: Millis,
    /// The millisecond after its last.
    pub to_ms: Millis,
    /// Response or service times, whichever was asked for.
    pub latency: Percentiles,
    /// Operations that ended.
    pub count: u64,
    /// Failed operations.
    pub failed: u64,
    /// Operations a second.
    pub rate: f64,
    /// Asked operations a second.
    pub asked_rate: Option<f64>,
}

/// Which stretches of a recording are wanted.
#[derive(Debug, Clone)]
pub struct Stretches<'a> {
    /// The window's first millisecond.
    pub from_ms: Millis,
    /// The millisecond after its last.
    pub to_ms: Millis,
    /// The length of each stretch; a window that is shorter is one stretch.
    pub length_ms: Millis,
    /// One kind of operation; all kinds together without one.
    pub operation: Option<&'a str>,
    /// Whose percentiles are wanted, if any: those of service times (true) or of response times (false).
    pub service: Option<bool>,
}

/// The stretch that slides: the intervals of one loader that are inside.
struct Inside<'a> {
    source: &'a Source<'a>,
    /// Those that are not inside yet.
    coming: Reel<'a>,
    intervals: VecDeque<Cow<'a, Interval>>,
    /// The number of its first kind of operation: each kind of each loader has one.
    number: usize,
}

impl Recording {
    /// Hands over the stretches, in order. Each holds the counted intervals that lie wholly inside it. The error says, for
    /// people, what cannot be read.
    pub fn stretches(&self, wanted: &Stretches, mut take: impl FnMut(Stretch)) -> Result<(), String> {
        let sources = self.sources(wanted.from_ms, wanted.to_ms, &mut Vec::new());
        let is_wanted = |name: &str| wanted.operation.is_none_or(|wanted| wanted == name);
        let kinds: Vec<&str> = self.operations().into_iter().filter(|name| is_wanted(name)).collect();
        let spans = || {
            let all = sources.iter().flat_map(Source::spans);
            all.filter(|span| span.operations.iter().any(|name| is_wanted(name)))
        };
        let Some(first) = spans().map(|span| span.from_ms).min() else { return Ok(()) };
        let last = spans().map(|span| span.to_ms).max().unwrap_or(first);
        let step = spans().map(|span| span.to_ms - span.from_ms).max().unwrap_or(1).max(1);
        let length = wanted.length_ms.clamp(step, (last - first).max(step));
        let starts = (first..).step_by(step as usize).take_while(|start| start + length <= last);
        let mut sums = Sums::new(wanted.service == Some(false), wanted.service == Some(true));
        let mut loaders = Inside::all(&sources, kinds.len());
        for start in starts {
            for loader in &mut loaders {
                let entered = loader.enter(start + length, &kinds, &mut sums);
                entered.map_err(|span| self.unread(loader.source, span))?;
                loader.leave(start, &kinds, &mut sums);
            }
            let counts = loaders.iter().flat_map(|loader| loader.counts(&kinds));
            take(stretch((start, start + length), &sums, max_ns(counts, wanted.service == Some(true))));
        }
        Ok(())
    }
}

impl<'a> Inside<'a> {
    fn all(sources: &'a [Source<'a>], kinds: usize) -> Vec<Self> {
        let one = |(number, source): (usize, &'a Source<'a>)| Self {
            source,
            coming: source.counted(),
            intervals: VecDeque::new(),
            number: number * kinds,
        };
        sources.iter().enumerate().map(one).collect()
    }

    /// Lets in what ends by that moment; the error is the span of an interval that cannot be read.
    fn enter(&mut self, end_ms: Millis, kinds: &[&str], sums: &mut Sums) -> Result<(), (Millis, Millis)> {
        while let Some(next) = self.coming.next_if(|next| next.to_ms <= end_ms) {
            let interval = next.interval.ok_or((next.from_ms, next.to_ms))?;
            for (kind, counts) in of_kinds(&interval, kinds) {
                sums.add(self.number + kind, &interval, Some(counts));
            }
            self.intervals.push_back(interval);
        }
        Ok(())
    }

    /// Lets out what begins before that moment.
    fn leave(&mut self, start_ms: Millis, kinds: &[&str], sums: &mut Sums) {
        while self.intervals.front().is_some_and(|first| first.from_ms < start_ms) {
            let Some(interval) = self.intervals.pop_front() else { return };
            for (kind, counts) in of_kinds(&interval, kinds) {
                sums.remove(self.number + kind, &interval, Some(counts));
            }
        }
    }

    fn counts(&self, kinds: &[&str]) -> impl Iterator<Item = &Counts> {
        self.intervals.iter().flat_map(|interval| of_kinds(interval, kinds)).map(|(_, counts)| counts)
    }
}

/// The counts that an interval has of these kinds of operation, each with its kind's number.
fn of_kinds<'a>(interval: &'a Interval, kinds: &[&str]) -> impl Iterator<Item = (usize, &'a Counts)> {
    kinds.iter().enumerate().filter_map(|(number, kind)| Some((number, interval.operations.get(*kind)?)))
}

fn max_ns<'a>(counts: impl Iterator<Item = &'a Counts>, service: bool) -> u64 {
    let counted = counts.filter(|counts| counts.response.count() > 0);
    counted.map(|counts| if service { counts.max_service_ns } else { counts.max_response_ns }).max().unwrap_or(0)
}

fn stretch((from_ms, to_ms): (Millis, Millis), sums: &Sums, max_ns: u64) -> Stretch {
    let tally = sums.response.as_ref().or(sums.service.as_ref());
    Stretch {
        from_ms,
        to_ms,
        latency: tally.map(|tally| tally.percentiles(max_ns)).unwrap_or_default(),
        count: sums.count(),
        failed: sums.failed(),
        rate: sums.rate(|_| 1.0).unwrap_or_default(),
        asked_rate: sums.asked_rate(|_| 1.0),
    }
}
