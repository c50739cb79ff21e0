//! How a run begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use wfe_core::Event;
use wfe_core::backend::{Answered, Backend, Clock, Run as BackendRun};
use wfe_core::catalog::Plugin;
use wfe_core::event::{FORMAT, RunStarted, StepFacts};
use wfe_core::plan::Plan;

use crate::clock::{RunClock, wall_millis};
use crate::directory;
use crate::host::attempt::Services;
use crate::journal::Journal;
use crate::plugin::Plugins;
use crate::recorder::{Recorder, Reporter};
use crate::recording::LoadRecording;

use super::{Options, Run, RunError};

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
    let plugins: BTreeMap<_, &Plugin> =
        plan.steps.iter().map(|step| ((&step.plugin.name, &step.plugin.digest), &*step.plugin)).collect();
    let plugins = plugins.into_values().cloned().collect();
    RunStarted {
        format: FORMAT,
        run: id,
        wfe: options.version.clone(),
        wall: wall_millis(),
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
pub(super) fn epoch_s(rfc3339: &str) -> f64 {
    let moment = humantime::parse_rfc3339(rfc3339).unwrap_or(SystemTime::UNIX_EPOCH);
    moment.duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

pub(super) fn unusable(directory: &Path, source: std::io::Error) -> RunError {
    RunError::Resume(format!("the HDR logs in {} cannot be used: {source}", directory.display()))
}
