//! Recorded load that has no room in memory.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use proptest::prelude::*;
use wfe_core::hlog::{Header, Logs, Writer};
use wfe_core::limits::{Comparison, Limit, Metric, evaluate};
use wfe_core::measure::{Interval, Recording, Stretches};

use super::{counts, interval, recording, steady};

type Files = BTreeMap<(String, String), Vec<u8>>;

/// The log of each loader.
fn files<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> Files {
    let (mut files, mut writer) = (Files::new(), Writer::default());
    for interval in intervals {
        let (load, loader) = (interval.load.clone(), interval.loader.clone());
        let header = Header { load: load.clone(), loader: loader.clone(), base_s: 0.0 };
        let file = files.entry((load, loader)).or_insert_with(|| header.lines().into_bytes());
        file.extend(writer.lines(interval).into_bytes());
    }
    files
}

/// A recording of these intervals with room for so many bytes, whose archive is these files.
fn archived(intervals: impl IntoIterator<Item = Interval>, files: Files, room: usize) -> Recording {
    let files = Arc::new(files);
    let open = move |load: &str, loader: &str| {
        let file = files.get(&(load.to_owned(), loader.to_owned()));
        file.cloned().map(Cursor::new).ok_or(std::io::ErrorKind::NotFound.into())
    };
    let mut recording = Recording::over(Logs(open), room);
    for interval in intervals {
        assert!(recording.push(interval), "every interval is taken");
    }
    recording
}

/// Intervals of two loads and three loaders, some of them missing, warm-up or with more kinds of operation.
fn intervals() -> impl Strategy<Value = Vec<Interval>> {
    let values = proptest::collection::vec(0.001f64..10_000.0, 0..10);
    let one = (values, 0usize..10, any::<bool>());
    proptest::collection::vec(one, 1..60).prop_map(|all| {
        let one = |(number, (values, kind, asked)): (usize, (Vec<f64>, usize, bool))| {
            let length = [7, 10, 13][number % 3];
            let from = (number / 3) as u64 * length;
            let mut one = interval(["loader-1", "loader-2", "loader-3"][number % 3], from, from + length, &values);
            one.load = ["traffic", "traffic", "fill"][number % 3].into();
            one.warm_up = number < 3;
            one.asked_rate = one.asked_rate.filter(|_| asked);
            if kind < 3 {
                one.operations.insert("write".into(), counts(&values[..values.len() / 2]));
            }
            (kind != 9).then_some(one)
        };
        all.into_iter().enumerate().filter_map(one).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_has_no_room_is_read_again(
        all in intervals(), from in 0u64..150_000, length in 0u64..250_000, room in 0usize..40_000, any_ms in 1u64..90_000,
    ) {
        let (in_memory, archived) = (recording(all.clone()), archived(all.clone(), files(&all), room));
        let to = from + length;
        prop_assert_eq!(archived.measure(from, to, None), in_memory.measure(from, to, None));
        for operation in [None, Some("read"), Some("write")] {
            let wanted = Stretches { from_ms: from, to_ms: to, length_ms: any_ms, operation, service: Some(false) };
            let stretches = |recording: &Recording| {
                let mut all = Vec::new();
                recording.stretches(&wanted, |stretch| all.push(stretch)).map(|()| all)
            };
            prop_assert_eq!(stretches(&archived), stretches(&in_memory));
        }
        let shape = |recording: &Recording| {
            let found = recording.distributions(from, to);
            found.into_iter().map(|d| (d.operation, d.response.curve(4), d.service.curve(4), d.max_ms)).collect::<Vec<_>>()
        };
        prop_assert_eq!(shape(&archived), shape(&in_memory));
    }
}

#[test]
fn the_end_of_a_long_log_is_found() {
    let all = steady(100_000);
    let files = files(&all);
    assert!(files.values().all(|file| file.len() > 1 << 20), "searching is worth while");
    let archived = archived(all.clone(), files, 0);
    let in_memory = recording(all);
    for from in [0, 3_000, 49_990_000, 77_777_000, 99_980_000] {
        assert_eq!(archived.measure(from, from + 60_000, None), in_memory.measure(from, from + 60_000, None));
    }
}

#[test]
fn what_cannot_be_read_again_is_missing() {
    let all = steady(100);
    let mut files = files(&all);
    for file in files.values_mut() {
        let text = String::from_utf8(file.clone()).expect("text");
        *file = text.replace("Tag=read.rt,30.000,", "Tag=read.rt,thirty,").into_bytes();
    }
    let archived = archived(all, files, 0);
    let measurement = archived.measure(0, 100_000, None);
    let lost =
        |loader: &str| format!("{loader}: what was recorded from 30 s to 40 s cannot be read again from its log");
    assert_eq!(measurement.missing, [lost("loader-1"), lost("loader-2")]);
    assert!(!measurement.complete);
    assert_eq!(measurement.operations[0].count, 1_800);
    let metric = Metric::Errors { operation: None, percent: false };
    let limit = |any_ms| Limit {
        rule: "the rule".into(),
        metric: metric.clone(),
        comparison: Comparison::AtMost,
        bound: 0.0,
        of_asked: false,
        any_ms,
    };
    let results = evaluate(&[limit(None), limit(Some(20_000))], &archived, &measurement);
    assert_eq!([results[0].holds, results[1].holds], [None, None], "missing data is never green");
    assert_eq!(results[1].place, lost("loader-1"));
}

#[test]
fn a_log_that_is_gone_leaves_what_is_in_memory() {
    let mut recording = archived(steady(100), Files::new(), 0);
    recording.keep();
    steady(200).into_iter().filter(|interval| interval.from_ms >= 100_000).for_each(|interval| {
        assert!(recording.push(interval));
    });
    assert!(recording.measure(100_000, 200_000, None).complete);
    let lost = recording.measure(0, 200_000, None).missing;
    assert_eq!(lost[0], "loader-1: what was recorded from 0 s to 100 s cannot be read again from its log");
}
