//! Inputs with their types, and the profiles that set them.

use serde_json::Value;

use crate::diagnostic::{Mistake, Span, quote};
use crate::quantity::{self, Kind};

use super::fields::{self, Fields};
use super::tree::{Key, Node, plain_scalar};
use super::{At, suggest};

/// The type of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputType {
    /// Any text.
    Text,
    /// A whole number.
    Integer,
    /// A number without unit.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A number with a unit.
    Quantity(Kind),
}

/// The words for the types of inputs.
pub const TYPES: [&str; 8] = ["string", "integer", "number", "boolean", "duration", "rate", "bytes", "percent"];

impl InputType {
    /// The type that a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "string" => Some(Self::Text),
            "integer" => Some(Self::Integer),
            "number" => Some(Self::Number),
            "boolean" => Some(Self::Boolean),
            _ => Kind::from_format(word).map(Self::Quantity),
        }
    }

    /// The type with its article, for messages.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Quantity(kind) => kind.phrase(),
        }
    }

    /// Reads a value of this type from its text. `what` and `span` are for the mistake.
    pub fn value(self, text: &str, what: &str, span: Span) -> Result<InputValue, Mistake> {
        if text.contains("${{") {
            return Err(Mistake::new(span, format!("{what} cannot be an expression")));
        }
        let wrong = |help: &str| {
            let message = format!("{what} must be {}, but this is {}", self.phrase(), quote(text));
            Mistake::new(span, message).help((!help.is_empty()).then(|| help.to_owned()))
        };
        let scalar = plain_scalar(text);
        let json = match self {
            Self::Text => Some(Value::String(text.into())),
            Self::Integer => Some(scalar).filter(Value::is_i64),
            Self::Number => Some(scalar).filter(Value::is_number),
            Self::Boolean => Some(scalar).filter(Value::is_boolean),
            Self::Quantity(kind) => match kind.parse(text) {
                Ok(value) => Some(quantity::to_json(value)),
                Err(error) => {
                    return Err(Mistake::new(span, format!("{what}: {}", error.message)).help(error.help));
                }
            },
        };
        let json = json.ok_or_else(|| wrong(if self == Self::Boolean { "write `true` or `false`" } else { "" }))?;
        Ok(InputValue { text: text.into(), kind: self, json })
    }
}

/// A value of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct InputValue {
    /// As it was written.
    pub text: String,
    /// Its type.
    pub kind: InputType,
    /// As plugins get it: quantities as numbers.
    pub json: Value,
}

/// Something that can be set from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: At<String>,
    /// Its type.
    pub kind: InputType,
    /// Its value when nobody sets it.
    pub default: Option<InputValue>,
    /// Whether a default is written, right or wrong.
    pub has_default: bool,
    /// What it is for, empty when it does not say.
    pub description: String,
}

/// Values of inputs for one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: At<String>,
    /// The values by the inputs' names.
    pub values: Vec<(String, InputValue)>,
}

/// The keys of an input.
pub const INPUT_KEYS: [&str; 3] = ["type", "default", "description"];

/// Reads the map under `inputs`.
pub fn read_inputs(node: Option<&Node>, mistakes: &mut Vec<Mistake>) -> Vec<Input> {
    let Some(node) = node else { return vec![] };
    let entries = fields::entries(node, "`inputs`", mistakes).unwrap_or_default();
    entries.iter().filter_map(|(key, value)| read_input(key, value, mistakes)).collect()
}

fn read_input(key: &Key, node: &Node, mistakes: &mut Vec<Mistake>) -> Option<Input> {
    fields::check_name(key, "an input", mistakes);
    let mut map = Fields::of(node, "an input", &INPUT_KEYS, mistakes)?;
    let (kind, description) = (map.text("type"), map.text("description"));
    let default = map.take("default");
    let has_default = default.is_some();
    if !map.has("type") {
        let help = format!("add `type:` with one of {}", suggest::list(&TYPES));
        mistakes.push(Mistake::new(key.span, format!("the input {} has no type", quote(&key.text))).help(help));
    }
    let kind = kind.and_then(|word| {
        let known = InputType::from_word(&word.value);
        if known.is_none() {
            let help = suggest::advice(&word.value, TYPES, "the types are");
            mistakes.push(Mistake::new(word.span, format!("there is no type {}", quote(&word.value))).help(help));
        }
        known
    });
    let what = format!("the default of {}", quote(&key.text));
    let default = default.and_then(|node| input_value(node, kind.unwrap_or(InputType::Text), &what, mistakes));
    Some(Input {
        name: At { value: key.text.clone(), span: key.span },
        kind: kind.unwrap_or(InputType::Text),
        default,
        has_default,
        description: description.map(|at| at.value).unwrap_or_default(),
    })
}

fn input_value(node: &Node, kind: InputType, what: &str, mistakes: &mut Vec<Mistake>) -> Option<InputValue> {
    let text = fields::text(node, what, mistakes)?;
    kind.value(&text.value, what, text.span).map_err(|mistake| mistakes.push(mistake)).ok()
}

/// Reads the map under `profiles`; each value must fit its input.
pub fn read_profiles(node: Option<&Node>, inputs: &[Input], mistakes: &mut Vec<Mistake>) -> Vec<Profile> {
    let Some(node) = node else { return vec![] };
    let entries = fields::entries(node, "`profiles`", mistakes).unwrap_or_default();
    entries.iter().map(|(key, value)| read_profile(key, value, inputs, mistakes)).collect()
}

fn read_profile(key: &Key, node: &Node, inputs: &[Input], mistakes: &mut Vec<Mistake>) -> Profile {
    fields::check_name(key, "a profile", mistakes);
    let mut values = vec![];
    for (name, node) in fields::entries(node, "a profile", mistakes).unwrap_or_default() {
        let Some(input) = inputs.iter().find(|input| input.name.value == name.text) else {
            mistakes.push(unknown_input(&name.text, name.span, inputs));
            continue;
        };
        let what = format!("{} of the profile {}", quote(&name.text), quote(&key.text));
        values.extend(input_value(node, input.kind, &what, mistakes).map(|value| (name.text.clone(), value)));
    }
    Profile { name: At { value: key.text.clone(), span: key.span }, values }
}

/// The mistake of naming an input that is not there.
pub fn unknown_input(name: &str, span: Span, inputs: &[Input]) -> Mistake {
    let known = inputs.iter().map(|input| input.name.value.as_str());
    let help = suggest::advice(name, known, "the inputs are");
    Mistake::new(span, format!("there is no input {}", quote(name)))
        .help(help.or_else(|| Some("the workflow has no `inputs`".into())))
}
