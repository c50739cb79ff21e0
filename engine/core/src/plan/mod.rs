//! A workflow checked against its plugins: a graph of steps with resolved inputs.

mod bounds;
mod build;
mod check;
mod choice;
mod explain;
mod grants;
mod graphviz;
mod misfits;
mod offers;
mod order;
mod parameters;
mod references;
mod schemas;
mod shape;
mod steps;
mod template;
mod validate;

pub use build::{build, draft};
pub use check::{Draft, Problem, Question};
pub use choice::Choice;
pub use grants::{FREE, GRANT_KEYS};
pub use misfits::misfits;
pub use steps::Steps;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Millis;
use crate::catalog::Plugin;
use crate::limits::Limit;

/// What will be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name of the workflow.
    pub name: String,
    /// What it is for, empty when it does not say.
    pub description: String,
    /// SHA-256 of the workflow's text, hexadecimal.
    pub digest: String,
    /// The chosen profile.
    pub profile: Option<String>,
    /// The inputs' values: quantities as numbers, as plugins get them.
    pub inputs: BTreeMap<String, Value>,
    /// Its steps.
    pub steps: Steps,
    /// The longest that the run may take, `finally` aside.
    pub deadline_ms: Option<Millis>,
}

impl Plan {
    /// The step with an id.
    pub fn step(&self, id: &str) -> Option<&PlannedStep> {
        self.steps.by_id(id)
    }
}

/// One step, ready to be run once the steps it waits for have ended.
#[derive(Debug, Clone)]
pub struct PlannedStep {
    /// Its id, unique in the workflow.
    pub id: String,
    /// The kind of step, as written after `uses:`.
    pub uses: String,
    /// The plugin that runs it.
    pub plugin: Arc<Plugin>,
    /// The steps that must have succeeded (background ones: must be ready) before it starts.
    pub needs: BTreeSet<String>,
    /// Whether it goes on until the last step that needs it has ended.
    pub background: bool,
    /// The step, or one phase of it, whose window it is about; it starts when that step has ended, however it ended.
    pub during: Option<During>,
    /// Whether it stands under `finally`: it runs however the other steps ended.
    pub finally: bool,
    /// Its parameters; expressions over step outputs are still in it.
    pub parameters: Template,
    /// What its plugin may do.
    pub grants: Grants,
    /// What its measurement must hold.
    pub limits: Vec<Limit>,
    /// The longest that one attempt may take, of the run's time.
    pub timeout_ms: Option<Millis>,
    /// Whether and how it is tried again.
    pub retry: Retry,
}

impl PlannedStep {
    /// What the workflow says of it beside its parameters, as the JSON that the contract's `check` takes when all of them
    /// are known.
    pub fn about(&self) -> String {
        check::about(&self.grants, self.during.as_ref(), &BTreeSet::new())
    }
}

/// The step, or the phase of a step, that a measurement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct During {
    /// The step's id.
    pub step: String,
    /// The phase's name.
    pub phase: Option<String>,
}

/// How a step is tried again after an infrastructure error or a timeout.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// How often it may be tried in all; 1 means once.
    pub attempts: u32,
    /// How long to wait before the next attempt.
    pub backoff_ms: Millis,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 1, backoff_ms: 0 }
    }
}

/// What a step's plugin may do: capability by capability; what is not here is denied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Grants {
    /// The capabilities without bounds of their own, such as `cluster` and `load`.
    pub capabilities: BTreeSet<String>,
    /// Machines.
    pub cloud: Option<CloudGrant>,
    /// Keyspaces for CQL statements.
    pub keyspaces: Option<BTreeSet<String>>,
}

/// Which machines a step may create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CloudGrant {
    /// Machine types.
    pub types: BTreeSet<String>,
    /// How many in all, over all attempts.
    pub machines: u32,
}

/// A JSON value in which `${{ steps.ID.outputs.NAME }}` may still stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(pub Value);
