//! Which steps have to be looked at again after events. A workflow may have thousands of steps, and most events concern one.

use std::collections::BTreeSet;

use crate::Event;
use crate::plan::Plan;

/// The steps to which something happened that may change what is next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Due {
    all: bool,
    steps: BTreeSet<String>,
}

impl Due {
    /// All steps of a plan: something happened to the run.
    pub fn all() -> Self {
        Self { all: true, steps: BTreeSet::new() }
    }

    /// Whether all steps have to be looked at.
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// Whether no step has to be looked at.
    pub fn is_nothing(&self) -> bool {
        !self.all && self.steps.is_empty()
    }

    /// Something happened to a step.
    pub fn step(&mut self, id: &str) {
        self.steps.insert(id.to_owned());
    }

    /// An event was recorded. Of a plugin's calls only the one that says it is ready changes what is next.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::CallAnswered { id, .. } if id.name == "step/context.ready" => self.step(&id.step),
            Event::AttemptStarted { step, .. }
            | Event::AttemptEnded { step, .. }
            | Event::StopRequested { step }
            | Event::StepSkipped { step, .. } => self.step(step),
            Event::CallIntended(_)
            | Event::CallAnswered { .. }
            | Event::LimitChecked { .. }
            | Event::Audited { .. }
            | Event::Noticed { .. }
            | Event::ResourceSettled { .. } => {}
            Event::RunStarted(_)
            | Event::RunResumed { .. }
            | Event::RetryRequested { .. }
            | Event::CleanUpStarted { .. }
            | Event::CancelRequested { .. }
            | Event::FinallyStarted
            | Event::RunEnded { .. } => self.all = true,
        }
    }

    /// The places in a plan of the steps that are concerned, in order.
    pub(super) fn places(&self, plan: &Plan) -> BTreeSet<usize> {
        match self.all {
            true => (0..plan.steps.len()).collect(),
            false => self.steps.iter().flat_map(|step| plan.steps.concerned_by(step)).collect(),
        }
    }
}
