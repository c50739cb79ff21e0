//! Log files: what is written can be read again, and damage is named.

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use proptest::prelude::*;
use wfe_core::hlog::{Header, Line, Writer, file_name, lines, read};
use wfe_core::measure::{Interval, Recording};

use super::{counts, interval, packed, recording, steady};

fn header() -> Header {
    Header { load: "traffic".into(), loader: "loader-1".into(), base_s: 1_700_000_000.0 }
}

fn file(intervals: &[Interval]) -> String {
    let mut writer = Writer::default();
    header().lines() + &intervals.iter().map(|interval| writer.lines(interval)).collect::<String>()
}

fn one(from_s: u64) -> Interval {
    let mut one = interval("loader-1", from_s, from_s + 10, &[1.0, 2.5, 700.123456]);
    let reads = one.operations.get_mut("read").expect("there are reads");
    reads.errors.insert("timeout".into(), packed([5_000_000_000]));
    reads.share = 0.5;
    reads.clamped = 2;
    one.operations.insert("write".into(), counts(&[]));
    one
}

fn parse(text: &str) -> (Vec<Interval>, wfe_core::hlog::Log) {
    let mut intervals = Vec::new();
    let log = read(text.as_bytes(), |interval| intervals.push(interval)).expect("memory can be read");
    (intervals, log)
}

#[test]
fn everything_that_is_written_is_read() {
    let mut written = vec![one(0), one(10), Interval { warm_up: true, asked_rate: None, ..one(20) }];
    written[1].operations.clear();
    let text = file(&written);
    let (intervals, log) = parse(&text);
    assert_eq!(log.header, Some(header()));
    assert_eq!((log.good_bytes, log.notice, log.damage), (text.len() as u64, None, vec![]));
    assert_eq!(intervals, written);
}

#[test]
fn the_format_is_what_other_tools_expect() {
    let text = lines(&one(120));
    let shown: Vec<_> = text.lines().map(|line| line.split_once("HISTF").map_or(line, |(times, _)| times)).collect();
    insta::assert_snapshot!(header().lines() + &shown.join("\n"), @r#"
    #[Histogram log format version 1.3]
    #[Load: traffic]
    #[Loader: loader-1]
    #[BaseTime: 1700000000.000 (seconds since epoch)]
    #[StartTime: 1700000000.000 (seconds since epoch)]
    # Histograms in nanoseconds, bound 7200000000000; Interval_Max in milliseconds; start and length in seconds.
    "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
    Tag=read.rt,120.000,10.000,700.123456,
    Tag=read.st,120.000,10.000,350.061728,
    Tag=read.err.timeout,120.000,10.000,5003.804671,
    Tag=write.rt,120.000,10.000,0.000000,
    Tag=write.st,120.000,10.000,0.000000,
    #[Interval: {"from_ms":120000,"to_ms":130000,"warm_up":false,"asked_rate":0.3,"lines":5,"operations":{"read":{"share":0.5,"clamped":2,"errors":["timeout"]},"write":{"share":1.0,"clamped":0,"errors":[]}}}]
    "#);
    let file = file(&[one(120)]);
    let tags: Vec<_> = IntervalLogIterator::new(file.as_bytes())
        .filter_map(|entry| match entry.expect("the crate's reader takes every line") {
            LogEntry::Interval(line) => line.tag().map(|tag| tag.as_str().to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(tags, ["read.rt", "read.st", "read.err.timeout", "write.rt", "write.st"]);
}

#[test]
fn odd_lines_of_other_writers_are_read() {
    let text = lines(&one(0));
    let encoded = text.lines().next().and_then(|line| line.rsplit(',').next()).expect("there is a histogram");
    for line in [format!("0,10,700,{encoded}"), format!("Tag=a.b, -1.5 , 10 ,7e2,{encoded}  ")] {
        let parsed = Line::parse(&line).expect("it is a line");
        assert_eq!((parsed.length_s, parsed.max, parsed.histogram.count()), (10.0, 700.0, 3));
    }
    let spaced = file(&[one(0)]).replace('\n', "\n\n");
    let (intervals, log) = parse(&spaced);
    assert_eq!((intervals.len(), log.damage.len(), log.notice), (1, 0, None));
}

#[test]
fn damage_is_named_with_its_line() {
    let text = file(&[one(0), one(10), one(20)]);
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let broken = lines.iter().position(|line| line.contains("read.st,10.000")).expect("the second interval is there");
    let end = lines[broken].len() - 40;
    lines[broken].truncate(end);
    let (intervals, log) = parse(&(lines.join("\n") + "\n"));
    assert_eq!(intervals.iter().map(|i| i.from_ms).collect::<Vec<_>>(), [0, 20_000]);
    assert_eq!(log.damage[0].line, broken + 1);
    assert!(log.notice.is_none());
}

#[test]
fn a_hostile_length_is_refused() {
    let mut v2 = vec![0x1c, 0x84, 0x93, 0x13];
    v2.extend(u32::MAX.to_be_bytes());
    v2.resize(60, 1);
    let mut bytes = vec![0x1c, 0x84, 0x93, 0x14, 0, 0, 0, 0];
    let mut zlib = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::fast());
    std::io::Write::write_all(&mut zlib, &v2).expect("memory");
    zlib.finish().expect("memory");
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
    assert_eq!(Line::parse(&format!("0,1,1,{text}")), Err("the histogram is shorter than it says".into()));
}

#[test]
fn file_names_are_safe_and_their_own() {
    assert_eq!(file_name("traffic", "loader-1"), "traffic.loader-1.hlog");
    let (one, two) = (file_name("../a/b", "x"), file_name("../a_b", "x"));
    assert_ne!(one, two);
    assert!(!one.contains('/') && !one.starts_with('.'));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_file_cut_anywhere_keeps_its_whole_intervals(line in 0usize..26, back in 0usize..3, any in 0usize..6_000) {
        let written = [one(0), one(10), one(20)];
        let text = file(&written);
        // Cuts around the ends of lines are the ones that go wrong.
        let ends: Vec<_> = text.match_indices('\n').map(|(end, _)| end + 1 - back.min(end)).collect();
        let cut = ends.get(line).copied().unwrap_or(any).min(text.len());
        let (intervals, log) = parse(&text[..cut]);
        prop_assert_eq!(log.damage, vec![]);
        prop_assert!(log.good_bytes as usize <= cut);
        prop_assert_eq!(&intervals[..], &written[..intervals.len()]);
        if log.header.is_some() && log.good_bytes > 0 {
            // What is appended after a cut at the good bytes is read with the rest.
            let resumed = text[..log.good_bytes as usize].to_owned() + &lines(&one(30));
            let (again, log) = parse(&resumed);
            prop_assert_eq!((again.len(), log.damage, log.notice), (intervals.len() + 1, vec![], None));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(Tag=|#\\[Interval: |[a-z0-9,.{}\\]\n=-]){0,60}") {
        parse(&text);
    }
}

#[test]
fn a_recording_can_be_rebuilt_from_its_files() {
    let intervals = steady(200);
    let mut rebuilt = Recording::new();
    for loader in ["loader-1", "loader-2"] {
        let of_loader: Vec<_> = intervals.iter().filter(|i| i.loader == loader).cloned().collect();
        let head = Header { loader: loader.into(), ..header() };
        let text = head.lines() + &of_loader.iter().map(lines).collect::<String>();
        read(text.as_bytes(), |interval| assert!(rebuilt.push(interval))).expect("memory can be read");
    }
    assert_eq!(rebuilt.measure(0, 200_000, None), recording(intervals).measure(0, 200_000, None));
}
