//! Runs whose process is gone, or still there.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::Value;
use wfe_tests::{named, repository};

use crate::place::{Place, QUICK};

const JOURNAL: &str = "journal.jsonl";

/// `result.json` without what differs between runs that are the same.
fn comparable(result: &str) -> Value {
    let mut result: Value = serde_json::from_str(result).unwrap();
    for key in ["run", "started", "wall_s"] {
        result[key] = Value::Null;
    }
    result
}

/// Cuts a run's journal at half of the line after the first `whole` ones; all other files but the workflow are removed.
fn cut(run: &Path, whole: usize) {
    let journal = fs::read(run.join(JOURNAL)).unwrap();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    assert!(lines.len() > whole + 1, "the journal has {} lines", lines.len());
    let torn = &lines[whole][..lines[whole].len() / 2];
    fs::write(run.join(JOURNAL), [&lines[..whole].concat(), torn].concat()).unwrap();
    for made in ["report.html", "report.md", "result.json", "junit.xml", "telemetry.jsonl"] {
        fs::remove_file(run.join(made)).unwrap();
    }
}

#[test]
fn a_torn_journal_is_told_and_carried_on_with() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    let whole = place.result();
    cut(&place.runs()[0], 12);
    assert_snapshot!(place.seen(&["show"]), @r#"
    exit code 0
    --- stdout
    run        quick-[stamp]
    workflow   quick (quick.yaml)
    backend    sim (SIMULATED)
    started    [wall time]
    verdict    none yet; last event at 0:00:49; `wfe resume` carries on

    cluster              running since 0:00:00  machines

    machine  i-0001               live
    machine  i-0002               live
    machine  i-0003               live
    machine  i-0004               live
    files      [directory]/.wfe/runs/quick-[stamp]
    "#);
    assert_snapshot!(place.seen(&["resume", "last"]), @r#"
    exit code 0
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    PASS  quick on sim, 0:03:27
    All 2 limits hold. steady: read P99 1.51 ms, write P99 1.81 ms at 5,000/s of 5,000/s asked.

    What the workflow asks for
      Step    Rule                             Result                                 Value  Where
      steady  read.p99 <= 10ms                 ✓ holds                              1.51 ms  whole window; worst from 0:02:47 to 0:02:57: 1.53 ms
      steady  rate >= 99 % of asked (default)  ✓ holds  5,000/s of 5,000/s asked (100.00 %)  whole window

    Measured windows, times in ms
      Window  P90 write  P90 read  P99 write  P99 read  max write  max read  op/s write  op/s read  asked op/s  duration    start  complete
      steady       1.12      0.90       1.81    ✓ 1.51       4.19      33.9       2,500      2,500       5,000   0:01:00  0:02:27  ✓ yes

    Report: [directory]/.wfe/runs/quick-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
    notice: the journal's last line was torn (121 bytes) and is dropped
     0:00:49  resumed
     0:00:49  cluster: cluster
     0:02:24  cluster: scylla 2025.2 runs on 3 nodes
     0:02:24  cluster: succeeded
     0:02:24  traffic: started
     0:02:26  traffic: ready
     0:02:26  steady: started
     0:03:26  steady: limit read.p99 <= 10ms holds: 1.51 ms (whole window; worst from 0:02:47 to 0:02:57: 1.53 ms)
     0:03:26  steady: limit rate >= 99 % of asked (default) holds: 5,000/s of 5,000/s asked (100.00 %) (whole window)
     0:03:26  steady: succeeded
     0:03:26  traffic: asked to stop
     0:03:26  traffic: traffic ended after 310000 operations, 0 errors
     0:03:26  traffic: succeeded
     0:03:26  finally
     0:03:26  machine i-0001 deleted
     0:03:26  machine i-0002 deleted
     0:03:26  machine i-0003 deleted
     0:03:26  machine i-0004 deleted
     0:03:26  verdict: pass
    "#);
    assert_eq!(comparable(&place.result()), comparable(&whole));
}

/// A process that is killed after its last event and before it wrote the reports.
#[test]
fn a_run_that_is_over_gets_its_reports_and_its_exit_code() {
    for (workflow, code) in [(QUICK.to_owned(), 0), (QUICK.replace("read.p99: <= 10ms", "read.p99: <= 1ms"), 1)] {
        let place = Place::new();
        place.write("quick.yaml", workflow);
        let printed = place.wfe(&["run", "quick.yaml", "--json"]).output().unwrap();
        let run = place.runs().remove(0);
        let journal = fs::read(run.join(JOURNAL)).unwrap();
        let made = ["report.html", "report.md", "result.json", "junit.xml"];
        made.iter().for_each(|name| fs::remove_file(run.join(name)).unwrap());
        for _ in 0..2 {
            let output = place.wfe(&["resume", "--json"]).output().unwrap();
            assert_eq!(output.status.code(), Some(code));
            assert_eq!(output.stdout, printed.stdout);
            let said = String::from_utf8(output.stderr).unwrap();
            let verdict = if code == 0 { "pass" } else { "fail" };
            assert_eq!(said, format!("notice: the run is over, with verdict {verdict}: its reports are made again\n"));
            assert!(made.iter().all(|name| run.join(name).exists()));
        }
        assert_eq!(fs::read(run.join(JOURNAL)).unwrap(), journal);
    }
}

#[test]
fn a_run_whose_process_lives_is_not_resumed() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    cut(&place.runs()[0], 12);
    let path = place.runs()[0].join(JOURNAL);
    let before = fs::read(&path).unwrap();
    let owner = OpenOptions::new().append(true).open(&path).unwrap();
    owner.lock().unwrap();
    assert_snapshot!(place.seen(&["resume"]), @r#"
    exit code 2
    --- stderr
    error: [directory]/.wfe/runs/quick-[stamp]/journal.jsonl: another process is carrying out this run: process [pid] on [host], since [wall time]
    `wfe logs -f` follows the run, `wfe cancel` ends it in order
    "#);
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(owner);
    place.stdout(&["resume"]);
}

#[test]
fn a_journal_that_is_empty_or_damaged() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    let path = place.runs()[0].join(JOURNAL);
    let journal = fs::read_to_string(&path).unwrap();
    fs::write(&path, journal.replacen("\"n\":3", "\"n\":", 1)).unwrap();
    assert_snapshot!(place.seen(&["resume"]), @r#"
    exit code 4
    --- stderr
    error: [directory]/.wfe/runs/quick-[stamp]/journal.jsonl: line 4, byte [n]: not a journal entry: its checksum differs: it was changed after it was written
    `wfe show` tells what stands before that; machines that it lists may have to be given back by hand
    "#);
    assert_snapshot!(place.seen(&["show"]), @r#"
    exit code 4
    --- stdout
    run        quick-[stamp]
    workflow   quick (quick.yaml)
    backend    sim (SIMULATED)
    started    [wall time]
    verdict    none yet; last event at 0:00:00; `wfe resume` carries on

    cluster              running since 0:00:00  machines

    files      [directory]/.wfe/runs/quick-[stamp]
    --- stderr
    error: [directory]/.wfe/runs/quick-[stamp]/journal.jsonl: line 4, byte [n]: not a journal entry: its checksum differs: it was changed after it was written
    what stands before that is shown
    "#);
    File::create(&path).unwrap();
    assert_snapshot!(place.seen(&["resume"]), @r#"
    exit code 4
    --- stderr
    error: [directory]/.wfe/runs/quick-[stamp]/journal.jsonl: the journal holds no entry: nothing was made yet, or its entries are lost
    "#);
    assert_snapshot!(place.seen(&["runs"]), @r#"
    exit code 0
    --- stdout
    RUN                         STARTED               BACKEND   STATE
    quick-[stamp]  -                     -         the journal holds no entry: nothing was made yet, or its entries are lost
    "#);
    fs::write(&path, &journal[..20]).unwrap();
    assert_snapshot!(place.seen(&["resume"]), @r#"
    exit code 4
    --- stderr
    error: [directory]/.wfe/runs/quick-[stamp]/journal.jsonl: the journal holds no entry: nothing was made yet, or its entries are lost
    "#);
    assert_snapshot!(place.seen(&["report"]), @r#"
    exit code 4
    --- stderr
    error: [directory]/.wfe/runs/quick-[stamp]/journal.jsonl: the journal holds no entry: nothing was made yet, or its entries are lost
    "#);
}

/// A report that cannot be written is told, and takes from a run only that it passed.
#[test]
fn a_report_that_cannot_be_written() {
    for (limit, code) in [("<= 1ms", 1), ("<= 10ms", 4)] {
        let place = Place::new();
        place.write("quick.yaml", QUICK.replace("<= 10ms", limit));
        drop(place.wfe(&["run", "quick.yaml"]).output().unwrap());
        let run = place.runs().remove(0);
        cut(&run, 20);
        fs::create_dir_all(run.join("report.html/in-the-way")).unwrap();
        let resumed = place.wfe(&["resume"]).output().unwrap();
        let said = String::from_utf8(resumed.stderr).unwrap();
        assert_eq!(resumed.status.code(), Some(code), "{said}");
        assert!(said.contains("report.html") && said.contains("`wfe report` makes its reports again"), "{said}");
        let result: Value = serde_json::from_str(&place.result()).unwrap();
        assert_eq!(result["verdict"], if code == 1 { "fail" } else { "pass" });
    }
}

#[test]
fn nothing_to_resume() {
    let _named = named();
    assert_snapshot!(Place::new().seen(&["resume"]), @r#"
    exit code 2
    --- stderr
    error: no run `last` in [directory]/.wfe/runs; `wfe runs` lists what there is
    "#);
}

/// A process is killed for real once its journal holds so many bytes and its first entry; if its run is not over, it is
/// resumed.
fn kill_at(workflow: &str, bytes: u64, expected: &Value) -> bool {
    let place = Place::new();
    let mut command = place.wfe(&["run", workflow, "--seed", "5"]);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let written = || place.runs().first().and_then(|run| fs::read(run.join(JOURNAL)).ok()).unwrap_or_default();
    let enough = |journal: &[u8]| journal.len() as u64 >= bytes && journal.contains(&b'\n');
    while !enough(&written()) && process.try_wait().unwrap().is_none() {
        #[allow(clippy::disallowed_methods, reason = "the process that is killed lives in real time")]
        std::thread::sleep(Duration::from_millis(1));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let run = place.runs().remove(0);
    if fs::read_to_string(run.join(JOURNAL)).unwrap().contains("\"run-ended\"") {
        return false;
    }
    place.stdout(&["resume", "last"]);
    assert_eq!(&comparable(&place.result()), expected, "killed when its journal held {bytes} bytes");
    true
}

#[test]
fn a_killed_run_ends_as_if_nothing_had_happened() {
    let workflow = repository().join("workflows/elasticity.yaml");
    let workflow = workflow.to_str().unwrap();
    let whole = Place::new();
    whole.stdout(&["run", workflow, "--seed", "5"]);
    let expected = comparable(&whole.result());
    let size = fs::metadata(whole.runs()[0].join(JOURNAL)).unwrap().len();
    let moments = [1, size / 50, size / 5, size / 2, size * 3 / 4, size * 49 / 50];
    let resumed = moments.iter().filter(|bytes| kill_at(workflow, **bytes, &expected)).count();
    assert!(resumed >= 3, "{resumed} processes were killed while their runs went on");
}
