//! The answer to a question about a window of recorded load.

use std::collections::{BTreeMap, BTreeSet};

use super::coverage::Coverage;
use super::recording::{Recording, between};
use super::sums::Sums;
use super::tally::{Tally, ms};
use super::text::{seconds, whole};
use super::{Interval, IntervalSummary, Measurement, OperationMeasurement};
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

/// One loader in a window.
pub(super) struct Source<'a> {
    load: &'a str,
    loader: &'a str,
    coverage: Coverage,
    /// The intervals that are counted.
    pub(super) counted: Vec<&'a Interval>,
}

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
        let counted = || sources.iter().flat_map(|source| &source.counted);
        let names: BTreeSet<&str> =
            counted().flat_map(|interval| interval.operations.keys()).map(String::as_str).collect();
        let piece_ms = self.piece_ms(from_ms, to_ms, piece_ms);
        let mut operations: Vec<_> = names
            .iter()
            .map(|name| measure_operation(name, &sources, (from_ms, to_ms), piece_ms, &mut notes))
            .collect();

        let missing = self.missing(&sources, (from_ms, to_ms), operations.is_empty());
        let complete = missing.is_empty();
        for operation in &mut operations {
            (operation.complete, operation.missing) = (complete, missing.clone());
        }
        notes.extend(sources.iter().flat_map(|source| self.notes(source)));
        Measurement {
            from_ms,
            to_ms,
            covered_from_ms: counted().map(|interval| interval.from_ms).min(),
            covered_to_ms: counted().map(|interval| interval.to_ms).max(),
            complete,
            missing,
            notes,
            loaders: sources.iter().filter(|s| !s.counted.is_empty()).map(|source| self.name(source)).collect(),
            operations,
        }
    }

    /// The merged histograms of a window by kind of operation, counted by the same rules as [`Self::measure`].
    pub fn distributions(&self, from_ms: Millis, to_ms: Millis) -> Vec<Distribution> {
        let sources = self.sources(from_ms, to_ms, &mut Vec::new());
        let counted = sources.iter().flat_map(|source| &source.counted);
        let names: BTreeSet<&String> = counted.flat_map(|interval| interval.operations.keys()).collect();
        let distribution = |name: &String| {
            let mut total = Total { sums: Sums::new(true, true), max_response_ns: 0, max_service_ns: 0 };
            each_counted(&sources, name).into_iter().for_each(|(number, part)| total.add(name, number, part));
            Distribution {
                operation: name.clone(),
                response: total.sums.response.unwrap_or_default(),
                service: total.sums.service.unwrap_or_default(),
                max_ms: ms(total.max_response_ns),
            }
        };
        names.into_iter().map(distribution).collect()
    }

    /// The loaders that a window is about, each with the intervals that count.
    pub(super) fn sources(&self, from_ms: Millis, to_ms: Millis, notes: &mut Vec<String>) -> Vec<Source<'_>> {
        let mut sources = Vec::new();
        for (name, load) in &self.loads {
            let Some((start, end)) = load.life() else { continue };
            if start >= to_ms || end <= from_ms {
                continue;
            }
            let found: Vec<_> =
                load.loaders.iter().map(|(loader, all)| source((name, loader), all, (from_ms, to_ms))).collect();
            let overlap = end.min(to_ms) - start.max(from_ms);
            if found.iter().all(|source| source.counted.is_empty()) && overlap < self.interval_ms(from_ms, to_ms) {
                notes.push(format!("{name}: only {} of it lie in the window; left out", seconds(overlap)));
                continue;
            }
            sources.extend(found);
        }
        sources
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

fn source<'a>(
    (load, loader): (&'a str, &'a str),
    all: &'a [Interval],
    (from_ms, to_ms): (Millis, Millis),
) -> Source<'a> {
    let overlapping = between(all, from_ms, to_ms);
    let spans = overlapping.iter().map(|interval| (interval.from_ms, interval.to_ms, interval.warm_up));
    let inside = |interval: &&Interval| !interval.warm_up && interval.from_ms >= from_ms && interval.to_ms <= to_ms;
    Source {
        load,
        loader,
        coverage: Coverage::of(spans, from_ms, to_ms),
        counted: overlapping.iter().filter(inside).collect(),
    }
}

/// The counted intervals of the loaders that did this kind of operation, each with its loader's number.
fn each_counted<'a>(sources: &'a [Source<'a>], operation: &str) -> Vec<(usize, &'a Interval)> {
    let did = |source: &Source| source.counted.iter().any(|interval| interval.operations.contains_key(operation));
    let numbered = sources.iter().enumerate().filter(|(_, source)| did(source));
    numbered.flat_map(|(number, source)| source.counted.iter().map(move |interval| (number, *interval))).collect()
}

/// For each loader the part of the covered time in which its load was there: 1 unless one load follows another.
fn weights(sources: &[Source], counted: &[(usize, &Interval)]) -> Vec<f64> {
    let spans = |load: Option<&str>| {
        let of_load = counted.iter().filter(|(number, _)| load.is_none_or(|load| sources[*number].load == load));
        union_ms(of_load.map(|(_, interval)| (interval.from_ms, interval.to_ms)).collect())
    };
    let whole = spans(None).max(1) as f64;
    let loads: BTreeMap<&str, f64> = sources.iter().map(|s| (s.load, spans(Some(s.load)) as f64 / whole)).collect();
    sources.iter().map(|source| loads[source.load]).collect()
}

/// Milliseconds that spans cover together.
fn union_ms(mut spans: Vec<(Millis, Millis)>) -> Millis {
    spans.sort_unstable();
    let (mut sum, mut reached) = (0, 0);
    for (from, to) in spans {
        sum += to.max(reached) - from.max(reached);
        reached = reached.max(to);
    }
    sum
}

impl Total {
    fn add(&mut self, operation: &str, number: usize, interval: &Interval) {
        let counts = interval.operations.get(operation);
        self.sums.add(number, interval, counts);
        let Some(counts) = counts.filter(|counts| counts.response.count() > 0) else { return };
        self.max_response_ns = self.max_response_ns.max(counts.max_response_ns);
        self.max_service_ns = self.max_service_ns.max(counts.max_service_ns);
    }
}

fn measure_operation(
    name: &str,
    sources: &[Source],
    (from_ms, to_ms): (Millis, Millis),
    piece_ms: Millis,
    notes: &mut Vec<String>,
) -> OperationMeasurement {
    let counted = each_counted(sources, name);
    let weights_all = weights(sources, &counted);
    let weight = |number: usize| weights_all[number];
    let mut by_piece: BTreeMap<Millis, Vec<(usize, &Interval)>> = BTreeMap::new();
    for (number, interval) in counted {
        let middle = interval.from_ms.midpoint(interval.to_ms);
        by_piece.entry((middle - from_ms) / piece_ms).or_default().push((number, interval));
    }
    let mut window = Total { sums: Sums::new(false, true), max_response_ns: 0, max_service_ns: 0 };
    let mut response = Tally::default();
    let mut intervals = Vec::new();
    for piece in 0..(to_ms - from_ms).div_ceil(piece_ms) {
        let start = from_ms + piece * piece_ms;
        let mut total = Total { sums: Sums::new(true, false), max_response_ns: 0, max_service_ns: 0 };
        let counted = by_piece.remove(&piece).unwrap_or_default();
        for (number, interval) in &counted {
            total.add(name, *number, interval);
            window.add(name, *number, interval);
        }
        total.sums.response.iter().for_each(|piece| response.merge(piece));
        intervals.push(summary((start, (start + piece_ms).min(to_ms)), &total, &weights(sources, &counted)));
    }
    let Total { sums, max_response_ns, max_service_ns } = window;
    if sums.clamped > 0 {
        notes.push(format!("{name}: {} values over the histogram's bound are counted at it", whole(sums.clamped)));
    }
    OperationMeasurement {
        operation: name.to_owned(),
        response_ms: response.percentiles(max_response_ns),
        service_ms: sums.service.as_ref().map(|tally| tally.percentiles(max_service_ns)).unwrap_or_default(),
        count: sums.count(),
        rate: sums.rate(weight).unwrap_or_default(),
        asked_rate: sums.asked_rate(weight),
        errors: sums.errors,
        complete: false,
        missing: Vec::new(),
        intervals,
    }
}

fn summary((from_ms, to_ms): (Millis, Millis), total: &Total, weights: &[f64]) -> IntervalSummary {
    let sums = &total.sums;
    IntervalSummary {
        from_s: from_ms as f64 / 1e3,
        to_s: to_ms as f64 / 1e3,
        count: sums.count(),
        rate: sums.rate(|number| weights[number]),
        asked_rate: sums.asked_rate(|number| weights[number]),
        errors: sums.failed(),
        response_ms: sums.response.as_ref().map(|tally| tally.percentiles(total.max_response_ns)).unwrap_or_default(),
    }
}
