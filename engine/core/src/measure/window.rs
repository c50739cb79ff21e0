//! The answer to a question about a window of recorded load.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::coverage::union;
use super::recording::Recording;
use super::source::Source;
use super::sums::Sums;
use super::tally::{Tally, ms};
use super::text::{seconds, whole};
use super::{Counts, Interval, IntervalSummary, Measurement, OperationMeasurement};
use crate::Millis;

/// A window of half an hour or more is shown in pieces of ten minutes, a shorter one in ten pieces.
const LONG_WINDOW_MS: Millis = 30 * 60_000;
const LONG_PIECE_MS: Millis = 10 * 60_000;
const SHORT_PIECES: Millis = 10;

/// The merged latencies of one kind of operation in a window.
#[derive(Debug, Clone)]
pub struct Distribution {
    /// `read` or `write`.
    pub operation: String,
    /// Response times.
    pub response: Tally,
    /// Service times.
    pub service: Tally,
    /// Exact greatest response time, milliseconds.
    pub max_ms: f64,
}

/// One kind of operation in a window, counted piece by piece.
struct Pass<'a> {
    name: &'a str,
    /// Of each loader, whether it did it in the window.
    did: Vec<bool>,
    window: Total,
    response: Tally,
    /// The piece that is open, and those that are not any more.
    piece: Total,
    pieces: Vec<IntervalSummary>,
}

/// A loader's number and the milliseconds of one or more of its intervals.
type Stay = (usize, (Millis, Millis));

/// The sums of a window or of a piece of it.
struct Total {
    sums: Sums,
    max_response_ns: u64,
    max_service_ns: u64,
}

impl Recording {
    /// Measures a window over all loads. Without `piece_ms` it is shown in pieces of ten minutes, or in ten pieces when
    /// it is shorter than half an hour. A piece is never shorter than an interval.
    pub fn measure(&self, from_ms: Millis, to_ms: Millis, piece_ms: Option<Millis>) -> Measurement {
        let to_ms = to_ms.max(from_ms);
        let mut notes = Vec::new();
        let sources = self.sources(from_ms, to_ms, &mut notes);
        let piece_ms = self.piece_ms(from_ms, to_ms, piece_ms);
        let (passes, unread) = count(&sources, (from_ms, to_ms), piece_ms);
        let mut missing = self.missing(&sources, (from_ms, to_ms), passes.is_empty());
        missing.extend(unread.iter().map(|(number, span)| self.unread(&sources[*number], *span)));
        notes.extend(passes.iter().filter_map(Pass::note));
        notes.extend(sources.iter().flat_map(|source| self.notes(source)));
        let covered: Vec<_> = sources.iter().flat_map(Source::covered).collect();
        Measurement {
            from_ms,
            to_ms,
            covered_from_ms: covered.iter().map(|(from, _)| *from).min(),
            covered_to_ms: covered.iter().map(|(_, to)| *to).max(),
            complete: missing.is_empty(),
            notes,
            loaders: sources.iter().filter(|source| !source.is_empty()).map(|source| self.name(source)).collect(),
            operations: passes.into_iter().map(|pass| pass.finish(&sources, &missing)).collect(),
            missing,
        }
    }

    /// The merged histograms of a window by kind of operation, counted by the same rules as [`Self::measure`].
    pub fn distributions(&self, from_ms: Millis, to_ms: Millis) -> Vec<Distribution> {
        let mut all: BTreeMap<String, Distribution> = BTreeMap::new();
        let sources = self.sources(from_ms, to_ms, &mut Vec::new());
        for interval in sources.iter().flat_map(Source::counted).filter_map(|counted| counted.interval) {
            for (name, counts) in &interval.operations {
                let none = || Distribution::of(name);
                all.entry(name.clone()).or_insert_with(none).add(counts);
            }
        }
        all.into_values().collect()
    }

    fn piece_ms(&self, from_ms: Millis, to_ms: Millis, asked: Option<Millis>) -> Millis {
        let length = to_ms - from_ms;
        let interval = self.interval_ms(from_ms, to_ms).max(1);
        let piece = asked.unwrap_or(if length >= LONG_WINDOW_MS { LONG_PIECE_MS } else { length / SHORT_PIECES });
        piece.max(1).div_ceil(interval) * interval
    }

    fn missing(&self, sources: &[Source], (from_ms, to_ms): (Millis, Millis), nothing: bool) -> Vec<String> {
        let gap = |source: &Source, &(from, to): &(Millis, Millis)| {
            format!("{}: nothing from {} to {}", self.name(source), seconds(from), seconds(to))
        };
        let mut missing: Vec<_> =
            sources.iter().flat_map(|source| source.coverage.gaps.iter().map(move |span| gap(source, span))).collect();
        let interval_ms = self.interval_ms(from_ms, to_ms);
        let cut = interval_ms > 0 && sources.iter().all(|source| source.coverage.warm_up_ms == 0);
        let window = || format!("from {} to {}", seconds(from_ms), seconds(to_ms));
        if nothing && cut && (missing.is_empty() || to_ms - from_ms < 2 * interval_ms) {
            missing.insert(0, format!("no whole interval of a load lies {}: measure for longer", window()));
        } else if nothing && missing.is_empty() {
            missing.push(format!("no load was recorded {}", window()));
        }
        missing
    }

    /// What a reader should know of intervals whose histograms are lost.
    pub(super) fn unread(&self, source: &Source, (from_ms, to_ms): (Millis, Millis)) -> String {
        let (from, to) = (seconds(from_ms), seconds(to_ms));
        format!("{}: what was recorded from {from} to {to} cannot be read again from its log", self.name(source))
    }

    fn notes(&self, source: &Source) -> Vec<String> {
        let (name, coverage) = (self.name(source), &source.coverage);
        let mut notes = Vec::new();
        if coverage.warm_up_ms > 0 {
            notes.push(format!("{name}: {} of warm-up left out", seconds(coverage.warm_up_ms)));
        }
        if coverage.cut_start_ms + coverage.cut_end_ms > 0 {
            let (start, end) = (seconds(coverage.cut_start_ms), seconds(coverage.cut_end_ms));
            notes.push(format!(
                "{name}: {start} at the start and {end} at the end lie in intervals that the window cuts; left out"
            ));
        }
        notes
    }

    /// A loader's name, with its load's where there are several loads.
    fn name(&self, source: &Source) -> String {
        match self.loads.len() {
            1 => source.loader.to_owned(),
            _ => format!("{} of {}", source.loader, source.load),
        }
    }
}

impl Distribution {
    fn of(operation: &str) -> Self {
        let (response, service) = Default::default();
        Self { operation: operation.to_owned(), response, service, max_ms: 0.0 }
    }

    fn add(&mut self, counts: &Counts) {
        self.response.add(&counts.response);
        self.service.add(&counts.service);
        if counts.response.count() > 0 {
            self.max_ms = self.max_ms.max(ms(counts.max_response_ns));
        }
    }
}

/// Counts every kind of operation, piece by piece; the histograms of one piece at a time are in memory. Also answers what
/// could not be read.
fn count<'a>(
    sources: &[Source<'a>],
    (from_ms, to_ms): (Millis, Millis),
    piece_ms: Millis,
) -> (Vec<Pass<'a>>, Vec<Stay>) {
    let mut passes = Pass::all(sources);
    let mut loaders: Vec<_> = sources.iter().map(Source::counted).collect();
    let mut unread: Vec<Vec<(Millis, Millis)>> = vec![Vec::new(); sources.len()];
    for start in (from_ms..to_ms).step_by(piece_ms as usize) {
        let end = start + piece_ms;
        let mut stays: Vec<Stay> = Vec::new();
        for (number, counted) in loaders.iter_mut().enumerate() {
            while let Some(next) = counted.next_if(|next| next.from_ms.midpoint(next.to_ms) < end) {
                let span = (next.from_ms, next.to_ms);
                match &next.interval {
                    Some(interval) => {
                        passes.iter_mut().for_each(|pass| pass.add(number, interval));
                        stays.push((number, span));
                    }
                    None => unread[number].push(span),
                }
            }
        }
        passes.iter_mut().for_each(|pass| pass.close((start, end.min(to_ms)), sources, &stays));
    }
    let unread = unread.into_iter().enumerate();
    (passes, unread.flat_map(|(number, spans)| union(spans).into_iter().map(move |span| (number, span))).collect())
}

/// For each loader the part of the covered time in which its load was there: 1 unless one load follows another.
fn weights(sources: &[Source], stays: &[Stay]) -> Vec<f64> {
    let covered_ms = |load: Option<&str>| {
        let of_load = stays.iter().filter(|(number, _)| load.is_none_or(|load| sources[*number].load == load));
        let mut spans: Vec<_> = of_load.map(|(_, span)| *span).collect();
        spans.sort_unstable();
        union(spans).into_iter().map(|(from, to)| to - from).sum::<Millis>()
    };
    let whole = covered_ms(None).max(1) as f64;
    let loads: BTreeMap<&str, f64> =
        sources.iter().map(|source| (source.load, covered_ms(Some(source.load)) as f64 / whole)).collect();
    sources.iter().map(|source| loads[source.load]).collect()
}

impl Total {
    fn of(response: bool, service: bool) -> Self {
        Self { sums: Sums::new(response, service), max_response_ns: 0, max_service_ns: 0 }
    }

    fn add(&mut self, operation: &str, number: usize, interval: &Interval) {
        let counts = interval.operations.get(operation);
        self.sums.add(number, interval, counts);
        let Some(counts) = counts.filter(|counts| counts.response.count() > 0) else { return };
        self.max_response_ns = self.max_response_ns.max(counts.max_response_ns);
        self.max_service_ns = self.max_service_ns.max(counts.max_service_ns);
    }
}

impl<'a> Pass<'a> {
    /// One for each kind of operation that was done.
    fn all(sources: &[Source<'a>]) -> Vec<Self> {
        let done: Vec<BTreeSet<&str>> = sources.iter().map(Source::operations).collect();
        let names: BTreeSet<&str> = done.iter().flatten().copied().collect();
        let pass = |name: &'a str| Self {
            name,
            did: done.iter().map(|done| done.contains(name)).collect(),
            window: Total::of(false, true),
            response: Tally::default(),
            piece: Total::of(true, false),
            pieces: Vec::new(),
        };
        names.into_iter().map(pass).collect()
    }

    /// Adds an interval of a loader. All of them count when it did this in any of them.
    fn add(&mut self, number: usize, interval: &Interval) {
        if self.did[number] {
            self.piece.add(self.name, number, interval);
            self.window.add(self.name, number, interval);
        }
    }

    /// Closes a piece, in which these intervals were added.
    fn close(&mut self, (from_ms, to_ms): (Millis, Millis), sources: &[Source], stays: &[Stay]) {
        let Total { sums, max_response_ns, .. } = mem::replace(&mut self.piece, Total::of(true, false));
        let weights = weights(sources, &self.of_those(stays.iter().copied()));
        let response = sums.response.as_ref();
        response.into_iter().for_each(|piece| self.response.merge(piece));
        self.pieces.push(IntervalSummary {
            from_s: from_ms as f64 / 1e3,
            to_s: to_ms as f64 / 1e3,
            count: sums.count(),
            rate: sums.rate(|number| weights[number]),
            asked_rate: sums.asked_rate(|number| weights[number]),
            errors: sums.failed(),
            response_ms: response.map(|tally| tally.percentiles(max_response_ns)).unwrap_or_default(),
        });
    }

    /// Those of the loaders that did this.
    fn of_those(&self, stays: impl Iterator<Item = Stay>) -> Vec<Stay> {
        stays.filter(|(number, _)| self.did[*number]).collect()
    }

    fn note(&self) -> Option<String> {
        let clamped = self.window.sums.clamped;
        let counted =
            || format!("{}: {} values over the histogram's bound are counted at it", self.name, whole(clamped));
        (clamped > 0).then(counted)
    }

    fn finish(self, sources: &[Source], missing: &[String]) -> OperationMeasurement {
        let covered = |(number, source): (usize, &Source)| source.covered().into_iter().map(move |span| (number, span));
        let weights = weights(sources, &self.of_those(sources.iter().enumerate().flat_map(covered)));
        let weight = |number: usize| weights[number];
        let Total { sums, max_response_ns, max_service_ns } = self.window;
        OperationMeasurement {
            operation: self.name.to_owned(),
            response_ms: self.response.percentiles(max_response_ns),
            service_ms: sums.service.as_ref().map(|tally| tally.percentiles(max_service_ns)).unwrap_or_default(),
            count: sums.count(),
            rate: sums.rate(weight).unwrap_or_default(),
            asked_rate: sums.asked_rate(weight),
            errors: sums.errors,
            complete: missing.is_empty(),
            missing: missing.to_vec(),
            intervals: self.pieces,
        }
    }
}
