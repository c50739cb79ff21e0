//! What can be done with a run after it, or after its process is gone: clean up, cancel, try again, replay.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use wfe_tests::{named, repository, rewrite_journal};

use crate::place::{Place, QUICK};

const JOURNAL: &str = "journal.jsonl";

/// A place with a run whose process died when its journal held so many entries.
fn died_after(entries: usize) -> Place {
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    place.keep_entries(entries);
    fs::remove_file(place.runs()[0].join("result.json")).unwrap();
    place
}

fn result(place: &Place) -> Value {
    serde_json::from_str(&place.result()).unwrap()
}

fn machines(result: &Value) -> Vec<&str> {
    let machines = result["resources"].as_array().unwrap().iter().filter(|resource| resource["kind"] == "machine");
    machines.map(|machine| machine["state"].as_str().unwrap()).collect()
}

#[test]
fn what_was_kept_is_given_back_later() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml", "--keep", "always"]);
    assert_snapshot!(place.seen(&["cleanup", "last"]), @r#"
    exit code 0
    --- stdout
    quick-[stamp]: everything is given back
    --- stderr
     0:03:26  cleaning up
     0:03:26  machine i-0001 deleted
     0:03:26  machine i-0002 deleted
     0:03:26  machine i-0003 deleted
     0:03:26  machine i-0004 deleted
    "#);
    assert_snapshot!(place.seen(&["cleanup", "last"]), @r#"
    exit code 0
    --- stdout
    quick-[stamp]: nothing was left of it
    --- stderr
     0:03:26  cleaning up
    "#);
    assert_eq!(machines(&result(&place)), ["deleted"; 4], "the reports say so too");
}

#[test]
fn a_copy_of_a_run_gives_nothing_back() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml", "--keep", "always"]);
    let run = place.runs().remove(0);
    let copy = run.with_file_name("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(run.join(JOURNAL), copy.join(JOURNAL)).unwrap();
    assert_snapshot!(place.seen(&["cleanup", "copy"]), @r#"
    exit code 2
    --- stderr
    error: [directory]/.wfe/runs/copy holds run quick-[stamp], whose directory has its name: of a copy, nothing can be carried on or given back
    "#);
    place.stdout(&["show", "copy"]);
}

/// Nobody needs machines for so long that their end cannot be written down.
#[test]
fn what_is_kept_is_not_kept_for_ever() {
    let place = Place::quick();
    assert_snapshot!(place.seen(&["run", "quick.yaml", "--keep", "always", "--keep-for", "99999999h"]), @r#"
    exit code 2
    --- stderr
    error: --keep-for: `99999999h` is longer than a year: machines that nobody wants cost money
    "#);
}

#[test]
fn only_what_has_expired_is_given_back() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml", "--keep", "always", "--keep-for", "1h"]);
    assert_snapshot!(place.seen(&["cleanup", "--expired"]), @"exit code 0");
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml", "--keep", "always", "--keep-for", "1ms"]);
    let cleaned = place.stdout(&["cleanup", "--expired"]);
    assert!(cleaned.ends_with(": everything is given back\n"), "{cleaned}");
}

#[test]
fn a_run_without_a_process_is_cleaned_up() {
    let _named = named();
    let place = died_after(14);
    assert_snapshot!(place.seen(&["cleanup", "last"]), @r#"
    exit code 0
    --- stdout
    quick-[stamp]: everything is given back
    --- stderr
     0:00:49  cleaning up
     0:00:49  cluster: FAILED (cancelled, cancelled): its run was cleaned up
     0:00:49  machine i-0001 deleted
     0:00:49  machine i-0002 deleted
     0:00:49  machine i-0003 deleted
     0:00:49  machine i-0004 deleted
     0:00:49  verdict: cancelled
    "#);
    let result = result(&place);
    assert_eq!(result["verdict"], "cancelled");
    assert_eq!(result["steps"][0]["error"]["message"], "its run was cleaned up");
    let followed = place.stdout(&["logs", "last", "-f"]);
    assert!(followed.ends_with("verdict: cancelled\n"), "what is over is not followed for ever: {followed}");
    assert_snapshot!(place.seen(&["show"]), @r#"
    exit code 0
    --- stdout
    run        quick-[stamp]
    workflow   quick (quick.yaml)
    backend    sim (SIMULATED)
    started    [wall time]
    verdict    cancelled after 0:00:49
               its owner was gone, and `wfe cleanup` gave back what it had made

    cluster              failed     0:00:49  its run was cleaned up

    machine  i-0001               deleted
    machine  i-0002               deleted
    machine  i-0003               deleted
    machine  i-0004               deleted
    files      [directory]/.wfe/runs/quick-[stamp]
    "#);
}

#[test]
fn a_run_without_a_process_is_cancelled_in_order() {
    let place = died_after(14);
    let output = place.wfe(&["cancel", "last"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    let result = result(&place);
    assert_eq!((&result["verdict"], &result["reasons"][0]), (&json!("cancelled"), &json!("cancelled: wfe cancel")));
    assert_eq!(machines(&result), ["deleted"; 4]);
}

/// A rehearsal of months takes a while, too.
#[test]
fn a_rehearsal_that_goes_on_is_cancelled_in_order() {
    let place = Place::quick();
    place.write("long.yaml", QUICK.replace("for: 1m", "for: 30d"));
    let mut process = place.wfe(&["run", "long.yaml"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("steady: started") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "the run ended before it could be cancelled");
    }
    let asked = place.stdout(&["cancel"]);
    assert!(asked.starts_with("asked process "), "{asked}");
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("SIGTERM: ending in order; another Ctrl-C ends at once\n"), "{rest}");
    assert_eq!(process.wait().unwrap().code(), Some(130));
    let result = result(&place);
    assert_eq!((&result["verdict"], &result["reasons"][0]), (&json!("cancelled"), &json!("cancelled: SIGTERM")));
    assert_eq!(machines(&result), ["deleted"; 4]);
}

#[test]
fn a_run_whose_process_is_gone_is_not_followed_for_ever() {
    let place = died_after(14);
    place.stdout(&["logs", "last", "-f"]);
}

#[test]
fn a_run_that_is_over_is_not_cancelled() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    assert_snapshot!(place.seen(&["cancel", "last"]), @r#"
    exit code 2
    --- stderr
    error: run quick-[stamp] is over, with verdict pass
    "#);
}

/// A rehearsed fault that never struck has rehearsed nothing, which must not look like a test that was passed.
#[test]
fn faults_that_never_strike_are_told() {
    let _named = named();
    let place = Place::quick();
    let faults = "\
- machine-lost: { machine: i-0099, at: 60 }
- machine-lost: { machine: i-0001, at: 36000 }
- machine-lost: { machine: i-0004, at: 202 }
- loader-lost: { load: trafic, loader: 1, at: 60 }
- loader-lost: { load: traffic, loader: 2, at: 60 }
- capacity: { machine-type: i4i.metal }
- join-fails: { join: 1 }
- active-reads: { node: node-9, at: 150, seconds: 1, most: 94, each-ms: 0.3 }
- active-reads: { node: node-1, at: 150, seconds: 1, most: 94, each-ms: 0.3 }
- terminate-fails: { machine: i-0005 }
- answer-lost: { call: cluster/cluster.create, number: 2 }
- answer-late: { call: cluster/cluster.create, number: 1, seconds: 1 }
- applied-twice: { call: cloud/machines.create, number: 3 }
- listed-late: { seconds: 1 }
";
    place.write("faults.yaml", faults);
    let output = place.wfe(&["run", "quick.yaml", "--faults", "faults.yaml"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let told: Vec<&str> = said.lines().filter(|line| line.contains("never struck")).collect();
    assert_snapshot!(told.join("\n"), @"
    0:03:26  notice: fault 1 never struck: machine-lost: { machine: i-0099, at: 60 }
    0:03:26  notice: fault 2 never struck: machine-lost: { machine: i-0001, at: 36000 }
    0:03:26  notice: fault 4 never struck: loader-lost: { load: trafic, loader: 1, at: 60 }
    0:03:26  notice: fault 5 never struck: loader-lost: { load: traffic, loader: 2, at: 60 }
    0:03:26  notice: fault 6 never struck: capacity: { machine-type: i4i.metal }
    0:03:26  notice: fault 7 never struck: join-fails: { join: 1 }
    0:03:26  notice: fault 8 never struck: active-reads: { node: node-9, at: 150, seconds: 1, most: 94, each-ms: 0.3 }
    0:03:26  notice: fault 10 never struck: terminate-fails: { machine: i-0005 }
    0:03:26  notice: fault 11 never struck: answer-lost: { call: cluster/cluster.create, number: 2 }
    0:03:26  notice: fault 13 never struck: applied-twice: { call: cloud/machines.create, number: 3 }
    ");
    place.wfe(&["report"]).output().unwrap();
    let report = fs::read_to_string(place.runs()[0].join("report.md")).unwrap();
    assert_eq!(report.matches("never struck").count(), told.len());
}

/// The cloud made the machines and its answer was lost: they carry the run's tag and the call's key.
#[test]
fn machines_whose_answer_was_lost_are_given_back() {
    let place = Place::quick();
    place.write("faults.yaml", "- answer-lost: { call: cloud/machines.create, number: 1 }");
    let output = place.wfe(&["run", "quick.yaml", "--faults", "faults.yaml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(machines(&result(&place)), ["deleted"; 3]);
}

#[test]
fn machines_whose_answer_was_lost_are_taken_over_by_the_next_attempt() {
    let place = Place::new();
    place.write("faults.yaml", "- answer-lost: { call: cloud/machines.create, number: 1 }");
    place.write("quick.yaml", QUICK.replace("    grants:", "    retry: { attempts: 2, backoff: 10s }\n    grants:"));
    place.stdout(&["run", "quick.yaml", "--faults", "faults.yaml"]);
    let result = result(&place);
    assert_eq!(machines(&result), ["deleted"; 4], "three nodes and a loader, none of them twice");
    assert_eq!(result["steps"][0]["attempts"], 2);
}

#[test]
fn a_cluster_whose_answer_was_lost_is_taken_over_by_the_next_attempt() {
    let place = Place::new();
    place.write("faults.yaml", "- answer-lost: { call: cluster/cluster.create, number: 1 }");
    place.write("quick.yaml", QUICK.replace("    grants:", "    retry: { attempts: 2, backoff: 10s }\n    grants:"));
    place.stdout(&["run", "quick.yaml", "--faults", "faults.yaml"]);
    let result = result(&place);
    assert_eq!(result["verdict"], "pass", "{result:#}");
    assert_eq!(result["steps"][0]["attempts"], 2);
    assert_eq!(machines(&result), ["deleted"; 4], "the cluster of the first attempt is the run's cluster");
}

const GROWING: &str = "  grow:
    needs: [steady]
    uses: grow-cluster
    with: { add: [{ count: 3, type: i4i.4xlarge, racks: 3 }], together: true }
    grants: { cloud: { types: [i4i.4xlarge], machines: 3 } }
  growth: { uses: measure, during: grow, needs: [traffic] }
finally:
  report: { uses: report }
";

/// A run that keeps its machines because a step failed for infrastructure.
fn failed() -> Place {
    let place = Place::new();
    place.write("grow.yaml", format!("{QUICK}{GROWING}"));
    place.write("faults.yaml", "- answer-lost: { call: cluster/cluster.join, number: 1 }");
    let run = ["run", "grow.yaml", "--faults", "faults.yaml", "--keep", "on-failure"];
    assert_eq!(place.wfe(&run).output().unwrap().status.code(), Some(4));
    assert_eq!(machines(&result(&place)), ["kept"; 7]);
    place
}

#[test]
fn one_step_is_tried_again() {
    let place = failed();
    let before = result(&place);
    place.stdout(&["resume", "last", "--retry", "grow"]);
    let after = result(&place);
    let step = |result: &Value, id: &str| {
        result["steps"].as_array().unwrap().iter().find(|step| step["id"] == id).unwrap().clone()
    };
    assert_eq!(after["verdict"], "pass", "{after:#}");
    for kept in ["cluster", "steady"] {
        assert_eq!(step(&before, kept), step(&after, kept), "nothing of it is done again");
    }
    for again in ["grow", "growth", "traffic", "report"] {
        assert_eq!(step(&after, again)["attempts"], 2, "{again}");
    }
    assert_eq!(machines(&after), ["deleted"; 7], "the machines of the first attempt were taken over");
}

/// The join fails and is to be tried again half an hour later; until then the load that it needs is lost.
#[test]
fn a_step_that_waits_to_be_tried_again_falls_with_what_it_needs() {
    let place = Place::new();
    let retried =
        GROWING.replace("needs: [steady]\n", "needs: [steady, traffic]\n    retry: { attempts: 2, backoff: 30m }\n");
    place.write("grow.yaml", format!("{QUICK}{retried}"));
    let lost = "- answer-lost: { call: cluster/cluster.join, number: 1 }\n- loader-lost: { load: traffic, loader: 1, at: 400 }";
    place.write("faults.yaml", lost);
    assert_eq!(place.wfe(&["run", "grow.yaml", "--faults", "faults.yaml"]).output().unwrap().status.code(), Some(4));
    let result = result(&place);
    let grow = result["steps"].as_array().unwrap().iter().find(|step| step["id"] == "grow").unwrap();
    assert_eq!((&grow["status"], &grow["attempts"]), (&json!("skipped"), &json!(1)), "{grow:#}");
    assert!(result["duration_s"].as_f64().unwrap() < 1800.0, "nobody waits for its moment: {}", result["duration_s"]);
}

#[test]
fn what_cannot_be_tried_again_is_said() {
    let _named = named();
    let place = failed();
    assert_snapshot!(place.seen(&["resume", "last", "--retry", "steady"]), @r#"
    exit code 2
    --- stderr
    error: the run cannot be resumed: step `steady` did not fail
    "#);
    assert_snapshot!(place.seen(&["resume", "last", "--retry", "stedy"]), @r#"
    exit code 2
    --- stderr
    error: the run cannot be resumed: no step `stedy` was started; steps that failed: grow
    "#);
    place.stdout(&["cleanup", "last"]);
    assert_snapshot!(place.seen(&["resume", "last", "--retry", "grow"]), @r#"
    exit code 2
    --- stderr
    error: the run cannot be resumed: its machines were given back: a run that is to be retried begins with `--keep on-failure`
    "#);
}

#[test]
fn a_step_is_replayed_offline() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    assert_snapshot!(place.seen(&["replay", "last", "steady"]), @r#"
    exit code 0
    --- stdout
    steady attempt 1, 33 calls, offline
     0:02:26      0  step/context.window {}
     0:02:26      1  clock/clock.now {} -> 146891
     0:02:26      2  clock/clock.now {} -> 146891
     0:02:32      3  clock/clock.sleep {"ms":6000}
     0:02:32      4  step/context.progress {"fraction":0.1,"message":"measured 6 s of 1 m"}
     0:02:32      5  clock/clock.now {} -> 152891
     0:02:38      6  clock/clock.sleep {"ms":6000}
     0:02:38      7  step/context.progress {"fraction":0.2,"message":"measured 12 s of 1 m"}
     0:02:38      8  clock/clock.now {} -> 158891
     0:02:44      9  clock/clock.sleep {"ms":6000}
     0:02:44     10  step/context.progress {"fraction":0.3,"message":"measured 18 s of 1 m"}
     0:02:44     11  clock/clock.now {} -> 164891
     0:02:50     12  clock/clock.sleep {"ms":6000}
     0:02:50     13  step/context.progress {"fraction":0.4,"message":"measured 24 s of 1 m"}
     0:02:50     14  clock/clock.now {} -> 170891
     0:02:56     15  clock/clock.sleep {"ms":6000}
     0:02:56     16  step/context.progress {"fraction":0.5,"message":"measured 30 s of 1 m"}
     0:02:56     17  clock/clock.now {} -> 176891
     0:03:02     18  clock/clock.sleep {"ms":6000}
     0:03:02     19  step/context.progress {"fraction":0.6,"message":"measured 36 s of 1 m"}
     0:03:02     20  clock/clock.now {} -> 182891
     0:03:08     21  clock/clock.sleep {"ms":6000}
     0:03:08     22  step/context.progress {"fraction":0.7,"message":"measured 42 s of 1 m"}
     0:03:08     23  clock/clock.now {} -> 188891
     0:03:14     24  clock/clock.sleep {"ms":6000}
     0:03:14     25  step/context.progress {"fraction":0.8,"message":"measured 48 s of 1 m"}
     0:03:14     26  clock/clock.now {} -> 194891
     0:03:20     27  clock/clock.sleep {"ms":6000}
     0:03:20     28  step/context.progress {"fraction":0.9,"message":"measured 54 s of 1 m"}
     0:03:20     29  clock/clock.now {} -> 200891
     0:03:26     30  clock/clock.sleep {"ms":6000}
     0:03:26     31  step/context.progress {"fraction":1.0,"message":"measured 1 m of 1 m"}
     0:03:26     32  histogram/measurements.measure {"from-ms":146891,"to-ms":206891} -> "{\"from_ms\":146891,\"to_ms\":206891,\"covered_from_ms\":150000,\"covered_to_ms\":200000,\"complete\":true,\"missing\":[],\"notes\":[\"loader-1: 3.109 s at the…
    succeeded: {"complete":true,"from":146.891,"operations":{"read":{"p50_ms":0.487423,"p90_ms":0.897535,"p99_ms":1.511423,"rate":2500.0},"write":{"p50_ms":0.591359,"p90_ms":1.122303,"p99_ms":1.806335,"rate":2500.0}},"to":206.891}
    the same as then
    "#);
    assert_snapshot!(place.seen(&["replay", "last", "stedy"]), @r#"
    exit code 2
    --- stderr
    error: no step `stedy` of the run was started; there are cluster, steady, traffic
    "#);
}

/// The engine ended the attempt while its plugin would have gone on: that is no fault of the plugin.
#[test]
fn an_attempt_that_the_engine_ended_is_replayed_as_far_as_it_went() {
    let place = Place::new();
    place.write("quick.yaml", QUICK.replace("    with: { for: 1m }", "    timeout: 30s\n    with: { for: 1m }"));
    assert_eq!(place.wfe(&["run", "quick.yaml"]).output().unwrap().status.code(), Some(4));
    let replayed = place.stdout(&["replay", "last", "steady"]);
    let end: Vec<&str> = replayed.lines().collect();
    assert_snapshot!(end[end.len() - 2..].join("\n"), @r#"
    the journal ends before call 18: clock/clock.sleep {"ms":6000}
    then the engine ended it, and it failed (timeout, timeout): it took longer than its timeout of 30 s
    "#);
    place.stdout(&["plugin", "test", "quick.yaml"]);
}

#[test]
fn a_plugin_that_asks_something_else_has_diverged() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    rewrite_journal(&place.runs()[0], |line| {
        match line.contains("\"clock/clock.sleep\"") && line.contains("\"steady\"") {
            true => line.replace("60000", "70000").replace("\"digest\":\"", "\"digest\":\"x"),
            false => line.to_owned(),
        }
    });
    assert_snapshot!(place.seen(&["replay", "last", "steady"]), @r#"
    exit code 4
    --- stdout
    steady attempt 1, 33 calls, offline
     0:02:26      0  step/context.window {}
     0:02:26      1  clock/clock.now {} -> 146891
     0:02:26      2  clock/clock.now {} -> 146891
    failed (infrastructure, diverged): the plugin diverged at call 3: expected clock/clock.sleep {"ms":6000}, asked clock/clock.sleep {"ms":6000}; a plugin must not depend on anything but its parameters and the answers it gets
    then it succeeded: {"complete":true,"from":146.891,"operations":{"read":{"p50_ms":0.487423,"p90_ms":0.897535,"p99_ms":1.511423,"rate":2500.0},"write":{"p50_ms":0.591359,"p90_ms":1.122303,"p99_ms":1.806335,"rate":2500.0}},"to":206.891}
    "#);
}

/// A place with a workflow that uses a plugin from a file, `quiet.wasm`.
fn with_plugin_file() -> Place {
    let place = Place::new();
    fs::copy(repository().join("plugins/components/wait-stable.wasm"), place.path("quiet.wasm")).unwrap();
    let quiet = "  quiet: { needs: [cluster], uses: ./quiet.wasm, with: { hold: 20s }, grants: { cluster: true } }\n";
    place.write("quick.yaml", format!("{QUICK}{quiet}"));
    place
}

/// A run needs neither the plugin's file nor the directory where it was started.
#[test]
fn a_run_keeps_its_plugins() {
    let place = with_plugin_file();
    place.stdout(&["run", "quick.yaml"]);
    let whole = result(&place);
    place.keep_entries(25);
    fs::remove_file(place.path("quiet.wasm")).unwrap();
    let runs = place.path(".wfe/runs");
    let mut elsewhere = place.wfe(&["resume", "last", "--runs-dir", runs.to_str().unwrap()]);
    assert_eq!(elsewhere.current_dir("/").output().unwrap().status.code(), Some(0));
    assert_eq!(result(&place)["steps"], whole["steps"]);
}

#[test]
fn a_plugin_is_killed_at_every_call() {
    let place = with_plugin_file();
    let said = place.stdout(&["plugin", "test", "quick.yaml", "--set", "rate=1000/s"]);
    assert!(said.starts_with("quick.yaml: killed after each of "), "{said}");
    assert!(place.runs().is_empty(), "nothing of it is kept");
}

/// A journal in which a step ended otherwise than its plugin would end now.
#[test]
fn an_outcome_that_differs_is_told() {
    let _named = named();
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    rewrite_journal(&place.runs()[0], |line| line.replace("\"loaders\":1,\"machines\"", "\"loaders\":2,\"machines\""));
    let output = place.wfe(&["replay", "last", "cluster"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8(output.stdout).unwrap();
    let end: Vec<&str> = said.lines().rev().take(2).collect();
    assert_snapshot!(end.join("\n"), @r#"
    then it succeeded: {"database":"scylla 2025.2","loaders":2,"machines":["i-0001","i-0002","i-0003"],"nodes":3}
    succeeded: {"database":"scylla 2025.2","loaders":1,"machines":["i-0001","i-0002","i-0003"],"nodes":3}
    "#);
}
