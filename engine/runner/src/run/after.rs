//! What follows when an attempt's plugin has ended: its loads stop, its limits are checked, its end is recorded.

use wfe_core::capability::load::Stop;
use wfe_core::error::kind;
use wfe_core::event::{Outcome, ResourceState};
use wfe_core::ledger::{LOAD, Ledger, Resource};
use wfe_core::limits::{self, LimitResult};
use wfe_core::plan::PlannedStep;
use wfe_core::{Call, CallError, Event};

use crate::host::attempt::Services;
use crate::recorder::RecordError;

impl Services {
    /// Ends an attempt: nothing that it started goes on when its end is in the journal. `cut` says whether its plugin would
    /// have gone on.
    pub(super) async fn end_attempt(
        &self,
        step: &PlannedStep,
        attempt: u32,
        (outcome, cut): (Outcome, bool),
    ) -> Result<(), RecordError> {
        self.stop_loads(|load| load.step == step.id).await?;
        let doubt = |ledger: &Ledger| ledger.in_doubt_since(Some(&step.id));
        if self.recorder.with_state(|state| doubt(&state.ledger).is_some()) {
            // Another attempt must find in the ledger what this one left behind.
            drop(self.look(doubt).await?);
        }
        if matches!(outcome, Outcome::Succeeded { .. }) {
            self.check_limits(step).await?;
        }
        let record = |outcome| {
            let event = Event::AttemptEnded { step: step.id.clone(), attempt, outcome, cut };
            self.recorder.record_durably(event)
        };
        match record(outcome).await {
            Err(e) if e.is_too_large() => {
                let error = CallError::infrastructure("bad-outputs", format!("what it answered is too large: {e}"));
                record(Outcome::Failed { error }).await?;
            }
            recorded => drop(recorded?),
        }
        Ok(())
    }

    /// Stops loads that still run.
    pub(super) async fn stop_loads(&self, which: impl Fn(&Resource) -> bool) -> Result<(), RecordError> {
        let loads: Vec<Resource> = self.recorder.with_state(|state| {
            state.ledger.left().filter(|resource| resource.kind == LOAD && which(resource)).cloned().collect()
        });
        for load in loads {
            match self.engine_call(Call::LoadStop(Stop { load: load.id.clone() })).await? {
                Ok(_) => {}
                // Its start was announced and did not come to pass.
                Err(error) if error.kind == kind::REQUEST => {
                    self.settle(&load, ResourceState::Deleted, None, None, None)?;
                }
                Err(error) => tracing::warn!("load {} did not stop in order: {error}", load.id),
            }
        }
        Ok(())
    }

    /// Holds the limits of a step against its measurements.
    async fn check_limits(&self, step: &PlannedStep) -> Result<(), RecordError> {
        let measurements = self.recorder.with_state(|state| {
            let own = state.measurements.iter().filter(|measured| measured.step == step.id);
            own.map(|measured| measured.measurement.clone()).collect::<Vec<_>>()
        });
        if measurements.is_empty() {
            for limit in &step.limits {
                let (rule, place) = (limit.rule.clone(), "the step measured nothing".to_owned());
                self.checked(step, LimitResult { rule, value: "n/a".into(), holds: None, place })?;
            }
        }
        for measurement in measurements {
            // A resumed run fed the measurement from the journal, and the recording may lag behind it.
            self.backend.recorded_until(measurement.to_ms).await;
            let results = self.recording.with(|recording| limits::evaluate(&step.limits, recording, &measurement));
            for result in results {
                self.checked(step, result)?;
            }
        }
        Ok(())
    }

    fn checked(&self, step: &PlannedStep, result: LimitResult) -> Result<(), RecordError> {
        self.recorder.record(Event::LimitChecked { step: step.id.clone(), result })?;
        Ok(())
    }
}
