//! Questions about what the loads recorded.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::bindings::wfe::histogram::measurements;
use crate::step::Window;
use crate::{Duration, Result};

/// What was recorded in a window.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Measurement {
    from_ms: u64,
    to_ms: u64,
    /// What is missing, for people: loaders, seconds, everything.
    pub missing: Vec<String>,
    /// What was found, by kind of operation.
    pub operations: Vec<Operation>,
}

impl Measurement {
    /// The window that was measured.
    pub fn window(&self) -> Window {
        Window { from: Duration::millis(self.from_ms), to: Duration::millis(self.to_ms) }
    }

    /// Whether something was recorded and nothing of it is missing.
    pub fn is_complete(&self) -> bool {
        !self.operations.is_empty() && self.operations.iter().all(|operation| operation.complete)
    }
}

/// What one kind of operation did in a window.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Operation {
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
}

/// Percentiles in milliseconds; none when nothing was counted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[allow(missing_docs, reason = "the names say all there is")]
pub struct Percentiles {
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
}

/// Measures a window over all loads, and files the answer as a measurement of this step.
pub fn measure(window: Window) -> Result<Measurement> {
    let answer = measurements::measure(window.from.as_millis(), window.to.as_millis())?;
    Ok(serde_json::from_str(&answer)?)
}
