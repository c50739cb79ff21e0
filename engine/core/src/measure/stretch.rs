//! Every stretch of a given length inside a window, sliding by one interval.

use super::recording::Recording;
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

/// One kind of operation in one counted interval.
struct Part<'a> {
    loader: usize,
    interval: &'a Interval,
    counts: &'a Counts,
}

impl Recording {
    /// The stretches, in order. Each holds the counted intervals that lie wholly inside it.
    pub fn stretches(&self, wanted: &Stretches) -> Vec<Stretch> {
        let parts = self.parts(wanted);
        let Some(first) = parts.iter().map(|part| part.interval.from_ms).min() else { return Vec::new() };
        let last = parts.iter().map(|part| part.interval.to_ms).max().unwrap_or(first);
        let step = parts.iter().map(|part| part.interval.to_ms - part.interval.from_ms).max().unwrap_or(1).max(1);
        let length = wanted.length_ms.clamp(step, (last - first).max(step));
        slide(&parts, wanted, (first, last), (length, step))
    }

    /// The counted intervals of the wanted operations, by loader and kind, each with a number of its own.
    fn parts(&self, wanted: &Stretches) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        let mut loader = 0;
        for source in self.sources(wanted.from_ms, wanted.to_ms, &mut Vec::new()) {
            for name in self.operations().into_iter().filter(|name| wanted.operation.is_none_or(|w| w == *name)) {
                let done =
                    source.counted.iter().filter_map(|interval| Some((*interval, interval.operations.get(name)?)));
                parts.extend(done.map(|(interval, counts)| Part { loader, interval, counts }));
                loader += 1;
            }
        }
        parts.sort_by_key(|part| part.interval.from_ms);
        parts
    }
}

fn slide(
    parts: &[Part],
    wanted: &Stretches,
    (first, last): (Millis, Millis),
    (length, step): (Millis, Millis),
) -> Vec<Stretch> {
    let mut by_end: Vec<&Part> = parts.iter().collect();
    by_end.sort_by_key(|part| part.interval.to_ms);
    let mut sums = Sums::new(wanted.service == Some(false), wanted.service == Some(true));
    let (mut entered, mut left) = (0, 0);
    let mut stretches = Vec::new();
    for start in (first..).step_by(step as usize).take_while(|start| start + length <= last) {
        let end = start + length;
        while let Some(part) = by_end.get(entered).filter(|part| part.interval.to_ms <= end) {
            sums.add(part.loader, part.interval, Some(part.counts));
            entered += 1;
        }
        while let Some(part) = parts.get(left).filter(|part| part.interval.from_ms < start) {
            sums.remove(part.loader, part.interval, Some(part.counts));
            left += 1;
        }
        let inside =
            parts[left..].iter().take_while(|part| part.interval.from_ms < end).filter(|p| p.interval.to_ms <= end);
        stretches.push(stretch((start, end), &sums, max_ns(inside, wanted.service == Some(true))));
    }
    stretches
}

fn max_ns<'a>(parts: impl Iterator<Item = &'a Part<'a>>, service: bool) -> u64 {
    let counted = parts.map(|part| part.counts).filter(|counts| counts.response.count() > 0);
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
