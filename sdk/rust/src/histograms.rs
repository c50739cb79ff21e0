//! Arithmetic on HDR histograms in their V2 compressed encoding; values in nanoseconds.

use crate::Result;
use crate::bindings::wfe::histogram::histograms;

/// An encoded histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram(pub Vec<u8>);

impl Histogram {
    /// A histogram of values in nanoseconds.
    pub fn of(values: &[u64]) -> Result<Self> {
        Ok(Self(histograms::encode(values)?))
    }

    /// All histograms in one.
    pub fn merge(all: &[Self]) -> Result<Self> {
        let encoded: Vec<_> = all.iter().map(|histogram| histogram.0.clone()).collect();
        Ok(Self(histograms::merge(&encoded)?))
    }

    /// The values in nanoseconds at quantiles from 0 to 1.
    pub fn quantiles(&self, quantiles: &[f64]) -> Result<Vec<u64>> {
        Ok(histograms::quantiles(&self.0, quantiles)?)
    }
}
