//! Looking into JSON Schemas: which forms a value may have, what its parts are, which quantity it is.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::quantity::Kind;

/// The most sub-schemas that are looked at for one value: schemas come from plugins.
const MOST: usize = 64;

/// All forms that a value may have: the schema with its references, alternatives and conjunctions opened.
pub fn forms<'s>(schema: &'s Value, root: &'s Value) -> Vec<&'s Value> {
    let mut forms: Vec<&Value> = vec![];
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        if forms.len() >= MOST || forms.iter().any(|known| std::ptr::eq(*known, next)) {
            continue;
        }
        forms.push(next);
        let referred = next.get("$ref").and_then(Value::as_str).and_then(|reference| refer(reference, root));
        open.extend(referred);
        for key in ["allOf", "oneOf", "anyOf"] {
            open.extend(next.get(key).and_then(Value::as_array).into_iter().flatten().rev());
        }
    }
    forms
}

fn refer<'s>(reference: &str, root: &'s Value) -> Option<&'s Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// The schema of a property; none when the schema does not know it.
pub fn property<'s>(forms: &[&'s Value], name: &str) -> Option<&'s Value> {
    let named = forms.iter().find_map(|form| form.get("properties")?.get(name));
    named.or_else(|| forms.iter().find_map(|form| form.get("additionalProperties").filter(|schema| schema.is_object())))
}

/// The names of all properties.
pub fn properties<'s>(forms: &[&'s Value]) -> Vec<&'s str> {
    let maps = forms.iter().filter_map(|form| form.get("properties")?.as_object());
    maps.flat_map(|map| map.keys().map(String::as_str)).collect()
}

/// The schema of the items of a list.
pub fn item<'s>(forms: &[&'s Value], index: usize) -> Option<&'s Value> {
    let own = |form: &&'s Value| form.get("prefixItems").and_then(|items| items.get(index));
    forms.iter().find_map(|form| own(form).or_else(|| form.get("items")))
}

/// The types that one form names, without looking into its parts.
fn types(form: &Value) -> Vec<&str> {
    match form.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    }
}

fn quantity_of(form: &Value) -> Option<Kind> {
    let numeric = types(form).iter().any(|name| matches!(*name, "number" | "integer"));
    form.get("format").and_then(Value::as_str).filter(|_| numeric).and_then(Kind::from_format)
}

/// The quantity that a value is, if it is one.
pub fn quantity(forms: &[&Value]) -> Option<Kind> {
    forms.iter().find_map(|form| quantity_of(form))
}

/// Whether a value is text of a format, such as `machine-type`.
pub fn has_format(forms: &[&Value], format: &str) -> bool {
    forms.iter().any(|form| form.get("format").and_then(Value::as_str) == Some(format))
}

/// Whether a value may be a text.
pub fn takes_text(forms: &[&Value]) -> bool {
    let texts = |form: &&Value| {
        form.get("enum").and_then(Value::as_array).is_some_and(|list| list.iter().any(Value::is_string))
    };
    forms
        .iter()
        .any(|form| types(form).contains(&"string") || form.get("const").is_some_and(Value::is_string) || texts(form))
}

/// What a value can be, in words such as `a rate` or `a list`; empty when the schema leaves it open.
pub fn words(forms: &[&Value]) -> BTreeSet<&'static str> {
    let word = |form: &&Value| match quantity_of(form) {
        Some(kind) => vec![kind.phrase()],
        None if takes_text(&[form]) && types(form).is_empty() => vec!["a text"],
        None => types(form).into_iter().filter_map(type_phrase).collect(),
    };
    forms.iter().flat_map(word).collect()
}

fn type_phrase(name: &str) -> Option<&'static str> {
    match name {
        "string" => Some("a text"),
        "integer" => Some("a whole number"),
        "number" => Some("a number"),
        "boolean" => Some("`true` or `false`"),
        "array" => Some("a list"),
        "object" => Some("a map"),
        _ => None,
    }
}

/// Whether a value of one shape can stand where another is wanted. An open shape fits everything.
pub fn fits(given: &BTreeSet<&'static str>, wanted: &BTreeSet<&'static str>) -> bool {
    let plain = |word: &&str| Kind::ALL.iter().any(|kind| kind.phrase() == *word);
    let fit = |word: &&str| {
        wanted.contains(word) || (wanted.contains("a number") && (*word == "a whole number" || plain(word)))
    };
    given.is_empty() || wanted.is_empty() || given.iter().any(fit)
}
