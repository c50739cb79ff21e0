//! Clean-up: gives back what the ledger of a run still lists, without carrying on with its steps.

use std::path::PathBuf;
use std::sync::Arc;

use wfe_core::backend::{Answered, Backend, Clock};
use wfe_core::state::RunState;
use wfe_core::verdict::Verdict;
use wfe_core::{Call, Event};

use crate::clock::{RunClock, wall};
use crate::host::attempt::Services;
use crate::journal::Journal;
use crate::recorder::{Recorder, Reporter};

use super::RunError;
use super::prepare::{history, open, recording, resumed_at, unusable};

/// Gives back everything that a run may have left behind: machines that leaked, machines that were kept, everything of a
/// run whose owner is gone, which is over then. Answers the run's state after it.
pub async fn clean_up(
    directory: PathBuf,
    backend: Arc<dyn Backend>,
    reporters: Vec<Box<dyn Reporter>>,
) -> Result<RunState, RunError> {
    let (journal, contents) = Journal::reopen(&directory)?;
    let state = RunState::fold(&contents.entries).map_err(|e| RunError::Resume(e.to_string()))?;
    let over = state.ended.is_some();
    if over && state.ledger.left().count() == 0 {
        return Ok(state);
    }
    let started = state.started.clone();
    let journal = journal.carry_on(contents.whole_bytes, !started.simulated)?;
    let clock: Arc<dyn Clock> = RunClock::starting_at(resumed_at(&state));
    let recording = recording(&directory, &started)?;
    let mut history = history(&started.run, &contents.entries);
    if !started.simulated {
        history.retain(makes_no_load);
    }
    let opened = open(&*backend, &started, &directory, &clock, &recording, &history).await;
    recording.settle(opened.is_ok()).map_err(|source| unusable(&directory, source))?;
    opened?;
    let recorder = Recorder::carry_on(journal, clock.clone(), state, reporters);
    let services = Services { recorder, backend, clock, recording, seed: started.seed };
    let wall = humantime::format_rfc3339_millis(wall()).to_string();
    services.recorder.record(Event::CleanUpStarted { wall })?;
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
        Ok(())
    }
}

/// Loads of a live backend die with its process: without their calls it does not begin them again.
fn makes_no_load(answered: &Answered) -> bool {
    !matches!(answered.call, Call::LoadStart(_) | Call::LoadSetRate(_) | Call::LoadStop(_))
}
