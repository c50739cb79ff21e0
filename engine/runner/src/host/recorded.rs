//! A plugin run against what happened, offline: the journal answers its calls, and nothing is made.

use serde_json::Value;
use wfe_core::call::{self, Class};
use wfe_core::event::Outcome;
use wfe_core::{Call, CallError, Millis};

use crate::plugin::Loaded;

use super::attempt::{Caller, End, run_plugin};
use super::own::pure_answer;
use super::replay::{Next, Replay};

/// Looks at each replayed call: its number, its name, what was asked, when it was answered and what.
pub type Watch = Box<dyn FnMut(u64, &str, &Value, Millis, &Result<Value, CallError>) + Send>;

/// The calls of an attempt, answered from the journal alone.
pub(super) struct Recorded {
    replay: Replay,
    number: u64,
    watch: Watch,
}

impl Recorded {
    pub(super) fn call(&mut self, name: &str, arguments: &Value) -> Result<Result<Value, CallError>, End> {
        let call = match Call::parse(name, arguments) {
            Some(Ok(call)) => call,
            Some(Err(e)) => return Ok(Err(CallError::request("arguments", format!("`{name}`: {e}")))),
            None => return Err(End::broken(format!("`{name}` is no function of the contract"))),
        };
        if call.class() == Class::Pure {
            return pure_answer(&call).ok_or_else(|| End::broken(format!("`{name}` has no answer")));
        }
        let number = self.number;
        self.number += 1;
        match self.replay.next(name, &call::digest(name, arguments)) {
            Next::Answered(at, answer) => {
                (self.watch)(number, name, arguments, at, &answer);
                Ok(answer)
            }
            Next::Diverged(recorded) => Err(End::diverged(number, &recorded, name, arguments)),
            Next::Intended(_) | Next::New => Err(End::unanswered(number, name, arguments)),
        }
    }
}

/// Runs a plugin against the recorded calls of an attempt. The outcome of a plugin that asks what it asked then is the
/// one that it had then; [`Outcome::Failed`] says where it diverged, or that the journal ends before the attempt did.
pub async fn replay(loaded: &Loaded, kind: &str, parameters: &Value, replay: Replay, watch: Watch) -> Outcome {
    let recorded = Caller::Recorded(Recorded { replay, number: 0, watch });
    match run_plugin(loaded, recorded, kind, parameters).await {
        Ok(outcome) => outcome,
        Err(End::Error(error)) => Outcome::Failed { error },
        Err(End::Unrecorded(error)) => {
            Outcome::Failed { error: CallError::infrastructure("journal", error.to_string()) }
        }
    }
}
