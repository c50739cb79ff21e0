//! How a run begins, and how another process carries on with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wfe_core::backend::{Answered, Backend, Clock, Run as BackendRun};
use wfe_core::catalog::Plugin;
use wfe_core::error::kind;
use wfe_core::event::{FORMAT, RunStarted, StepFacts};
use wfe_core::plan::Plan;
use wfe_core::state::RunState;
use wfe_core::{Call, Entry, Event, Millis};

use crate::clock::{RunClock, wall};
use crate::directory;
use crate::host::Replay;
use crate::host::attempt::Services;
use crate::journal::Journal;
use crate::plugin::Plugins;
use crate::recorder::{Recorder, Reporter};
use crate::recording::LoadRecording;

use super::{Options, Run, RunError};

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

/// Name of the copy of the workflow in a run's directory.
pub const WORKFLOW: &str = "workflow.yaml";
/// Name of the list of plugins in a run's directory.
pub const LOCK: &str = "plugins.lock";

impl Run {
    /// Begins a new run: its directory, its journal, its first event.
    pub async fn begin(
        plan: Plan,
        plugins: Plugins,
        backend: Arc<dyn Backend>,
        options: Options,
        reporters: Vec<Box<dyn Reporter>>,
    ) -> Result<Self, RunError> {
        let (id, directory) = directory::create(&options.runs, &plan.name)?;
        let begun = Self::begin_in(id, directory.clone(), plan, plugins, backend, options, reporters).await;
        if begun.is_err() {
            drop(std::fs::remove_dir_all(&directory));
        }
        begun
    }

    async fn begin_in(
        id: String,
        directory: PathBuf,
        plan: Plan,
        plugins: Plugins,
        backend: Arc<dyn Backend>,
        options: Options,
        reporters: Vec<Box<dyn Reporter>>,
    ) -> Result<Self, RunError> {
        let started = started(id, &plan, &*backend, &options);
        directory::write(&directory.join(WORKFLOW), &options.source)?;
        directory::write(&directory.join(LOCK), lock(&started.plugins).as_bytes())?;
        plugins.copy(&directory)?;
        let clock: Arc<dyn Clock> = RunClock::starting_at(0);
        let recording = LoadRecording::anew(&directory, epoch_s(&started.wall));
        let recording = Arc::new(recording.map_err(|source| unusable(&directory, source))?);
        open(&*backend, &started, &directory, &clock, &recording, &[]).await?;
        let journal = Journal::create(&directory, !started.simulated)?;
        let seed = started.seed;
        let recorder = Recorder::begin(journal, clock.clone(), Event::RunStarted(Box::new(started)), reporters)?;
        let services = Arc::new(Services { recorder, backend, clock, recording, seed });
        Ok(Self { plan, plugins, services, directory, telemetry_ms: options.telemetry_ms, replays: BTreeMap::new() })
    }

    /// Carries on with a run whose owner is gone. `plan` comes from the run's own copy of its workflow.
    pub async fn resume(
        directory: PathBuf,
        plan: Plan,
        plugins: Plugins,
        backend: Arc<dyn Backend>,
        resumption: Resumption,
    ) -> Result<Self, RunError> {
        let Resumption { retry, telemetry_ms, reporters } = resumption;
        let (journal, contents) = Journal::reopen(&directory)?;
        let state = RunState::fold(&contents.entries).map_err(|e| RunError::Resume(e.to_string()))?;
        refuse_ended(&state, retry.as_deref())?;
        refuse_changes(&state, &plan)?;
        let started = state.started.clone();
        let journal = journal.carry_on(contents.whole_bytes, !started.simulated)?;
        let clock: Arc<dyn Clock> = RunClock::starting_at(resumed_at(&state));
        let recording = recording(&directory, &started)?;
        let history = history(&started.run, &contents.entries);
        let opened = open(&*backend, &started, &directory, &clock, &recording, &history).await;
        recording.settle(opened.is_ok()).map_err(|source| unusable(&directory, source))?;
        opened?;
        let recorder = Recorder::carry_on(journal, clock.clone(), state, reporters);
        recorder.record(Event::RunResumed { wall: humantime::format_rfc3339_millis(wall()).to_string() })?;
        if let Some(step) = retry {
            recorder.record(Event::RetryRequested { step })?;
        }
        let services = Arc::new(Services { recorder, backend, clock, recording, seed: started.seed });
        Ok(Self {
            plan,
            plugins,
            services,
            directory,
            telemetry_ms,
            replays: Replay::of_open_attempts(&contents.entries),
        })
    }
}

pub(super) async fn open(
    backend: &dyn Backend,
    started: &RunStarted,
    directory: &Path,
    clock: &Arc<dyn Clock>,
    recording: &Arc<LoadRecording>,
    history: &[Answered],
) -> Result<(), RunError> {
    let run = BackendRun {
        id: started.run.clone(),
        directory: directory.into(),
        seed: started.seed,
        clock: clock.clone(),
        intervals: recording.clone(),
    };
    backend.open(run, history).await.map_err(RunError::Backend)
}

fn started(id: String, plan: &Plan, backend: &dyn Backend, options: &Options) -> RunStarted {
    let facts = backend.facts();
    let mut plugins: Vec<Plugin> = plan.steps.iter().map(|step| step.plugin.clone()).collect();
    plugins.sort_by(|a, b| (&a.name, &a.digest).cmp(&(&b.name, &b.digest)));
    plugins.dedup();
    RunStarted {
        format: FORMAT,
        run: id,
        wfe: options.version.clone(),
        wall: humantime::format_rfc3339_millis(wall()).to_string(),
        workflow: plan.name.clone(),
        description: plan.description.clone(),
        file: options.file.clone(),
        workflow_digest: plan.digest.clone(),
        backend: facts.name,
        simulated: facts.simulated,
        profile: plan.profile.clone(),
        inputs: plan.inputs.clone(),
        set: options.set.clone(),
        seed: options.seed,
        keep: options.keep,
        keep_ms: options.keep_ms,
        deadline_ms: options.deadline_ms,
        backend_options: options.backend_options.clone(),
        plugins,
        steps: plan.steps.iter().map(StepFacts::from).collect(),
        environment: facts.environment,
        command: options.command.clone(),
    }
}

fn lock(plugins: &[Plugin]) -> String {
    plugins.iter().map(|plugin| format!("{}  {}\n", plugin.digest, plugin.name)).collect()
}

/// Seconds since 1970.
fn epoch_s(rfc3339: &str) -> f64 {
    let moment = humantime::parse_rfc3339(rfc3339).unwrap_or(SystemTime::UNIX_EPOCH);
    moment.duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Virtual time stood still while nobody rehearsed; real time did not.
pub(super) fn resumed_at(state: &RunState) -> Millis {
    let begun = SystemTime::UNIX_EPOCH + Duration::from_secs_f64(epoch_s(&state.started.wall));
    match state.started.simulated {
        true => state.now,
        false => state.now.max(wall().duration_since(begun).map_or(0, |since| since.as_millis() as Millis)),
    }
}

pub(super) fn recording(directory: &Path, started: &RunStarted) -> Result<Arc<LoadRecording>, RunError> {
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

pub(super) fn unusable(directory: &Path, source: std::io::Error) -> RunError {
    RunError::Resume(format!("the HDR logs in {} cannot be used: {source}", directory.display()))
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
            let message = format!("plugin `{name}` has digest {now} now, and had {pinned} when the run began");
            return Err(RunError::Resume(message));
        }
    }
    Ok(())
}

/// The answered calls that reached the backend.
pub(super) fn history(run: &str, entries: &[Entry]) -> Vec<Answered> {
    let answered = entries.iter().filter_map(|entry| match &entry.event {
        Event::CallAnswered { answer: Err(denial), .. } if denial.kind == kind::DENIED => None,
        Event::CallAnswered { id, answer } => {
            let call = Call::parse(&id.name, &id.arguments)?.ok()?;
            let answer = answer.clone();
            Some(Answered { asked_at: id.asked_at, answered_at: entry.at, key: id.key(run), call, answer })
        }
        _ => None,
    });
    answered.collect()
}
