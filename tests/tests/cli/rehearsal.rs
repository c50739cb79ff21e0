//! The shipped workflow, rehearsed: its numbers, and the file that programs read.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use wfe_tests::repository;

use crate::place::Place;

/// Rehearses the shipped workflow; answers its `result.json`.
fn elasticity(seed: &str) -> String {
    let place = Place::new();
    let workflow = repository().join("workflows/elasticity.yaml");
    let printed = place.stdout(&["run", workflow.to_str().unwrap(), "--seed", seed, "--json"]);
    assert_eq!(printed.trim_end(), place.result().trim_end());
    printed
}

fn parsed(result: &str) -> Value {
    serde_json::from_str(result).unwrap()
}

/// Asserts that a number is at most that part away from what is published.
fn near(what: &str, value: f64, published: f64, part: f64) {
    assert!((value / published - 1.0).abs() <= part, "{what} is {value}, published is {published}");
}

#[test]
fn elasticity_gives_about_the_published_numbers() {
    let result = parsed(&elasticity("1"));
    assert_eq!(
        (&result["verdict"], &result["simulated"], &result["partial"]),
        (&"pass".into(), &true.into(), &false.into())
    );
    let published =
        [("steady", "write", 2.13), ("steady", "read", 3.35), ("growth", "write", 2.54), ("growth", "read", 4.39)];
    let measurements = result["measurements"].as_array().unwrap();
    assert_eq!(measurements.len(), published.len());
    for (step, operation, p99) in published {
        let found = measurements.iter().find(|m| m["step"] == step && m["operation"] == operation);
        let found = found.unwrap_or_else(|| panic!("no {operation} in {step}"));
        near(&format!("P99 of {operation} in {step}"), found["response_ms"]["p99"].as_f64().unwrap(), p99, 0.25);
        assert_eq!((&found["complete"], &found["missing"]), (&true.into(), &Value::Array(vec![])));
    }
    let steps = result["steps"].as_array().unwrap();
    let grow = steps.iter().find(|step| step["id"] == "grow").unwrap();
    near("duration of grow", grow["duration_s"].as_f64().unwrap(), 42.0 * 60.0 + 32.0, 0.15);
    let left = result["resources"].as_array().unwrap().iter().filter(|resource| resource["state"] != "deleted");
    assert_eq!(left.count(), 0);
}

/// The paths of all keys, lists as `[]`. What plugins and errors name themselves is not looked into.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if !["outputs", "errors"].contains(&key.as_str()) {
                    keys(value, &path, found);
                }
                found.insert(path);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, &format!("{path}[]"), found)),
        _ => {}
    }
}

/// Programs of users read these keys: one that is added is added here, one that is gone breaks them.
const KEYS: &str = "
run workflow backend simulated partial verdict reasons started duration_s wall_s
steps measurements disk limits resources cost
steps[].id steps[].uses steps[].plugin_digest steps[].status steps[].attempts steps[].started_s steps[].duration_s
steps[].phases steps[].outputs steps[].error steps[].skipped
steps[].phases[].name steps[].phases[].started_s steps[].phases[].duration_s
measurements[].step measurements[].window measurements[].operation measurements[].response_ms measurements[].service_ms
measurements[].count measurements[].rate measurements[].asked_rate measurements[].errors measurements[].complete
measurements[].missing measurements[].intervals measurements[].window.from_s measurements[].window.to_s
measurements[].intervals[].from_s measurements[].intervals[].to_s measurements[].intervals[].count
measurements[].intervals[].rate measurements[].intervals[].asked_rate measurements[].intervals[].errors
measurements[].intervals[].response_ms
disk[].moment disk[].at_s disk[].node disk[].used_bytes disk[].total_bytes
limits[].step limits[].rule limits[].value limits[].holds limits[].where
resources[].kind resources[].id resources[].state cost.usd cost.machine_hours
";

#[test]
fn result_has_the_documented_keys() {
    let result = parsed(&elasticity("1"));
    let mut found = BTreeSet::new();
    keys(&result, "", &mut found);
    let mut wanted: BTreeSet<String> = KEYS.split_whitespace().map(str::to_owned).collect();
    for latencies in
        ["measurements[].response_ms", "measurements[].service_ms", "measurements[].intervals[].response_ms"]
    {
        let quantiles = ["p50", "p90", "p95", "p99", "p999", "p9999", "max"];
        wanted.extend(quantiles.map(|quantile| format!("{latencies}.{quantile}")));
    }
    assert_eq!(found, wanted);
}

/// JSON has no infinity: a number that is none would be `null`.
#[test]
fn numbers_are_numbers() {
    let result = parsed(&elasticity("1"));
    for measurement in result["measurements"].as_array().unwrap() {
        for latencies in ["response_ms", "service_ms"] {
            let values: Vec<f64> =
                measurement[latencies].as_object().unwrap().values().map(|value| value.as_f64().unwrap()).collect();
            assert!(values.is_sorted() && values[0] > 0.0, "{measurement}");
        }
        let rate = measurement["rate"].as_f64().unwrap();
        let window = &measurement["window"];
        let length = window["to_s"].as_f64().unwrap() - window["from_s"].as_f64().unwrap();
        near("operations", measurement["count"].as_f64().unwrap(), rate * length, 0.01);
    }
    for disk in result["disk"].as_array().unwrap() {
        assert!(disk["used_bytes"].as_u64().unwrap() <= disk["total_bytes"].as_u64().unwrap(), "{disk}");
    }
    for time in ["duration_s", "wall_s"] {
        assert!(result[time].as_f64().unwrap() > 0.0, "{time}");
    }
    assert!(result["cost"]["usd"].as_f64().unwrap() > 0.0);
}

/// The file's lines without the ones that differ between two runs of the same seed.
fn comparable(result: &str) -> Vec<&str> {
    let differs =
        |line: &&str| ["  \"run\":", "  \"started\":", "  \"wall_s\":"].iter().any(|key| line.starts_with(key));
    result.lines().filter(|line| !differs(line)).collect()
}

#[test]
fn the_seed_decides_every_number() {
    let (first, again, other) = (elasticity("7"), elasticity("7"), elasticity("8"));
    assert_eq!(comparable(&first).len() + 3, first.lines().count());
    assert_eq!(comparable(&first), comparable(&again));
    let (first, other) = (parsed(&first), parsed(&other));
    assert_ne!(first["measurements"][0]["response_ms"], other["measurements"][0]["response_ms"]);
    assert_ne!(first["duration_s"], other["duration_s"]);
    assert_eq!(other["verdict"], "pass");
}

#[test]
fn other_seeds_pass_too() {
    for seed in ["0", "42", "18446744073709551615"] {
        assert_eq!(parsed(&elasticity(seed))["verdict"], "pass", "seed {seed}");
    }
}

#[test]
fn a_profile_and_set_change_what_is_run() {
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml", "--profile", "slow"]);
    let asked = |result: &str| parsed(result)["measurements"][0]["asked_rate"].as_f64().unwrap();
    assert_eq!(asked(&place.result()), 50.0);
    fs::remove_dir_all(place.path(".wfe")).unwrap();
    place.stdout(&["run", "quick.yaml", "--profile", "slow", "--set", "rate=12k/m"]);
    assert_eq!(asked(&place.result()), 100.0);
}
