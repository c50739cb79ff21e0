//! What is to be done next: a pure function of the plan and the state.

use std::collections::BTreeSet;

use crate::event::Outcome;
use crate::plan::{Plan, PlannedStep};
use crate::state::{Attempt, Due, RunState, StepState};
use crate::{CallError, Millis, error};

/// The code of a step's error when it was ended because a background step that it needs had ended.
pub(super) const NEED_ENDED: &str = "need-ended";

/// Something that the runner should do now.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Start an attempt, not before that moment.
    Start {
        /// Which step.
        step: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// The earliest moment; in the past for a first attempt.
        not_before: Millis,
    },
    /// Ask a background step to stop.
    Stop {
        /// Which step.
        step: String,
    },
    /// End a running attempt with this error.
    Abort {
        /// Which step.
        step: String,
        /// Why.
        error: CallError,
    },
    /// Record that a step will never start.
    Skip {
        /// Which step.
        step: String,
        /// Why, for people.
        reason: String,
    },
    /// Record that `finally` begins.
    BeginFinally,
    /// Every step has ended: give resources back, judge, and end the run.
    End,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Waiting,
    Running,
    /// A running background step whose plugin said that it is ready.
    Ready,
    Succeeded,
    Failed,
    Skipped,
    /// The last attempt failed and another one is due.
    Retrying,
}

impl Standing {
    fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Skipped)
    }

    fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::Ready)
    }
}

/// What a step waits for.
enum Wait {
    Nothing,
    Something,
    /// It will never come.
    Never(String),
}

impl RunState {
    /// What to do now with the steps that are due. Empty while running attempts have to be waited for. Actions that record
    /// something ([`Action::Skip`], [`Action::BeginFinally`]) change the state, so ask again after them. Whether `finally`
    /// begins or the run ends is decided when all steps are due.
    pub fn next(&self, plan: &Plan, due: &Due) -> Vec<Action> {
        if self.ended.is_some() {
            return Vec::new();
        }
        let steps = due.places(plan).into_iter().map(|place| &plan.steps[place]);
        let mut actions: Vec<Action> = steps.filter_map(|step| self.next_of(plan, step)).collect();
        if !actions.is_empty() || !due.is_all() {
            return actions;
        }
        let over = |finally: bool| {
            plan.steps.iter().filter(|step| step.finally == finally).all(|step| self.standing(step).is_over())
        };
        if self.finally_since.is_none() && over(false) {
            actions.push(Action::BeginFinally);
        } else if over(false) && over(true) {
            actions.push(Action::End);
        }
        actions
    }

    fn next_of(&self, plan: &Plan, step: &PlannedStep) -> Option<Action> {
        let standing = self.standing(step);
        if standing.is_over() {
            return None;
        }
        if standing.is_running() {
            return self.next_of_running(plan, step);
        }
        if let Some(reason) = self.cancelled.as_ref().filter(|_| !step.finally) {
            return Some(Action::Skip { step: step.id.clone(), reason: format!("the run was cancelled: {reason}") });
        }
        if step.finally && self.finally_since.is_none() {
            return None;
        }
        match self.wait(plan, step) {
            Wait::Nothing => Some(self.start(step)),
            Wait::Something => None,
            Wait::Never(reason) => Some(Action::Skip { step: step.id.clone(), reason }),
        }
    }

    fn next_of_running(&self, plan: &Plan, step: &PlannedStep) -> Option<Action> {
        let cancelled = self.cancelled.as_ref().filter(|_| !step.finally);
        if step.background {
            let asked = self.steps.get(&step.id).is_some_and(|state| state.stop_requested.is_some());
            let stop = !asked && (cancelled.is_some() || self.nobody_needs(plan, step));
            return stop.then(|| Action::Stop { step: step.id.clone() });
        }
        let error = match cancelled {
            Some(reason) => CallError::new(error::kind::CANCELLED, "cancelled", reason.clone()),
            None => self.lost_need(plan, step)?,
        };
        Some(Action::Abort { step: step.id.clone(), error })
    }

    /// Why a running step makes no sense any more: a background step that it needs has ended.
    fn lost_need(&self, plan: &Plan, step: &PlannedStep) -> Option<CallError> {
        let needs = step.needs.iter().filter_map(|need| plan.step(need));
        let lost = needs.filter(|need| need.background).find(|need| self.standing(need).is_over())?;
        let message = match self.attempt(&lost.id).and_then(Attempt::error) {
            Some(error) => format!("`{}`, which it needs, failed: {}", lost.id, error.message),
            None => format!("`{}`, which it needs, ended before it", lost.id),
        };
        let kind = self.attempt(&lost.id).and_then(Attempt::error).map_or(error::kind::INFRASTRUCTURE, |e| &e.kind);
        Some(CallError::new(kind, NEED_ENDED, message))
    }

    /// Whether all steps that need a background step are over.
    fn nobody_needs(&self, plan: &Plan, background: &PlannedStep) -> bool {
        // The last ones are over last.
        plan.steps.waiters(&background.id).rev().all(|step| self.standing(step).is_over())
    }

    fn start(&self, step: &PlannedStep) -> Action {
        let last = self.steps.get(&step.id).and_then(|state| state.attempts.last());
        Action::Start {
            step: step.id.clone(),
            attempt: last.map_or(1, |attempt| attempt.number + 1),
            not_before: last
                .and_then(|attempt| attempt.ended)
                .map_or(0, |ended| ended.saturating_add(step.retry.backoff_ms)),
        }
    }

    fn wait(&self, plan: &Plan, step: &PlannedStep) -> Wait {
        let mut answer = Wait::Nothing;
        // In the plan's order: of several that never come the same one is named, however far the others' skips have come.
        let needs: BTreeSet<usize> = step.needs.iter().filter_map(|need| plan.steps.place(need)).collect();
        for need in needs.into_iter().map(|place| &plan.steps[place]) {
            match self.standing(need) {
                Standing::Succeeded if !need.background => {}
                Standing::Ready => {}
                Standing::Succeeded => return Wait::Never(format!("`{}` ended before it could start", need.id)),
                Standing::Failed => return Wait::Never(format!("`{}` failed", need.id)),
                Standing::Skipped => return Wait::Never(format!("`{}` was skipped", need.id)),
                Standing::Waiting | Standing::Running | Standing::Retrying => answer = Wait::Something,
            }
        }
        match step.during.as_ref().and_then(|during| plan.step(&during.step)) {
            Some(target) if self.standing(target) == Standing::Skipped => {
                Wait::Never(format!("`{}`, which it measures, was skipped", target.id))
            }
            Some(target) if !self.standing(target).is_over() => Wait::Something,
            _ => answer,
        }
    }

    /// Whether nobody asked the step, or the run, to stop. `finally` is what a cancelled run still does.
    fn goes_on(&self, step: &PlannedStep, state: &StepState) -> bool {
        (self.cancelled.is_none() || step.finally) && state.stop_requested.is_none()
    }

    fn standing(&self, step: &PlannedStep) -> Standing {
        let Some(state) = self.steps.get(&step.id) else { return Standing::Waiting };
        if state.skipped.is_some() {
            return Standing::Skipped;
        }
        let Some(attempt) = state.attempt() else { return Standing::Waiting };
        match &attempt.outcome {
            None if attempt.ready.is_some() => Standing::Ready,
            None => Standing::Running,
            Some(Outcome::Succeeded { .. }) => Standing::Succeeded,
            Some(Outcome::Failed { error }) => {
                let tries = attempt.number.saturating_sub(state.earlier);
                match is_retried(step, tries, error) && self.goes_on(step, state) {
                    true => Standing::Retrying,
                    false => Standing::Failed,
                }
            }
        }
    }
}

/// Only what may be different next time is tried again.
fn is_retried(step: &PlannedStep, tries: u32, error: &CallError) -> bool {
    let transient = matches!(error.kind.as_str(), error::kind::INFRASTRUCTURE | error::kind::TIMEOUT);
    transient && tries < step.retry.attempts
}
