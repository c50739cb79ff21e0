//! From step functions to the component's exports.

use std::marker::PhantomData;
use std::panic;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::check::{self, Check, Problem};
use crate::{Error, Result, log};

/// Makes a component of step functions.
///
/// Each line names a kind of step, its function and one sentence of summary. `background` marks a step that goes on
/// while others run, `phases` names the phases that it announces, and `check` the function that refuses parameters before
/// anything runs, as [`check`](crate::check) says. Lines are separated by `;`.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use schemars::JsonSchema;
/// # #[derive(Deserialize, JsonSchema)] #[serde(deny_unknown_fields)] struct Nothing {}
/// # fn prepare(_: Nothing) -> wfe_sdk::Result<()> { Ok(()) }
/// # fn soft(_: &Nothing, _: &mut wfe_sdk::check::Check) {}
/// # fn shake(_: Nothing) -> wfe_sdk::Result<()> { Ok(()) }
/// wfe_sdk::plugin! {
///     "prepare": prepare, "Prepares the ground.", check: soft, phases: ["dig", "level"];
///     "shake": shake, "Shakes it for as long as others work.", background
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! plugin {
    ($( $name:literal : $function:path, $summary:literal $(, $option:ident $(: $value:expr)? )* );+ $(;)?) => {
        #[doc(hidden)]
        pub struct __Plugin;

        impl $crate::__private::Guest for __Plugin {
            fn describe() -> ::std::string::String {
                $crate::__private::describe(&[
                    $( $crate::__private::Kind::new($function, $name, $summary)$( .$option($($value)?) )*.describe() ),+
                ])
            }

            fn check(
                kind: ::std::string::String,
                parameters: ::std::string::String,
                step: ::std::string::String,
            ) -> ::std::vec::Vec<$crate::check::Problem> {
                match kind.as_str() {
                    $( $name => $crate::__private::Kind::new($function, $name, $summary)$( .$option($($value)?) )*
                        .problems(&parameters, &step), )+
                    _ => ::std::vec::Vec::new(),
                }
            }

            fn run(
                kind: ::std::string::String,
                parameters: ::std::string::String,
            ) -> ::std::result::Result<::std::string::String, $crate::__private::ContractError> {
                $crate::__private::prepare();
                match kind.as_str() {
                    $( $name => $crate::__private::run($function, &parameters), )+
                    _ => $crate::__private::no_such_kind(&kind),
                }
            }
        }

        // Elsewhere, as in tests, there is nothing that could call the exports.
        #[cfg(target_arch = "wasm32")]
        $crate::__private::export_plugin!(__Plugin);
    };
}

/// One kind of step, whose function takes parameters `P` and answers outputs `O`.
pub struct Kind<P, O> {
    name: &'static str,
    summary: &'static str,
    background: bool,
    phases: Vec<&'static str>,
    check: Option<fn(&P, &mut Check)>,
    outputs: PhantomData<O>,
}

impl<P: JsonSchema + DeserializeOwned, O: JsonSchema> Kind<P, O> {
    /// The kind that a function runs.
    pub fn new(_: fn(P) -> Result<O>, name: &'static str, summary: &'static str) -> Self {
        Self { name, summary, background: false, phases: Vec::new(), check: None, outputs: PhantomData }
    }

    /// It goes on while other steps run.
    pub fn background(mut self) -> Self {
        self.background = true;
        self
    }

    /// The phases that it announces.
    pub fn phases<const N: usize>(mut self, names: [&'static str; N]) -> Self {
        self.phases = names.into();
        self
    }

    /// What refuses parameters before anything runs.
    pub fn check(mut self, check: fn(&P, &mut Check)) -> Self {
        self.check = Some(check);
        self
    }

    /// The kind as the contract describes it.
    pub fn describe(&self) -> Value {
        let mut parameters = schema::<P>();
        if let Value::Object(parameters) = &mut parameters {
            parameters.entry("additionalProperties").or_insert(Value::Bool(false));
        }
        json!({
            "name": self.name,
            "summary": self.summary,
            "parameters": parameters,
            "outputs": schema::<O>(),
            "background": self.background,
            "phases": self.phases,
        })
    }

    /// What is wrong with parameters; `step` is what else the workflow says of the step.
    pub fn problems(&self, parameters: &str, step: &str) -> Vec<Problem> {
        check::problems(self.check, parameters, step)
    }
}

/// The document of all kinds.
pub fn describe(kinds: &[Value]) -> String {
    json!({ "kinds": kinds }).to_string()
}

/// Runs a step: text in, text out.
pub fn run<P: DeserializeOwned, O: Serialize>(
    function: fn(P) -> Result<O>,
    parameters: &str,
) -> Result<String, crate::bindings::wfe::types::types::Error> {
    let parameters = serde_json::from_str(parameters).map_err(|e| Error::request("parameters", e.to_string()))?;
    let outputs = serde_json::to_value(function(parameters)?).map_err(Error::from)?;
    // A step without outputs answers the empty object, whatever its type is.
    let outputs = if outputs.is_null() { Value::Object(Map::new()) } else { outputs };
    Ok(outputs.to_string())
}

/// The answer to a kind that the plugin does not have.
pub fn no_such_kind(kind: &str) -> Result<String, crate::bindings::wfe::types::types::Error> {
    Err(Error::request("no-such-kind", format!("this plugin has no kind of step named {kind}")).into())
}

/// Makes a panic say where it happened before it traps.
pub fn prepare() {
    panic::set_hook(Box::new(|panic| log::error(format!("the plugin broke: {panic}"))));
}

fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        root.remove("title");
    }
    simplify(&mut schema);
    schema
}

/// Takes out what only Rust knows: an optional value is one that can be left out, not one that is null, and numbers
/// have no width.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(object) => {
            unwrap_option(object);
            if object.get("format").and_then(Value::as_str).is_some_and(is_width) {
                object.remove("format");
            }
            if object.get("default") == Some(&Value::Null) {
                object.remove("default");
            }
            object.values_mut().for_each(simplify);
        }
        _ => {}
    }
}

fn unwrap_option(object: &mut Map<String, Value>) {
    let null = Value::from("null");
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| *name != null);
        if let [only] = &types[..] {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    let Some(Value::Array(choices)) = object.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type") != Some(&null));
    if let [Value::Object(only)] = &choices[..] {
        let only = only.clone();
        object.remove("anyOf");
        only.into_iter().for_each(|(key, value)| {
            object.entry(key).or_insert(value);
        });
    }
}

fn is_width(format: &str) -> bool {
    ["double", "float"].contains(&format) || format.starts_with("uint") || format.starts_with("int")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::{Duration, MachineType, Percent, Rate};

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only their schema is looked at")]
    struct Parameters {
        /// How long.
        hold: Duration,
        #[schemars(range(min = 0.5))]
        rate: Option<Rate>,
        #[serde(default = "half")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        steady: Percent,
        #[schemars(range(min = 1))]
        count: Option<u32>,
        #[schemars(length(min = 1))]
        groups: Option<Vec<Group>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only their schema is looked at")]
    struct Group {
        r#type: MachineType,
    }

    fn half() -> Percent {
        Percent(0.5)
    }

    fn echo(p: Parameters) -> Result<Duration> {
        if p.hold.0 < 0.0 { Err(Error::product("negative", "time runs backwards")) } else { Ok(p.hold) }
    }

    fn nothing(_: Parameters) -> Result<()> {
        Ok(())
    }

    #[test]
    fn parameters_are_described_in_plain_schema() {
        let kind = Kind::new(echo, "echo", "Says it again.").background().phases(["one", "two"]);
        let group = json!({ "type": "string", "format": "machine-type" });
        let expected = json!({ "kinds": [{
            "name": "echo",
            "summary": "Says it again.",
            "parameters": {
                "type": "object",
                "properties": {
                    "hold": { "type": "number", "format": "duration", "description": "How long." },
                    "rate": { "type": "number", "format": "rate", "minimum": 0.5 },
                    "steady": { "type": "number", "format": "percent", "default": 0.5, "exclusiveMinimum": 0 },
                    "count": { "type": "integer", "minimum": 1 },
                    "groups": { "type": "array", "minItems": 1, "items": {
                        "type": "object", "properties": { "type": group }, "required": ["type"],
                    } },
                },
                "required": ["hold"],
                "additionalProperties": false,
            },
            "outputs": { "type": "number", "format": "duration" },
            "background": true,
            "phases": ["one", "two"],
        }] });
        assert_eq!(serde_json::from_str::<Value>(&describe(&[kind.describe()])).unwrap(), expected);
    }

    #[test]
    fn a_step_takes_text_and_gives_text() {
        assert_eq!(run(echo, r#"{ "hold": 90 }"#).unwrap(), "90.0");
        assert_eq!(run(nothing, r#"{ "hold": 90 }"#).unwrap(), "{}");
        assert_eq!(run(echo, r#"{ "hold": -1 }"#).unwrap_err().kind, "product");
        assert_eq!(no_such_kind("x").unwrap_err().kind, "request");
    }

    #[test]
    fn unknown_parameters_are_refused() {
        let error = run(echo, r#"{ "hold": 1, "hodl": 2 }"#).unwrap_err();
        assert_eq!(error.kind, "request");
        assert!(error.message.contains("hodl"), "{}", error.message);
    }
}
