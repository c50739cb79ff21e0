//! Clean-up: gives back what the ledger of a run still lists, without carrying on with its steps.

use std::sync::Arc;

use wfe_core::backend::{Answered, Backend};
use wfe_core::error::kind;
use wfe_core::event::Outcome;
use wfe_core::state::RunState;
use wfe_core::verdict::Verdict;
use wfe_core::{Call, CallError, Event};

use crate::clock::wall_millis;
use crate::host::attempt::Services;
use crate::recorder::Reporter;

use super::RunError;
use super::takeover::Takeover;

/// Gives back everything that a run may have left behind: machines that leaked, machines that were kept, everything of a
/// run whose owner is gone, which is over then. Answers the run's state after it.
pub async fn clean_up(
    taken: Takeover,
    backend: Arc<dyn Backend>,
    reporters: Vec<Box<dyn Reporter>>,
) -> Result<RunState, RunError> {
    let state = &taken.begun.state;
    let (over, simulated) = (state.ended.is_some(), state.started.simulated);
    let services = taken.open(backend, |answered| simulated || makes_no_load(answered), reporters).await?;
    services.recorder.record(Event::CleanUpStarted { wall: wall_millis() })?;
    if !over {
        services.end_open_attempts()?;
    }
    services.give_back().await?;
    services.end_cleaned(over).await?;
    Ok(services.recorder.with_state(Clone::clone))
}

impl Services {
    async fn end_cleaned(&self, over: bool) -> Result<(), RunError> {
        let closed = self.backend.close().await;
        self.settle_loads(closed.is_ok())?;
        if !over {
            let reason = "its owner was gone, and `wfe cleanup` gave back what it had made".to_owned();
            let ended = Event::RunEnded { verdict: Verdict::Cancelled, reasons: vec![reason], wall_s: self.wall_s() };
            self.recorder.record_durably(ended).await?;
        }
        self.recorder.release();
        Ok(())
    }

    /// Nobody carries on with what was running.
    fn end_open_attempts(&self) -> Result<(), RunError> {
        let open: Vec<(String, u32)> = self.recorder.with_state(|state| {
            let open = state.steps.iter().filter_map(|(step, facts)| {
                let attempt = facts.running()?;
                Some((step.clone(), attempt.number))
            });
            open.collect()
        });
        for (step, attempt) in open {
            let error = CallError::new(kind::CANCELLED, "cancelled", "its run was cleaned up");
            let outcome = Outcome::Failed { error };
            self.recorder.record(Event::AttemptEnded { step, attempt, outcome, cut: true })?;
        }
        Ok(())
    }
}

/// Loads of a live backend die with its process: without their calls it does not begin them again.
fn makes_no_load(answered: &Answered) -> bool {
    !matches!(answered.call, Call::LoadStart(_) | Call::LoadSetRate(_) | Call::LoadStop(_))
}
