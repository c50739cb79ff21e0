//! Taking a map apart: known keys, unknown keys, and values of simple types.

use serde_json::Value;

use crate::diagnostic::{Mistake, quote};

use super::At;
use super::suggest;
use super::tree::{Data, Node};

/// The entries of a map whose keys are fixed.
pub struct Fields<'a, 'm> {
    node: &'a Node,
    mistakes: &'m mut Vec<Mistake>,
}

impl<'a, 'm> Fields<'a, 'm> {
    /// Takes a map with some of the known keys; unknown ones are reported. None, with a mistake, for other values.
    /// `what` names the map in messages, with its article.
    pub fn of(node: &'a Node, what: &str, known: &[&str], mistakes: &'m mut Vec<Mistake>) -> Option<Self> {
        for (key, _) in entries(node, what, mistakes)? {
            if !known.contains(&key.text.as_str()) {
                let message = format!("{what} has no key {}", quote(&key.text));
                let help = suggest::advice(&key.text, known.iter().copied(), "its keys are");
                mistakes.push(Mistake::new(key.span, message).help(help));
            }
        }
        Some(Self { node, mistakes })
    }

    /// The value of a key.
    pub fn take(&self, key: &str) -> Option<&'a Node> {
        self.node.get(key)
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.take(key).is_some()
    }

    /// The value of a key, which must be a text.
    pub fn text(&mut self, key: &str) -> Option<At<String>> {
        let node = self.take(key)?;
        text(node, &quote(key), self.mistakes)
    }

    /// The value of a key, which must be `true` or `false`.
    pub fn boolean(&mut self, key: &str) -> Option<At<bool>> {
        let node = self.take(key)?;
        let value = boolean(node, &quote(key), self.mistakes)?;
        Some(At { value, span: node.span })
    }
}

/// The entries of a map; none, with a mistake, for other values. Nothing at all is an empty map.
pub fn entries<'a>(node: &'a Node, what: &str, mistakes: &mut Vec<Mistake>) -> Option<&'a [(super::tree::Key, Node)]> {
    match &node.data {
        Data::Map(entries) => Some(entries),
        _ if node.is_null() => Some(&[]),
        _ => {
            mistakes.push(Mistake::new(
                node.span,
                format!("{what} is a map of keys and values, but this is {}", node.kind()),
            ));
            None
        }
    }
}

/// A single value as a text. Numbers are taken as they are written.
pub fn text(node: &Node, what: &str, mistakes: &mut Vec<Mistake>) -> Option<At<String>> {
    match (node.text(), node.is_null()) {
        (Some(text), false) => Some(At { value: text.to_owned(), span: node.span }),
        _ => {
            mistakes.push(Mistake::new(node.span, format!("{what} must be a text, but this is {}", node.kind())));
            None
        }
    }
}

/// A value that is `true` or `false`.
pub fn boolean(node: &Node, what: &str, mistakes: &mut Vec<Mistake>) -> Option<bool> {
    let value = node.to_json();
    if value.is_boolean() {
        return value.as_bool();
    }
    mistakes.push(Mistake::new(node.span, format!("{what} must be `true` or `false`, but this is {}", describe(node))));
    None
}

/// A whole number from 1 to a bound.
pub fn count(node: &Node, what: &str, most: u32, mistakes: &mut Vec<Mistake>) -> Option<u32> {
    let value = node.to_json().as_u64().and_then(|value| u32::try_from(value).ok());
    if let Some(value) = value.filter(|value| (1..=most).contains(value)) {
        return Some(value);
    }
    let message = format!("{what} must be a whole number from 1 to {most}, but this is {}", describe(node));
    mistakes.push(Mistake::new(node.span, message));
    None
}

/// A list of texts; a single text is a list of one.
pub fn texts(node: &Node, what: &str, mistakes: &mut Vec<Mistake>) -> Vec<At<String>> {
    match &node.data {
        Data::List(items) => items.iter().filter_map(|item| text(item, what, mistakes)).collect(),
        _ if node.is_null() => vec![],
        Data::Scalar { .. } => text(node, what, mistakes).into_iter().collect(),
        Data::Map(_) => {
            mistakes.push(Mistake::new(node.span, format!("{what} must be a list of texts, but this is a map")));
            vec![]
        }
    }
}

/// A value in the words of messages: its text when it has one, with what it is.
pub fn describe(node: &Node) -> String {
    match (node.to_json(), node.text()) {
        (Value::Null, _) | (_, None) => node.kind().to_owned(),
        (_, Some(text)) => match &node.origin {
            Some(origin) => format!("{} from {}", quote(text), quote(origin)),
            None => quote(text),
        },
    }
}

/// Whether a text can be a name: of a step, an input, a profile.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && text.len() <= 64
}

/// Reports a key that cannot be a name.
pub fn check_name(key: &super::tree::Key, what: &str, mistakes: &mut Vec<Mistake>) {
    if !is_name(&key.text) {
        let message = format!("{} cannot be the name of {what}", quote(&key.text));
        let help = "a name begins with a letter and has at most 64 letters, digits, `-` and `_`".to_owned();
        mistakes.push(Mistake::new(key.span, message).help(help));
    }
}
