//! Trying one step of an ended run again, with what depends on it; all other steps keep their outcomes and outputs.

use std::collections::BTreeSet;

use crate::diagnostic::quote;
use crate::event::{Outcome, StepFacts};
use crate::ledger::MACHINE;
use crate::state::{RunState, StepState};
use crate::{Millis, error};

impl RunState {
    /// Why a step cannot be tried again; none when it can.
    pub fn refuses_retry(&self, step: &str) -> Option<String> {
        if self.ended.is_none() {
            return Some("the run is not over: `wfe resume` carries on with it".into());
        }
        let Some(state) = self.steps.get(step).filter(|state| !state.attempts.is_empty()) else {
            let failed: Vec<&str> = self.failed().collect();
            let failed = if failed.is_empty() { "none".to_owned() } else { failed.join(", ") };
            return Some(format!("no step {} was started; steps that failed: {failed}", quote(step)));
        };
        if !state.failed() {
            return Some(format!("step `{step}` did not fail"));
        }
        let mut machines = self.ledger.resources().filter(|resource| resource.kind == MACHINE).peekable();
        if machines.peek().is_some() && !machines.any(|machine| machine.may_exist()) {
            let message = "its machines were given back: a run that is to be retried begins with `--keep on-failure`";
            return Some(message.into());
        }
        None
    }

    /// The steps that failed.
    fn failed(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter(|(_, step)| step.failed()).map(|(id, _)| id.as_str())
    }

    /// The run is not over any more.
    pub(super) fn retry(&mut self, at: Millis, step: &str) {
        for id in self.tried_with(step) {
            self.forget(&id);
            let state = self.steps.entry(id).or_default();
            state.again = !state.attempts.is_empty();
            state.earlier = state.attempts.last().map_or(0, |attempt| attempt.number);
            state.skipped = None;
            state.stop_requested = None;
        }
        self.notices.clear();
        (self.ended, self.cancelled, self.finally_since, self.broken) = (None, None, None, false);
        self.deadline_ms = self.started.deadline_ms.map(|deadline| at.saturating_add(deadline));
    }

    /// The step, what measures it or did not happen because of it, the background steps that these need, and `finally`.
    fn tried_with(&self, step: &str) -> BTreeSet<String> {
        let facts = &self.started.steps;
        let mut tried: BTreeSet<String> = facts.iter().filter(|facts| facts.finally).map(|f| f.id.clone()).collect();
        tried.insert(step.to_owned());
        loop {
            let more: Vec<String> = facts
                .iter()
                .filter(|facts| !tried.contains(&facts.id))
                .filter(|facts| {
                    self.fell_with(facts, &tried) || is_needed_background(facts, &tried, &self.started.steps)
                })
                .map(|facts| facts.id.clone())
                .collect();
            if more.is_empty() {
                return tried;
            }
            tried.extend(more);
        }
    }

    /// Whether a step measures one that is tried again, or was skipped or ended before its time because of one.
    fn fell_with(&self, facts: &StepFacts, tried: &BTreeSet<String>) -> bool {
        let during = facts.during.as_deref().and_then(|during| during.split('.').next());
        let needs = facts.needs.iter().any(|need| tried.contains(need));
        let fell = || self.steps.get(&facts.id).is_none_or(StepState::fell);
        during.is_some_and(|during| tried.contains(during)) || needs && fell()
    }
}

fn is_needed_background(facts: &StepFacts, tried: &BTreeSet<String>, all: &[StepFacts]) -> bool {
    facts.background && all.iter().any(|other| tried.contains(&other.id) && other.needs.contains(&facts.id))
}

impl StepState {
    fn failed(&self) -> bool {
        matches!(self.attempts.last().and_then(|attempt| attempt.outcome.as_ref()), Some(Outcome::Failed { .. }))
    }

    /// Skipped, cancelled, or ended because what it needs had ended.
    fn fell(&self) -> bool {
        let ended = self.attempts.last().and_then(|attempt| attempt.error());
        let early = |e: &crate::CallError| e.code == super::next::NEED_ENDED || e.kind == error::kind::CANCELLED;
        self.skipped.is_some() || ended.is_some_and(early)
    }
}
