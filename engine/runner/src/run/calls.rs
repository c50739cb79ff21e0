//! The engine's own calls: announced and recorded as a plugin's are.

use serde_json::Value;
use wfe_core::backend::Context;
use wfe_core::capability::step::Attempt;
use wfe_core::event::{CallId, ENGINE};
use wfe_core::{Call, CallError, Event, call};

use crate::host::attempt::Services;
use crate::recorder::RecordError;

impl Services {
    /// Makes a call of the engine's own, journaled as a plugin's is.
    pub(super) async fn engine_call(&self, call: Call) -> Result<Result<Value, CallError>, RecordError> {
        let state = |state: &wfe_core::state::RunState| {
            (state.started.run.clone(), state.started.workflow.clone(), state.next_n)
        };
        let (run, workflow, number) = self.recorder.with_state(state);
        let arguments = call.arguments();
        let id = CallId {
            step: ENGINE.into(),
            attempt: 1,
            call: number,
            name: call.name().into(),
            class: call.class(),
            digest: call::digest(call.name(), &arguments),
            arguments,
            asked_at: self.clock.now(),
        };
        if id.class.has_intent() {
            self.recorder.record_durably(Event::CallIntended(id.clone())).await?;
        }
        let key = id.key(&run);
        let attempt = Attempt { run, workflow, step: ENGINE.into(), number: 1 };
        let context = Context { attempt, number, asked_at: id.asked_at, key };
        let answer = self.backend.call(&context, &call).await;
        self.recorder.record(Event::CallAnswered { id, answer: answer.clone() })?;
        Ok(answer)
    }
}
