//! What the command line chooses: the profile and the values of inputs.

use std::collections::BTreeMap;

use crate::backend::Offers;
use crate::diagnostic::{Diagnostics, Mistake, Source, Span, quote};
use crate::workflow::suggest;
use crate::workflow::{Input, InputValue, Workflow};

/// What stands on the command line, and what the chosen backend can do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The profile named by `--profile`.
    pub profile: Option<String>,
    /// The backend's name: the profile of that name is taken when none is named and there is one.
    pub backend: String,
    /// What the backend can do.
    pub offers: Offers,
    /// The inputs set by `--set`, as written; a later one wins.
    pub set: Vec<(String, String)>,
}

/// The values of the inputs by name, with the profile that some of them came from.
pub type Values = BTreeMap<String, InputValue>;

/// Decides the value of each input: `--set` before the profile before the default. An input without a value is a
/// mistake; mistakes on the command line go to `wrong`.
pub fn choose(
    workflow: &Workflow,
    choice: &Choice,
    mistakes: &mut Vec<Mistake>,
    wrong: &mut Diagnostics,
) -> (Option<String>, Values) {
    let profile = choose_profile(workflow, choice, wrong);
    let mut values: Values = BTreeMap::new();
    for input in &workflow.inputs {
        values.extend(input.default.clone().map(|value| (input.name.value.clone(), value)));
    }
    let chosen = workflow.profiles.iter().find(|known| Some(&known.name.value) == profile.as_ref());
    values.extend(chosen.into_iter().flat_map(|profile| profile.values.iter().cloned()));
    for (name, text) in &choice.set {
        if let Some(value) = set_value(&workflow.inputs, name, text, wrong) {
            values.insert(name.clone(), value);
        }
    }
    let is_set = |input: &Input| choice.set.iter().any(|(name, _)| *name == input.name.value);
    let lacks = |input: &&Input| !values.contains_key(&input.name.value) && !input.has_default && !is_set(input);
    for input in workflow.inputs.iter().filter(lacks) {
        mistakes.push(no_value(input));
    }
    (profile, values)
}

fn no_value(input: &Input) -> Mistake {
    let name = &input.name.value;
    let help = format!("give it a `default`, set it in a profile, or on the command line: --set {name}=…");
    Mistake::new(input.name.span, format!("the input {} has no value", quote(name))).help(help)
}

fn choose_profile(workflow: &Workflow, choice: &Choice, wrong: &mut Diagnostics) -> Option<String> {
    let known = || workflow.profiles.iter().map(|profile| profile.name.value.as_str());
    let Some(name) = &choice.profile else {
        return known().find(|profile| *profile == choice.backend).map(str::to_owned);
    };
    if known().any(|profile| profile == name) {
        return Some(name.clone());
    }
    let help = suggest::advice(name, known(), "the profiles are").or(Some("the workflow has no `profiles`".into()));
    let message = format!("there is no profile {}", quote(name));
    wrong.extend(on_command_line(&format!("--profile {name}"), 10, message, help));
    None
}

fn set_value(inputs: &[Input], name: &str, text: &str, wrong: &mut Diagnostics) -> Option<InputValue> {
    let line = format!("--set {name}={text}");
    let Some(input) = inputs.iter().find(|input| input.name.value == name) else {
        let known = inputs.iter().map(|input| input.name.value.as_str());
        let help = suggest::advice(name, known, "the inputs are").or(Some("the workflow has no `inputs`".into()));
        wrong.extend(on_command_line(&line, 6, format!("there is no input {}", quote(name)), help));
        return None;
    };
    match input.kind.value(text, &quote(name), Span::default()) {
        Ok(value) => Some(value),
        Err(mistake) => {
            wrong.extend(on_command_line(&line, 7 + name.len(), mistake.message, mistake.help));
            None
        }
    }
}

/// A mistake in an argument, from a byte of it to its end.
fn on_command_line(argument: &str, from: usize, message: String, help: Option<String>) -> Diagnostics {
    let source = Source::new("command line", argument);
    Diagnostics::of(&source, [Mistake::new(Span::new(from, argument.len()), message).help(help)])
}
