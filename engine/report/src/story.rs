//! The run over time, in series that are short enough for a page.

use std::collections::{BTreeMap, BTreeSet};

use wfe_core::Millis;
use wfe_core::capability::cluster::Node;
use wfe_core::measure::{IntervalSummary, Recording};

use crate::telemetry::TelemetrySample;

/// Points of one series at most, and of all series together: about 20 bytes each on the page.
const POINTS: u64 = 600;
const ALL_POINTS: u64 = 32_000;
/// Signals that are kept; a page has room for no more.
const SIGNALS: usize = 6;

/// The run over time. All series share the moments `at_ms`.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// The end of the axis.
    pub end_ms: Millis,
    /// The middles of the pieces that each series has one value for.
    pub at_ms: Vec<Millis>,
    /// Operations a second, asked and achieved, in all and by kind.
    pub throughput: Vec<Series>,
    /// Response times by kind, milliseconds.
    pub latency: Vec<Series>,
    /// Failed operations in each piece.
    pub failed: Series,
    /// Disk used by node, percent of its capacity.
    pub disk: Vec<Series>,
    /// What the nodes reported about themselves: each signal with a series for each node.
    pub signals: BTreeMap<String, Vec<Series>>,
    /// The names of further signals, for which there is no room.
    pub not_drawn: Vec<String>,
}

/// One line of a plot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// What it shows, such as `read P99`.
    pub name: String,
    /// What it is about: a kind of operation or a node. Lines of the same subject share a colour.
    pub subject: String,
    /// A value for each moment, none where there is none.
    pub values: Vec<Option<f64>>,
}

impl Series {
    fn new(subject: &str, what: &str, values: Vec<Option<f64>>) -> Self {
        let name = format!("{subject} {what}").trim().to_owned();
        Self { name, subject: subject.to_owned(), values }
    }

    /// The greatest value.
    pub fn max(&self) -> Option<f64> {
        self.values.iter().flatten().copied().reduce(f64::max)
    }
}

impl Story {
    /// The story of a run that has lasted until `end_ms`.
    pub fn new(end_ms: Millis, recording: &Recording, telemetry: &[TelemetrySample]) -> Self {
        let end_ms = end_ms.max(recording.end_ms()).max(telemetry.last().map_or(0, |sample| sample.at)).max(1);
        let piece_ms = end_ms
            .div_ceil(points(recording, telemetry))
            .max(1)
            .next_multiple_of(1_000)
            .max(recording.interval_ms(0, end_ms));
        // The measurement rounds a piece up to whole intervals; the other series follow it.
        let measurement = recording.measure(0, end_ms, Some(piece_ms));
        let first = measurement.operations.first().and_then(|operation| operation.intervals.first());
        let piece_ms = first.map_or(piece_ms, |piece| (piece.to_s * 1e3) as Millis).max(1);
        let count = end_ms.div_ceil(piece_ms) as usize;
        let at_ms = (0..count as u64).map(|n| (n * piece_ms + piece_ms / 2).min(end_ms)).collect();
        let mut story = Self { end_ms, at_ms, ..Self::default() };
        for operation in &measurement.operations {
            story.add_operation(&operation.operation, &operation.intervals, count);
        }
        story.add_total(count);
        story.add_nodes(telemetry, piece_ms, count);
        story
    }

    fn add_operation(&mut self, name: &str, pieces: &[IntervalSummary], count: usize) {
        let column = |value: &dyn Fn(&IntervalSummary) -> Option<f64>| {
            let recorded = pieces.iter().map(|piece| value(piece).filter(|value| value.is_finite()));
            let mut values: Vec<_> = recorded.collect();
            values.resize(count, None);
            values
        };
        // A kind of operation that was neither asked for nor done has no line, rather than one at 0.
        let there = |piece: &IntervalSummary| piece.count > 0 || piece.asked_rate.is_some_and(|asked| asked > 0.0);
        self.throughput.push(Series::new(name, "achieved", column(&|piece| piece.rate.filter(|_| there(piece)))));
        self.throughput.push(Series::new(name, "asked", column(&|piece| piece.asked_rate.filter(|_| there(piece)))));
        self.latency.push(Series::new(name, "P50", column(&|piece| piece.response_ms.p50)));
        self.latency.push(Series::new(name, "P99", column(&|piece| piece.response_ms.p99)));
        self.latency.push(Series::new(name, "max", column(&|piece| piece.response_ms.max)));
        let failed = column(&|piece| Some(piece.errors as f64));
        self.failed.values.resize(count, None);
        self.failed.name = "failed operations".into();
        for (sum, more) in self.failed.values.iter_mut().zip(failed) {
            *sum = match (*sum, more) {
                (Some(sum), Some(more)) => Some(sum + more),
                (sum, more) => sum.or(more),
            };
        }
    }

    /// All kinds of operation together, where there are several.
    fn add_total(&mut self, count: usize) {
        let sum = |what: &str| -> Vec<Option<f64>> {
            let lines = self.throughput.iter().filter(|series| series.name.ends_with(what));
            let lines: Vec<_> = lines.collect();
            let at =
                |place: usize| lines.iter().filter_map(|series| series.values[place]).reduce(|sum, more| sum + more);
            (0..count).map(at).collect()
        };
        if self.throughput.len() > 2 {
            let (achieved, asked) = (sum(" achieved"), sum(" asked"));
            self.throughput.push(Series::new("all", "achieved", achieved));
            self.throughput.push(Series::new("all", "asked", asked));
        }
        self.throughput.retain(|series| series.max().is_some());
    }

    fn add_nodes(&mut self, telemetry: &[TelemetrySample], piece_ms: Millis, count: usize) {
        let (nodes, signals) = names(telemetry);
        let percent =
            |node: &Node| (node.total_bytes > 0).then(|| node.used_bytes as f64 / node.total_bytes as f64 * 1e2);
        for name in by_number(&nodes) {
            let disk = column(telemetry, name, piece_ms, count, &percent);
            self.disk.push(Series::new(name, "", disk));
        }
        for signal in signals {
            let value = |node: &Node| {
                let found = node.signals.iter().find(|found| found.name == signal)?;
                Some(found.value).filter(|value| value.is_finite())
            };
            let lines = by_number(&nodes).into_iter();
            let lines = lines.map(|name| Series::new(name, "", column(telemetry, name, piece_ms, count, &value)));
            let lines: Vec<Series> = lines.filter(|series| series.max().is_some()).collect();
            let flat = lines.iter().all(|series| series.max() == Some(0.0));
            match flat || self.signals.len() == SIGNALS {
                true => self.not_drawn.push(format!("{signal}{}", if flat { " (always 0)" } else { "" })),
                false => drop(self.signals.insert(signal.to_owned(), lines)),
            }
        }
    }
}

/// The names of all nodes and of all their signals.
fn names(telemetry: &[TelemetrySample]) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let nodes = || telemetry.iter().flat_map(|sample| &sample.nodes);
    let signals = nodes().flat_map(|node| &node.signals).map(|signal| signal.name.as_str());
    (nodes().map(|node| node.name.as_str()).collect(), signals.collect())
}

/// How many points each series may have: fewer where there are many.
fn points(recording: &Recording, telemetry: &[TelemetrySample]) -> u64 {
    let (nodes, signals) = names(telemetry);
    let series = 5 * recording.operations().len() + nodes.len() * (1 + signals.len().min(SIGNALS)) + 2;
    (ALL_POINTS / series as u64).clamp(POINTS / 10, POINTS)
}

/// `node-2` before `node-10`.
fn by_number<'a>(names: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.iter().copied().collect();
    let number = |name: &str| name.rsplit('-').next().and_then(|digits| digits.parse::<u64>().ok());
    names.sort_by_key(|name| (name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(), number(name)));
    names
}

/// The greatest value of a node in each piece.
fn column(
    telemetry: &[TelemetrySample],
    name: &str,
    piece_ms: Millis,
    count: usize,
    value: &dyn Fn(&Node) -> Option<f64>,
) -> Vec<Option<f64>> {
    let mut values: Vec<Option<f64>> = vec![None; count];
    for sample in telemetry {
        let Some(place) = values.get_mut((sample.at / piece_ms) as usize) else { continue };
        let found = sample.nodes.iter().filter(|node| node.name == name).find_map(value);
        *place = match (*place, found) {
            (Some(one), Some(two)) => Some(f64::max(one, two)),
            (one, two) => one.or(two),
        };
    }
    bridge(&mut values, (3 * distance(telemetry) / piece_ms.max(1)) as usize);
    values
}

/// The usual distance of samples, milliseconds.
fn distance(telemetry: &[TelemetrySample]) -> Millis {
    let mut distances: Vec<Millis> = telemetry.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied().unwrap_or(0)
}

/// Holds each value until the next one, where that is not too far away: pieces may be shorter than the distance of
/// samples.
fn bridge(values: &mut [Option<f64>], longest: usize) {
    let mut last = None;
    for place in 0..values.len() {
        let Some(value) = values[place] else { continue };
        if let Some((from, held)) = last.filter(|(from, _)| place - from <= longest) {
            values[from + 1..place].fill(Some(held));
        }
        last = Some((place, value));
    }
}
