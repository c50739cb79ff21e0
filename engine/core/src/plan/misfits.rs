//! Parameters that became known during the run, held against the plugin's schema: where they stand in the file is not
//! known any more.

use std::collections::BTreeSet;

use boon::{ErrorKind, Schemas, ValidationError};
use serde_json::Value;

use crate::workflow::suggest;

use super::check::{Problem, pointer};
use super::explain::{rule, words_at};
use super::validate::{PLACE, compile, path_of};

/// What a schema does not take of parameters that are all known.
pub fn misfits(schema: &Value, parameters: &Value) -> Vec<Problem> {
    let mut schemas = Schemas::new();
    let index = match compile(PLACE, schema, &mut schemas) {
        Ok(index) => index,
        Err(message) => return vec![Problem { path: String::new(), message }],
    };
    let mut leaves = vec![];
    if let Err(error) = schemas.validate(parameters, index) {
        collect_misfits(&error, &mut leaves);
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
