//! YAML as a tree in which every key and value keeps its place. Types are looked at later, so that all mistakes can be
//! said at once.

use serde_json::Value;

use crate::diagnostic::Span;
use crate::quantity;

/// The most values that a file may have once its aliases are written out.
pub const MOST_VALUES: usize = 200_000;
/// How deep values may be inside each other.
pub const MOST_DEPTH: usize = 32;

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it is written.
    pub span: Span,
    /// What is written there.
    pub data: Data,
    /// The input that the value was taken from, for messages.
    pub origin: Option<String>,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// A single value.
    Scalar {
        /// Its text, without quotes.
        text: String,
        /// Whether it stands without quotes, so that it can be a number, a boolean or nothing.
        plain: bool,
    },
    /// Values one after another.
    List(Vec<Node>),
    /// Values by key, in the order of the file, each key once.
    Map(Vec<(Key, Node)>),
}

/// A key with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its text.
    pub text: String,
    /// Where it is written.
    pub span: Span,
}

impl Node {
    /// A value with its place.
    pub fn new(span: Span, data: Data) -> Self {
        Self { span, data, origin: None }
    }

    /// What is written, in the words of messages.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
            Data::Scalar { .. } => match self.to_json() {
                Value::Null => "nothing",
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                _ => "a text",
            },
        }
    }

    /// Whether nothing is written there.
    pub fn is_null(&self) -> bool {
        matches!(&self.data, Data::Scalar { text, plain: true } if plain_scalar(text).is_null())
    }

    /// The text of a single value.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.data {
            Data::Map(entries) => entries.iter().find(|entry| entry.0.text == key).map(|entry| &entry.1),
            _ => None,
        }
    }

    /// The value as JSON, by the rules of YAML's core schema.
    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Scalar { text, plain: true } => plain_scalar(text),
            Data::Scalar { text, plain: false } => Value::String(text.clone()),
            Data::List(items) => items.iter().map(Self::to_json).collect(),
            Data::Map(entries) => entries.iter().map(|(key, value)| (key.text.clone(), value.to_json())).collect(),
        }
    }

    /// How many values it holds, itself included.
    pub(super) fn count(&self) -> usize {
        match &self.data {
            Data::Scalar { .. } => 1,
            Data::List(items) => items.iter().map(Self::count).sum::<usize>() + 1,
            Data::Map(entries) => entries.iter().map(|entry| entry.1.count()).sum::<usize>() + 1,
        }
    }

    /// How many values it is deep, itself included.
    pub(super) fn depth(&self) -> usize {
        1 + match &self.data {
            Data::Scalar { .. } => 0,
            Data::List(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Data::Map(entries) => entries.iter().map(|entry| entry.1.depth()).max().unwrap_or(0),
        }
    }
}

/// What an unquoted text is: nothing, a boolean, a number, otherwise a text.
pub fn plain_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if !numeric || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Value::String(text.into());
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = unsigned.parse::<i64>() {
        return whole.into();
    }
    match unsigned.parse::<f64>() {
        Ok(number) if number.is_finite() => quantity::to_json(number),
        _ => Value::String(text.into()),
    }
}
