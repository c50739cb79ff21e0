//! Parameters held against the plugin's schema; what does not fit is said in the words of the workflow.

use std::collections::BTreeSet;
use std::error::Error;

use boon::{Compiler, Draft, ErrorKind, InstanceLocation, InstanceToken, Schemas, Type, UrlLoader, ValidationError};
use serde_json::Value;

use crate::diagnostic::{Mistake, Span, quote};
use crate::workflow::tree::{Data, Node};
use crate::workflow::{describe, suggest};

use super::parameters::{Parameters, Path, name_of};
use super::shape;

/// Schemas come from plugins: they refer to nothing outside of themselves.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("it refers to {url}, outside of itself").into())
    }
}

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
}

impl Subject<'_> {
    /// Everything in the parameters that the schema does not take.
    pub fn mistakes(&self) -> Vec<Mistake> {
        const PLACE: &str = "wfe:///parameters";
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(NoLoader));
        let compiled =
            compiler.add_resource(PLACE, self.schema.clone()).and_then(|()| compiler.compile(PLACE, &mut schemas));
        let index = match compiled {
            Ok(index) => index,
            Err(error) => {
                let message =
                    format!("the plugin of {} describes its parameters with a broken schema", quote(self.uses));
                return vec![Mistake::new(self.uses_span, message).help(error.to_string())];
            }
        };
        match schemas.validate(&self.parameters.value, index) {
            Ok(()) => vec![],
            Err(error) => {
                let mut leaves = vec![];
                self.collect(&error, &mut leaves);
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
        let here = path_of(&error.instance_location);
        let mut meant: Vec<Vec<&ValidationError<'_, '_>>> = vec![];
        for cause in &error.causes {
            let mut inner = vec![];
            self.collect(cause, &mut inner);
            let other_type = inner
                .iter()
                .any(|leaf| matches!(leaf.kind, ErrorKind::Type { .. }) && path_of(&leaf.instance_location) == here);
            let other_word =
                inner.iter().any(|leaf| matches!(leaf.kind, ErrorKind::Const { .. } | ErrorKind::Enum { .. }));
            if !other_type && !other_word {
                meant.push(inner);
            }
        }
        match meant.as_slice() {
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
            ErrorKind::Required { want } => want.iter().map(|name| self.missing(&path, name)).collect(),
            ErrorKind::FalseSchema => match path.split_last() {
                Some((name, parent)) => vec![self.unknown_name(parent, name)],
                None => vec![Mistake::new(self.span(&path), format!("{} takes no parameters", quote(self.uses)))],
            },
            _ => vec![self.wrong_value(error, &path)],
        }
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

    fn missing(&self, path: &[String], name: &str) -> Mistake {
        let message = match path {
            [] => format!("{} needs the parameter {}", quote(self.uses), quote(name)),
            _ => format!("{} needs the field {}", quote(&name_of(path)), quote(name)),
        };
        let forms = self.forms_at(path);
        let meaning = shape::property(&forms, name).and_then(|schema| schema.get("description")?.as_str());
        Mistake::new(self.span(path), message).help(meaning.map(|text| format!("{}: {}", quote(name), text.trim())))
    }

    fn wrong_value(&self, error: &ValidationError<'_, '_>, path: &[String]) -> Mistake {
        let name = if path.is_empty() { "`with`".to_owned() } else { quote(&name_of(path)) };
        let given = self.node(path).map_or("nothing".to_owned(), describe);
        let allowed = allowed_words(error);
        if !allowed.is_empty() {
            let known: Vec<_> = allowed.iter().map(String::as_str).collect();
            let text = self.node(path).and_then(Node::text).unwrap_or_default();
            let help = suggest::advice(text, known.iter().copied(), "it can be");
            return Mistake::new(self.span(path), format!("{name} cannot be {given}")).help(help);
        }
        let number = |value: &serde_json::Number| match self.parameters.quantities.get(path) {
            Some(kind) => kind.format(value.as_f64().unwrap_or_default()),
            None => value.to_string(),
        };
        let rule = match &error.kind {
            ErrorKind::Type { want, .. } => format!("must be {}", type_words(want.iter())),
            ErrorKind::AnyOf | ErrorKind::OneOf(_) => self.must_be_one_of(path),
            ErrorKind::Minimum { want, .. } => format!("must be at least {}", number(want)),
            ErrorKind::Maximum { want, .. } => format!("must be at most {}", number(want)),
            ErrorKind::ExclusiveMinimum { want, .. } => format!("must be more than {}", number(want)),
            ErrorKind::ExclusiveMaximum { want, .. } => format!("must be less than {}", number(want)),
            ErrorKind::MultipleOf { want, .. } => format!("must be a multiple of {}", number(want)),
            ErrorKind::MinItems { want, .. } => format!("must have at least {want} items"),
            ErrorKind::MaxItems { want, .. } => format!("must have at most {want} items"),
            ErrorKind::MinProperties { want, .. } => format!("must have at least {want} entries"),
            ErrorKind::MaxProperties { want, .. } => format!("must have at most {want} entries"),
            ErrorKind::MinLength { want, .. } => format!("must have at least {want} characters"),
            ErrorKind::MaxLength { want, .. } => format!("must have at most {want} characters"),
            ErrorKind::Pattern { want, .. } => format!("must match {}", quote(want)),
            ErrorKind::UniqueItems { got: [a, b] } => format!("must not have equal items, but {a} and {b} are"),
            other => format!("does not fit: {other}"),
        };
        let quotes =
            matches!(&error.kind, ErrorKind::Type { want, .. } if want.contains(Type::String)) && self.is_scalar(path);
        let help = quotes
            .then(|| format!("put it in quotes: \"{}\"", self.node(path).and_then(Node::text).unwrap_or_default()));
        Mistake::new(self.span(path), format!("{name} {rule}, but this is {given}")).help(help)
    }

    fn must_be_one_of(&self, path: &[String]) -> String {
        let words = shape::words(&self.forms_at(path));
        match words.is_empty() {
            true => "fits none of the forms that it can have".into(),
            false => format!("must be {}", words.into_iter().collect::<Vec<_>>().join(" or ")),
        }
    }

    fn is_scalar(&self, path: &[String]) -> bool {
        self.node(path).is_some_and(|node| matches!(&node.data, Data::Scalar { text, .. } if !text.is_empty()))
    }

    /// The value at a path.
    fn node(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(self.with?, |node, name| match &node.data {
            Data::List(items) => items.get(name.parse::<usize>().ok()?),
            _ => node.get(name),
        })
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

fn path_of(location: &InstanceLocation<'_>) -> Path {
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

/// The words that a value could be, over all forms of a choice.
fn allowed_words(error: &ValidationError<'_, '_>) -> Vec<String> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let own = match &error.kind {
        ErrorKind::Enum { want } => want.iter().filter(|value| !value.is_null()).map(word).collect(),
        ErrorKind::Const { want } => vec![word(want)],
        _ => vec![],
    };
    own.into_iter().chain(error.causes.iter().flat_map(allowed_words)).collect()
}

fn type_words(types: impl Iterator<Item = Type>) -> String {
    let word = |kind| match kind {
        Type::Null => None,
        Type::Boolean => Some("`true` or `false`"),
        Type::Number => Some("a number"),
        Type::Integer => Some("a whole number"),
        Type::String => Some("a text"),
        Type::Array => Some("a list"),
        Type::Object => Some("a map"),
    };
    types.filter_map(word).collect::<Vec<_>>().join(" or ")
}
