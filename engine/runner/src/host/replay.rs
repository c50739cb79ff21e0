//! The calls that an earlier life of an attempt made, fed to it again.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use wfe_core::event::CallId;
use wfe_core::{CallError, Entry, Event, Millis};

/// A call in the journal.
#[derive(Debug, Clone)]
pub struct RecordedCall {
    /// What was asked, and when.
    pub id: CallId,
    /// What was answered, and when; none when the run died between both.
    pub answer: Option<(Millis, Result<Value, CallError>)>,
}

/// The recorded calls of one attempt that were not fed yet.
#[derive(Debug, Default)]
pub struct Replay(VecDeque<RecordedCall>);

/// What the journal says about the next call.
#[derive(Debug)]
pub enum Next {
    /// Nothing: it is a new call.
    New,
    /// It was answered.
    Answered(Millis, Result<Value, CallError>),
    /// It was announced at that moment and may have been made.
    Intended(Millis),
    /// The journal has another call in its place.
    Diverged(CallId),
}

impl Replay {
    /// The calls of every attempt that has not ended, by step.
    pub fn of_open_attempts(entries: &[Entry]) -> BTreeMap<String, Self> {
        let mut open: BTreeMap<String, Self> = BTreeMap::new();
        for entry in entries {
            match &entry.event {
                Event::AttemptStarted { step, .. } => {
                    open.insert(step.clone(), Self::default());
                }
                Event::AttemptEnded { step, .. } => {
                    open.remove(step);
                }
                Event::CallIntended(id) => {
                    if let Some(replay) = open.get_mut(&id.step) {
                        replay.0.push_back(RecordedCall { id: id.clone(), answer: None });
                    }
                }
                Event::CallAnswered { id, answer } => {
                    if let Some(replay) = open.get_mut(&id.step) {
                        replay.answered(id, (entry.at, answer.clone()));
                    }
                }
                _ => {}
            }
        }
        open
    }

    /// The calls of one attempt, over or not.
    pub fn of_attempt(entries: &[Entry], step: &str, attempt: u32) -> Self {
        let mut replay = Self::default();
        let of = |id: &CallId| id.step == step && id.attempt == attempt;
        for entry in entries {
            match &entry.event {
                Event::CallIntended(id) if of(id) => replay.0.push_back(RecordedCall { id: id.clone(), answer: None }),
                Event::CallAnswered { id, answer } if of(id) => replay.answered(id, (entry.at, answer.clone())),
                _ => {}
            }
        }
        replay
    }

    /// How many calls are left.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no call is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn answered(&mut self, id: &CallId, answer: (Millis, Result<Value, CallError>)) {
        match self.0.back_mut().filter(|last| last.answer.is_none() && last.id.call == id.call) {
            Some(intended) => intended.answer = Some(answer),
            None => self.0.push_back(RecordedCall { id: id.clone(), answer: Some(answer) }),
        }
    }

    /// Takes what the journal says about a call with this name and digest.
    pub fn next(&mut self, name: &str, digest: &str) -> Next {
        let Some(recorded) = self.0.pop_front() else { return Next::New };
        if recorded.id.name != name || recorded.id.digest != digest {
            return Next::Diverged(recorded.id);
        }
        match recorded.answer {
            Some((at, answer)) => Next::Answered(at, answer),
            None => Next::Intended(recorded.id.asked_at),
        }
    }
}
