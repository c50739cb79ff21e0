//! `kill -9` while real nodes run: carried on with, or cleaned up; nothing is doubled and nothing is left.

use serde_json::Value;

use crate::support::{Place, alone, one_node, pause};

/// Enough to be killed in: a fill, a quiet time, a load that is measured.
const STEPS: &str = "  fill:
    needs: [cluster]
    uses: fill-to-percent
    with: { percent: 30 %, rate: 2000/s, replication: 1, consistency: ONE }
  quiet: { needs: [fill], uses: wait-stable, with: { hold: 5s } }
  traffic:
    needs: [quiet]
    uses: load
    background: true
    with: { mix: { write: 1, read: 1 }, rate: 50/s, rows: 1000, replication: 1, consistency: ONE }
  steady:
    needs: [traffic]
    uses: measure
    with: { for: 5s }
finally:
  report: { uses: report }
";

fn result_of_resumed(place: &Place) -> Value {
    let resumed = place.wfe(&["resume", "last"]).output().unwrap();
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert!(!said.contains("cluster: started"), "what was done is not done again: {said}");
    place.result()
}

fn one_machine_and_nothing_left(place: &Place, result: &Value) {
    place.nothing_is_left(result);
    let machines = result["resources"].as_array().unwrap().iter().filter(|resource| resource["kind"] == "machine");
    assert_eq!(machines.count(), 1, "no machine is doubled");
}

/// Killed three times: while its node starts, while it fills, while it measures. Only the measurement may be the worse for
/// it: the load had a gap.
#[test]
fn killed_and_carried_on_with() {
    let _alone = alone();
    let place = Place::new(&one_node(STEPS));
    let mut started = place.start();
    started.wait_for("cluster: cluster");
    while place.nodes().is_empty() {
        pause(20);
    }
    let node = place.nodes();
    started.signal("KILL");
    started.end(5);
    assert_eq!(place.nodes(), node, "the node outlives the process");
    for (moment, after) in [("fill: started", 2_000), ("steady: started", 2_000)] {
        let mut resumed = place.start_with(&["resume", "last"]);
        resumed.wait_for(moment);
        pause(after);
        resumed.signal("KILL");
        resumed.end(5);
        assert_eq!(place.nodes(), node, "killed after `{moment}`: the same node goes on");
    }
    let result = result_of_resumed(&place);
    one_machine_and_nothing_left(&place, &result);
    assert!(["pass", "inconclusive"].contains(&result["verdict"].as_str().unwrap()), "{result:#}");
    let fill = result["steps"].as_array().unwrap().iter().find(|step| step["id"] == "fill").unwrap();
    assert_eq!((&fill["status"], &fill["attempts"]), (&"succeeded".into(), &1.into()));
    let measured = &result["measurements"][0];
    assert_eq!(measured["complete"] == true, result["verdict"] == "pass", "a gap is never green: {measured:#}");
}

#[test]
fn killed_and_cleaned_up() {
    let _alone = alone();
    let place = Place::new(&one_node(STEPS));
    let mut started = place.start();
    started.wait_for("fill: started");
    started.signal("KILL");
    started.end(5);
    assert_eq!(place.nodes().len(), 1, "the node outlives the process");
    let cleaned = place.wfe(&["cleanup", "last"]).output().unwrap();
    assert_eq!(cleaned.status.code(), Some(0), "{}", String::from_utf8_lossy(&cleaned.stderr));
    assert_eq!(place.wfe(&["report"]).output().unwrap().status.code(), Some(0));
    let result = place.result();
    assert_eq!(result["verdict"], "cancelled");
    one_machine_and_nothing_left(&place, &result);
}

/// Another terminal asks for the end, while the process runs and after it is gone.
#[test]
fn cancelled_from_another_terminal() {
    let _alone = alone();
    let place = Place::new(&one_node(STEPS));
    let mut started = place.start();
    started.wait_for("fill: started");
    let second = place.wfe(&["resume", "last"]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(said.contains("another process is carrying out this run: process "), "{said}");
    let asked = place.wfe(&["cancel", "last"]).output().unwrap();
    let said = String::from_utf8_lossy(&asked.stdout);
    assert_eq!(asked.status.code(), Some(0), "{said}");
    assert!(said.starts_with("asked process "), "{said}");
    let (code, said) = started.end(60);
    assert_eq!(code, Some(130), "{said}");
    let result = place.result();
    assert_eq!(result["verdict"], "cancelled");
    one_machine_and_nothing_left(&place, &result);
}
