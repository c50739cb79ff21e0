//! How a run ends: what the database said is kept, loads stop, machines are given back, the verdict is recorded.

use std::time::SystemTime;

use wfe_core::capability::observe::Since;
use wfe_core::event::{Keep, ResourceState};
use wfe_core::ledger::LOAD;
use wfe_core::state::RunState;
use wfe_core::verdict::Verdict;
use wfe_core::{Call, Event};

use crate::clock::wall;
use crate::host::attempt::Services;
use crate::recorder::RecordError;

use super::{Finished, Run, RunError};

/// The most database events that are kept for the report.
const MOST_EVENTS: u32 = 200;

impl Run {
    /// Ends the run: nothing of it is left but what is to be kept.
    pub(super) async fn end(self) -> Result<Finished, RunError> {
        let services = &self.services;
        services.stop_loads(|_| true).await?;
        let since = Since { from_ms: 0, severity: "warn".into(), limit: MOST_EVENTS };
        drop(services.engine_call(Call::EventsSince(since)).await?);
        match self.keeps_machines() {
            Some(keep_ms) => services.keep(keep_ms).await?,
            None => services.give_back().await?,
        }
        for notice in services.backend.notices() {
            services.recorder.record(Event::Noticed { notice })?;
        }
        let closed = services.backend.close().await;
        services.settle_loads(closed.is_ok())?;
        let mut troubles = Vec::from_iter(services.recording.broken());
        troubles.extend(closed.err().map(|error| format!("the backend did not close: {}", error.message)));
        let (verdict, reasons) = services.recorder.with_state(|state| state.judge(&self.plan, &troubles));
        services.recorder.record_durably(Event::RunEnded { verdict, reasons, wall_s: services.wall_s() }).await?;
        services.recorder.release();
        Ok(Finished {
            state: services.recorder.with_state(Clone::clone),
            recording: services.recording.take(),
            directory: self.directory,
        })
    }

    /// How long machines stay, milliseconds; none when they are given back.
    fn keeps_machines(&self) -> Option<u64> {
        self.services.recorder.with_state(|state| {
            let keeps = match state.started.keep {
                Keep::Never => false,
                Keep::Always => true,
                Keep::OnFailure => {
                    state.judge(&self.plan, self.services.recording.broken().as_slice()).0 != Verdict::Pass
                }
            };
            keeps.then_some(state.started.keep_ms)
        })
    }
}

impl Services {
    /// Wall time since the run began, seconds.
    pub(super) fn wall_s(&self) -> f64 {
        let begun = self.recorder.with_state(|state| humantime::parse_rfc3339(&state.started.wall));
        let since = wall().duration_since(begun.unwrap_or(SystemTime::UNIX_EPOCH));
        since.map_or(0.0, |since| since.as_secs_f64())
    }

    /// A load that could not be stopped in order ended with the backend, if that closed.
    pub(super) fn settle_loads(&self, closed: bool) -> Result<(), RecordError> {
        let loads = |state: &RunState| state.ledger.left().filter(|r| r.kind == LOAD).cloned().collect::<Vec<_>>();
        let state = if closed { ResourceState::Deleted } else { ResourceState::Leaked };
        for load in &self.recorder.with_state(loads) {
            self.settle(load, state, Some("it did not stop in order".into()), None, None)?;
        }
        Ok(())
    }
}
