//! Histogram arithmetic and windows of recorded load.

use super::record;
use crate::Millis;

record! {
    /// Encode values in nanoseconds; answers bytes.
    Encode {
        /// The values.
        values: Vec<u64>,
    }
    /// Add histograms up; answers bytes.
    Merge {
        /// The histograms.
        encoded: Vec<Vec<u8>>,
    }
    /// Values at quantiles; answers a list of nanoseconds.
    Quantiles {
        /// The histogram.
        encoded: Vec<u8>,
        /// From 0 to 1.
        quantiles: Vec<f64>,
    }
    /// Measure a window; answers a [`crate::measure::Measurement`], as text.
    Measure {
        /// Its first millisecond.
        from_ms: Millis,
        /// The millisecond after its last.
        to_ms: Millis,
    }
}
