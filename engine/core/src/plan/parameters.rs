//! Parameters as a plugin gets them: quantities become plain numbers where the plugin's schema asks for them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::diagnostic::{Mistake, quote};
use crate::quantity::{self, Kind};
use crate::workflow::At;
use crate::workflow::expression::{self, Part, Reference};
use crate::workflow::tree::{Data, Node};

use super::references::Scope;
use super::shape;

/// Where a value stands inside the parameters: names of keys and numbers of items.
pub type Path = Vec<String>;

/// What was read from a step's `with`.
#[derive(Debug, Default)]
pub struct Parameters {
    /// The JSON object, with expressions over outputs still in it.
    pub value: Value,
    /// Values that cannot be held against the schema: not known before the run, or reported already.
    pub unknown: BTreeSet<Path>,
    /// The quantities among them.
    pub quantities: BTreeMap<Path, Kind>,
    /// The machine types that are named.
    pub machine_types: Vec<At<String>>,
    /// The databases that are named.
    pub databases: Vec<At<String>>,
}

/// Reads a filled `with` along the plugin's schema.
pub fn read(node: Option<&Node>, schema: &Value, scope: &Scope<'_>, mistakes: &mut Vec<Mistake>) -> Parameters {
    let mut reader = Reader { root: schema, scope, mistakes, found: Parameters::default(), path: vec![] };
    let value = match node {
        Some(node) => reader.value(node, Some(schema)),
        None => Value::Object(Default::default()),
    };
    Parameters { value, ..reader.found }
}

struct Reader<'a> {
    root: &'a Value,
    scope: &'a Scope<'a>,
    mistakes: &'a mut Vec<Mistake>,
    found: Parameters,
    path: Path,
}

impl Reader<'_> {
    fn value(&mut self, node: &Node, schema: Option<&Value>) -> Value {
        let forms = schema.map(|schema| shape::forms(schema, self.root)).unwrap_or_default();
        match &node.data {
            Data::Scalar { text, .. } => self.scalar(node, text, &forms),
            Data::List(items) => {
                let part =
                    |(index, item): (usize, &Node)| self.part(index.to_string(), item, shape::item(&forms, index));
                items.iter().enumerate().map(part).collect()
            }
            Data::Map(entries) => {
                let part = |(key, value): &(crate::workflow::tree::Key, Node)| {
                    let name = key.text.clone();
                    (name.clone(), self.part(name, value, shape::property(&forms, &key.text)))
                };
                entries.iter().map(part).collect()
            }
        }
    }

    fn part(&mut self, name: String, node: &Node, schema: Option<&Value>) -> Value {
        self.path.push(name);
        let value = self.value(node, schema);
        self.path.pop();
        value
    }

    fn scalar(&mut self, node: &Node, text: &str, forms: &[&Value]) -> Value {
        if text.contains("${{") {
            self.found.unknown.insert(self.path.clone());
            self.check_output(node, forms);
            return Value::String(text.into());
        }
        let formats = [("machine-type", &mut self.found.machine_types), ("database", &mut self.found.databases)];
        for (format, named) in formats {
            if shape::has_format(forms, format) {
                named.push(At { value: text.into(), span: node.span });
            }
        }
        match shape::quantity(forms) {
            Some(kind) if !node.is_null() => self.quantity(node, text, kind, shape::takes_text(forms)),
            _ => node.to_json(),
        }
    }

    fn quantity(&mut self, node: &Node, text: &str, kind: Kind, or_text: bool) -> Value {
        match kind.parse(text) {
            Ok(value) => {
                self.found.quantities.insert(self.path.clone(), kind);
                quantity::to_json(value)
            }
            Err(_) if or_text && node.to_json().is_string() => Value::String(text.into()),
            Err(error) => {
                let from = node.origin.as_ref().map(|origin| format!(" (from {})", quote(origin))).unwrap_or_default();
                let message = format!("{}: {}{from}", quote(&name_of(&self.path)), error.message);
                self.mistakes.push(Mistake::new(node.span, message).help(error.help));
                self.found.unknown.insert(self.path.clone());
                Value::Null
            }
        }
    }

    /// Holds the shape of an output against the shape that is wanted.
    fn check_output(&mut self, node: &Node, forms: &[&Value]) {
        let Ok(parts) = expression::parse_node(node, self.scope.text) else { return };
        let (given, what, wanted) = match parts.as_slice() {
            [(Part::Reference(Reference::Output { step, path }), _)] => {
                let name = format!("steps.{step}.outputs.{}", path.join("."));
                (self.scope.output_words(step, path), quote(&name), shape::words(forms))
            }
            [_, _, ..] => (BTreeSet::from(["a text"]), "a text with an output in it".into(), shape::words(forms)),
            _ => return,
        };
        if shape::fits(&given, &wanted) {
            return;
        }
        let or = |words: &BTreeSet<&str>| words.iter().copied().collect::<Vec<_>>().join(" or ");
        let message = match parts.len() {
            1 => format!("{} must be {}, but {what} is {}", quote(&name_of(&self.path)), or(&wanted), or(&given)),
            _ => format!("{} must be {}, not {what}", quote(&name_of(&self.path)), or(&wanted)),
        };
        self.mistakes.push(Mistake::new(node.span, message));
    }
}

/// A path in the words of users: `nodes[0].count`.
pub fn name_of(path: &[String]) -> String {
    let mut name = String::new();
    for part in path {
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() {
            name.push_str(&format!("[{part}]"));
        } else {
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(part);
        }
    }
    name
}
