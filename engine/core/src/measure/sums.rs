//! Sums over recorded intervals of one kind of operation, that intervals can be added to and taken from.

use std::collections::BTreeMap;

use super::tally::Tally;
use super::{Counts, Interval};
use crate::Millis;

/// What the counted intervals of one kind of operation add up to.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// Response times, when they are wanted.
    pub response: Option<Tally>,
    /// Service times, when they are wanted.
    pub service: Option<Tally>,
    /// Values over the histograms' bound.
    pub clamped: u64,
    /// Failed operations by class.
    pub errors: BTreeMap<String, u64>,
    /// Counts and times of each loader, by its number.
    flows: BTreeMap<usize, Flow>,
}

/// What one loader did.
#[derive(Debug, Clone, Default)]
struct Flow {
    count: u64,
    covered_ms: Millis,
    /// Operations that were asked for, times 1,000.
    asked: f64,
    /// Milliseconds without an asked rate.
    unasked_ms: Millis,
}

impl Sums {
    /// Sums with the histograms that are wanted.
    pub fn new(response: bool, service: bool) -> Self {
        Self { response: response.then(Tally::default), service: service.then(Tally::default), ..Self::default() }
    }

    /// Adds one interval of a loader. Without counts it is an interval in which nothing of this kind ended.
    pub fn add(&mut self, loader: usize, interval: &Interval, counts: Option<&Counts>) {
        let length = interval.to_ms - interval.from_ms;
        let flow = self.flows.entry(loader).or_default();
        flow.covered_ms += length;
        flow.unasked_ms += if interval.asked_rate.is_none() { length } else { 0 };
        let Some(counts) = counts else { return };
        flow.count += counts.response.count();
        flow.asked += interval.asked_rate.unwrap_or(0.0) * counts.share * length as f64;
        self.clamped += counts.clamped;
        for (class, failed) in &counts.errors {
            *self.errors.entry(class.clone()).or_default() += failed.count();
        }
        self.response.iter_mut().for_each(|tally| tally.add(&counts.response));
        self.service.iter_mut().for_each(|tally| tally.add(&counts.service));
    }

    /// Takes away an interval that was added before.
    pub fn remove(&mut self, loader: usize, interval: &Interval, counts: Option<&Counts>) {
        let length = interval.to_ms - interval.from_ms;
        let flow = self.flows.entry(loader).or_default();
        flow.covered_ms -= length;
        flow.unasked_ms -= if interval.asked_rate.is_none() { length } else { 0 };
        let Some(counts) = counts else { return };
        flow.count -= counts.response.count();
        flow.asked -= interval.asked_rate.unwrap_or(0.0) * counts.share * length as f64;
        self.clamped -= counts.clamped;
        for (class, failed) in &counts.errors {
            self.errors.entry(class.clone()).and_modify(|sum| *sum -= failed.count());
        }
        self.response.iter_mut().for_each(|tally| tally.remove(&counts.response));
        self.service.iter_mut().for_each(|tally| tally.remove(&counts.service));
    }

    /// Operations that ended.
    pub fn count(&self) -> u64 {
        self.flows.values().map(|flow| flow.count).sum()
    }

    /// Failed operations.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Operations a second: each loader's over its own time, added up. `weight` gives the part of the window in which
    /// the loader's load was there. None when nothing is covered.
    pub fn rate(&self, weight: impl Fn(usize) -> f64) -> Option<f64> {
        let covered = self.flows.iter().filter(|(_, flow)| flow.covered_ms > 0);
        let rate = |(loader, flow): (&usize, &Flow)| weight(*loader) * flow.count as f64 * 1e3 / flow.covered_ms as f64;
        covered.map(rate).reduce(|sum, rate| sum + rate)
    }

    /// Asked operations a second, in the same way; none when some of the time had no asked rate.
    pub fn asked_rate(&self, weight: impl Fn(usize) -> f64) -> Option<f64> {
        let mut covered = self.flows.iter().filter(|(_, flow)| flow.covered_ms > 0).peekable();
        covered.peek()?;
        covered
            .map(|(loader, flow)| {
                (flow.unasked_ms == 0).then(|| weight(*loader) * flow.asked.max(0.0) / flow.covered_ms as f64)
            })
            .sum()
    }
}
