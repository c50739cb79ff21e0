//! The state of one step: its attempts and their phases.

use serde::Serialize;
use serde_json::Value;

use crate::event::Outcome;
use crate::{CallError, Millis};

/// What happened to a step so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StepState {
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
    /// Why it will never start.
    pub skipped: Option<String>,
    /// Since when its plugin is asked to stop.
    pub stop_requested: Option<Millis>,
    /// Whether it is to be tried again although it is over.
    pub again: bool,
    /// How many attempts it had when somebody asked for that last; `retry` counts those after it.
    pub earlier: u32,
}

/// What happened in one attempt so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// Counts from 1.
    pub number: u32,
    /// When it began.
    pub started: Millis,
    /// When it ended.
    pub ended: Option<Millis>,
    /// Its parameters.
    pub parameters: Value,
    /// The window it measures.
    pub window: Option<(Millis, Millis)>,
    /// Its phases, in order.
    pub phases: Vec<PhaseState>,
    /// Since when a background step is ready.
    pub ready: Option<Millis>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Whether the engine ended it while its plugin would have gone on.
    pub cut: bool,
}

/// One phase of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseState {
    /// Its name.
    pub name: String,
    /// When it began.
    pub started: Millis,
    /// When it ended.
    pub ended: Option<Millis>,
}

impl StepState {
    /// The attempt that counts: the last one, unless another one is due.
    pub fn attempt(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|_| !self.again)
    }

    /// The attempt that has begun and not ended.
    pub fn running(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| attempt.outcome.is_none())
    }
}

impl Attempt {
    pub(super) fn begin_phase(&mut self, at: Millis, name: String) {
        self.end_phase(at);
        self.phases.push(PhaseState { name, started: at, ended: None });
    }

    fn end_phase(&mut self, at: Millis) {
        if let Some(open) = self.phases.last_mut() {
            open.ended.get_or_insert(at);
        }
    }

    pub(super) fn end(&mut self, at: Millis, outcome: Outcome, cut: bool) {
        self.end_phase(at);
        self.ended = Some(at);
        self.outcome = Some(outcome);
        self.cut = cut;
    }

    /// Why it failed, if it did.
    pub fn error(&self) -> Option<&CallError> {
        match &self.outcome {
            Some(Outcome::Failed { error }) => Some(error),
            _ => None,
        }
    }
}
