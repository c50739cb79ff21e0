//! What a step asks of a backend that cannot have it, found before anything is created.

use crate::backend::Offers;
use crate::catalog::Plugin;
use crate::diagnostic::{Mistake, quote};
use crate::workflow::{At, suggest};

use super::Choice;
use super::parameters::Parameters;

/// What a step asks for and its backend does not have. `types` are the machine types that the step grants.
pub fn mistakes(
    uses: &At<String>,
    plugin: &Plugin,
    types: &[At<String>],
    parameters: &Parameters,
    choice: &Choice,
) -> Vec<Mistake> {
    let Offers { machine_types, databases } = &choice.offers;
    if machine_types.as_ref().is_some_and(|known| known.is_empty()) {
        return creates_none(uses, plugin, choice).into_iter().collect();
    }
    let mut mistakes = vec![];
    if let Some(known) = machine_types {
        let unknown = types.iter().filter(|named| !known.contains(&named.value));
        mistakes.extend(unknown.map(|named| unknown_name("machine type", named, known, choice)));
    }
    if let Some(known) = databases {
        let unknown = parameters.databases.iter().filter(|named| !known.contains(&words(&named.value)));
        mistakes.extend(unknown.map(|named| unknown_name("database", named, known, choice)));
    }
    mistakes
}

fn creates_none(uses: &At<String>, plugin: &Plugin, choice: &Choice) -> Option<Mistake> {
    plugin.imports.contains("cloud/machines.create").then(|| {
        let backend = quote(&choice.backend);
        let message = format!("the backend {backend} creates no machines, which {} asks for", quote(&uses.value));
        let help = "leave this step out, or take another backend".to_owned();
        Mistake::new(uses.span, message).help(help)
    })
}

fn unknown_name(what: &str, named: &At<String>, known: &[String], choice: &Choice) -> Mistake {
    let message = format!("the backend {} has no {what} {}", quote(&choice.backend), quote(&named.value));
    let help = suggest::advice(&named.value, known.iter().map(String::as_str), "it has");
    Mistake::new(named.span, message).help(help)
}

/// A text with one space between its words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
