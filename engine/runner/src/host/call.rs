//! One call of a plugin: replayed from the journal, or granted, announced, made and recorded.

use serde::Serialize;
use serde_json::Value;
use wfe_core::backend::Context;
use wfe_core::call::{self, Class};
use wfe_core::event::CallId;
use wfe_core::ledger::Ledger;
use wfe_core::{Call, CallError, Event, Millis, error};

use super::attempt::{Attempt, End, Services};
use super::grants;
use super::own::pure_answer;
use super::replay::Next;

/// An attempt that makes more calls is ended: a busy loop must not fill the disk.
const MOST_CALLS: u64 = 200_000;
/// An attempt whose arguments and answers take more room in the journal is ended, bytes.
const MOST_BYTES: u64 = 256 << 20;

impl Attempt {
    /// Answers a call. An error ends the attempt; what the plugin can handle is the inner error.
    pub(super) async fn call(&mut self, name: &str, arguments: Value) -> Result<Result<Value, CallError>, End> {
        let call = match asked(name, &arguments)? {
            Asked::Answered(answer) => return Ok(answer),
            Asked::Of(call) => call,
        };
        let digest = call::digest(name, &arguments);
        let number = self.calls;
        self.calls += 1;
        if number >= MOST_CALLS {
            return Err(End::broken(format!("{MOST_CALLS} calls in one attempt: it asks too often")));
        }
        self.count_bytes(&arguments)?;
        let asked_at = match self.replay.next(name, &digest) {
            Next::Answered(at, answer) => {
                self.resumed_at = Some(at);
                self.count_bytes(&answer)?;
                return Ok(answer);
            }
            Next::Diverged(recorded) => return Err(End::diverged(number, &recorded, name, &arguments)),
            Next::Intended(asked_at) => Some(asked_at),
            Next::New => None,
        };
        let announced = asked_at.is_some();
        let asked_at = asked_at.or(self.resumed_at.take()).unwrap_or_else(|| self.services.clock.now());
        let id = self.id(number, &call, digest, arguments, asked_at);
        self.make(call, id, announced).await
    }

    fn id(&self, number: u64, call: &Call, digest: String, arguments: Value, asked_at: Millis) -> CallId {
        CallId {
            step: self.info.step.clone(),
            attempt: self.info.number,
            call: number,
            name: call.name().into(),
            class: call.class(),
            digest,
            arguments,
            asked_at,
        }
    }

    async fn make(&mut self, call: Call, id: CallId, announced: bool) -> Result<Result<Value, CallError>, End> {
        let key = id.key(&self.info.run);
        let denial = self.denial(&call, &key).await?;
        let unknown = announced && id.class == Class::WriteOnce;
        let answer = match denial {
            None if unknown => Err(unknown_outcome(&id)),
            Some(denial) => Err(denial),
            None => self.ask(&call, &id, key, announced).await?,
        };
        let answer = self.answered(id, answer)?;
        self.count_bytes(&answer)?;
        Ok(answer)
    }

    /// The denial of a call, if its step is not granted it. Machines whose creation failed are looked for before they count
    /// against the grant.
    async fn denial(&self, call: &Call, key: &str) -> Result<Option<CallError>, End> {
        let Services { recorder, .. } = &*self.services;
        let denial = || recorder.with_state(|state| grants::denial(call, key, &self.info.step, &self.grants, state));
        let doubt = |ledger: &Ledger| ledger.in_doubt_since(Some(&self.info.step));
        let first = denial();
        if first.is_none()
            || !matches!(call, Call::MachinesCreate(_))
            || recorder.with_state(|state| doubt(&state.ledger).is_none())
        {
            return Ok(first);
        }
        // What cannot be looked for counts.
        drop(self.services.look(doubt).await.map_err(|e| End::unrecorded(call.name(), e))?);
        Ok(denial())
    }

    /// Counts what a call takes in the journal, replayed or not: an attempt ends at the same call in every life.
    fn count_bytes(&mut self, part: &impl Serialize) -> Result<(), End> {
        let mut counter = Counter(0);
        // A value that is in the journal, or will be, can be encoded.
        drop(serde_json::to_writer(&mut counter, part));
        self.bytes += counter.0;
        match self.bytes > MOST_BYTES {
            true => Err(End::broken(format!("its calls take more than {} MiB of the journal", MOST_BYTES >> 20))),
            false => Ok(()),
        }
    }

    /// Records the answer; one that the journal cannot hold is kept from the plugin too, or a resumed run would differ.
    fn answered(&self, id: CallId, answer: Result<Value, CallError>) -> Result<Result<Value, CallError>, End> {
        let record = |answer| self.services.recorder.record(Event::CallAnswered { id: id.clone(), answer });
        match record(answer.clone()) {
            Ok(_) => Ok(answer),
            Err(e) if e.is_too_large() && answer.is_ok() => {
                let answer = Err(CallError::request("too-large", format!("the answer of `{}`: {e}", id.name)));
                record(answer.clone()).map_err(|e| End::unrecorded(&id.name, e))?;
                Ok(answer)
            }
            Err(e) => Err(End::unrecorded(&id.name, e)),
        }
    }

    async fn ask(
        &mut self,
        call: &Call,
        id: &CallId,
        key: String,
        announced: bool,
    ) -> Result<Result<Value, CallError>, End> {
        if id.class.has_intent() && !announced {
            let event = Event::CallIntended(id.clone());
            self.services.recorder.record_durably(event).await.map_err(|e| End::unrecorded(&id.name, e))?;
        }
        let context = Context { attempt: self.info.clone(), number: id.call, asked_at: id.asked_at, key };
        Ok(match self.own_answer(&context, call).await {
            Some(answer) => answer,
            None => self.services.backend.call(&context, call).await,
        })
    }
}

/// What a plugin asked.
pub(super) enum Asked {
    /// Something that needs no world: arithmetic, or arguments that make no sense.
    Answered(Result<Value, CallError>),
    /// A call that is journaled.
    Of(Call),
}

/// Reads a call; an error ends the attempt.
pub(super) fn asked(name: &str, arguments: &Value) -> Result<Asked, End> {
    let call = match Call::parse(name, arguments) {
        Some(Ok(call)) => call,
        Some(Err(e)) => return Ok(Asked::Answered(Err(CallError::request("arguments", format!("`{name}`: {e}"))))),
        None => return Err(End::broken(format!("`{name}` is no function of the contract"))),
    };
    match call.class() {
        Class::Pure => {
            let answer = pure_answer(&call).ok_or_else(|| End::broken(format!("`{name}` has no answer")))?;
            Ok(Asked::Answered(answer))
        }
        _ => Ok(Asked::Of(call)),
    }
}

fn unknown_outcome(id: &CallId) -> CallError {
    let message = format!("`{}` was announced before a crash: it may or may not have happened", id.name);
    CallError::new(error::kind::UNKNOWN_OUTCOME, "crash", message)
}

/// Counts bytes and keeps none.
struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
