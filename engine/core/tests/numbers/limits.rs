//! Rules against recorded load.

use proptest::prelude::*;
use wfe_core::limits::{Comparison, Limit, LimitResult, Metric, evaluate};
use wfe_core::measure::{Interval, Recording};

use super::{interval, recording, steady};

fn p99(bound: f64, any_ms: Option<u64>) -> Limit {
    limit(latency("read", "p99"), Comparison::AtMost, bound, any_ms)
}

fn latency(operation: &str, percentile: &str) -> Metric {
    Metric::Latency { operation: operation.into(), percentile: percentile.into(), service: false }
}

fn limit(metric: Metric, comparison: Comparison, bound: f64, any_ms: Option<u64>) -> Limit {
    Limit { rule: "the rule".into(), metric, comparison, bound, of_asked: false, any_ms }
}

fn check(limits: &[Limit], recording: &Recording, to_ms: u64) -> Vec<LimitResult> {
    evaluate(limits, recording, &recording.measure(0, to_ms, None))
}

#[test]
fn every_kind_of_rule_gives_a_value() {
    let rate = Metric::Rate { operation: Some("read".into()) };
    let of_asked = Limit { of_asked: true, ..limit(Metric::Rate { operation: None }, Comparison::AtLeast, 99.0, None) };
    let limits = [
        p99(10.0, None),
        limit(latency("read", "max"), Comparison::Less, 5.0, None),
        limit(
            Metric::Latency { operation: "read".into(), percentile: "p50".into(), service: true },
            Comparison::Less,
            1.0,
            None,
        ),
        limit(rate, Comparison::Greater, 19.0, None),
        of_asked,
        limit(Metric::RateDrop, Comparison::AtMost, 5.0, None),
        limit(Metric::Errors { operation: None, percent: false }, Comparison::AtMost, 0.0, None),
        limit(Metric::Errors { operation: None, percent: true }, Comparison::Less, 1.0, None),
        limit(latency("write", "p99"), Comparison::AtMost, 10.0, None),
    ];
    let results = check(&limits, &recording(steady(100)), 100_000);
    let shown: Vec<_> = results.iter().map(|r| format!("{:?} | {} | {}", r.holds, r.value, r.place)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    Some(true) | 1.00 ms | whole window; worst from 0:01:30 to 0:01:40: 1.00 ms
    Some(false) | 5.00 ms | whole window; worst from 0:01:30 to 0:01:40: 5.00 ms
    Some(true) | 0.50 ms | whole window
    Some(true) | 20.0/s | whole window
    Some(true) | 20.0/s of 20.0/s asked (100.00 %) | whole window
    Some(true) | 0.00 % | whole window
    Some(true) | 0 | whole window
    Some(true) | 0.000 % (0 operations) | whole window
    None | n/a | no write operations were recorded in the window
    ");
}

#[test]
fn the_asked_rate_must_be_reached_by_default() {
    let slow = steady(100).into_iter().map(|i| Interval { asked_rate: Some(20.0), ..i });
    let results = check(&[p99(10.0, None)], &recording(slow), 100_000);
    assert_eq!(results.len(), 2);
    let LimitResult { rule, value, holds, place } = &results[1];
    insta::assert_snapshot!(format!("{rule} | {value} | {holds:?} | {place}"), @"rate >= 99 % of asked (default) | 20.0/s of 40.0/s asked (50.00 %) | Some(false) | whole window; saturated: operations queued, and response times, which count from the intended start, grew with the queue");
    let closed = steady(100).into_iter().map(|i| Interval { asked_rate: None, ..i });
    assert_eq!(check(&[p99(10.0, None)], &recording(closed), 100_000).len(), 1);
    let own_rule = limit(Metric::RateDrop, Comparison::AtMost, 50.0, Some(60_000));
    assert_eq!(check(&[own_rule], &recording(steady(100)), 100_000).len(), 1);
}

/// An hour in which one minute is slow.
fn dip() -> Recording {
    let slow = |i: Interval| match i.from_ms {
        1_800_000..1_860_000 => interval(&i.loader.clone(), i.from_ms / 1_000, i.to_ms / 1_000, &[40.0; 100]),
        _ => i,
    };
    recording(steady(3_600).into_iter().map(slow))
}

#[test]
fn any_stretch_finds_what_the_whole_window_hides() {
    let results = check(&[p99(45.0, None), p99(30.0, Some(60_000)), p99(30.0, Some(600_000))], &dip(), 3_600_000);
    let shown: Vec<_> = results[..3].iter().map(|r| format!("{:?} | {} | {}", r.holds, r.value, r.place)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    Some(true) | 40.0 ms | whole window; worst from 0:30:00 to 0:40:00: 40.0 ms
    Some(false) | 40.0 ms | worst from 0:29:10 to 0:30:10
    Some(false) | 40.0 ms | worst from 0:20:10 to 0:30:10
    ");
}

#[test]
fn a_window_shorter_than_the_stretch_is_one_stretch() {
    let results = check(&[p99(10.0, Some(600_000))], &recording(steady(100)), 100_000);
    assert_eq!(
        (results[0].holds, results[0].place.as_str()),
        (Some(true), "worst from 0:00:00 to 0:01:40; the window is shorter than the rule's stretch")
    );
}

#[test]
fn incomplete_numbers_break_a_limit_but_never_hold_one() {
    let cut = |i: &Interval| !(i.loader == "loader-2" && i.from_ms >= 50_000);
    let recording = recording(steady(100).into_iter().filter(cut));
    let results = check(&[p99(10.0, None), p99(0.5, None), p99(10.0, Some(20_000))], &recording, 100_000);
    let holds: Vec<_> = results.iter().map(|result| result.holds).collect();
    assert_eq!(holds, [None, Some(false), None, None], "the last one is the default rule");
    assert_eq!(results[0].place, "loader-2: nothing from 50 s to 100 s");
}

#[test]
fn a_percentile_of_too_few_decides_nothing() {
    let few = |count: usize| recording([interval("loader-1", 0, 10, &vec![5.0; count])]);
    let result = |count, bound| check(&[p99(bound, None)], &few(count), 10_000).remove(0);
    let shown = |result: LimitResult| format!("{:?} | {} | {}", result.holds, result.value, result.place);
    insta::assert_snapshot!(shown(result(99, 10.0)), @"None | 5.00 ms | 99 read operations were answered: p99 needs 100");
    assert_eq!(result(100, 10.0).holds, Some(true));
    assert_eq!(result(99, 1.0).holds, Some(false), "too slow is too slow");
}

/// Of a cluster that refuses nearly everything, the few that it answers are quick.
#[test]
fn operations_must_not_fail_by_default() {
    let failing = |part: usize| {
        let mut interval = interval("loader-1", 0, 10, &[5.0; 1_000]);
        let counts = interval.operations.get_mut("read").unwrap();
        counts.errors.insert("unavailable".into(), (0..part).map(|_| (5_000_000, 1)).collect());
        check(&[p99(10.0, None)], &recording([interval]), 10_000).last().unwrap().clone()
    };
    let shown = |result: LimitResult| format!("{} | {:?} | {}", result.rule, result.holds, result.value);
    insta::assert_snapshot!(shown(failing(700)), @"errors <= 1 % (default) | Some(false) | 70.000 % (700 operations)");
    assert_eq!(failing(10).holds, Some(true));
}

#[test]
fn nothing_recorded_decides_nothing() {
    let results = check(&[p99(10.0, None), p99(10.0, Some(60_000))], &Recording::new(), 100_000);
    assert!(results.iter().all(|result| result.holds.is_none() && result.value == "n/a"), "{results:?}");
    assert_eq!(results[0].place, "no load was recorded from 0 s to 100 s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_worst_stretch_is_the_worst_of_all_windows(
        values in proptest::collection::vec(proptest::collection::vec(0.1f64..1_000.0, 0..20), 1..30),
        length in 1u64..12,
    ) {
        let count = values.len() as u64;
        let intervals = values.iter().enumerate().map(|(n, ms)| interval("loader-1", n as u64, n as u64 + 1, ms));
        let recording = recording(intervals);
        let length = length.min(count) * 1_000;
        let windows = (0..=count * 1_000 - length).step_by(1_000).map(|from| recording.measure(from, from + length, None));
        let expected = windows.filter_map(|window| window.operation("read")?.response_ms.p99).fold(0.0, f64::max);
        let result = &check(&[p99(expected - 0.05, Some(length))], &recording, count * 1_000)[0];
        if expected > 0.0 {
            prop_assert_eq!(result.holds, Some(false));
            let above = &check(&[p99(expected, Some(length))], &recording, count * 1_000)[0];
            let enough = values.iter().map(Vec::len).sum::<usize>() >= 100;
            prop_assert_eq!(above.holds, enough.then_some(true), "a P99 takes a hundred values");
        }
    }
}

#[test]
fn stretches_that_are_longer_than_asked_are_told() {
    let results = check(&[p99(10.0, Some(1)), p99(10.0, Some(10_000))], &recording(steady(100)), 100_000);
    let places: Vec<&str> = results[..2].iter().map(|result| result.place.as_str()).collect();
    insta::assert_snapshot!(places.join("\n"), @r#"
    worst from 0:00:00 to 0:00:10; in stretches of 10s, the shortest that were recorded
    worst from 0:00:00 to 0:00:10
    "#);
}
