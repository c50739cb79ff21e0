//! Steps as they are declared.

use std::collections::HashSet;

use crate::diagnostic::{Mistake, quote};
use crate::event::ENGINE;

use super::At;
use super::fields::{self, Fields};
use super::tree::{Key, Node};

/// A step as it is declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its id, unique in the workflow.
    pub id: At<String>,
    /// The kind of step; empty when the file does not say.
    pub uses: At<String>,
    /// Parameters.
    pub with: Option<Node>,
    /// The steps that it waits for.
    pub needs: Vec<At<String>>,
    /// Whether it runs beside the steps that need it.
    pub background: Option<At<bool>>,
    /// The step whose window it is about.
    pub during: Option<At<DuringName>>,
    /// The longest that an attempt may take.
    pub timeout: Option<Node>,
    /// Whether it is tried again.
    pub retry: Option<Node>,
    /// What its measurement must hold.
    pub limits: Option<Node>,
    /// What its plugin may do.
    pub grants: Option<Node>,
    /// Whether it stands under `finally`.
    pub finally: bool,
}

/// A step, or one phase of it, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuringName {
    /// The step.
    pub step: String,
    /// The phase.
    pub phase: Option<String>,
}

/// The keys of a step.
pub const STEP_KEYS: [&str; 9] =
    ["uses", "with", "needs", "background", "during", "timeout", "retry", "limits", "grants"];

/// Reads the maps under `steps` and `finally`.
pub fn read(steps: Option<&Node>, finally: Option<&Node>, mistakes: &mut Vec<Mistake>) -> Vec<Step> {
    let mut all: Vec<Step> = vec![];
    let mut ids = HashSet::new();
    for (name, node, finally) in [("`steps`", steps, false), ("`finally`", finally, true)] {
        let Some(node) = node else { continue };
        for (key, value) in fields::entries(node, name, mistakes).unwrap_or_default() {
            check_id(key, &mut ids, mistakes);
            all.push(read_step(key, value, finally, mistakes));
        }
    }
    all
}

fn check_id<'a>(key: &'a Key, ids: &mut HashSet<&'a str>, mistakes: &mut Vec<Mistake>) {
    fields::check_name(key, "a step", mistakes);
    if key.text == ENGINE {
        let help = "`engine` is the name of what the engine does itself".to_owned();
        mistakes.push(Mistake::new(key.span, "a step cannot have the name `engine`").help(help));
    }
    if !ids.insert(&key.text) {
        let message = format!("there is a step {} under `steps` already", quote(&key.text));
        mistakes.push(Mistake::new(key.span, message));
    }
}

fn read_step(key: &Key, node: &Node, finally: bool, mistakes: &mut Vec<Mistake>) -> Step {
    let id = At { value: key.text.clone(), span: key.span };
    let mut step = Step {
        uses: At { value: String::new(), span: id.span },
        id,
        with: None,
        needs: vec![],
        background: None,
        during: None,
        timeout: None,
        retry: None,
        limits: None,
        grants: None,
        finally,
    };
    let Some(mut map) = Fields::of(node, "a step", &STEP_KEYS, mistakes) else { return step };
    let given = |key: &str| map.take(key).filter(|node| !node.is_null());
    (step.with, step.timeout, step.retry) =
        (given("with").cloned(), given("timeout").cloned(), given("retry").cloned());
    (step.limits, step.grants) = (given("limits").cloned(), given("grants").cloned());
    let (needs, during, has_uses) = (given("needs"), given("during"), map.has("uses"));
    step.background = map.boolean("background");
    let uses = map.text("uses");
    if !has_uses {
        let message = format!("the step {} does not say what it `uses`", quote(&key.text));
        mistakes.push(Mistake::new(key.span, message).help("add `uses:` with a kind of step".to_owned()));
    }
    step.uses = uses.unwrap_or(step.uses);
    step.needs = needs.map(|node| fields::texts(node, "`needs`", mistakes)).unwrap_or_default();
    step.during = during.and_then(|node| read_during(node, mistakes));
    step
}

fn read_during(node: &Node, mistakes: &mut Vec<Mistake>) -> Option<At<DuringName>> {
    let text = fields::text(node, "`during`", mistakes)?;
    let (step, phase) = match text.value.split_once('.') {
        Some((step, phase)) => (step.to_owned(), Some(phase.to_owned())),
        None => (text.value, None),
    };
    Some(At { value: DuringName { step, phase }, span: text.span })
}
