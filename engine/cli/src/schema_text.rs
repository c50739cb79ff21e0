//! A JSON Schema of parameters or outputs as text for people: names, types, bounds, choices, defaults.

use serde_json::Value;
use wfe_core::quantity::Kind;

/// The width of names, at least.
const NAME_WIDTH: usize = 18;

/// The lines of parameters, those inside of others further to the right.
pub fn parameters(schema: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    properties(schema, 2, &need, &mut lines);
    lines
}

/// The lines of outputs: nobody has to give them.
pub fn outputs(schema: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    properties(schema, 2, &|_, _| None, &mut lines);
    lines
}

fn properties(schema: &Value, depth: usize, need: &dyn Fn(&Value, bool) -> Option<String>, lines: &mut Vec<String>) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let named = || schema["properties"].as_object().into_iter().flatten();
    let width = named().map(|(name, _)| name.chars().count()).fold(NAME_WIDTH, usize::max);
    for (name, property) in named() {
        let facts = [Some(kind(property)), bounds(property), need(property, required.contains(&name.as_str()))];
        let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let indent = "  ".repeat(depth);
        lines.push(format!("{indent}{name:width$} {facts}"));
        if let Some(text) = property["description"].as_str() {
            lines.extend(text.lines().map(|line| format!("{indent}{:width$} {line}", "")));
        }
        properties(inside(property), depth + 1, need, lines);
    }
}

/// What a value is made of: of a list its items, of an optional value the value.
fn inside(schema: &Value) -> &Value {
    let some = schema["anyOf"].as_array().and_then(|forms| forms.iter().find(|form| form["type"] != "null"));
    match some {
        Some(form) => inside(form),
        None if schema["items"].is_object() => inside(&schema["items"]),
        None => schema,
    }
}

fn kind(schema: &Value) -> String {
    if schema["items"].is_object() {
        return format!("list of {}s", kind(&schema["items"]));
    }
    let form = inside(schema);
    let choices = form["oneOf"].as_array().into_iter().flatten().map(|choice| &choice["const"]);
    let choices = choices.chain(form["enum"].as_array().into_iter().flatten());
    let choices: Vec<&str> = choices.filter_map(Value::as_str).collect();
    if !choices.is_empty() {
        return choices.join(" | ");
    }
    let types = form["type"].as_array().and_then(|types| types.iter().find(|ty| *ty != "null"));
    let ty = form["format"].as_str().or(types.unwrap_or(&form["type"]).as_str()).unwrap_or("any value");
    let ty = ty.trim_start_matches("uint").trim_start_matches("int");
    match ty {
        "object" => "map".into(),
        "string" => "text".into(),
        "" | "eger" | "8" | "16" | "32" | "64" => "whole number".into(),
        "double" | "float" => "number".into(),
        ty => ty.into(),
    }
}

fn bounds(schema: &Value) -> Option<String> {
    let form = inside(schema);
    let bound = |key: &str| match form.get(key)? {
        Value::Number(zero) if zero.as_f64() == Some(0.0) => Some("0".into()),
        Value::Number(number) => Some(amount(schema, number)),
        _ => None,
    };
    match (bound("minimum"), bound("exclusiveMinimum"), bound("maximum")) {
        (Some(least), _, Some(most)) => Some(format!("{least} to {most}")),
        (_, Some(above), Some(most)) => Some(format!("above {above}, at most {most}")),
        (_, _, Some(most)) => Some(format!("at most {most}")),
        (Some(least), _, _) => Some(format!("at least {least}")),
        (_, Some(above), _) => Some(format!("above {above}")),
        _ => None,
    }
}

fn need(schema: &Value, required: bool) -> Option<String> {
    match (&schema["default"], required) {
        (_, true) => Some("required".into()),
        (Value::Null, false) => Some("optional".into()),
        (Value::String(text), false) => Some(format!("default {text}")),
        (Value::Number(number), false) => Some(format!("default {}", amount(schema, number))),
        (default, false) => Some(format!("default {default}")),
    }
}

fn short(number: &serde_json::Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A number with the unit in which a schema has it.
fn amount(schema: &Value, number: &serde_json::Number) -> String {
    let kind = inside(schema)["format"].as_str().and_then(Kind::from_format);
    kind.zip(number.as_f64()).map_or_else(|| short(number), |(kind, amount)| kind.format(amount))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_is_told() {
        let schema = json!({
            "required": ["nodes"],
            "properties": {
                "nodes": { "type": "array", "description": "The nodes.", "items": { "type": "object", "required": ["count"],
                    "properties": { "count": { "type": "integer", "minimum": 1, "maximum": 256 } } } },
                "keys": { "default": "uniform", "oneOf": [{ "const": "uniform" }, { "const": "latest" }] },
                "rate": { "anyOf": [{ "type": "number", "format": "rate", "exclusiveMinimum": 0 }, { "type": "null" }] },
                "hold": { "type": "number", "format": "duration", "default": 30.0 },
                "share": { "type": ["number", "null"], "format": "double" },
            },
        });
        assert_eq!(
            parameters(&schema),
            [
                "    nodes              list of maps, required",
                "                       The nodes.",
                "      count              whole number, 1 to 256, required",
                "    keys               uniform | latest, default uniform",
                "    rate               rate, above 0, optional",
                "    hold               duration, default 30s",
                "    share              number, optional",
            ]
        );
    }
}
