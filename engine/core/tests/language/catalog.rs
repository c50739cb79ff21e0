//! A small catalog of step kinds, with schemas of the form that plugins give.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use wfe_core::catalog::{Catalog, Plugin, StepKind};
use wfe_core::diagnostic::Source;
use wfe_core::plan::{self, Choice, Plan};

const HARMLESS: [&str; 4] = ["step/context.progress", "log/log.write", "clock/clock.now", "histogram/histograms.merge"];

fn kind(name: &str, parameters: Value, outputs: Value) -> StepKind {
    let summary = format!("Does {name}.");
    StepKind { name: name.into(), summary, parameters, outputs, background: false, phases: vec![] }
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
        "$defs": {
            "Machines": {
                "type": "object",
                "properties": {
                    "count": { "type": "integer", "format": "uint32", "minimum": 1 },
                    "type": { "type": "string", "format": "machine-type" },
                    "racks": { "type": "integer", "format": "uint32", "minimum": 1, "default": 1 },
                },
                "required": ["count", "type"],
                "additionalProperties": false,
            },
            "Keys": {
                "description": "How keys are drawn.",
                "oneOf": [
                    { "description": "One after another.", "type": "string", "const": "sequential" },
                    { "description": "Each equally likely.", "type": "string", "const": "uniform" },
                    { "description": "Bell-shaped.", "type": "string", "const": "gaussian" },
                ],
            },
        },
    })
}

fn kinds() -> Vec<(StepKind, Vec<&'static str>)> {
    let machines = json!({ "type": "array", "items": { "$ref": "#/$defs/Machines" }, "minItems": 1 });
    let duration = json!({ "type": "number", "format": "duration", "minimum": 0 });
    let optional_rate = json!({ "type": ["number", "null"], "format": "rate", "minimum": 0, "default": null });
    let provision = kind(
        "provision",
        object(
            json!({
                "database": { "type": "string", "format": "database", "description": "Product and version." },
                "nodes": machines,
                "loaders": { "anyOf": [{ "$ref": "#/$defs/Machines" }, { "type": "null" }] },
            }),
            &["database", "nodes"],
        ),
        json!({ "type": "object", "properties": {
            "nodes": { "type": "array", "items": { "type": "string" } },
            "capacity": { "type": "number", "format": "bytes" },
            "throughput": { "type": "number", "format": "rate" },
            "version": { "type": "string" },
        } }),
    );
    let fill = kind(
        "fill-to-percent",
        object(
            json!({
                "percent": { "type": "number", "format": "percent", "exclusiveMinimum": 0, "maximum": 95, "description": "How full." },
                "rate": optional_rate,
                "row": { "anyOf": [{ "type": "number", "format": "bytes" }, { "type": "null" }] },
            }),
            &["percent"],
        ),
        json!({ "type": "object", "properties": { "rows": { "type": "integer" } } }),
    );
    let quiet =
        kind("wait-stable", object(json!({ "hold": duration, "note": { "type": "string" } }), &["hold"]), json!({}));
    let mut load = kind(
        "load",
        object(
            json!({
                "mix": { "type": "object", "additionalProperties": { "type": "number" }, "description": "Weight of each operation." },
                "rate": optional_rate,
                "keys": { "$ref": "#/$defs/Keys" },
                "rows": { "type": "integer", "minimum": 1 },
            }),
            &["mix"],
        ),
        json!({ "type": "object" }),
    );
    load.background = true;
    let mut grow = kind(
        "grow-cluster",
        object(json!({ "add": machines, "together": { "type": "boolean", "default": false } }), &["add"]),
        json!({ "type": "object" }),
    );
    grow.phases = vec!["provision".into(), "join".into()];
    let measure =
        kind("measure", object(json!({ "for": { "anyOf": [duration, { "type": "null" }] } }), &[]), json!({}));
    let report = kind("report", object(json!({}), &[]), json!({}));
    let create = [
        "cloud/machines.create",
        "cloud/machines.terminate",
        "cluster/cluster.create",
        "operation/operations.wait-any",
    ];
    vec![
        (provision, create.to_vec()),
        (fill, vec!["load/loads.start", "cluster/cluster.nodes", "cloud/machines.list"]),
        (quiet, vec!["cluster/cluster.nodes"]),
        (load, vec!["load/loads.start", "load/loads.stop"]),
        (grow, vec!["cloud/machines.create", "cluster/cluster.join"]),
        (measure, vec!["histogram/measurements.measure"]),
        (report, vec!["report/report.publish"]),
        (kind("query", object(json!({}), &[]), json!({})), vec!["cql/session.query"]),
    ]
}

/// The built-in kinds, and the same kind of load and query from a file.
pub fn catalog() -> Catalog {
    let mut kinds: BTreeMap<String, (Arc<Plugin>, StepKind)> = BTreeMap::new();
    for (kind, imports) in self::kinds() {
        let imports = imports.into_iter().chain(HARMLESS).map(str::to_owned).collect();
        let plugin = Arc::new(Plugin { name: kind.name.clone(), digest: "00".repeat(32), imports, size: 1_000 });
        if kind.name == "load" || kind.name == "query" {
            kinds.insert(format!("./extra.wasm#{}", kind.name), (Arc::clone(&plugin), kind.clone()));
        }
        kinds.insert(kind.name.clone(), (plugin, kind));
    }
    Catalog { kinds }
}

/// A plan, or the mistakes as they are shown.
pub fn plan(text: &str) -> Result<Plan, String> {
    let choice = Choice { backend: "sim".into(), ..Choice::default() };
    plan::build(&Source::new("w.yaml", text), &catalog(), &choice).map_err(|wrong| wrong.to_string())
}

/// The mistakes of a text as they are shown.
pub fn mistakes(text: &str) -> String {
    plan(text).expect_err("the text has a mistake")
}
