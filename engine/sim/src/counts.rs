//! Counts of one kind of operation in one interval: exact numbers, and histograms that follow a distribution.

use std::collections::BTreeMap;

use wfe_core::measure::{Counts, HIGHEST_NS, Packed};

use crate::latency::{Table, nanoseconds};

/// The class of operations on which the client gave up.
pub const TIMEOUT: &str = "timeout";

/// The distributions of one kind of operation in an interval.
pub struct Times {
    /// End minus sent.
    pub service: Table,
    /// End minus intended start; none when nothing starts late, so that it is the same.
    pub late: Option<Table>,
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
    pub fn part(&self, loader: u64, loaders: u64) -> Self {
        let part = |count: u64| count / loaders + u64::from(loader < count % loaders);
        Self { good: part(self.good), failed: self.failed.iter().map(|&(class, count)| (class, part(count))).collect() }
    }
}

/// Times in nanoseconds, each with how many operations took it.
#[derive(Clone, PartialEq)]
struct Drawn {
    times: Vec<(u64, u64)>,
    greatest: u64,
}

/// The counts and histograms of what one loader did; `draws` are two random numbers between 0 and 1.
pub fn counts(ended: &Ended, times: &Times, draws: [f64; 2], share: f64) -> Counts {
    let table = times.late.as_ref().unwrap_or(&times.service);
    let mut response = draw(table, u64::MAX, ended.good, draws);
    let timeout = nanoseconds(times.timeout_ms);
    let mut service = match times.late {
        None if response.greatest <= timeout => response.clone(),
        _ => draw(&times.service, timeout, ended.good, draws),
    };
    let mut clamped = whole(ended.good as f64 * table.above(HIGHEST_NS as f64 / 1e6));
    let mut errors = BTreeMap::new();
    for &(class, count) in ended.failed.iter().filter(|(_, count)| *count > 0) {
        let (response_ms, service_ms) = times.failed(class);
        response.add(nanoseconds(response_ms), count);
        service.add(nanoseconds(service_ms), count);
        clamped += if response_ms * 1e6 > HIGHEST_NS as f64 { count } else { 0 };
        errors.insert(class.to_owned(), [(nanoseconds(service_ms), count)].into_iter().collect());
    }
    let (max_response_ns, max_service_ns) = (response.greatest, service.greatest);
    let same = response == service;
    let response: Packed = response.times.into_iter().collect();
    let service = if same { response.clone() } else { service.times.into_iter().collect() };
    Counts { response, service, max_response_ns, max_service_ns, clamped, errors, share }
}

impl Times {
    /// Response and service time of an operation that failed, ms.
    fn failed(&self, class: &str) -> (f64, f64) {
        match class {
            TIMEOUT => (self.timeout_ms + self.failed_ms, self.timeout_ms),
            _ => (self.failed_ms, self.failed_ms.min(self.timeout_ms)),
        }
    }
}

impl Drawn {
    fn add(&mut self, ns: u64, count: u64) {
        self.times.push((ns, count));
        self.greatest = self.greatest.max(ns);
    }
}

/// The times of `count` operations that follow a table, none above `bound`.
///
/// The greatest is drawn as the greatest of so many; the others are what the table says below it, rounded so that they
/// add up.
fn draw(table: &Table, bound: u64, count: u64, draws: [f64; 2]) -> Drawn {
    let mut drawn = Drawn { times: Vec::with_capacity(table.at.len() + 1), greatest: 0 };
    if count == 0 {
        return drawn;
    }
    let top = draws[0].powf(1.0 / count as f64);
    let greatest = table.quantile_ns(top).min(bound);
    let others = count - 1;
    let mut recorded = 0;
    for index in 1..table.at.len() {
        let until = ((others as f64 * (table.below[index] / top).min(1.0) + draws[1]) as u64).min(others);
        if until > recorded {
            let middle = (table.at[index - 1] * table.at[index]).sqrt();
            drawn.times.push((nanoseconds(middle).min(greatest), until - recorded));
            recorded = until;
        }
    }
    drawn.add(greatest, count - recorded);
    drawn
}

/// The nearest whole number that is not negative.
pub fn whole(value: f64) -> u64 {
    (value + 0.5).floor().max(0.0) as u64
}
