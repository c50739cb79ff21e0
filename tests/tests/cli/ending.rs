//! How runs end that do not go as planned: out of time, tried again, with machines that stay.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use wfe_tests::repository;

use crate::place::{Place, QUICK};

/// Runs a workflow that is written to a file; answers its exit code, `result.json` and what it printed.
fn ended(workflow: &str, faults: &str, arguments: &[&str]) -> (i32, Value, String) {
    let place = Place::new();
    place.write("test.yaml", workflow);
    place.write("faults.yaml", faults);
    let output = place.wfe(&[&["run", "test.yaml", "--faults", "faults.yaml"], arguments].concat()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let result = serde_json::from_str(&place.result()).unwrap();
    (output.status.code().unwrap(), result, String::from_utf8(said).unwrap())
}

/// The states of the machines, in the order of their ids.
fn machines(result: &Value) -> Vec<&str> {
    let machines = result["resources"].as_array().unwrap().iter().filter(|resource| resource["kind"] == "machine");
    machines.map(|machine| machine["state"].as_str().unwrap()).collect()
}

fn step<'a>(result: &'a Value, id: &str) -> &'a Value {
    result["steps"].as_array().unwrap().iter().find(|step| step["id"] == id).unwrap()
}

/// [`QUICK`] with something at the end of `finally`.
fn quick() -> String {
    format!("{QUICK}finally:\n  quiet: {{ uses: wait-stable, with: {{ hold: 30s }} }}\n")
}

#[test]
fn the_deadline_ends_the_run_and_finally_comes_after_it() {
    let (code, result, said) = ended(&quick(), "", &["--deadline", "170s"]);
    assert_eq!((code, &result["verdict"]), (130, &json!("cancelled")), "{said}");
    assert_eq!(result["reasons"][0], "cancelled: the run's deadline has passed");
    assert_eq!(step(&result, "steady")["error"]["kind"], "cancelled");
    assert_eq!(step(&result, "quiet")["status"], "succeeded");
    assert_eq!(result["duration_s"].as_f64().unwrap().floor(), 200.0);
    assert_eq!(machines(&result), ["deleted"; 4]);
}

#[test]
fn a_deadline_that_is_not_reached_changes_nothing() {
    let (code, result, said) = ended(&quick(), "", &["--deadline", "1h"]);
    assert_eq!((code, &result["verdict"]), (0, &json!("pass")), "{said}");
}

/// The deadline passes while `finally` runs: it has a time of its own.
#[test]
fn the_deadline_does_not_cut_finally() {
    let (code, result, said) = ended(&quick(), "", &["--deadline", "210s"]);
    assert_eq!((code, &result["verdict"]), (0, &json!("pass")), "{said}");
    assert_eq!(step(&result, "quiet")["status"], "succeeded");
}

#[test]
fn a_step_that_takes_too_long() {
    let slow = quick().replace("    with: { for: 1m }", "    timeout: 20s\n    with: { for: 1m }");
    let (code, result, said) = ended(&slow, "", &[]);
    assert_eq!((code, &result["verdict"]), (4, &json!("infrastructure")), "{said}");
    assert_eq!(result["reasons"], json!(["step `steady` failed: it took longer than its timeout of 20 s"]));
    assert_eq!(step(&result, "steady")["duration_s"].as_f64().unwrap(), 20.0);
    assert_eq!(step(&result, "traffic")["status"], "succeeded", "the load was asked to stop");
    assert_eq!(step(&result, "quiet")["status"], "succeeded");
    assert_eq!(machines(&result), ["deleted"; 4]);
}

/// A step of `finally` that hangs ends at its own time, and the machines are given back.
#[test]
fn finally_cannot_hang() {
    let hanging = format!("{QUICK}finally:\n  quiet: {{ uses: wait-stable, with: {{ hold: 30d }} }}\n");
    let (code, result, said) = ended(&hanging, "", &[]);
    assert_eq!((code, &result["verdict"]), (4, &json!("infrastructure")), "{said}");
    assert_eq!(result["reasons"], json!(["step `quiet` failed: it took longer than its timeout of 600 s"]));
    assert_eq!(machines(&result), ["deleted"; 4]);
}

/// [`QUICK`] whose first step is tried again, once, ten seconds later.
fn retried() -> String {
    QUICK.replace("machines: 4 } }", "machines: 8 } }\n    retry: { attempts: 2, backoff: 10s }")
}

#[test]
fn a_step_that_lost_a_machine_is_tried_again() {
    let (code, result, said) = ended(&retried(), "- machine-lost: { machine: i-0002, at: 20 }", &[]);
    assert_eq!((code, &result["verdict"]), (0, &json!("pass")), "{said}");
    let cluster = step(&result, "cluster");
    assert_eq!((&cluster["attempts"], &cluster["error"]), (&json!(2), &Value::Null));
    assert!(said.contains("0:00:30  cluster: started, attempt 2"), "{said}");
    // Three nodes and a loader, and the three nodes of the second attempt.
    assert_eq!(machines(&result), ["deleted"; 7]);
}

#[test]
fn a_step_that_fails_every_time() {
    let (code, result, said) = ended(&retried(), "- capacity: { machine-type: i4i.large }", &[]);
    assert_eq!((code, &result["verdict"]), (4, &json!("infrastructure")), "{said}");
    assert_eq!(step(&result, "cluster")["attempts"], 2);
    assert_snapshot!(serde_json::to_string_pretty(&result["reasons"]).unwrap(), @r#"
    [
      "step `cluster` failed: no capacity for 3 x i4i.large: try another type or later",
      "step `steady` was skipped: `traffic` was skipped",
      "step `traffic` was skipped: `cluster` failed"
    ]
    "#);
    assert_eq!(step(&result, "steady")["status"], "skipped");
    assert_eq!(machines(&result), Vec::<&str>::new());
}

#[test]
fn what_keep_keeps() {
    let strict = QUICK.replace("read.p99: <= 10ms", "read.p99: <= 1ms");
    let cases = [
        (QUICK, "never", 0, "deleted"),
        (QUICK, "on-failure", 0, "deleted"),
        (QUICK, "always", 0, "kept"),
        (&strict, "never", 1, "deleted"),
        (&strict, "on-failure", 1, "kept"),
        (&strict, "always", 1, "kept"),
    ];
    for (workflow, keep, wanted, state) in cases {
        let (code, result, said) = ended(workflow, "", &["--keep", keep]);
        assert_eq!((code, machines(&result)), (wanted, vec![state; 4]), "--keep {keep}: {said}");
        let told = ["\nStill there, for $", "machine i-0004 (", "\nGive back: wfe cleanup quick-"];
        assert_eq!(told.map(|text| said.contains(text)), [state == "kept"; 3], "--keep {keep}: {said}");
    }
}

#[test]
fn a_machine_that_cannot_be_given_back() {
    let (code, result, said) = ended(QUICK, "- terminate-fails: { machine: i-0002 }", &[]);
    assert_eq!((code, &result["verdict"]), (4, &json!("infrastructure")), "{said}");
    assert_eq!(machines(&result), ["deleted", "leaked", "deleted", "deleted"]);
    assert_snapshot!(serde_json::to_string_pretty(&result["reasons"]).unwrap(), @r#"
    [
      "machine i-0002 may still exist: the provider did not terminate i-0002: internal error"
    ]
    "#);
    let loud: Vec<&str> =
        said.lines().filter(|line| line.contains("i-0002") && !line.contains("machine i-0002 del")).collect();
    assert_snapshot!(loud.join("\n"), @r#"
    Machine i-0002 may still exist: the provider did not terminate i-0002: internal error. steady: read P99 1.51 ms, write P99 1.81 ms at 5,000/s of 5,000/s asked.
      machine i-0002 (i4i.large) leaked: the provider did not terminate i-0002: internal error
     0:03:26  engine: cloud/machines.terminate answered (infrastructure, terminate-failed): the provider did not terminate i-0002: internal error
     0:03:26  engine: cloud/machines.terminate answered (infrastructure, terminate-failed): the provider did not terminate i-0002: internal error
     0:03:28  engine: cloud/machines.terminate answered (infrastructure, terminate-failed): the provider did not terminate i-0002: internal error
     0:03:38  engine: cloud/machines.terminate answered (infrastructure, terminate-failed): the provider did not terminate i-0002: internal error
     0:03:38  machine i-0002 leaked: the provider did not terminate i-0002: internal error
    "#);
}

/// The shipped workflow in which a machine is lost.
fn losing(machine: &str, at: u32) -> (i32, Value, String) {
    let workflow = fs::read_to_string(repository().join("workflows/elasticity.yaml")).unwrap();
    ended(&workflow, &format!("- machine-lost: {{ machine: {machine}, at: {at} }}"), &[])
}

/// Whatever runs when a node is lost, while the cluster starts, is filled, rests, is measured or grows: the run ends within
/// the minute, and everything is given back.
#[test]
fn a_lost_node_ends_the_run_within_a_minute() {
    for at in [30, 120, 200, 9000, 12_600, 12_660, 12_700, 13_000, 14_500, 14_600, 15_000, 17_000] {
        let (code, result, said) = losing("i-0002", at);
        assert_eq!((code, &result["verdict"]), (4, &json!("infrastructure")), "lost at {at} s: {said}");
        let steps = result["steps"].as_array().unwrap().iter().filter(|step| step["id"] != "report");
        let ended =
            |step: &Value| step["started_s"].as_f64().unwrap_or(0.0) + step["duration_s"].as_f64().unwrap_or(0.0);
        let last = steps.map(ended).fold(0.0, f64::max);
        assert!((f64::from(at)..=f64::from(at) + 60.0).contains(&last), "lost at {at} s, ended at {last} s: {said}");
        assert!(machines(&result).iter().all(|state| *state == "deleted"), "lost at {at} s: {said}");
    }
}

/// Of the three loaders one is missing, whether its machine was lost before the load began or while it ran.
#[test]
fn a_lost_loader_is_never_green() {
    for at in [200, 12_640, 12_700, 13_000, 15_000] {
        let (code, result, said) = losing("i-0005", at);
        assert_eq!((code, &result["verdict"]), (3, &json!("inconclusive")), "lost at {at} s: {said}");
        let measurements = result["measurements"].as_array().unwrap();
        let missing: Vec<&Value> =
            measurements.iter().filter(|m| m["complete"] == false).map(|m| &m["missing"]).collect();
        assert!(!missing.is_empty(), "lost at {at} s: {said}");
        assert!(missing.iter().all(|missing| missing.to_string().contains("loader-2")), "lost at {at} s: {missing:?}");
    }
}
