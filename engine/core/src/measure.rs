//! Recorded load: intervals with histograms, and measurements as questions about windows of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Millis;

/// A latency histogram in nanoseconds with the bounds that every recorded histogram has.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// The least value that a recorded histogram tells apart, nanoseconds.
pub const LOWEST_NS: u64 = 1_000;
/// The greatest value that a recorded histogram holds, nanoseconds: two hours. Greater ones are clamped and counted.
pub const HIGHEST_NS: u64 = 7_200_000_000_000;

/// An empty histogram with the bounds of all recorded ones: 1 µs to 2 h at three significant digits.
pub fn histogram() -> Histogram {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 3).expect("the bounds are constants that fit")
}

/// What one loader of one load did in one interval.
#[derive(Debug, Clone)]
pub struct Interval {
    /// The load's name.
    pub load: String,
    /// The loader's name, such as `loader-1`.
    pub loader: String,
    /// Its first millisecond.
    pub from_ms: Millis,
    /// The millisecond after its last.
    pub to_ms: Millis,
    /// Whether it belongs to the warm-up and is left out of measurements.
    pub warm_up: bool,
    /// Asked operations a second of this loader, over all kinds of operation.
    pub asked_rate: Option<f64>,
    /// What was done, by kind of operation: `read`, `write`.
    pub operations: BTreeMap<String, Counts>,
}

/// What one kind of operation did in one interval.
#[derive(Debug, Clone)]
pub struct Counts {
    /// End minus intended start; failed operations included.
    pub response: Histogram,
    /// End minus sent.
    pub service: Histogram,
    /// Exact greatest response time, nanoseconds.
    pub max_response_ns: u64,
    /// Exact greatest service time, nanoseconds.
    pub max_service_ns: u64,
    /// Values over the histograms' bound, which were clamped.
    pub clamped: u64,
    /// Failed operations by class, such as `timeout`, with their own service times.
    pub errors: BTreeMap<String, Histogram>,
    /// The part of the asked rate that this kind has, from 0 to 1.
    pub share: f64,
}

/// The answer to a question about a window of recorded load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Its first millisecond.
    pub from_ms: Millis,
    /// The millisecond after its last.
    pub to_ms: Millis,
    /// What was found, by kind of operation.
    pub operations: Vec<OperationMeasurement>,
}

/// What one kind of operation did in a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationMeasurement {
    /// `read` or `write`.
    pub operation: String,
    /// End minus intended start.
    pub response_ms: Percentiles,
    /// End minus sent.
    pub service_ms: Percentiles,
    /// Operations that ended.
    pub count: u64,
    /// Operations a second.
    pub rate: f64,
    /// Asked operations a second.
    pub asked_rate: Option<f64>,
    /// Failed operations by class.
    pub errors: BTreeMap<String, u64>,
    /// Whether every loader covers the whole window.
    pub complete: bool,
    /// What is missing, for people: loaders, seconds.
    pub missing: Vec<String>,
    /// The window in shorter pieces.
    pub intervals: Vec<IntervalSummary>,
}

/// Percentiles in milliseconds; none when nothing was counted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say all there is")]
pub struct Percentiles {
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
}

/// One piece of a measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalSummary {
    /// Its first second, on the run's clock.
    pub from_s: f64,
    /// The second after its last.
    pub to_s: f64,
    /// Operations that ended.
    pub count: u64,
    /// Operations a second.
    pub rate: f64,
    /// Response times.
    pub response_ms: Percentiles,
}
