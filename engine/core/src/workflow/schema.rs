//! The JSON Schema of workflow files, for editors: completion, descriptions, and the mistakes that a schema can find.

use serde_json::{Map, Value, json};

use crate::catalog::{Catalog, StepKind};
use crate::limits::{OPERATIONS, PERCENTILES};
use crate::quantity::Kind;

use super::inputs::TYPES;

/// The schema (draft 2020-12) of workflow files without any knowledge of plugins.
pub fn schema() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "wfe workflow",
        "type": "object",
        "required": ["name", "steps"],
        "additionalProperties": false,
        "properties": {
            "name": text("Name of the workflow."),
            "description": text("What it is for."),
            "inputs": named("What can be set by profiles and by `--set`.", "input"),
            "profiles": {
                "description": "Other values of the inputs, chosen by `--profile`, otherwise by the backend's name.",
                "type": ["object", "null"],
                "propertyNames": { "$ref": "#/$defs/name" },
                "additionalProperties": { "type": ["object", "null"], "additionalProperties": { "$ref": "#/$defs/scalar" } },
            },
            "steps": named("The steps by their ids.", "step"),
            "finally": named("Steps that run however the others ended.", "step"),
            "deadline": { "$ref": "#/$defs/duration", "description": "The longest that the run may take." },
        },
        "$defs": definitions(),
    })
}

fn definitions() -> Value {
    json!({
        "name": { "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$" },
        "scalar": { "type": ["string", "number", "boolean"] },
        "duration": quantity(Kind::Duration),
        "rate": quantity(Kind::Rate),
        "bytes": quantity(Kind::Bytes),
        "percent": quantity(Kind::Percent),
        "expression": { "type": "string", "pattern": EXPRESSION },
        "input": input(),
        "step": step(),
        "grants": grants(),
        "rules": rules(false),
        "limits": rules(true),
    })
}

/// The same, with the parameters of every kind of step in a catalog.
pub fn schema_with(catalog: &Catalog) -> Value {
    let mut schema = schema();
    let kinds: Vec<&str> = catalog.kinds.keys().map(String::as_str).collect();
    let about: Vec<&str> = catalog.kinds.values().map(|(_, kind)| kind.summary.as_str()).collect();
    schema["$defs"]["step"]["properties"]["uses"]["anyOf"] =
        json!([{ "enum": kinds, "markdownEnumDescriptions": about }, { "pattern": "[/\\\\]|\\.wasm" }]);
    let per_kind = catalog.kinds.iter().map(|(name, (_, kind))| when_used(name, kind));
    schema["$defs"]["step"]["allOf"] = per_kind.collect();
    for (name, (_, kind)) in &catalog.kinds {
        schema["$defs"][definition(name)] = embed(&kind.parameters, name);
    }
    schema
}

const EXPRESSION: &str = r"\$\{\{.*\}\}";

fn named(about: &str, what: &str) -> Value {
    json!({
        "description": about,
        "type": ["object", "null"],
        "propertyNames": { "$ref": "#/$defs/name" },
        "additionalProperties": { "$ref": format!("#/$defs/{what}") },
    })
}

fn quantity(kind: Kind) -> Value {
    json!({ "type": "string", "description": kind.units(), "anyOf": [{ "pattern": kind.pattern() }, { "pattern": EXPRESSION }] })
}

fn input() -> Value {
    json!({
        "type": "object",
        "required": ["type"],
        "additionalProperties": false,
        "properties": {
            "type": { "enum": TYPES, "description": "What it takes." },
            "default": { "$ref": "#/$defs/scalar", "description": "Its value when nobody sets it." },
            "description": { "type": "string", "description": "What it is for." },
        },
    })
}

fn step() -> Value {
    let ids = json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }, { "type": "null" }] });
    json!({
        "type": "object",
        "required": ["uses"],
        "additionalProperties": false,
        "properties": {
            "uses": { "type": "string", "description": "The kind of step, or a plugin's file: `./x.wasm#kind`." },
            "with": { "type": ["object", "null"], "description": "Parameters of the kind of step." },
            "needs": described(ids, "The steps that must have succeeded; background ones must be ready."),
            "background": { "type": "boolean", "description": "Runs until the last step that needs it has ended." },
            "during": { "type": "string", "description": "The step, or `step.phase`, whose window it is about." },
            "timeout": { "$ref": "#/$defs/duration", "description": "The longest that one attempt may take." },
            "retry": {
                "description": "Tries again after an infrastructure error or a timeout.",
                "type": "object",
                "required": ["attempts"],
                "additionalProperties": false,
                "properties": { "attempts": count(), "backoff": { "$ref": "#/$defs/duration" } },
            },
            "limits": { "$ref": "#/$defs/limits", "description": "What the measurement must hold." },
            "grants": { "$ref": "#/$defs/grants", "description": "What the plugin may do." },
        },
    })
}

fn described(mut schema: Value, about: &str) -> Value {
    schema["description"] = about.into();
    schema
}

fn count() -> Value {
    json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "$ref": "#/$defs/expression" }] })
}

fn grants() -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "cloud": {
                "description": "Create and terminate machines of these types, so many in all.",
                "type": "object",
                "required": ["types", "machines"],
                "additionalProperties": false,
                "properties": { "types": texts, "machines": count() },
            },
            "cql": {
                "description": "Run statements in these keyspaces.",
                "type": "object",
                "required": ["keyspaces"],
                "additionalProperties": false,
                "properties": { "keyspaces": texts },
            },
            "cluster": { "type": "boolean", "description": "Act on the run's cluster." },
            "load": { "type": "boolean", "description": "Start loads." },
        },
    })
}

/// The schema of limits; with `any` the outer map, in which stretches can stand.
fn rules(any: bool) -> Value {
    let percentiles = PERCENTILES.join("|");
    let operations = OPERATIONS.join("|");
    let rule = json!({ "type": "string", "pattern": format!("^\\s*[<>]=?|{EXPRESSION}") });
    let mut patterns = Map::new();
    patterns.insert(format!("^({operations})\\.(service\\.)?({percentiles})$"), rule.clone());
    patterns.insert(format!("^(({operations})\\.)?(rate|errors)$"), rule.clone());
    patterns.insert("^rate\\.drop$".into(), rule);
    if any {
        patterns.insert("^any ".into(), json!({ "$ref": "#/$defs/rules" }));
    }
    json!({ "type": "object", "additionalProperties": false, "patternProperties": patterns })
}

/// The name of a kind's parameters among the definitions.
fn definition(kind: &str) -> String {
    format!("with:{}", kind.replace(['/', '~', '#', '%'], "_"))
}

fn when_used(name: &str, kind: &StepKind) -> Value {
    let required = kind.parameters["required"].as_array().is_some_and(|names| !names.is_empty());
    let mut then = json!({ "properties": { "with": { "$ref": format!("#/$defs/{}", definition(name)) } } });
    if required {
        then["required"] = json!(["with"]);
    }
    json!({ "if": { "properties": { "uses": { "const": name } }, "required": ["uses"] }, "then": then })
}

/// A plugin's schema as part of the workflow's: quantities as texts with units, an expression wherever a single value
/// can stand, references kept inside.
fn embed(schema: &Value, name: &str) -> Value {
    let inside = format!("#/$defs/{}", definition(name));
    let mut embedded = rewrite(schema, &inside);
    if let Some(map) = embedded.as_object_mut() {
        map.remove("$schema");
        map.remove("$id");
    }
    embedded
}

fn rewrite(schema: &Value, inside: &str) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let parts = |value: &Value| match value {
        Value::Object(map) => map.iter().map(|(key, part)| (key.clone(), rewrite(part, inside))).collect(),
        other => other.clone(),
    };
    let list = |value: &Value| match value {
        Value::Array(items) => items.iter().map(|item| rewrite(item, inside)).collect(),
        other => other.clone(),
    };
    let mut rewritten = Map::new();
    for (key, value) in map {
        let value = match (key.as_str(), value) {
            ("$ref", Value::String(reference)) => reference.replacen('#', inside, 1).into(),
            ("properties" | "$defs" | "patternProperties", value) => parts(value),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", value) => list(value),
            ("items" | "additionalProperties", value) => rewrite(value, inside),
            (_, value) => value.clone(),
        };
        rewritten.insert(key.clone(), value);
    }
    or_expression(rewritten)
}

/// The schema of a single value, with an expression allowed in its place.
fn or_expression(map: Map<String, Value>) -> Value {
    let types: Vec<&str> = match map.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let format = map.get("format").and_then(Value::as_str).and_then(Kind::from_format);
    let description = map.get("description").cloned();
    let single = types.iter().any(|name| matches!(*name, "number" | "integer" | "boolean"));
    let worded = map.contains_key("const") || map.contains_key("enum") || map.contains_key("pattern");
    let mut open = match format.filter(|_| single) {
        Some(kind) if types.contains(&"null") => {
            json!({ "anyOf": [{ "$ref": format!("#/$defs/{}", kind.format_name()) }, { "type": "null" }] })
        }
        Some(kind) => json!({ "$ref": format!("#/$defs/{}", kind.format_name()) }),
        None if single || worded => json!({ "anyOf": [map, { "$ref": "#/$defs/expression" }] }),
        None => return Value::Object(map),
    };
    if let Some(description) = description {
        open["description"] = description;
    }
    open
}
