//! The static backend: a workflow on a cluster that exists, here a node that an earlier run has kept.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};

use serde_json::Value;

use crate::support::{Place, alone, one_node};

const WORKFLOW: &str = "\
name: existing
steps:
  fill:
    uses: fill-to-percent
    with: { percent: 25 %, rate: 1200/s, replication: 1, consistency: ONE, concurrency: 64 }
    timeout: 3m
  quiet:
    needs: [fill]
    uses: wait-stable
    with: { hold: 3s }
    timeout: 3m
  traffic:
    needs: [quiet]
    uses: load
    background: true
    with: { mix: { write: 1, read: 1 }, rate: 100/s, rows: 1000, replication: 1, consistency: ONE }
  steady:
    needs: [traffic]
    uses: measure
    with: { for: 10s }
    limits: { read.p99: <= 5s, errors: <= 0 }
finally:
  report: { uses: report }
";

#[test]
fn a_workflow_on_a_cluster_that_exists() {
    let _alone = alone();
    let place = Place::new(&one_node(""));
    let kept = place.run(&["--keep", "always"]);
    assert_eq!(kept.status.code(), Some(0), "{}", String::from_utf8_lossy(&kept.stderr));
    let machine = fs::read(place.the_run().join("machines/database-1/machine.json")).unwrap();
    let machine: Value = serde_json::from_slice(&machine).unwrap();
    let address = machine["machine"]["address"].as_str().unwrap();
    fs::write(place.path("existing.yaml"), WORKFLOW).unwrap();
    let arguments = ["run", "existing.yaml", "--json", "--runs-dir", "runs", "--backend", "static", "--contact-point"];
    let on_it = |user: &[&str]| place.wfe(&[&arguments[..], &[address], user].concat());
    refused(&mut on_it(&[]), "the database asks for a login");
    refused(on_it(&["--user", "wfe"]).env("WFE_PASSWORD", "wrong"), "user or password is wrong");
    refused(&mut on_it(&["--user", "wfe"]), "set WFE_PASSWORD");

    let output = on_it(&["--user", "wfe"]).env("WFE_PASSWORD", "wfe").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("unsupported"), "{said}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["backend"], &result["simulated"]), (&"static".into(), &false.into()));
    measured(&result);
    let full = &result["disk"][0];
    assert_eq!(full["moment"], "hard limit");
    let percent = full["used_bytes"].as_f64().unwrap() / full["total_bytes"].as_f64().unwrap() * 100.0;
    assert!((25.0..60.0).contains(&percent), "{full}");
    // Nothing of the cluster belongs to the run.
    let machines = result["resources"].as_array().unwrap().iter().filter(|resource| resource["kind"] == "machine");
    assert_eq!(machines.count(), 0);
    assert_eq!(place.nodes().len(), 1, "the node is still there");
    let journal = fs::read_dir(place.path("runs")).unwrap().next().unwrap().unwrap().path().join("journal.jsonl");
    assert!(!fs::read_to_string(journal).unwrap().contains("WFE_PASSWORD"), "the password is written down");
}

/// Refused at once, with a message that says what to do, and no run is left.
fn refused(command: &mut std::process::Command, wanted: &str) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(wanted), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Reads and writes, at the asked rate, none of them missing.
fn measured(result: &Value) {
    let measurements = result["measurements"].as_array().unwrap();
    assert_eq!(measurements.len(), 2, "{result:#}");
    for measurement in measurements {
        assert_eq!(measurement["complete"], true, "{measurement:#}");
        assert!(measurement["count"].as_u64().unwrap() > 300, "{measurement:#}");
        assert!(measurement["response_ms"]["p99"].as_f64().unwrap() > 0.0, "{measurement:#}");
    }
}

/// Something that takes connections and never answers.
#[test]
fn a_contact_point_that_says_nothing() {
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let place = Place::new(WORKFLOW);
    let point = mute.local_addr().unwrap().to_string();
    let output = place.wfe(&["run", "test.yaml", "--backend", "static", "--contact-point", &point]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let wanted = format!(
        "error: contact point `{point}` cannot be reached: no answer within 10 s; is the database running there?\n"
    );
    assert_eq!(said, wanted);
}
