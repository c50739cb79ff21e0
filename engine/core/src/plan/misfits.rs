//! Parameters that became known during the run, held against the plugin's schema: where they stand in the file is not
//! known any more.

use std::collections::BTreeSet;

use boon::{ErrorKind, ValidationError};
use serde_json::Value;

use crate::workflow::suggest;

use super::check::{Problem, pointer};
use super::explain::{rule, words_at};
use super::schemas::Schemas;
use super::validate::path_of;

/// The name of a schema that stands alone.
const THE_ONE: &str = "parameters";

/// What a schema does not take of parameters that are all known.
pub fn misfits(schema: &Value, parameters: &Value) -> Vec<Problem> {
    let mut schemas = Schemas::default();
    schemas.add(THE_ONE, schema);
    let mut leaves = vec![];
    match schemas.validate(THE_ONE, parameters) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => collect_misfits(&error, &mut leaves),
        Err(message) => leaves.push(Problem { path: String::new(), message }),
    }
    leaves
}

fn collect_misfits(error: &ValidationError<'_, '_>, problems: &mut Vec<Problem>) {
    if error.causes.is_empty() || matches!(error.kind, ErrorKind::AnyOf | ErrorKind::OneOf(_)) {
        let path = pointer(&path_of(&error.instance_location));
        problems.push(Problem { path, message: misfit(error) });
    } else {
        error.causes.iter().for_each(|cause| collect_misfits(cause, problems));
    }
}

fn misfit(error: &ValidationError<'_, '_>) -> String {
    let path = path_of(&error.instance_location);
    let words: BTreeSet<_> = words_at(error, Some(&path)).into_iter().map(|(_, word)| word).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match &error.kind {
        _ if !words.is_empty() => format!("must be one of {}", suggest::list(&words)),
        ErrorKind::AnyOf | ErrorKind::OneOf(_) => "fits none of the forms that it can have".into(),
        kind => rule(kind, None),
    }
}
