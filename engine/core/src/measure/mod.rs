//! Recorded load: intervals with histograms, and measurements as questions about windows of them.
//!
//! # What a window counts
//!
//! * Histograms are merged; percentiles are never averaged, over loaders or over time.
//! * A window counts the intervals that lie wholly inside it. One that its edge cuts is left out, and a note says so.
//! * Seconds without an interval make a measurement incomplete, but for two cases which are noted instead: less than one
//!   interval at an edge of the window, and warm-up.
//! * Which loaders must be there: all that a load had at any time of its life, and all that were announced for it.
//! * Rates are completions over the time that a loader's counted intervals cover, added up over loaders.
//! * In pieces of a window an interval belongs to the piece that holds its middle.

mod coverage;
mod packed;
mod place;
mod recording;
mod runs;
mod source;
mod stretch;
mod sums;
mod tally;
pub mod text;
mod window;

pub use coverage::Coverage;
pub use packed::Packed;
pub use recording::{Archive, Recording};
pub use stretch::{Stretch, Stretches};
pub use sums::Sums;
pub use tally::{Tally, ms};
pub use window::Distribution;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Millis;

/// A latency histogram in nanoseconds with the bounds that every recorded histogram has.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// The least value that a recorded histogram tells apart, nanoseconds.
pub const LOWEST_NS: u64 = 1_000;
/// Significant digits of every recorded histogram.
pub const SIGNIFICANT_DIGITS: u8 = 3;
/// The greatest value that a recorded histogram holds, nanoseconds: two hours. Greater ones are clamped and counted.
pub const HIGHEST_NS: u64 = 7_200_000_000_000;

/// An empty histogram with the bounds of all recorded ones: 1 µs to 2 h at three significant digits.
pub fn histogram() -> Histogram {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS).expect("the bounds are constants that fit")
}

/// What one loader of one load did in one interval.
#[derive(Debug, Clone, PartialEq)]
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

impl Interval {
    /// Bytes that it takes in memory, about.
    pub fn bytes(&self) -> usize {
        let counts = self.operations.values();
        let packed =
            counts.flat_map(|counts| [&counts.response, &counts.service].into_iter().chain(counts.errors.values()));
        size_of::<Self>() + 2 * size_of::<Counts>() * self.operations.len() + packed.map(Packed::bytes).sum::<usize>()
    }
}

/// What one kind of operation did in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// End minus intended start; failed operations included.
    pub response: Packed,
    /// End minus sent.
    pub service: Packed,
    /// Exact greatest response time, nanoseconds.
    pub max_response_ns: u64,
    /// Exact greatest service time, nanoseconds.
    pub max_service_ns: u64,
    /// Values over the histograms' bound, which were clamped.
    pub clamped: u64,
    /// Failed operations by class, such as `timeout`, with their own service times.
    pub errors: BTreeMap<String, Packed>,
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
    /// The first millisecond of the intervals that were counted; none when there were none.
    #[serde(default)]
    pub covered_from_ms: Option<Millis>,
    /// The millisecond after their last.
    #[serde(default)]
    pub covered_to_ms: Option<Millis>,
    /// Whether every loader covers the whole window. Never so when nothing was counted.
    #[serde(default)]
    pub complete: bool,
    /// What is missing, for people: loaders, seconds.
    #[serde(default)]
    pub missing: Vec<String>,
    /// What was left out by rule, or is noteworthy: cut intervals, warm-up, clamped values.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The loaders whose intervals were counted.
    #[serde(default)]
    pub loaders: Vec<String>,
    /// What was found, by kind of operation, in the order of their names.
    pub operations: Vec<OperationMeasurement>,
}

impl Measurement {
    /// What was found of one kind of operation.
    pub fn operation(&self, name: &str) -> Option<&OperationMeasurement> {
        self.operations.iter().find(|operation| operation.operation == name)
    }

    /// Operations a second, all kinds together; none when nothing was counted.
    pub fn rate(&self) -> Option<f64> {
        (!self.operations.is_empty()).then(|| self.operations.iter().map(|operation| operation.rate).sum())
    }

    /// Asked operations a second, all kinds together; none when some of the load had no asked rate.
    pub fn asked_rate(&self) -> Option<f64> {
        let rates = self.operations.iter().map(|operation| operation.asked_rate);
        if self.operations.is_empty() { None } else { rates.sum() }
    }
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
    /// Operations that ended, failed ones included.
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
    #[serde(default)]
    pub p9999: Option<f64>,
    pub max: Option<f64>,
}

impl Percentiles {
    /// The value that a rule names: `p50`, `p90`, `p95`, `p99`, `p999`, `p9999` or `max`.
    pub fn named(&self, name: &str) -> Option<f64> {
        match name {
            "p50" => self.p50,
            "p90" => self.p90,
            "p95" => self.p95,
            "p99" => self.p99,
            "p999" => self.p999,
            "p9999" => self.p9999,
            "max" => self.max,
            _ => None,
        }
    }
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
    /// Operations a second; none when nothing was recorded.
    pub rate: Option<f64>,
    /// Asked operations a second.
    #[serde(default)]
    pub asked_rate: Option<f64>,
    /// Failed operations.
    #[serde(default)]
    pub errors: u64,
    /// Response times.
    pub response_ms: Percentiles,
}
