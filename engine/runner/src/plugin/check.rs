//! Plugins are asked what they have against a step's parameters, without a run and without any capability.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{ComponentType, Instance, Lift, TypedFunc};
use wfe_core::diagnostic::Diagnostics;
use wfe_core::plan::{self, Choice, Plan, Problem, Question};
use wfe_core::workflow::Reading;

use crate::host::attempt::{Guest, PLUGIN_INTERFACE, why_trapped};

use super::{Loaded, Plugins};

type Check<'a> = TypedFunc<(&'a str, &'a str, &'a str), (Vec<GuestProblem>,)>;

/// The contract's problem record as the guest gives it.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(super) struct GuestProblem {
    path: String,
    message: String,
}

impl Plugins {
    /// Plans a workflow. Its plugins judge their steps' parameters, and what they find stands among the other mistakes.
    pub async fn plan(&self, reading: Reading, choice: &Choice) -> Result<Plan, Diagnostics> {
        let mut draft = plan::draft(reading, &self.catalog(), choice);
        // Many steps may ask for the same, and the same is answered to it.
        let mut answers = HashMap::new();
        for number in 0..draft.questions().len() {
            let question = &draft.questions()[number];
            let asked = (question.uses.clone(), question.parameters.clone(), question.about.clone());
            let answer = match answers.entry(asked) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(self.ask(question).await),
            };
            draft.answer(number, answer.clone());
        }
        draft.finish()
    }

    async fn ask(&self, question: &Question) -> Result<Vec<Problem>, String> {
        let Some((loaded, kind)) = self.find(&question.uses) else { return Ok(Vec::new()) };
        loaded.check(&kind.name, &question.parameters, &question.about).await
    }
}

impl Loaded {
    /// What the plugin has against these parameters; `about` is what the workflow says of the step beside them. Both are
    /// JSON. Nothing when the plugin has no `check`. The error says why there is no answer.
    pub async fn check(&self, kind: &str, parameters: &str, about: &str) -> Result<Vec<Problem>, String> {
        let mut store = Store::new(self.pre.engine(), Guest::without_run("checked parameters"));
        Guest::prepare(&mut store);
        let ended = |e: wasmtime::Error| why_trapped(&e).1;
        let instance = self.pre.instantiate_async(&mut store).await.map_err(ended)?;
        let Some(check) = check_function(&mut store, &instance).map_err(ended)? else { return Ok(Vec::new()) };
        let (problems,) = check.call_async(&mut store, (kind, parameters, about)).await.map_err(ended)?;
        let problem = |GuestProblem { path, message }| Problem { path, message };
        Ok(problems.into_iter().map(problem).collect())
    }

    /// The same for parameters that became known during the run, the plugin's schema included.
    pub(crate) async fn check_late(&self, kind: &str, parameters: &Value, about: &str) -> Result<Vec<Problem>, String> {
        let schema = self.description.kinds.iter().find(|known| known.name == kind).map(|known| &known.parameters);
        let misfits = schema.map(|schema| plan::misfits(schema, parameters)).unwrap_or_default();
        if misfits.is_empty() { self.check(kind, &parameters.to_string(), about).await } else { Ok(misfits) }
    }
}

/// The plugin's `check`, if it has one: it then must have the contract's type.
pub(super) fn check_function<'a>(store: &mut Store<Guest>, instance: &Instance) -> wasmtime::Result<Option<Check<'a>>> {
    let interface = instance.get_export_index(&mut *store, None, PLUGIN_INTERFACE);
    match instance.get_export_index(&mut *store, interface.as_ref(), "check") {
        Some(function) => instance.get_typed_func(store, function).map(Some),
        None => Ok(None),
    }
}
