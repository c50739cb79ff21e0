//! A plugin run against what happened, offline: the journal answers its calls, and nothing is made.

use serde_json::Value;
use wfe_core::call;
use wfe_core::event::Outcome;
use wfe_core::{CallError, Millis};

use crate::plugin::Loaded;

use super::attempt::{Caller, DIVERGED, End, run_plugin};
use super::call::{Asked, asked};
use super::replay::{Next, Replay};

/// Looks at each replayed call: its number, its name, what was asked, when it was answered and what.
pub type Watch = Box<dyn FnMut(u64, &str, &Value, Millis, &Result<Value, CallError>) + Send>;

/// An attempt whose calls are answered from the journal alone.
pub(super) struct Offline {
    replay: Replay,
    number: u64,
    watch: Watch,
}

impl Offline {
    pub(super) fn call(&mut self, name: &str, arguments: &Value) -> Result<Result<Value, CallError>, End> {
        if let Asked::Answered(answer) = asked(name, arguments)? {
            return Ok(answer);
        }
        let number = self.number;
        self.number += 1;
        match self.replay.next(name, &call::digest(name, arguments)) {
            Next::Answered(at, answer) => {
                (self.watch)(number, name, arguments, at, &answer);
                Ok(answer)
            }
            Next::Diverged(recorded) => Err(End::diverged(number, &recorded, name, arguments)),
            Next::Intended(_) | Next::New => Err(End::Unanswered { number, asked: format!("{name} {arguments}") }),
        }
    }
}

/// What a plugin did with the recorded answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Replayed {
    /// It ended by itself, or went astray: it asked something else than then, or broke.
    Ended(Outcome),
    /// It asked what it asked then, and goes on where the journal has no answer any more; the text says with what.
    GoesOn(String),
}

impl Replayed {
    /// Whether it did what it did then, where the attempt ended like this: with `cut` before its plugin would have ended,
    /// or not at all.
    pub fn is_as_then(&self, then: Option<&Outcome>, cut: bool) -> bool {
        match (self, then) {
            (Self::Ended(now), Some(then)) if !cut => now == then,
            // What it answered was not recorded.
            (Self::Ended(now), _) => !strayed(now),
            (Self::GoesOn(_), then) => then.is_none() || cut,
        }
    }
}

fn strayed(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { error } if error.code == DIVERGED)
}

/// Runs a plugin against the recorded calls of an attempt.
pub async fn replay(loaded: &Loaded, kind: &str, parameters: &Value, replay: Replay, watch: Watch) -> Replayed {
    let offline = Caller::Offline(Offline { replay, number: 0, watch });
    match run_plugin(loaded, offline, kind, parameters).await {
        Ok(outcome) => Replayed::Ended(outcome),
        Err(end @ End::Unanswered { .. }) => Replayed::GoesOn(end.to_string()),
        Err(end) => Replayed::Ended(Outcome::Failed { error: end.into() }),
    }
}
