//! How another process takes over a run whose owner is gone, and carries on with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wfe_core::backend::{Answered, Backend, Clock};
use wfe_core::error::kind;
use wfe_core::event::{ResourceState, RunStarted};
use wfe_core::ledger::MACHINE;
use wfe_core::plan::Plan;
use wfe_core::state::RunState;
use wfe_core::{Call, Entry, Event, Millis};

use crate::begun::Begun;
use crate::clock::{RunClock, wall, wall_millis};
use crate::host::Replay;
use crate::host::attempt::Services;
use crate::journal::{Journal, JournalError};
use crate::plugin::Plugins;
use crate::recorder::{Recorder, Reporter};
use crate::recording::LoadRecording;

use super::prepare::{epoch_s, open, unusable};
use super::{Run, RunError};

/// What the user chose when another process takes over.
#[derive(Default)]
pub struct Resumption {
    /// A step that failed and is tried again although the run is over.
    pub retry: Option<String>,
    /// Distance of telemetry samples.
    pub telemetry_ms: Millis,
    /// Who is told.
    pub reporters: Vec<Box<dyn Reporter>>,
}

impl Run {
    /// Carries on with a run whose owner is gone. `plan` comes from the run's own copy of its workflow.
    pub async fn resume(
        taken: Takeover,
        plan: Plan,
        plugins: Plugins,
        backend: Arc<dyn Backend>,
        resumption: Resumption,
    ) -> Result<Self, RunError> {
        let Resumption { retry, telemetry_ms, reporters } = resumption;
        refuse_ended(&taken.begun.state, retry.as_deref())?;
        refuse_changes(&taken.begun.state, &plan)?;
        let replays = Replay::of_open_attempts(&taken.begun.entries);
        let directory = taken.directory.clone();
        let services = taken.open(backend, |_| true, reporters).await?;
        services.recorder.record(Event::RunResumed { wall: wall_millis() })?;
        if let Some(step) = retry {
            let kept = services.kept();
            services.recorder.record(Event::RetryRequested { step })?;
            services.unmark(&kept).await;
        }
        Ok(Self { plan, plugins, services: Arc::new(services), directory, telemetry_ms, replays })
    }
}

/// A run that this process owns from now on.
pub struct Takeover {
    /// What is known of it.
    pub begun: Begun,
    /// Its directory.
    pub directory: PathBuf,
    journal: Journal,
}

impl Takeover {
    /// Takes the run in a directory, unless another process owns it. Nothing is changed yet.
    pub fn of(directory: &Path) -> Result<Self, JournalError> {
        let journal = Journal::reopen(directory)?;
        Ok(Self { begun: Begun::read(directory)?, directory: directory.into(), journal })
    }

    /// Opens the backend on the world that the run has made so far, as far as it is `wanted` back, and the run's files
    /// for more.
    pub(super) async fn open(
        self,
        backend: Arc<dyn Backend>,
        wanted: impl Fn(&Answered) -> bool,
        reporters: Vec<Box<dyn Reporter>>,
    ) -> Result<Services, RunError> {
        let Self { begun, directory, journal } = self;
        let Begun { state, entries, whole_bytes, .. } = begun;
        let directory = directory.as_path();
        let started = state.started.clone();
        let journal = journal.carry_on(whole_bytes, !started.simulated)?;
        let clock: Arc<dyn Clock> = RunClock::starting_at(resumed_at(&state));
        let recording = recording(directory, &started)?;
        let mut history = history(&started.run, &entries);
        history.retain(wanted);
        let opened = open(&*backend, &started, directory, &clock, &recording, &history).await;
        recording.settle(opened.is_ok()).map_err(|source| unusable(directory, source))?;
        opened?;
        let recorder = Recorder::carry_on(journal, clock.clone(), state, reporters);
        Ok(Services { recorder, backend, clock, recording, seed: started.seed })
    }
}

impl Services {
    fn kept(&self) -> Vec<String> {
        self.recorder.with_state(|state| {
            let kept = state.ledger.left().filter(|r| r.kind == MACHINE && r.state == ResourceState::Kept);
            kept.map(|machine| machine.id.clone()).collect()
        })
    }

    /// Kept machines are in use again: the moment at which nobody wants them any more is not true.
    async fn unmark(&self, kept: &[String]) {
        if let Err(error) = self.backend.keep(kept, None).await {
            tracing::warn!("the machines still say when they are not wanted any more: {error}");
        }
    }
}

/// Virtual time stood still while nobody rehearsed; real time did not.
fn resumed_at(state: &RunState) -> Millis {
    if state.started.simulated {
        return state.now;
    }
    let begun = humantime::parse_rfc3339(&state.started.wall).ok();
    let since = begun.and_then(|begun| wall().duration_since(begun).ok());
    state.now.max(since.map_or(0, |since| since.as_millis() as Millis))
}

fn recording(directory: &Path, started: &RunStarted) -> Result<Arc<LoadRecording>, RunError> {
    let base_s = epoch_s(&started.wall);
    let recording = match started.simulated {
        true => LoadRecording::anew(directory, base_s),
        false => LoadRecording::carrying_on(directory, base_s).map(|(recording, notices)| {
            notices.iter().for_each(|notice| tracing::warn!("{notice}"));
            recording
        }),
    };
    recording.map(Arc::new).map_err(|source| unusable(directory, source))
}

fn refuse_ended(state: &RunState, retry: Option<&str>) -> Result<(), RunError> {
    let why = match (retry, &state.ended) {
        (Some(step), _) => state.refuses_retry(step),
        (None, Some(ended)) => {
            let verdict = ended.verdict.word();
            Some(format!("it is over, with verdict {verdict}; `wfe report` makes its reports again"))
        }
        (None, None) => None,
    };
    why.map_or(Ok(()), |why| Err(RunError::Resume(why)))
}

fn refuse_changes(state: &RunState, plan: &Plan) -> Result<(), RunError> {
    if state.started.workflow_digest != plan.digest {
        return Err(RunError::Resume("its copy of the workflow was changed since it began".into()));
    }
    for step in &plan.steps {
        let pinned = state.started.plugins.iter().find(|plugin| plugin.name == step.plugin.name);
        let pinned = pinned.map_or("nothing", |plugin| plugin.digest.as_str());
        if pinned != step.plugin.digest {
            let now = &step.plugin.digest;
            let name = &step.plugin.name;
            let (wfe, run) = (&state.started.wfe, &state.started.run);
            let message = format!(
                "plugin `{name}` has digest {now} now, and had {pinned} when the run began: carry on with wfe {wfe} as it \
                 was then, or give back what the run made with `wfe cleanup {run}`"
            );
            return Err(RunError::Resume(message));
        }
    }
    Ok(())
}

/// The answered calls that reached the backend, those that were announced in the order in which they were.
fn history(run: &str, entries: &[Entry]) -> Vec<Answered> {
    let mut announced: BTreeMap<String, u64> = BTreeMap::new();
    let mut history: Vec<(u64, Answered)> = Vec::new();
    for entry in entries {
        match &entry.event {
            Event::CallIntended(id) => drop(announced.insert(id.key(run), entry.n)),
            Event::CallAnswered { id, answer } if answer.as_ref().err().is_none_or(|e| e.kind != kind::DENIED) => {
                let Some(Ok(call)) = Call::parse(&id.name, &id.arguments) else { continue };
                let (key, answer) = (id.key(run), answer.clone());
                let place = announced.remove(&key).unwrap_or(entry.n);
                let answered = Answered { asked_at: id.asked_at, answered_at: entry.at, key, call, answer };
                history.push((place, answered));
            }
            _ => {}
        }
    }
    history.sort_by_key(|(place, _)| *place);
    history.into_iter().map(|(_, answered)| answered).collect()
}
