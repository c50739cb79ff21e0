//! Recorded load from interval to limit: merging, windows, log files, rules.

mod archive;
mod hlog;
mod limits;
mod recording;

use std::collections::BTreeMap;

use wfe_core::measure::{Counts, Interval, Packed, Recording};

/// One interval of `load` with reads of these response times in milliseconds, service times half as long.
pub fn interval(loader: &str, from_s: u64, to_s: u64, reads_ms: &[f64]) -> Interval {
    let counts = counts(reads_ms);
    let asked_rate = Some(reads_ms.len() as f64 / (to_s - from_s) as f64);
    Interval {
        load: "traffic".into(),
        loader: loader.into(),
        from_ms: from_s * 1_000,
        to_ms: to_s * 1_000,
        warm_up: false,
        asked_rate,
        operations: BTreeMap::from([("read".into(), counts)]),
    }
}

/// Counts of these response times in milliseconds; service times are half as long.
pub fn counts(response_ms: &[f64]) -> Counts {
    let ns: Vec<u64> = response_ms.iter().map(|ms| (ms * 1e6) as u64).collect();
    let (response, service) = (packed(ns.iter().copied()), packed(ns.iter().map(|ns| ns / 2)));
    let max = ns.iter().copied().max().unwrap_or(0);
    Counts {
        response,
        service,
        max_response_ns: max,
        max_service_ns: max / 2,
        clamped: 0,
        errors: BTreeMap::new(),
        share: 1.0,
    }
}

/// A histogram of these values, nanoseconds.
pub fn packed(values: impl IntoIterator<Item = u64>) -> Packed {
    values.into_iter().map(|ns| (ns, 1)).collect()
}

/// A recording of these intervals.
pub fn recording(intervals: impl IntoIterator<Item = Interval>) -> Recording {
    let mut recording = Recording::new();
    for interval in intervals {
        assert!(recording.push(interval), "every interval is taken");
    }
    recording
}

/// Two loaders, ten-second intervals from 0 to `to_s`, 100 reads each: 1 ms, one of them 5 ms.
pub fn steady(to_s: u64) -> Vec<Interval> {
    let mut reads = vec![1.0; 99];
    reads.push(5.0);
    let loaders = ["loader-1", "loader-2"];
    let starts = (0..to_s).step_by(10);
    starts.flat_map(|from| loaders.map(|loader| interval(loader, from, from + 10, &reads))).collect()
}
