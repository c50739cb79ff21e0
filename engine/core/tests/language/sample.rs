//! A whole workflow that uses everything, planned.

use serde_json::json;
use wfe_core::diagnostic::Source;
use wfe_core::limits::Metric;
use wfe_core::plan::{self, Choice, Plan};
use wfe_core::workflow::{self, Reading};

use crate::catalog::catalog;

const SAMPLE: &str = include_str!("../fixtures/elasticity.yaml");

fn sample(choice: Choice) -> Plan {
    plan::build(&Source::new("elasticity.yaml", SAMPLE), &catalog(), &choice).unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn the_sample_is_planned() {
    let plan = sample(Choice { backend: "sim".into(), ..Choice::default() });
    let order: Vec<_> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(order, ["cluster", "fill", "quiet", "traffic", "steady", "grow", "growth", "report"]);
    assert_eq!((plan.profile.as_deref(), plan.deadline_ms), (None, Some(86_400_000)));
    assert_eq!(plan.inputs["rate"], json!(9_850));
    let parameters = |id: &str| plan.step(id).map(|step| step.parameters.0.clone()).unwrap_or_default();
    assert_eq!(parameters("fill"), json!({"percent": 90, "rate": 30_000}));
    assert_eq!(parameters("traffic"), json!({"mix": {"write": 1, "read": 1}, "rate": 9_850, "keys": "gaussian"}));
    assert_eq!(parameters("steady"), json!({"for": 1_800}));
    assert_eq!(parameters("cluster")["nodes"][0], json!({"count": 3, "type": "i4i.large", "racks": 3}));
    let quiet = plan.step("quiet").unwrap();
    assert_eq!((quiet.retry.attempts, quiet.retry.backoff_ms), (2, 60_000));
    assert_eq!(plan.step("fill").unwrap().timeout_ms, Some(21_600_000));
    let during = plan.step("growth").unwrap().during.clone().unwrap();
    assert_eq!((during.step.as_str(), during.phase.as_deref()), ("grow", Some("join")));
    let grants = &plan.step("cluster").unwrap().grants;
    assert_eq!(grants.cloud.as_ref().map(|cloud| cloud.machines), Some(6));
    assert!(grants.capabilities.contains("cluster") && !grants.capabilities.contains("cql"));
}

#[test]
fn limits_are_read() {
    let plan = sample(Choice::default());
    let steady = &plan.step("steady").unwrap().limits;
    assert_eq!((steady[0].rule.as_str(), steady[0].bound), ("read.p99 <= 10ms", 10.0));
    assert_eq!((steady[2].bound, steady[2].of_asked), (99.0, true));
    let growth = &plan.step("growth").unwrap().limits;
    assert_eq!(growth[1].metric, Metric::Errors { operation: None, percent: true });
    assert_eq!(growth[3].rule, "any 10m: rate.drop <= 5 %");
    assert_eq!((growth[3].any_ms, growth[3].bound), (Some(600_000), 5.0));
}

#[test]
fn the_backends_profile_is_taken_and_set_inputs_win() {
    let set = vec![("rate".to_owned(), "12k/s".to_owned())];
    let plan = sample(Choice { backend: "local".into(), set, ..Choice::default() });
    assert_eq!(plan.profile.as_deref(), Some("local"));
    assert_eq!(plan.inputs["rate"], json!(12_000));
    assert_eq!(plan.inputs["steady"], json!(30));
    assert_eq!(plan.step("cluster").unwrap().parameters.0["database"], json!("cassandra 5.0"));
}

#[test]
fn the_graph_is_drawn() {
    let dot = sample(Choice::default()).graphviz();
    assert!(dot.contains(r#""grow" -> "growth" [style=dashed, label="join"];"#), "{dot}");
    assert!(dot.contains(r#""quiet" -> "traffic";"#), "{dot}");
}

#[test]
fn plugin_files_are_listed_once() {
    let text = "name: a\nsteps:\n  a: { uses: ./x.wasm#one }\n  b: { uses: load }\n  c: { uses: ./x.wasm#one }\n";
    let files = |text: &str| {
        let reading = Reading::of(Source::new("w.yaml", text));
        reading.plugin_files().into_iter().map(|file| file.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(files(text), ["./x.wasm#one"]);
    assert_eq!(files(&text.replace("name", "nmae")), ["./x.wasm#one"]);
    assert_eq!(files("name: [").len(), 0);
}

#[test]
fn the_schema_and_the_parser_know_the_same_keys() {
    let schema = workflow::schema();
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<_> = value["properties"].as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let sorted = |known: &[&str]| {
        let mut known: Vec<_> = known.iter().map(|key| (*key).to_owned()).collect();
        known.sort();
        known
    };
    assert_eq!(keys(&schema), sorted(&workflow::KEYS));
    assert_eq!(keys(&schema["$defs"]["step"]), sorted(&workflow::STEP_KEYS));
    assert_eq!(keys(&schema["$defs"]["input"]), sorted(&workflow::INPUT_KEYS));
    assert_eq!(keys(&schema["$defs"]["grants"]), sorted(&plan::GRANT_KEYS));
}

/// Whether a workflow fits a schema for editors.
fn fits(schema: serde_json::Value, text: &str) -> Result<(), String> {
    let value: serde_json::Value = to_json(text);
    let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
    compiler.add_resource("wfe:///workflow", schema).map_err(|error| error.to_string())?;
    let index = compiler.compile("wfe:///workflow", &mut schemas).map_err(|error| format!("{error:#}"))?;
    schemas.validate(&value, index).map_err(|error| format!("{error:#}"))
}

fn to_json(text: &str) -> serde_json::Value {
    workflow::read_yaml(&Source::new("w.yaml", text), &mut vec![]).map(|node| node.to_json()).unwrap_or_default()
}

#[test]
fn the_sample_fits_the_schema_for_editors() {
    fits(workflow::schema(), SAMPLE).unwrap();
    fits(workflow::schema_with(&catalog()), SAMPLE).unwrap();
}

#[test]
fn the_schema_for_editors_refuses_mistakes() {
    for (right, wrong) in [
        ("uses: wait-stable", "use: wait-stable"),
        ("default: 30m", "default: [30m]"),
        ("backoff: 1m", "backoff: 60"),
        ("machines: 6", "machines: six"),
        ("timeout: 6h", "timeout: 6 hours"),
        ("write.p99: <= 10ms", "wirte.p99: <= 10ms"),
    ] {
        assert!(SAMPLE.contains(right));
        assert!(fits(workflow::schema(), &SAMPLE.replace(right, wrong)).is_err(), "{wrong}");
    }
    for (right, wrong) in [("hold: 2m", "hodl: 2m"), ("hold: 2m", "hold: 120"), ("percent: 90 %, ", "")] {
        let text = SAMPLE.replace(right, wrong);
        assert!(fits(workflow::schema(), &text).is_ok(), "{wrong}");
        assert!(fits(workflow::schema_with(&catalog()), &text).is_err(), "{wrong}");
    }
}
