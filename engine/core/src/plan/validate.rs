//! Parameters held against the plugin's schema; what does not fit is said in the words of the workflow.

use std::collections::BTreeSet;

use boon::{ErrorKind, InstanceLocation, InstanceToken, ValidationError};
use serde_json::Value;

use crate::diagnostic::{Mistake, Span, quote};
use crate::workflow::tree::{Data, Node};
use crate::workflow::{describe, suggest};

use super::check::child;
use super::explain::{is_other_form, is_word_at, narrow, rule, wants_text, words_at};
use super::parameters::{Parameters, Path, name_of};
use super::schemas::Schemas;
use super::shape;

/// One step's parameters with where they stand.
pub struct Subject<'a> {
    /// The kind of step, as the user wrote it.
    pub uses: &'a str,
    /// Where the user wrote it.
    pub uses_span: Span,
    /// The filled `with`.
    pub with: Option<&'a Node>,
    /// What was read from it.
    pub parameters: &'a Parameters,
    /// The plugin's schema.
    pub schema: &'a Value,
    /// All schemas, ready to be used.
    pub schemas: &'a Schemas,
}

impl Subject<'_> {
    /// Everything in the parameters that the schema does not take; the paths go to `wrong`.
    pub fn mistakes(&self, wrong: &mut BTreeSet<Path>) -> Vec<Mistake> {
        match self.schemas.validate(self.uses, &self.parameters.value) {
            Err(why) => {
                let message =
                    format!("the plugin of {} describes its parameters with a broken schema", quote(self.uses));
                wrong.insert(vec![]);
                vec![Mistake::new(self.uses_span, message).help(why)]
            }
            Ok(Ok(())) => vec![],
            Ok(Err(error)) => {
                let mut leaves = vec![];
                self.collect(&error, &mut leaves);
                wrong.extend(leaves.iter().flat_map(|leaf| wrong_paths(leaf)));
                leaves.into_iter().flat_map(|leaf| self.leaf(leaf)).collect()
            }
        }
    }

    /// The errors that say something, without the ones about values that are not known yet.
    fn collect<'e>(&self, error: &'e ValidationError<'e, 'e>, leaves: &mut Vec<&'e ValidationError<'e, 'e>>) {
        let choice = matches!(error.kind, ErrorKind::AnyOf | ErrorKind::OneOf(None));
        if !choice && error.causes.is_empty() {
            if !self.is_unknown(error) {
                leaves.push(error);
            }
        } else if choice {
            self.collect_choice(error, leaves);
        } else {
            error.causes.iter().for_each(|cause| self.collect(cause, leaves));
        }
    }

    /// Of several forms, the one that was meant; the choice itself when that is not clear.
    fn collect_choice<'e>(&self, error: &'e ValidationError<'e, 'e>, leaves: &mut Vec<&'e ValidationError<'e, 'e>>) {
        if touches(error, &self.parameters.unknown) {
            return;
        }
        let depth = error.instance_location.tokens.len();
        let mut possible: Vec<Vec<&ValidationError<'_, '_>>> = vec![];
        for cause in &error.causes {
            let mut inner = vec![];
            self.collect(cause, &mut inner);
            if !inner.iter().any(|leaf| is_other_form(leaf, depth)) {
                possible.push(inner);
            }
        }
        // The form with the right tag, then the form whose fields are all there, was meant.
        let is_inside = |leaf: &&ValidationError<'_, '_>| leaf.instance_location.tokens.len() > depth;
        narrow(&mut possible, |inner| !inner.iter().any(|leaf| is_word_at(leaf, depth + 1)));
        narrow(&mut possible, |inner| inner.iter().all(is_inside));
        match possible.as_slice() {
            [one] => leaves.extend(one),
            _ => leaves.push(error),
        }
    }

    fn is_unknown(&self, error: &ValidationError<'_, '_>) -> bool {
        self.parameters.unknown.contains(&path_of(&error.instance_location))
    }

    /// What one error means to a user.
    fn leaf(&self, error: &ValidationError<'_, '_>) -> Vec<Mistake> {
        let path = path_of(&error.instance_location);
        match &error.kind {
            ErrorKind::AdditionalProperties { got } => got.iter().map(|name| self.unknown_name(&path, name)).collect(),
            ErrorKind::Required { want } => {
                let missing = want.iter().filter(|name| !self.is_misspelt(&path, name));
                missing.map(|name| self.missing(&path, name)).collect()
            }
            ErrorKind::FalseSchema => match path.split_last() {
                Some((name, parent)) => vec![self.unknown_name(parent, name)],
                None => vec![Mistake::new(self.span(&path), format!("{} takes no parameters", quote(self.uses)))],
            },
            ErrorKind::AnyOf | ErrorKind::OneOf(_) => self.no_form(error, &path),
            ErrorKind::Enum { .. } | ErrorKind::Const { .. } => vec![self.wrong_word(error, &path)],
            kind => vec![self.wrong_value(kind, &path)],
        }
    }

    /// None of several forms fits, and it is not clear which was meant.
    fn no_form(&self, error: &ValidationError<'_, '_>, path: &[String]) -> Vec<Mistake> {
        let words = words_at(error, None);
        if let Some((place, _)) = words.iter().find(|(place, _)| place == path).or(words.first()) {
            return vec![self.wrong_word(error, place)];
        }
        let known = shape::properties(&self.forms_at(path));
        if let Some(Data::Map(entries)) = self.node(path).map(|node| &node.data) {
            let unknown = entries.iter().map(|entry| entry.0.text.as_str()).filter(|key| !known.contains(key));
            let mistakes: Vec<_> = unknown.map(|key| self.unknown_name(path, key)).collect();
            if !mistakes.is_empty() {
                return mistakes;
            }
        }
        vec![self.wrong_value(&error.kind, path)]
    }

    /// A value is none of the words that it can be.
    fn wrong_word(&self, error: &ValidationError<'_, '_>, path: &[String]) -> Mistake {
        let words = words_at(error, Some(path));
        let given = self.node(path);
        let help = suggest::advice(
            given.and_then(Node::text).unwrap_or_default(),
            words.iter().map(|(_, word)| word.as_str()),
            "it can be",
        );
        let message = format!("{} cannot be {}", self.name(path), given.map_or("nothing".into(), describe));
        Mistake::new(self.span(path), message).help(help)
    }

    fn name(&self, path: &[String]) -> String {
        if path.is_empty() { "`with`".to_owned() } else { quote(&name_of(path)) }
    }

    fn unknown_name(&self, path: &[String], name: &str) -> Mistake {
        let known = shape::properties(&self.forms_at(path));
        let message = match path {
            [] => format!("{} has no parameter {}", quote(self.uses), quote(name)),
            _ => format!("{} has no field {}", quote(&name_of(path)), quote(name)),
        };
        let help = suggest::advice(name, known, if path.is_empty() { "it takes" } else { "it has" });
        let key = self.node(path).and_then(|node| match &node.data {
            Data::Map(entries) => entries.iter().find(|entry| entry.0.text == name).map(|entry| entry.0.span),
            _ => None,
        });
        Mistake::new(key.unwrap_or_else(|| self.span(path)), message).help(help)
    }

    /// Whether a missing name is there with a slip, which is reported by itself.
    fn is_misspelt(&self, path: &[String], name: &str) -> bool {
        let known = shape::properties(&self.forms_at(path));
        let Some(Data::Map(entries)) = self.node(path).map(|node| &node.data) else { return false };
        let unknown = entries.iter().map(|entry| entry.0.text.as_str()).filter(|key| !known.contains(key));
        unknown.into_iter().any(|key| suggest::nearest(key, known.iter().copied()) == Some(name))
    }

    fn missing(&self, path: &[String], name: &str) -> Mistake {
        let message = match path {
            [] => format!("{} needs the parameter {}", quote(self.uses), quote(name)),
            _ => format!("{} needs the field {}", quote(&name_of(path)), quote(name)),
        };
        let forms = self.forms_at(path);
        let meaning = shape::property(&forms, name).and_then(|schema| schema.get("description")?.as_str());
        Mistake::new(self.span(path), message).help(meaning.map(|text| format!("{}: {}", quote(name), text.trim())))
    }

    fn wrong_value(&self, kind: &ErrorKind<'_, '_>, path: &[String]) -> Mistake {
        let rule = match kind {
            ErrorKind::AnyOf | ErrorKind::OneOf(_) => self.must_be_one_of(path),
            kind => rule(kind, self.parameters.quantities.get(path).copied()),
        };
        let node = self.node(path);
        let help = match node.map(|node| &node.data) {
            Some(Data::Scalar { text, .. }) if wants_text(kind) => Some(format!("put it in quotes: \"{text}\"")),
            _ => None,
        };
        let given = node.map_or("nothing".to_owned(), describe);
        Mistake::new(self.span(path), format!("{} {rule}, but this is {given}", self.name(path))).help(help)
    }

    fn must_be_one_of(&self, path: &[String]) -> String {
        let words = shape::words(&self.forms_at(path));
        let given = self.node(path).map_or("nothing", Node::kind);
        match words.is_empty() || words.contains(given) {
            true => "fits none of the forms that it can have".into(),
            false => format!("must be {}", words.into_iter().collect::<Vec<_>>().join(" or ")),
        }
    }

    /// The value at a path.
    fn node(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(self.with?, |node, name| child(node, name))
    }

    /// Where a value stands; where its kind of step is named when there is no value.
    fn span(&self, path: &[String]) -> Span {
        self.node(path).map_or(self.uses_span, |node| node.span)
    }

    fn forms_at(&self, path: &[String]) -> Vec<&Value> {
        let mut forms = shape::forms(self.schema, self.schema);
        for name in path {
            let index = name.parse::<usize>().ok();
            let part = shape::property(&forms, name).or_else(|| index.and_then(|index| shape::item(&forms, index)));
            forms = part.map(|schema| shape::forms(schema, self.schema)).unwrap_or_default();
        }
        forms
    }
}

/// The values that an error is about, those that are missing or have no business there too.
fn wrong_paths(error: &ValidationError<'_, '_>) -> Vec<Path> {
    let path = path_of(&error.instance_location);
    let inside = |name: String| path.iter().cloned().chain([name]).collect();
    match &error.kind {
        ErrorKind::AdditionalProperties { got } => got.iter().map(|name| inside(name.to_string())).collect(),
        ErrorKind::Required { want } => want.iter().map(|name| inside((*name).to_owned())).collect(),
        _ => vec![path],
    }
}

/// Where an error is.
pub fn path_of(location: &InstanceLocation<'_>) -> Path {
    let name = |token: &InstanceToken<'_>| match token {
        InstanceToken::Prop(name) => name.to_string(),
        InstanceToken::Item(index) => index.to_string(),
    };
    location.tokens.iter().map(name).collect()
}

/// Whether an error, or one that caused it, is about a value that is not known yet.
fn touches(error: &ValidationError<'_, '_>, unknown: &BTreeSet<Path>) -> bool {
    unknown.contains(&path_of(&error.instance_location)) || error.causes.iter().any(|cause| touches(cause, unknown))
}
