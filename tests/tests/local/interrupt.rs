//! Ctrl-C and SIGTERM.

use serde_json::Value;

use crate::support::{Place, alone, one_node};

/// A load that is measured for an hour, and a `finally` that takes a while.
const LONG: &str = "  traffic:
    needs: [cluster]
    uses: load
    background: true
    with: { mix: { write: 1, read: 1 }, rate: 50/s, rows: 1000, replication: 1, consistency: ONE }
  steady:
    needs: [traffic]
    uses: measure
    with: { for: 1h }
finally:
  quiet: { uses: wait-stable, with: { hold: 4s } }
  report: { needs: [quiet], uses: report }
";

fn status<'a>(result: &'a Value, id: &str) -> &'a str {
    let step = result["steps"].as_array().unwrap().iter().find(|step| step["id"] == id).unwrap();
    step["status"].as_str().unwrap()
}

/// Cancelled, with `finally`, and nothing is left.
fn ended_in_order(place: &Place, reason: &str) {
    let result = place.result();
    assert_eq!(result["verdict"], "cancelled", "{result:#}");
    assert_eq!(result["reasons"][0], format!("cancelled: {reason}"));
    place.nothing_is_left(&result);
}

#[test]
fn ctrl_c_while_a_load_runs() {
    let _alone = alone();
    let place = Place::new(&one_node(LONG));
    let mut started = place.start();
    started.wait_for("steady: started");
    started.signal("INT");
    let (code, said) = started.end(60);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("Ctrl-C: ending in order; another Ctrl-C ends at once"), "{said}");
    ended_in_order(&place, "Ctrl-C");
    let result = place.result();
    let standing = ["cluster", "traffic", "steady", "quiet", "report"].map(|id| status(&result, id));
    assert_eq!(standing, ["succeeded", "succeeded", "failed", "succeeded", "succeeded"]);
}

#[test]
fn sigterm_while_the_cluster_is_formed() {
    let _alone = alone();
    let place = Place::new(&one_node("finally:\n  report: { uses: report }\n"));
    let mut started = place.start();
    started.wait_for("cluster: cluster");
    while place.nodes().is_empty() {
        crate::support::pause(50);
    }
    started.signal("TERM");
    started.wait_for("SIGTERM: ending in order");
    // Whoever asks again, such as `wfe cancel` or a terminal that is closed, does not know better.
    started.signal("TERM");
    started.signal("HUP");
    let (code, said) = started.end(30);
    assert_eq!(code, Some(130), "{said}");
    ended_in_order(&place, "SIGTERM");
    assert_eq!(status(&place.result(), "report"), "succeeded");
}

/// The second Ctrl-C ends the process at once. It says what is left, and `wfe resume` gives it back.
#[test]
fn ctrl_c_twice() {
    let _alone = alone();
    let place = Place::new(&one_node(LONG));
    let mut started = place.start();
    started.wait_for("traffic: ready");
    started.signal("INT");
    started.wait_for("quiet: started");
    started.signal("INT");
    let (code, said) = started.end(2);
    assert_eq!(code, Some(130), "{said}");
    let run = place.the_run();
    let id = run.file_name().unwrap().to_str().unwrap();
    assert!(said.contains("ended at once; these machines may still exist: database-1\n"), "{said}");
    assert!(said.contains(&format!("`wfe resume {id}` carries on")), "{said}");
    assert_eq!(place.nodes().len(), 1, "the node outlives the process");
    assert!(!run.join("result.json").exists());
    let resumed = place.wfe(&["resume", id]).output().unwrap();
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(130), "{said}");
    assert!(!said.contains("cluster: started"), "{said}");
    ended_in_order(&place, "Ctrl-C");
    assert_eq!(status(&place.result(), "quiet"), "succeeded");
}
