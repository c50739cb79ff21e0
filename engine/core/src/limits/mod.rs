//! Limits: rules that a measurement must hold.

mod evaluate;

pub use evaluate::evaluate;

use serde::{Deserialize, Serialize};

mod parse;

pub(crate) use parse::parse;
pub use parse::{OPERATIONS, PERCENTILES};

use crate::Millis;

/// One rule, such as `read.p99 <= 10ms` or, for every stretch of ten minutes, `any 10m: rate.drop <= 5 %`.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The rule as the user wrote it.
    pub rule: String,
    /// What is looked at.
    pub metric: Metric,
    /// How it is compared.
    pub comparison: Comparison,
    /// What it is compared with: milliseconds, operations a second, operations, or percent, as the metric has it.
    pub bound: f64,
    /// Whether the bound is a percentage of the asked rate.
    pub of_asked: bool,
    /// The rule holds for every stretch of this length inside the window, not only for the whole.
    pub any_ms: Option<Millis>,
}

/// What a rule looks at.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    /// `read.p99`, `write.service.max`: milliseconds.
    Latency {
        /// The kind of operation.
        operation: String,
        /// `p50`, `p90`, `p95`, `p99`, `p999`, `p9999` or `max`.
        percentile: String,
        /// Service time instead of response time.
        service: bool,
    },
    /// `rate`, `read.rate`: operations a second; of all kinds together when none is named.
    Rate {
        /// The kind of operation.
        operation: Option<String>,
    },
    /// `rate.drop`: how far the rate stays under the asked one, percent.
    RateDrop,
    /// `errors`, `read.errors`: failed operations; with a bound in percent, their part of all.
    Errors {
        /// The kind of operation.
        operation: Option<String>,
        /// Percent of all operations instead of a count.
        percent: bool,
    },
}

/// How a value is compared with its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

/// What came out of holding one rule against a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitResult {
    /// The rule as the user wrote it.
    pub rule: String,
    /// The value that decided, with its unit, such as `3.35 ms`; `n/a` when there is none.
    pub value: String,
    /// Whether it holds; none when the numbers cannot say.
    pub holds: Option<bool>,
    /// Where it was decided: the window in which the value was worst, or what is missing.
    pub place: String,
}
