//! One run, from its first event to its last.

mod after;
mod attempts;
mod calls;
mod cleaning;
mod ending;
mod prepare;
mod settle;
mod takeover;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::StreamExt;
use tokio::sync::watch;
use wfe_core::event::Keep;
use wfe_core::measure::Recording;
use wfe_core::plan::Plan;
use wfe_core::state::{Action, Due, RunState};
use wfe_core::{CallError, Event, Millis};

use crate::directory::DirectoryError;
use crate::host::Replay;
use crate::host::attempt::Services;
use crate::journal::JournalError;
use crate::plugin::Plugins;
use crate::recorder::RecordError;

use attempts::Attempts;

pub use cleaning::clean_up;
pub use prepare::{LOCK, WORKFLOW};
pub use takeover::{Resumption, Takeover};

/// What the user chose for a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory of runs.
    pub runs: PathBuf,
    /// The workflow file as the user named it.
    pub file: String,
    /// The workflow's text.
    pub source: Vec<u8>,
    /// Inputs set on the command line, as written.
    pub set: BTreeMap<String, String>,
    /// The seed of everything random.
    pub seed: u64,
    /// What happens to machines at the end.
    pub keep: Keep,
    /// How long kept machines are wanted, milliseconds.
    pub keep_ms: Millis,
    /// The longest the run may take, of its own time, before `finally`.
    pub deadline_ms: Option<Millis>,
    /// How the backend was made, for whoever makes it again.
    pub backend_options: BTreeMap<String, String>,
    /// The command that repeats the run.
    pub command: String,
    /// The version of `wfe`.
    pub version: String,
    /// Distance of telemetry samples.
    pub telemetry_ms: Millis,
}

/// A run that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each wraps what went wrong in one part")]
pub enum RunError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("the backend cannot be used: {0}")]
    Backend(CallError),
    #[error("the run cannot be resumed: {0}")]
    Resume(String),
    #[error("the run is not over and nothing goes on: this is a mistake of wfe, which its authors want to hear of")]
    Stuck,
}

/// Asks a run to end early, in order and with `finally`.
#[derive(Debug, Clone)]
pub struct Cancel(watch::Receiver<Option<String>>);

impl Cancel {
    /// The sender's latest text is the reason.
    pub fn new(receiver: watch::Receiver<Option<String>>) -> Self {
        Self(receiver)
    }

    /// Nobody will ask.
    pub fn never() -> Self {
        Self(watch::channel(None).1)
    }

    async fn asked(&mut self) -> String {
        match self.0.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }
}

/// A run of this process.
pub struct Run {
    plan: Plan,
    plugins: Plugins,
    services: Arc<Services>,
    directory: PathBuf,
    telemetry_ms: Millis,
    replays: BTreeMap<String, Replay>,
}

/// A run that is over.
pub struct Finished {
    /// Everything that is known of it.
    pub state: RunState,
    /// What its loads recorded.
    pub recording: Recording,
    /// Its directory.
    pub directory: PathBuf,
}

/// What the loop waits for.
enum Wake {
    Over(attempts::Over),
    Changed,
    Due(String),
    Cancelled(String),
}

impl Run {
    /// The run's directory.
    pub fn directory(&self) -> &std::path::Path {
        &self.directory
    }

    /// Decides, records and acts until the run is over.
    pub async fn carry_out(mut self, mut cancel: Cancel) -> Result<Finished, RunError> {
        let id = self.services.recorder.with_state(|state| state.started.run.clone());
        let (backend, clock) = (self.services.backend.clone(), self.services.clock.clone());
        let directory = self.directory.clone();
        let telemetry = crate::telemetry::sample(&directory, &id, backend, clock, self.telemetry_ms);
        tokio::select! {
            biased;
            ended = self.carry_out_steps(&mut cancel) => ended?,
            never = telemetry => match never {},
        }
        self.end().await
    }

    async fn carry_out_steps(&mut self, cancel: &mut Cancel) -> Result<(), RunError> {
        let mut attempts = Attempts::default();
        self.resume_open_attempts(&mut attempts);
        let mut cancelled = self.services.recorder.with_state(|state| state.cancelled.is_some());
        loop {
            if self.services.recorder.is_full() && !cancelled {
                cancelled = true;
                self.cancel("the disk under the run's directory is full", true)?;
            }
            let actions = self.next(&attempts);
            let mut acted = false;
            for action in actions {
                if action == Action::End {
                    return Ok(());
                }
                acted |= self.act(&mut attempts, action)?;
            }
            if acted {
                continue;
            }
            if attempts.running.is_empty() && attempts.timers.is_empty() {
                return Err(RunError::Stuck);
            }
            match self.wait(&mut attempts, cancel, cancelled).await {
                Wake::Changed => {}
                Wake::Due(step) => {
                    attempts.is_timed_no_more(&step);
                    self.services.recorder.make_due(&step);
                }
                Wake::Over(attempt) => {
                    attempts.forget(&attempt.step);
                    attempt.recorded?;
                    // It may be tried again from now on, and not since its end was recorded.
                    self.services.recorder.make_due(&attempt.step);
                }
                Wake::Cancelled(reason) => {
                    cancelled = true;
                    self.cancel(&reason, false)?;
                }
            }
        }
    }

    /// What to do now: what the latest events ask for, and what the whole state asks for when nothing else goes on.
    fn next(&self, attempts: &Attempts) -> Vec<Action> {
        let next = |due: Due| self.services.recorder.with_state(|state| state.next(&self.plan, &due));
        let actions = next(self.services.recorder.take_due());
        match actions.is_empty() && attempts.running.is_empty() {
            true => next(Due::all()),
            false => actions,
        }
    }

    /// From now on only `finally` begins anything.
    fn cancel(&self, reason: &str, broken: bool) -> Result<(), RunError> {
        self.services.recorder.record(Event::CancelRequested { reason: reason.into(), broken })?;
        Ok(())
    }

    async fn wait(&self, attempts: &mut Attempts, cancel: &mut Cancel, cancelled: bool) -> Wake {
        let deadline_ms = self.services.recorder.with_state(|state| {
            // `finally` comes after the deadline, and has a time budget of its own.
            state.deadline_ms.filter(|_| state.finally_since.is_none())
        });
        let deadline = async {
            match deadline_ms.filter(|_| !cancelled) {
                Some(deadline) => self.services.clock.sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            reason = cancel.asked(), if !cancelled => Wake::Cancelled(reason),
            Some(attempt) = attempts.running.next() => Wake::Over(attempt),
            () = self.services.recorder.changed() => Wake::Changed,
            Some(step) = attempts.timers.next() => Wake::Due(step),
            () = deadline => Wake::Cancelled("the run's deadline has passed".into()),
        }
    }

    /// Does what was decided; answers whether the state changed by it.
    fn act(&mut self, attempts: &mut Attempts, action: Action) -> Result<bool, RunError> {
        let recorder = &self.services.recorder;
        match action {
            Action::Start { step, attempt, not_before } => {
                // What there is to do may have changed until then.
                if self.services.clock.now() < not_before {
                    attempts.wait_until(self.services.clock.clone(), step, not_before);
                    return Ok(false);
                }
                let begins = attempts.begin(&step);
                if begins {
                    self.start(attempts, &step, attempt)?;
                }
                return Ok(begins);
            }
            Action::Abort { step, error } => {
                attempts.abort(&step, error);
                return Ok(false);
            }
            Action::Stop { step } => {
                let since = recorder.record(Event::StopRequested { step: step.clone() })?;
                attempts.stop(&step, since);
            }
            Action::Skip { step, reason } => drop(recorder.record(Event::StepSkipped { step, reason })?),
            Action::BeginFinally => drop(recorder.record(Event::FinallyStarted)?),
            Action::End => {}
        }
        Ok(true)
    }
}
