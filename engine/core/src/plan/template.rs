//! Parameters in which outputs of other steps may still stand.

use serde_json::Value;

use super::Template;
use crate::CallError;
use crate::quantity;
use crate::workflow::expression::{self, Part, Reference};

impl Template {
    /// Whether outputs of other steps stand in it: its values are then not all known before the run.
    pub fn is_open(&self) -> bool {
        is_open(&self.0)
    }

    /// Puts the outputs of other steps in, which `outputs` answers by the steps' ids. A text that is one expression becomes
    /// the output itself; otherwise the output is written into the text.
    pub fn resolve<'a>(&self, outputs: impl Fn(&str) -> Option<&'a Value>) -> Result<Value, CallError> {
        resolve(&self.0, &outputs)
    }
}

fn is_open(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("${{"),
        Value::Array(items) => items.iter().any(is_open),
        Value::Object(map) => map.values().any(is_open),
        _ => false,
    }
}

fn resolve<'a>(value: &Value, outputs: &impl Fn(&str) -> Option<&'a Value>) -> Result<Value, CallError> {
    match value {
        Value::String(text) if text.contains("${{") => resolve_text(text, outputs),
        Value::Array(items) => items.iter().map(|item| resolve(item, outputs)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| Ok((key.clone(), resolve(value, outputs)?))).collect(),
        _ => Ok(value.clone()),
    }
}

fn resolve_text<'a>(text: &str, outputs: &impl Fn(&str) -> Option<&'a Value>) -> Result<Value, CallError> {
    let parts = expression::parse(text).map_err(|error| CallError::request("expression", error.message))?;
    if let [(Part::Reference(reference), _)] = parts.as_slice() {
        return look_up(reference, outputs).map(whole_if_it_is);
    }
    let mut whole = String::new();
    for (part, _) in parts {
        match part {
            Part::Text(text) => whole.push_str(&text),
            Part::Reference(reference) => match look_up(&reference, outputs)? {
                Value::String(text) => whole.push_str(text),
                other => whole.push_str(&other.to_string()),
            },
        }
    }
    Ok(Value::String(whole))
}

/// An output as a parameter: plugins may write a whole number with a fraction of 0.
fn whole_if_it_is(output: &Value) -> Value {
    output.as_f64().filter(|_| output.is_f64()).map_or_else(|| output.clone(), quantity::to_json)
}

fn look_up<'a>(reference: &Reference, outputs: &impl Fn(&str) -> Option<&'a Value>) -> Result<&'a Value, CallError> {
    let Reference::Output { step, path } = reference else {
        return Err(CallError::request("expression", "an input was left in the parameters"));
    };
    let missing = || {
        let message = format!("the step `{step}` did not give the output `{}` that this step takes", path.join("."));
        CallError::infrastructure("missing-output", message)
    };
    let all = outputs(step).ok_or_else(missing)?;
    path.iter().try_fold(all, |value, name| value.get(name)).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outputs_are_put_in_with_their_type() {
        let template = Template(json!({
            "whole": "${{ steps.a.outputs.ids }}",
            "inside": ["${{ steps.a.outputs.deep.rate }} of ${{ steps.a.outputs.name }}"],
            "plain": 3,
            "count": "${{ steps.a.outputs.count }}",
        }));
        let outputs = json!({"ids": [1, 2], "deep": {"rate": 5.5}, "name": "x", "count": 4.0});
        let resolved = template.resolve(|step| (step == "a").then_some(&outputs)).unwrap();
        assert_eq!(resolved, json!({"whole": [1, 2], "inside": ["5.5 of x"], "plain": 3, "count": 4}));
    }

    #[test]
    fn an_output_that_is_not_there_is_the_plugins_fault() {
        let template = Template(json!("${{ steps.a.outputs.ids }}"));
        let nothing = json!({});
        let error = template.resolve(|_| Some(&nothing)).unwrap_err();
        assert_eq!(error.kind, crate::error::kind::INFRASTRUCTURE);
        insta::assert_snapshot!(error.message, @"the step `a` did not give the output `ids` that this step takes");
        assert!(template.resolve(|_| None).is_err());
    }
}
