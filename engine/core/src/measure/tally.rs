//! Sums of packed histograms, and their percentiles.

use super::place::highest_at;
use super::{Packed, Percentiles};

/// A sum of packed histograms that more can be added to, and taken from again.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// As long as the longest histogram that was added: most of the places are never used.
    counts: Vec<u64>,
    total: u64,
}

impl Tally {
    /// Adds a histogram.
    pub fn add(&mut self, part: &Packed) {
        self.reach(part.end());
        for (place, count) in part.counts() {
            self.counts[place] += count;
        }
        self.total += part.count();
    }

    fn reach(&mut self, end: usize) {
        if end > self.counts.len() {
            self.counts.resize(end, 0);
        }
    }

    /// Takes a histogram away that was added before.
    pub fn remove(&mut self, part: &Packed) {
        for (place, count) in part.counts() {
            self.counts[place] -= count;
        }
        self.total -= part.count();
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.reach(other.counts.len());
        self.total += other.total;
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
    }

    /// How many values there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The percentiles in milliseconds; none are over the exact maximum, which is given in nanoseconds.
    pub fn percentiles(&self, max_ns: u64) -> Percentiles {
        if self.total == 0 {
            return Percentiles::default();
        }
        let [p50, p90, p95, p99, p999, p9999] =
            self.at([0.50, 0.90, 0.95, 0.99, 0.999, 0.9999]).map(|ns| Some(ms(ns.min(max_ns))));
        Percentiles { p50, p90, p95, p99, p999, p9999, max: Some(ms(max_ns)) }
    }

    /// The values at ascending quantiles from 0 to 1, nanoseconds; 0 when nothing was counted.
    pub fn at<const N: usize>(&self, quantiles: [f64; N]) -> [u64; N] {
        let mut values = [0; N];
        let (mut seen, mut place) = (0, 0);
        for (value, quantile) in values.iter_mut().zip(quantiles) {
            let wanted = ((quantile * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
            while seen < wanted && place < self.counts.len() {
                seen += self.counts[place];
                place += 1;
            }
            *value = if self.total == 0 { 0 } else { highest_at(place.saturating_sub(1)) };
        }
        values
    }

    /// The values at the quantiles of a percentile plot, `(quantile, nanoseconds)`: so many steps for each halving of
    /// the distance to 1, as far as there are values.
    pub fn curve(&self, steps_per_half: u32) -> Vec<(f64, u64)> {
        let mut points = Vec::new();
        let halvings = (self.total.max(1) as f64).log2().ceil() as u32;
        for step in 0..=halvings * steps_per_half {
            let quantile = 1.0 - 0.5f64.powf(f64::from(step) / f64::from(steps_per_half));
            let [value] = self.at([quantile]);
            points.push((quantile, value));
        }
        if self.total == 0 { Vec::new() } else { points }
    }
}

/// Nanoseconds as milliseconds.
pub fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::{HIGHEST_NS, Histogram, histogram};

    fn recorded(values: &[u64]) -> Histogram {
        let mut all = histogram();
        values.iter().for_each(|value| all.saturating_record(*value));
        all
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = prop_oneof![0u64..2_000, 0u64..50_000_000, 0..=HIGHEST_NS];
        proptest::collection::vec(value, 1..200)
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_percentiles(values in values(), cut in 0usize..200) {
            let (one, two) = values.split_at(cut.min(values.len()));
            let mut tally = Tally::default();
            let extra = Packed::of(&recorded(&values[..1]));
            tally.add(&Packed::of(&recorded(one)));
            tally.add(&extra);
            tally.add(&Packed::of(&recorded(two)));
            tally.remove(&extra);

            let whole = recorded(&values);
            prop_assert_eq!(tally.total(), whole.len());
            for quantile in [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0] {
                prop_assert_eq!(tally.at([quantile]), [whole.value_at_quantile(quantile)], "at {}", quantile);
            }
        }
    }

    #[test]
    fn no_values_give_no_percentiles() {
        assert_eq!(Tally::default().percentiles(0), Percentiles::default());
        assert!(Tally::default().curve(4).is_empty());
    }
}
