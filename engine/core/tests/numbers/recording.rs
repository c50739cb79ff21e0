//! Windows of recorded load.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wfe_core::measure::{Interval, Measurement, Tally, ms};

use super::{interval, packed, recording, steady};

fn read(measurement: &Measurement) -> &wfe_core::measure::OperationMeasurement {
    measurement.operation("read").expect("reads were recorded")
}

#[test]
fn loaders_are_merged_and_rates_added() {
    let measurement = recording(steady(100)).measure(0, 100_000, None);
    let read = read(&measurement);
    assert_eq!((read.count, read.rate, read.asked_rate), (2_000, 20.0, Some(20.0)));
    assert_eq!(read.response_ms.max, Some(5.0));
    assert_eq!(read.service_ms.max, Some(2.5));
    assert!(read.complete && measurement.complete, "{:?}", measurement.missing);
    assert_eq!(measurement.loaders, ["loader-1", "loader-2"]);
    assert_eq!((measurement.covered_from_ms, measurement.covered_to_ms), (Some(0), Some(100_000)));
    assert!(measurement.notes.is_empty());
    assert_eq!(read.intervals.len(), 10);
}

#[test]
fn percentiles_of_unequal_loaders_are_those_of_all_values_together() {
    let fast = interval("loader-1", 0, 10, &[1.0; 990]);
    let slow = interval("loader-2", 0, 10, &[100.0; 10]);
    let measurement = recording([fast, slow]).measure(0, 10_000, None);
    let p99 = read(&measurement).response_ms.p99.expect("there are values");
    assert!((p99 - 1.0).abs() < 0.01, "the mean of the loaders' P99 would be 50 ms, this is {p99}");
}

#[test]
fn a_gap_names_loader_and_seconds() {
    let cut = |i: &Interval| !(i.loader == "loader-2" && (120_000..180_000).contains(&i.from_ms));
    let measurement = recording(steady(600).into_iter().filter(cut)).measure(0, 600_000, None);
    assert!(!measurement.complete && !read(&measurement).complete);
    assert_eq!(read(&measurement).missing, ["loader-2: nothing from 120 s to 180 s"]);
    assert_eq!(read(&measurement).rate, 20.0, "over the covered time");
}

#[test]
fn a_window_without_a_whole_interval_says_so() {
    let recording = recording(steady(100));
    let expected = "no whole interval of a load lies from 5 s to 16 s: measure for longer";
    assert_eq!(recording.measure(5_000, 16_000, None).missing[0], expected);
    assert_eq!(recording.measure(205_000, 216_000, None).missing, ["no load was recorded from 205 s to 216 s"]);
    assert!(recording.measure(5_000, 25_000, None).complete, "two intervals hold a whole one");
}

#[test]
fn a_piece_in_which_nothing_was_recorded_has_no_rate() {
    let cut = |i: &Interval| !(120_000..180_000).contains(&i.from_ms);
    let measurement = recording(steady(600).into_iter().filter(cut)).measure(0, 600_000, None);
    let rates: Vec<_> = read(&measurement).intervals.iter().map(|piece| piece.rate).collect();
    assert_eq!(rates[1..4], [Some(20.0), None, Some(20.0)]);
}

#[test]
fn a_loader_that_is_absent_from_the_window_is_missing() {
    let cut = |i: &Interval| i.loader == "loader-1" || i.from_ms >= 300_000;
    let measurement = recording(steady(600).into_iter().filter(cut)).measure(0, 100_000, None);
    assert_eq!(measurement.missing, ["loader-2: nothing from 0 s to 100 s"]);
    assert_eq!(measurement.loaders, ["loader-1"]);
}

#[test]
fn an_announced_loader_that_never_recorded_is_missing() {
    let mut recording = recording(steady(100));
    recording.expect_loader("traffic", "loader-3");
    assert_eq!(recording.measure(0, 100_000, None).missing, ["loader-3: nothing from 0 s to 100 s"]);
}

#[test]
fn cut_intervals_are_left_out_and_noted() {
    let measurement = recording(steady(100)).measure(13_000, 67_500, None);
    assert!(measurement.complete);
    assert_eq!((measurement.covered_from_ms, measurement.covered_to_ms), (Some(20_000), Some(60_000)));
    assert_eq!(read(&measurement).count, 800);
    assert_eq!(read(&measurement).rate, 20.0);
    assert_eq!(
        measurement.notes[0],
        "loader-1: 7 s at the start and 7.5 s at the end lie in intervals that the window cuts; left out"
    );
}

#[test]
fn warm_up_is_left_out_and_noted() {
    let mut intervals = steady(100);
    intervals.iter_mut().filter(|i| i.from_ms == 0).for_each(|i| i.warm_up = true);
    let measurement = recording(intervals).measure(0, 100_000, None);
    assert!(measurement.complete);
    assert_eq!(read(&measurement).count, 1_800);
    assert_eq!(measurement.notes, ["loader-1: 10 s of warm-up left out", "loader-2: 10 s of warm-up left out"]);
}

#[test]
fn nothing_is_never_complete() {
    for (from, to) in [(0, 0), (0, 60_000), (500_000, 600_000), (2_000, 8_000)] {
        let measurement = recording(steady(100)).measure(from + 100_000, to + 100_000, None);
        assert!(!measurement.complete && measurement.operations.is_empty());
        assert_eq!(measurement.missing.len(), 1, "{measurement:?}");
        assert_eq!((measurement.rate(), measurement.asked_rate()), (None, None));
    }
    let inside_one_interval = recording(steady(100)).measure(2_000, 8_000, None);
    assert!(!inside_one_interval.complete && inside_one_interval.operations.is_empty());
}

#[test]
fn only_warm_up_is_never_complete() {
    let warm = steady(100).into_iter().map(|i| Interval { warm_up: true, ..i });
    let measurement = recording(warm).measure(0, 100_000, None);
    assert!(!measurement.complete);
    assert_eq!(measurement.missing, ["no load was recorded from 0 s to 100 s"]);
}

#[test]
fn an_interval_counts_once() {
    let mut recording = recording(steady(100));
    for interval in steady(100) {
        assert!(!recording.push(interval));
    }
    assert_eq!(read(&recording.measure(0, 100_000, None)).count, 2_000);
}

#[test]
fn one_load_after_another_does_not_add_up() {
    let named = |i: Interval, load: &str| Interval { load: load.into(), ..i };
    let first = steady(100).into_iter().map(|i| named(i, "fill"));
    let second = steady(200).into_iter().filter(|i| i.from_ms >= 100_000).map(|i| named(i, "traffic"));
    let recording = recording(first.chain(second));
    let measurement = recording.measure(0, 200_000, None);
    assert!((read(&measurement).rate - 20.0).abs() < 1e-9, "{}", read(&measurement).rate);
    assert!(measurement.missing.contains(&"loader-1 of fill: nothing from 100 s to 200 s".into()));
    let measurement = recording.measure(95_000, 200_000, None);
    assert!(measurement.complete, "a load that ends at the window's edge is not part of it: {:?}", measurement.missing);
    assert_eq!(measurement.notes[0], "fill: only 5 s of it lie in the window; left out");
}

#[test]
fn errors_are_counted_by_class() {
    let mut one = interval("loader-1", 0, 10, &[1.0, 2.0]);
    let read_counts = one.operations.get_mut("read").expect("there are reads");
    read_counts.errors.insert("timeout".into(), packed([10_000_000_000]));
    read_counts.clamped = 1;
    let measurement = recording([one]).measure(0, 10_000, None);
    assert_eq!(read(&measurement).errors, BTreeMap::from([("timeout".into(), 1)]));
    assert_eq!(measurement.notes, ["read: 1 values over the histogram's bound are counted at it"]);
}

#[test]
fn a_closed_loop_has_no_asked_rate() {
    let intervals = steady(100).into_iter().map(|i| Interval { asked_rate: None, ..i });
    let measurement = recording(intervals).measure(0, 100_000, None);
    assert_eq!(measurement.asked_rate(), None);
    assert_eq!(measurement.rate(), Some(20.0));
}

#[test]
fn long_windows_are_shown_in_pieces_of_ten_minutes() {
    let recording = recording(steady(2_400));
    let pieces = |to: u64, piece| {
        let measurement = recording.measure(0, to * 1_000, piece);
        read(&measurement).intervals.iter().map(|piece| (piece.from_s, piece.to_s)).collect::<Vec<_>>()
    };
    assert_eq!(pieces(2_310, None), [(0.0, 600.0), (600.0, 1200.0), (1200.0, 1800.0), (1800.0, 2310.0)]);
    assert_eq!(pieces(1_200, None).len(), 10);
    assert_eq!(pieces(30, None).len(), 3, "at least one interval");
    assert_eq!(pieces(100, Some(1)).len(), 10, "at least one interval");
}

/// Intervals of random values for three loaders.
fn intervals() -> impl Strategy<Value = Vec<Interval>> {
    let values = proptest::collection::vec(0.001f64..10_000.0, 0..30);
    proptest::collection::vec(values, 1..40).prop_map(|all| {
        let one = |(number, values): (usize, Vec<f64>)| {
            let from = (number / 3) as u64 * 10;
            interval(["loader-1", "loader-2", "loader-3"][number % 3], from, from + 10, &values)
        };
        all.into_iter().enumerate().map(one).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_window_is_the_merge_of_the_intervals_inside(intervals in intervals(), from in 0u64..150_000, length in 0u64..150_000) {
        let (from, to) = (from, from + length);
        let mut expected = Tally::default();
        let inside = intervals.iter().filter(|i| i.from_ms >= from && i.to_ms <= to);
        inside.for_each(|interval| expected.add(&interval.operations["read"].response));
        let measurement = recording(intervals).measure(from, to, None);
        let Some(read) = measurement.operation("read") else {
            prop_assert_eq!(expected.total(), 0);
            return Ok(());
        };
        prop_assert_eq!(read.count, expected.total());
        prop_assert_eq!(read.intervals.iter().map(|piece| piece.count).sum::<u64>(), read.count);
        let max = read.response_ms.max.unwrap_or(0.0);
        if read.count > 0 {
            let [p50, p99] = expected.at([0.5, 0.99]);
            prop_assert_eq!(read.response_ms.p99, Some(ms(p99).min(max)));
            prop_assert_eq!(read.response_ms.p50, Some(ms(p50).min(max)));
        }
    }

    #[test]
    fn numbers_are_always_finite(intervals in intervals(), from in 0u64..200_000, length in 0u64..200_000, piece in 0u64..50_000) {
        let measurement = recording(intervals).measure(from, from + length, Some(piece));
        let text = serde_json::to_string(&measurement).expect("it can be encoded");
        let again: Measurement = serde_json::from_str(&text).expect("it can be decoded");
        for operation in &again.operations {
            prop_assert!(operation.rate.is_finite() && operation.asked_rate.is_none_or(f64::is_finite));
            prop_assert!(operation.intervals.iter().all(|piece| piece.rate.is_none_or(f64::is_finite)));
        }
    }
}
