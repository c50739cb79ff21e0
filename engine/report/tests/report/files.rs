//! The run directory.

use std::fs;

use wfe_core::hlog::{Header, lines};
use wfe_core::measure::{Counts, Interval, Packed};
use wfe_core::state::RunState;
use wfe_report::{load_run, write_all};

use super::fixture;

fn interval(from_s: u64) -> Interval {
    let response: Packed = [(1_000_000, 1)].into_iter().collect();
    let counts = Counts {
        service: response.clone(),
        response,
        max_response_ns: 1_000_000,
        max_service_ns: 1_000_000,
        clamped: 0,
        errors: Default::default(),
        share: 1.0,
    };
    Interval {
        load: "traffic".into(),
        loader: "loader-1".into(),
        from_ms: from_s * 1_000,
        to_ms: from_s * 1_000 + 10_000,
        warm_up: false,
        asked_rate: Some(0.1),
        operations: [("read".to_owned(), counts)].into(),
    }
}

/// A run that has begun, and no load in it.
fn nothing_started() -> RunState {
    RunState::begin(&fixture::troubled().entries[0]).expect("it is a beginning")
}

#[test]
fn logs_and_telemetry_are_loaded_and_damage_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = directory.path();
    fs::create_dir(run.join("hdr")).expect("a folder");
    let header = Header { load: "traffic".into(), loader: "loader-1".into(), base_s: 0.0 };
    let torn = header.lines() + &lines(&interval(0)) + &lines(&interval(10))[..50];
    fs::write(run.join("hdr").join(wfe_core::hlog::file_name(&header.load, &header.loader)), torn).expect("a file");
    let silent = Header { loader: "loader-2".into(), ..header };
    fs::write(run.join("hdr").join(wfe_core::hlog::file_name(&silent.load, &silent.loader)), silent.lines())
        .expect("a file");
    let sample = serde_json::json!({ "at": 5_000, "nodes": fixture::troubled().document().disk[0].nodes });
    fs::write(run.join("telemetry.jsonl"), format!("{sample}\nnonsense\n{{\"at\": 1")).expect("a file");

    let loaded = load_run(run, &nothing_started());
    let measurement = loaded.recording.measure(0, 10_000, None);
    assert_eq!(measurement.operations[0].count, 1);
    assert_eq!(measurement.missing, ["loader-2: nothing from 0 s to 10 s"], "a silent loader is missed");
    assert_eq!(loaded.telemetry.len(), 1);
    assert_eq!(loaded.notices.len(), 2, "{:?}", loaded.notices);
    assert!(loaded.notices[0].starts_with("traffic.loader-1.hlog: the last 50 bytes"), "{:?}", loaded.notices);
    assert!(loaded.notices[1].starts_with("telemetry, line 2"), "{:?}", loaded.notices);
}

#[test]
fn an_empty_directory_is_no_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let loaded = load_run(directory.path(), &nothing_started());
    assert!(loaded.recording.is_empty() && loaded.telemetry.is_empty() && loaded.notices.is_empty());
}

#[test]
fn all_files_are_written_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let document = fixture::troubled().document();
    write_all(&document, directory.path()).expect("it can be written");
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .expect("it can be listed")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    assert_eq!(names, ["junit.xml", "report.html", "report.md", "result.json"]);
    let missing = write_all(&document, &directory.path().join("nowhere")).expect_err("there is no such folder");
    assert!(missing.to_string().contains("report.html"));
}
