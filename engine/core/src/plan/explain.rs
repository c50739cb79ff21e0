//! What a schema's errors mean: which form of a value was meant, which words it can be, which rule it breaks.

use boon::{ErrorKind, Type, ValidationError};
use serde_json::Value;

use crate::diagnostic::quote;
use crate::quantity::Kind;

use super::parameters::Path;
use super::validate::path_of;

/// Keeps what a test accepts, unless it accepts nothing or there is nothing to choose.
pub fn narrow<T>(all: &mut Vec<T>, accept: impl Fn(&T) -> bool) {
    if all.len() > 1 && all.iter().any(&accept) {
        all.retain(accept);
    }
}

/// Whether an error says that the value itself, `depth` deep, has another form than the schema means.
pub fn is_other_form(error: &ValidationError<'_, '_>, depth: usize) -> bool {
    let own = error.instance_location.tokens.len() == depth;
    own && matches!(error.kind, ErrorKind::Type { .. } | ErrorKind::Const { .. } | ErrorKind::Enum { .. })
}

/// Whether an error is about a wrong word at a depth.
pub fn is_word_at(error: &ValidationError<'_, '_>, depth: usize) -> bool {
    error.instance_location.tokens.len() == depth
        && matches!(error.kind, ErrorKind::Const { .. } | ErrorKind::Enum { .. })
}

/// The words that a value could be, over all forms of a choice, with the places of the values; of one place if given.
pub fn words_at(error: &ValidationError<'_, '_>, only: Option<&[String]>) -> Vec<(Path, String)> {
    let path = path_of(&error.instance_location);
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let own: Vec<String> = match &error.kind {
        _ if only.is_some_and(|only| only != path) => vec![],
        ErrorKind::Enum { want } => want.iter().filter(|value| !value.is_null()).map(word).collect(),
        ErrorKind::Const { want } => vec![word(want)],
        _ => vec![],
    };
    let inner = error.causes.iter().flat_map(|cause| words_at(cause, only));
    own.into_iter().map(|word| (path.clone(), word)).chain(inner).collect()
}

pub fn wants_text(kind: &ErrorKind<'_, '_>) -> bool {
    matches!(kind, ErrorKind::Type { want, .. } if want.contains(Type::String))
}

/// What a value must be, after its name; bounds of quantities are said with their unit.
pub fn rule(kind: &ErrorKind<'_, '_>, quantity: Option<Kind>) -> String {
    let number = |value: &serde_json::Number| match quantity {
        Some(kind) => kind.format(value.as_f64().unwrap_or_default()),
        None => value.to_string(),
    };
    match kind {
        ErrorKind::Type { want, .. } => format!("must be {}", type_words(want.iter())),
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
        ErrorKind::UniqueItems { got: [a, b] } => {
            format!("must not have equal items such as number {} and {}", a + 1, b + 1)
        }
        other => format!("does not fit ({other})"),
    }
}

pub fn type_words(types: impl Iterator<Item = Type>) -> String {
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
