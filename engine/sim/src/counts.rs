//! Counts of one kind of operation in one interval: exact numbers, and histograms that follow a distribution.

use std::collections::BTreeMap;

use wfe_core::measure::{Counts, HIGHEST_NS, Histogram, LOWEST_NS, histogram};

use crate::latency::{Table, nanoseconds};

/// The class of operations on which the client gave up.
pub const TIMEOUT: &str = "timeout";

/// The distributions of one kind of operation in an interval.
pub struct Times {
    /// End minus intended start.
    pub response: Table,
    /// End minus sent.
    pub service: Table,
    /// Response time of an operation that failed at once, ms.
    pub failed_ms: f64,
    /// When the client gives up on an operation that was sent, ms.
    pub timeout_ms: f64,
}

/// Operations of one kind in an interval, of all loaders or of one.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Those that succeeded.
    pub good: u64,
    /// The others, by class.
    pub failed: Vec<(&'static str, u64)>,
}

impl Ended {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.good + self.failed.iter().map(|(_, count)| count).sum::<u64>()
    }

    /// Turns those that took too long into failed ones; answers how many.
    pub fn time_out(&mut self, times: &Times) -> u64 {
        let count = whole(self.good as f64 * times.service.above(times.timeout_ms)).min(self.good);
        if count > 0 {
            self.failed.push((TIMEOUT, count));
            self.good -= count;
        }
        count
    }

    /// What one of several loaders did.
    pub fn part(&self, loader: u32, loaders: u32) -> Self {
        let (loader, loaders) = (u64::from(loader), u64::from(loaders));
        let part = |count: u64| count / loaders + u64::from(loader < count % loaders);
        Self { good: part(self.good), failed: self.failed.iter().map(|&(class, count)| (class, part(count))).collect() }
    }
}

/// The counts and histograms of what one loader did; `draws` are two random numbers between 0 and 1.
pub fn counts(ended: &Ended, times: &Times, draws: [f64; 2], share: f64) -> Counts {
    let (mut response, mut service) = (histogram_up_to(&times.response), histogram_up_to(&times.service));
    let max_response_ns = fill(&mut response, &times.response, f64::INFINITY, ended.good, draws);
    let max_service_ns = fill(&mut service, &times.service, times.timeout_ms, ended.good, draws);
    let over = times.response.above(HIGHEST_NS as f64 / 1e6);
    let clamped = whole(ended.good as f64 * over);
    let errors = BTreeMap::new();
    let mut counts = Counts { response, service, max_response_ns, max_service_ns, clamped, errors, share };
    for &(class, count) in ended.failed.iter().filter(|(_, count)| *count > 0) {
        add_failed(&mut counts, times, class, count);
    }
    counts
}

fn add_failed(counts: &mut Counts, times: &Times, class: &str, count: u64) {
    let (response_ms, service_ms) = match class {
        TIMEOUT => (times.timeout_ms + times.failed_ms, times.timeout_ms),
        _ => (times.failed_ms, times.failed_ms.min(times.timeout_ms)),
    };
    let (response, service) = (nanoseconds(response_ms), nanoseconds(service_ms));
    let mut own = histogram();
    record(&mut own, service, count);
    record(&mut counts.service, service, count);
    record(&mut counts.response, response, count);
    counts.max_service_ns = counts.max_service_ns.max(service);
    counts.max_response_ns = counts.max_response_ns.max(response);
    counts.clamped += if response_ms * 1e6 > HIGHEST_NS as f64 { count } else { 0 };
    counts.errors.insert(class.to_owned(), own);
}

/// Records `count` operations that follow a table, none above `bound_ms`; answers the greatest time, ns.
///
/// The greatest is drawn as the greatest of so many; the others are what the table says below it, rounded so that they
/// add up.
fn fill(histogram: &mut Histogram, table: &Table, bound_ms: f64, count: u64, draws: [f64; 2]) -> u64 {
    if count == 0 {
        return 0;
    }
    let bound = if bound_ms.is_finite() { nanoseconds(bound_ms) } else { u64::MAX };
    let top = draws[0].powf(1.0 / count as f64);
    let greatest = table.quantile_ns(top).min(bound);
    let others = count - 1;
    let mut recorded = 0;
    for index in 1..table.at.len() {
        let until = ((others as f64 * (table.below[index] / top).min(1.0) + draws[1]) as u64).min(others);
        if until > recorded {
            let middle = (table.at[index - 1] * table.at[index]).sqrt();
            record(histogram, nanoseconds(middle).min(greatest), until - recorded);
            recorded = until;
        }
    }
    record(histogram, greatest, count - recorded);
    greatest
}

/// A histogram that is just wide enough for most times of a table, and grows for others.
///
/// It adds up with full ones; there are thousands of them in a run, and full ones would cost more time than the model.
fn histogram_up_to(table: &Table) -> Histogram {
    let highest = nanoseconds(table.at[table.at.len() - 1]).clamp(2 * LOWEST_NS, HIGHEST_NS);
    let mut histogram = Histogram::new_with_bounds(LOWEST_NS, highest, 3).unwrap_or_else(|_| histogram());
    histogram.auto(true);
    histogram
}

fn record(histogram: &mut Histogram, value: u64, count: u64) {
    histogram.saturating_record_n(value.min(HIGHEST_NS), count);
}

/// The nearest whole number that is not negative.
pub fn whole(value: f64) -> u64 {
    (value + 0.5).floor().max(0.0) as u64
}
