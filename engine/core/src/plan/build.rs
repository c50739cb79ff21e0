//! From a workflow's text to a plan: everything is checked, and all mistakes are reported at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::Millis;
use crate::catalog::{Catalog, Plugin, StepKind};
use crate::diagnostic::{Diagnostics, Mistake, Source, quote};
use crate::limits;
use crate::quantity;
use crate::workflow::tree::Node;
use crate::workflow::{Reading, Step, Workflow, describe, fields, is_plugin_file, suggest};

use super::check::{self, Draft, Question};
use super::choice::{self, Choice};
use super::order::Graph;
use super::parameters::Path;
use super::references::Scope;
use super::schemas::Schemas;
use super::validate::Subject;
use super::{During, Grants, Plan, PlannedStep, Retry, Template, grants, offers, parameters};

/// Checks a workflow against what is known of the plugins and makes a plan of it, without asking them.
pub fn build(source: &Source, catalog: &Catalog, choice: &Choice) -> Result<Plan, Diagnostics> {
    draft(Reading::of(source.clone()), catalog, choice).finish()
}

/// Checks a workflow against what is known of the plugins; they themselves are still to be asked. Nothing is run.
pub fn draft(reading: Reading, catalog: &Catalog, choice: &Choice) -> Draft {
    let Reading { source, workflow, mistakes } = reading;
    let mut draft = Draft { source, plan: None, mistakes, wrong: Diagnostics::default(), questions: vec![] };
    draft.plan = workflow.and_then(|workflow| plan(&workflow, catalog, choice, &mut draft));
    draft
}

fn plan(workflow: &Workflow, catalog: &Catalog, choice: &Choice, draft: &mut Draft) -> Option<Plan> {
    let Draft { source, mistakes, wrong, questions, .. } = draft;
    let (profile, values) = choice::choose(workflow, choice, mistakes, wrong);
    let steps = &workflow.steps;
    let graph = Graph::of(steps, mistakes);
    let order = graph.order(steps, mistakes);
    let (text, inputs) = (&source.text, &workflow.inputs);
    let schemas = schemas(steps, catalog);
    let scope = Scope { text, inputs, values: &values, steps, catalog, choice, schemas: &schemas, graph: &graph };
    let deadline_ms = duration(workflow.deadline.as_ref(), "`deadline`", &scope, mistakes);
    let mut planned: Vec<_> = (0..steps.len()).map(|index| plan_step(index, &scope, questions, mistakes)).collect();
    let in_order: Option<Vec<_>> = order.iter().map(|index| planned[*index].take()).collect();
    Some(Plan {
        name: workflow.name.clone(),
        description: workflow.description.clone(),
        digest: Sha256::digest(&source.text).iter().map(|byte| format!("{byte:02x}")).collect(),
        profile,
        inputs: values.iter().map(|(name, value)| (name.clone(), value.json.clone())).collect(),
        steps: in_order?.into(),
        deadline_ms,
    })
}

fn schemas(steps: &[Step], catalog: &Catalog) -> Schemas {
    let mut schemas = Schemas::default();
    for uses in steps.iter().map(|step| &step.uses.value) {
        if let Some((_, kind)) = catalog.kinds.get(uses) {
            schemas.add(uses, &kind.parameters);
        }
    }
    schemas
}

/// Checks one step. None, with a mistake, when its kind is not known.
fn plan_step(
    index: usize,
    scope: &Scope<'_>,
    questions: &mut Vec<Question>,
    mistakes: &mut Vec<Mistake>,
) -> Option<PlannedStep> {
    let step = &scope.steps[index];
    let timeout_ms = duration(step.timeout.as_ref(), "`timeout`", scope, mistakes);
    let retry = retry(step.retry.as_ref(), scope, mistakes);
    let limits = filled(step.limits.as_ref(), "`limits`", scope, mistakes);
    let limits = limits.map(|node| limits::parse(&node, mistakes)).unwrap_or_default();
    let during = step.during.as_ref().map(|during| &during.value);
    let during = during.map(|during| During { step: during.step.clone(), phase: during.phase.clone() });
    let (plugin, grants, parameters) = plan_call(index, scope, during.as_ref(), questions, mistakes)?;
    Some(PlannedStep {
        id: step.id.value.clone(),
        uses: step.uses.value.clone(),
        plugin: plugin.clone(),
        needs: step.needs.iter().map(|need| need.value.clone()).collect(),
        background: step.background.is_some_and(|background| background.value),
        during,
        finally: step.finally,
        parameters,
        grants,
        limits,
        timeout_ms,
        retry,
    })
}

/// Checks what a step asks of its plugin: the kind, the grants, the parameters.
fn plan_call<'a>(
    index: usize,
    scope: &Scope<'a>,
    during: Option<&During>,
    questions: &mut Vec<Question>,
    mistakes: &mut Vec<Mistake>,
) -> Option<(&'a Arc<Plugin>, Grants, Template)> {
    let step = &scope.steps[index];
    let before = mistakes.len();
    let grant_node = filled(step.grants.as_ref(), "`grants`", scope, mistakes);
    let (grants, types) = grants::read(grant_node.as_ref(), &step.uses.value, mistakes);
    let broken = mistakes.len() > before || step.grants.is_some() != grant_node.is_some();
    let with = step.with.as_ref().map(|node| scope.fill(node, mistakes));
    step.with.iter().for_each(|node| scope.check_outputs(index, node, mistakes));
    let (plugin, kind) = find_kind(step, scope.catalog, mistakes)?;
    let parameters = parameters::read(with.as_ref(), &kind.parameters, scope, mistakes);
    let (uses, uses_span) = (step.uses.value.as_str(), step.uses.span);
    let (with, schema, schemas) = (with.as_ref(), &kind.parameters, scope.schemas);
    let subject = Subject { uses, uses_span, with, parameters: &parameters, schema, schemas };
    let mut out = parameters.unknown.clone();
    mistakes.extend(subject.mistakes(&mut out));
    questions.extend(question(&subject, &grants, during, out));
    mistakes.extend(offers::mistakes(&step.uses, plugin, &types, &parameters, scope.choice));
    grants::check(&step.uses, plugin, &grants, &parameters, broken, mistakes);
    check_kind(index, plugin, kind, scope, mistakes);
    Some((plugin, grants, Template(parameters.value)))
}

/// What to ask a step's plugin, without the values that are not known or wrong already; nothing when that is all of them.
fn question(
    subject: &Subject<'_>,
    grants: &Grants,
    during: Option<&During>,
    unknown: BTreeSet<Path>,
) -> Option<Question> {
    let all = unknown.contains(&Path::new());
    (!all).then(|| Question {
        uses: subject.uses.into(),
        parameters: check::known(&subject.parameters.value, &unknown).to_string(),
        about: check::about(grants, during, &unknown),
        uses_span: subject.uses_span,
        with: subject.with.cloned(),
        unknown,
    })
}

fn find_kind<'a>(
    step: &Step,
    catalog: &'a Catalog,
    mistakes: &mut Vec<Mistake>,
) -> Option<&'a (Arc<Plugin>, StepKind)> {
    let uses = &step.uses;
    let found = catalog.kinds.get(&uses.value);
    if found.is_none() && !uses.value.is_empty() {
        let file = |name: &str| is_plugin_file(name) == is_plugin_file(&uses.value);
        let known = catalog.kinds.keys().map(String::as_str).filter(|name| file(name));
        let help = suggest::advice(&uses.value, known, "the kinds are");
        let message = format!("there is no step kind {}", quote(&uses.value));
        mistakes.push(Mistake::new(uses.span, message).help(help));
    }
    found
}

/// Checks what the kind of step says about running in the background, phases and measuring.
fn check_kind(index: usize, plugin: &Plugin, kind: &StepKind, scope: &Scope<'_>, mistakes: &mut Vec<Mistake>) {
    let step = &scope.steps[index];
    let (uses, id) = (|| quote(&step.uses.value), || quote(&step.id.value));
    match step.background.filter(|background| background.value) {
        Some(background) if !kind.background => {
            let message = format!("{} ends by itself and cannot run in the background", uses());
            mistakes.push(Mistake::new(background.span, message).help("leave `background` out".to_owned()));
        }
        None if kind.background => {
            let message = format!("{} runs until it is stopped, so its step runs in the background", uses());
            mistakes.push(Mistake::new(step.uses.span, message).help("add `background: true`".to_owned()));
        }
        Some(_) if !scope.graph.is_needed(index) => {
            let message = format!("no step needs {}: it would be stopped as soon as it is ready", id());
            let help = format!("add {} to `needs` of the steps that it should run beside", id());
            mistakes.push(Mistake::new(step.id.span, message).help(help));
        }
        _ => {}
    }
    if let Some(limits) = step.limits.as_ref().filter(|_| !plugin.imports.contains("histogram/measurements.measure")) {
        let message = format!("{} measures nothing that limits could hold for", uses());
        mistakes.push(Mistake::new(limits.span, message).help("give `limits` to a step that measures".to_owned()));
    }
    check_phase(step, scope, mistakes);
}

fn check_phase(step: &Step, scope: &Scope<'_>, mistakes: &mut Vec<Mistake>) {
    let Some(during) = &step.during else { return };
    let Some(phase) = &during.value.phase else { return };
    let target = scope.graph.place(&during.value.step).map(|place| &scope.steps[place]);
    let Some((_, kind)) = target.and_then(|target| scope.catalog.kinds.get(&target.uses.value)) else { return };
    if !kind.phases.contains(phase) {
        let help = suggest::advice(phase, kind.phases.iter().map(String::as_str), "its phases are");
        let message = format!("{} has no phase {}", quote(&during.value.step), quote(phase));
        mistakes.push(Mistake::new(during.span, message).help(help.or(Some("it has no phases".into()))));
    }
}

fn filled(node: Option<&Node>, what: &str, scope: &Scope<'_>, mistakes: &mut Vec<Mistake>) -> Option<Node> {
    scope.fill_early(node?, what, mistakes)
}

/// Reads a duration above zero, in milliseconds.
fn duration(node: Option<&Node>, what: &str, scope: &Scope<'_>, mistakes: &mut Vec<Mistake>) -> Option<Millis> {
    let node = filled(node, what, scope, mistakes)?;
    let millis = duration_of(&node, what, mistakes)?;
    if millis == 0 {
        mistakes.push(Mistake::new(node.span, format!("{what} must be longer than nothing")));
    }
    Some(millis)
}

fn duration_of(node: &Node, what: &str, mistakes: &mut Vec<Mistake>) -> Option<Millis> {
    let Some(text) = node.text().filter(|_| !node.is_null()) else {
        let message = format!("{what} must be a duration, but this is {}", describe(node));
        mistakes.push(Mistake::new(node.span, message).help(quantity::Kind::Duration.units().to_owned()));
        return None;
    };
    let read = quantity::parse_millis(text);
    read.map_err(|error| mistakes.push(Mistake::new(node.span, format!("{what}: {}", error.message)).help(error.help)))
        .ok()
}

/// The most attempts that a step may have.
const MOST_ATTEMPTS: u32 = 100;

fn retry(node: Option<&Node>, scope: &Scope<'_>, mistakes: &mut Vec<Mistake>) -> Retry {
    let Some(node) = filled(node, "`retry`", scope, mistakes) else { return Retry::default() };
    let Some(map) = fields::Fields::of(&node, "`retry`", &["attempts", "backoff"], mistakes) else {
        return Retry::default();
    };
    let (attempts, backoff) = (map.take("attempts"), map.take("backoff"));
    if attempts.is_none() {
        let help = "write `retry: { attempts: 3, backoff: 30s }`".to_owned();
        mistakes.push(Mistake::new(node.span, "`retry` lacks `attempts`").help(help));
    }
    let attempts = attempts.and_then(|node| fields::count(node, "`attempts`", MOST_ATTEMPTS, mistakes));
    let backoff = backoff.and_then(|node| duration_of(node, "`backoff`", mistakes));
    Retry { attempts: attempts.unwrap_or(1), backoff_ms: backoff.unwrap_or(0) }
}
