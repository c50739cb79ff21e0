//! What others see of a load while its thread works.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use wfe_core::capability::load::Status;

use crate::lock;

/// How a load is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// It connects.
    #[default]
    Starting,
    /// It sends.
    Running,
    /// It has failed, and waits for what it sent.
    Failing,
    /// It was stopped, and all it sent has ended.
    Stopped,
    /// It has failed, and all it sent has ended.
    Failed,
}

#[derive(Debug, Default)]
struct Facts {
    state: State,
    rate: f64,
    asked_rate: Option<f64>,
    detail: String,
    /// The first words said of each class of error.
    said: BTreeMap<&'static str, String>,
}

/// Shared between a load's thread, which alone changes it, and those who ask.
#[derive(Debug, Default)]
pub struct Shared {
    /// Operations that ended.
    pub operations: AtomicU64,
    /// Those of them that failed.
    pub errors: AtomicU64,
    /// End of the last interval that was handed over, on the run's clock.
    pub recorded_ms: AtomicU64,
    facts: Mutex<Facts>,
}

impl Shared {
    /// A load that has ended so many operations already, and so many of them with an error.
    pub fn counting_from(operations: u64, errors: u64) -> Self {
        Self { operations: operations.into(), errors: errors.into(), ..Self::default() }
    }

    /// Changes the state; the detail says why.
    pub fn set(&self, state: State, detail: String) {
        let mut facts = lock(&self.facts);
        (facts.state, facts.detail) = (state, detail);
    }

    /// Says something noteworthy.
    pub fn note(&self, detail: String) {
        lock(&self.facts).detail = detail;
    }

    /// Tells the rates.
    pub fn interval(&self, rate: f64, asked_rate: Option<f64>) {
        let mut facts = lock(&self.facts);
        (facts.rate, facts.asked_rate) = (rate, asked_rate);
    }

    /// Keeps what is said of an error when it is the first of its class; answers what was said first.
    pub fn first_words(&self, class: &'static str, said: impl FnOnce() -> String) -> String {
        lock(&self.facts).said.entry(class).or_insert_with(said).clone()
    }

    /// The thread has ended.
    pub fn end(&self) {
        let mut facts = lock(&self.facts);
        facts.state = match facts.state {
            State::Failing | State::Failed => State::Failed,
            _ => State::Stopped,
        };
    }

    /// The thread is gone: when it did not say why, it broke off.
    pub fn gone(&self) {
        let mut facts = lock(&self.facts);
        if !matches!(facts.state, State::Stopped | State::Failed) {
            facts.state = State::Failed;
            facts.detail = "the load's thread broke off".into();
        }
    }

    /// Whether it can still send.
    pub fn is_live(&self) -> bool {
        matches!(lock(&self.facts).state, State::Starting | State::Running)
    }

    /// The state as the contract has it.
    pub fn status(&self, name: &str) -> Status {
        let facts = lock(&self.facts);
        let state = match facts.state {
            State::Starting | State::Running => "running",
            State::Stopped => "stopped",
            State::Failing | State::Failed => "failed",
        };
        let errors = facts.said.iter().map(|(class, said)| format!("{class}: {said}")).next();
        Status {
            id: name.into(),
            state: state.into(),
            operations: self.operations.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            rate: facts.rate,
            asked_rate: facts.asked_rate,
            detail: if facts.detail.is_empty() { errors.unwrap_or_default() } else { facts.detail.clone() },
        }
    }
}
