//! The shipped test, grown from three nodes to four.

use std::fs;

use serde_json::Value;
use wfe_tests::{repository, wfe};

use crate::support::{alone, processes_of};

#[test]
fn elasticity_on_a_real_cassandra() {
    let _alone = alone();
    let runs = tempfile::tempdir().unwrap();
    let output = wfe()
        .arg("run")
        .arg(repository().join("workflows/elasticity.yaml"))
        .args(["--backend", "local", "--json", "--runs-dir"])
        .arg(runs.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["verdict"], "pass", "{result:#}");
    assert_eq!(result["simulated"], false);
    is_measured(&result);
    is_full(&result);
    is_given_back(&result);
    let run = result["run"].as_str().unwrap();
    assert_eq!(processes_of(run), Vec::<u32>::new(), "processes of the run are left");
    for file in ["report.html", "report.md", "result.json", "junit.xml"] {
        assert!(fs::metadata(runs.path().join(run).join(file)).unwrap().len() > 500, "{file} is hardly written");
    }
}

/// Steady state and growth, reads and writes, whole, at the asked rate.
fn is_measured(result: &Value) {
    let measured: Vec<(&str, &str)> = result["measurements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|measurement| {
            assert_eq!(measurement["complete"], true, "{measurement:#}");
            assert!(measurement["count"].as_u64().unwrap() > 100, "{measurement:#}");
            assert!(measurement["response_ms"]["p99"].as_f64().unwrap() > 0.0, "{measurement:#}");
            (measurement["step"].as_str().unwrap(), measurement["operation"].as_str().unwrap())
        })
        .collect();
    assert_eq!(measured, [("steady", "read"), ("steady", "write"), ("growth", "read"), ("growth", "write")]);
}

/// Real bytes: the fullest disk stood at 90 % and under its ceiling, and a fourth node took its share.
fn is_full(result: &Value) {
    let used = |moment: &str| -> Vec<f64> {
        let disks = result["disk"].as_array().unwrap().iter().filter(|disk| disk["moment"] == moment);
        disks.map(|disk| disk["used_bytes"].as_f64().unwrap() / disk["total_bytes"].as_f64().unwrap()).collect()
    };
    let full = used("hard limit");
    assert_eq!(full.len(), 3);
    assert!(full.iter().any(|part| (0.9..0.95).contains(part)), "{full:?}");
    let grown = used("scale-out");
    assert_eq!(grown.len(), 4);
    assert!(grown.iter().all(|part| *part > 0.01), "{grown:?}");
}

fn is_given_back(result: &Value) {
    let resources = result["resources"].as_array().unwrap();
    assert_eq!(resources.iter().filter(|resource| resource["kind"] == "machine").count(), 7);
    for resource in resources {
        assert_eq!(resource["state"], "deleted", "{resource}");
    }
}
