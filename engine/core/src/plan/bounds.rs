//! Bounds on schemas, which come from plugins: holding a value against one must not take for ever.

use serde_json::Value;

/// The most values that a schema may be made of.
const MOST_VALUES: usize = 20_000;
/// The most sub-schemas that may hold for one and the same value.
const MOST_FORMS: usize = 1_000;
/// Keywords whose sub-schemas are about the same value.
const SAME_VALUE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// Whether a schema can be used; otherwise why not.
pub fn check(schema: &Value) -> Result<(), String> {
    let mut values = 0;
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        values += 1;
        if values > MOST_VALUES {
            return Err(format!("it is made of more than {MOST_VALUES} values"));
        }
        check_references(value)?;
        let mut forms = 0;
        unfold(value, schema, &mut forms, 0)?;
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values()),
            _ => {}
        }
    }
    Ok(())
}

fn check_references(schema: &Value) -> Result<(), String> {
    if let Some(Value::String(reference)) = schema.get("$ref")
        && reference != "#"
        && !reference.starts_with("#/")
    {
        return Err(format!("it refers to {}: only `#/…` is followed", crate::diagnostic::quote(reference)));
    }
    match ["$dynamicRef", "$recursiveRef"].into_iter().find(|key| schema.get(key).is_some_and(Value::is_string)) {
        Some(key) => Err(format!("it uses `{key}`")),
        None => Ok(()),
    }
}

/// Counts the sub-schemas that hold for the same value as a schema.
fn unfold(schema: &Value, root: &Value, forms: &mut usize, depth: usize) -> Result<(), String> {
    *forms += 1;
    if *forms > MOST_FORMS || depth > 100 {
        return Err(format!("it has more than {MOST_FORMS} forms for one value, or refers to itself"));
    }
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
    if let Some(target) = reference.and_then(|pointer| root.pointer(pointer)) {
        unfold(target, root, forms, depth + 1)?;
    }
    for part in SAME_VALUE.iter().filter_map(|key| schema.get(key)) {
        match part {
            Value::Array(parts) => parts.iter().try_for_each(|part| unfold(part, root, forms, depth + 1))?,
            Value::Object(_) => unfold(part, root, forms, depth + 1)?,
            _ => {}
        }
    }
    Ok(())
}
