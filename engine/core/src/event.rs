//! The facts of a run, kept for ever: the only format with a compatibility promise.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::backend::Found;
use crate::call::Class;
use crate::catalog::Plugin;
use crate::limits::LimitResult;
use crate::plan::{Grants, PlannedStep};
use crate::verdict::Verdict;
use crate::{CallError, Millis};

/// Version of the journal's format, in [`Event::RunStarted`].
pub const FORMAT: u32 = 1;

/// The step name of the engine's own calls; no step of a workflow may have it.
pub const ENGINE: &str = "engine";

/// One line of the journal: an event with its number and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts from 0 without gaps.
    pub n: u64,
    /// When it happened, on the run's clock.
    pub at: Millis,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run began. Always the first entry.
    RunStarted(Box<RunStarted>),
    /// The run's owner was gone and another process carries on.
    RunResumed {
        /// RFC 3339 wall time.
        wall: String,
    },
    /// A step of the run, which was over, is tried again with what depends on it.
    RetryRequested {
        /// Which step.
        step: String,
    },
    /// A process gives back what the run left behind: what was kept, what leaked, everything when its owner was gone.
    CleanUpStarted {
        /// RFC 3339 wall time.
        wall: String,
    },
    /// An attempt of a step began.
    AttemptStarted {
        /// Which step.
        step: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// Its parameters as the plugin gets them.
        parameters: Value,
        /// The window of the step or phase that it measures.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<(Millis, Millis)>,
    },
    /// A call that changes the world is about to be made. On disk before it is made.
    CallIntended(CallId),
    /// A call was answered.
    CallAnswered {
        /// Which call.
        #[serde(flatten)]
        id: CallId,
        /// What was answered.
        answer: Result<Value, CallError>,
    },
    /// The step's plugin is asked to stop.
    StopRequested {
        /// Which step.
        step: String,
    },
    /// An attempt ended.
    AttemptEnded {
        /// Which step.
        step: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// How.
        outcome: Outcome,
        /// Whether the engine ended it while its plugin would have gone on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// A limit of a step was held against its measurement.
    LimitChecked {
        /// Which step.
        step: String,
        /// What came out.
        result: LimitResult,
    },
    /// A step will never start.
    StepSkipped {
        /// Which step.
        step: String,
        /// Why, for people.
        reason: String,
    },
    /// Somebody asked to end the run, its deadline passed, or it cannot go on.
    CancelRequested {
        /// Who or what, for people.
        reason: String,
        /// Whether nobody wanted it: the infrastructure failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        broken: bool,
    },
    /// No ordinary step is left; `finally` begins.
    FinallyStarted,
    /// The engine asked the backend for everything that carries the run's tag.
    Audited {
        /// What there is.
        found: Vec<Found>,
    },
    /// The engine gave a resource back, or found that it cannot, or keeps it as asked.
    ResourceSettled {
        /// Its kind, such as `machine`.
        kind: String,
        /// Its id.
        id: String,
        /// What became of it.
        state: ResourceState,
        /// Why, where it was not deleted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What an hour of it costs, US dollars, where the backend knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hourly_usd: Option<f64>,
        /// RFC 3339 wall time after which a kept one is not wanted any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<String>,
    },
    /// Readers of the results should know something.
    Noticed {
        /// What, for people.
        notice: String,
    },
    /// The run is over. Only clean-up or the retry of a step comes after it.
    RunEnded {
        /// How.
        verdict: Verdict,
        /// Why, for people.
        reasons: Vec<String>,
        /// Wall time from the beginning to here, seconds, times between two lives of the run included.
        wall_s: f64,
    },
}

/// How a run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// [`FORMAT`].
    pub format: u32,
    /// The run's id.
    pub run: String,
    /// The version of `wfe` that began it.
    pub wfe: String,
    /// RFC 3339 wall time.
    pub wall: String,
    /// Name of the workflow.
    pub workflow: String,
    /// What it is, if it says so.
    pub description: String,
    /// The file as the user named it.
    pub file: String,
    /// SHA-256 of the workflow's text, hexadecimal.
    pub workflow_digest: String,
    /// The backend's name.
    pub backend: String,
    /// Whether its numbers come from a model.
    pub simulated: bool,
    /// The chosen profile.
    pub profile: Option<String>,
    /// The inputs' values.
    pub inputs: BTreeMap<String, Value>,
    /// The inputs set on the command line, as written.
    pub set: BTreeMap<String, String>,
    /// The seed of everything random.
    pub seed: u64,
    /// What happens to machines at the end.
    pub keep: Keep,
    /// How long kept machines are wanted, milliseconds.
    pub keep_ms: Millis,
    /// The longest the run may take before `finally`.
    pub deadline_ms: Option<Millis>,
    /// How the backend was made, for whoever makes it again: such as contact points, or the text of faults.
    pub backend_options: BTreeMap<String, String>,
    /// The plugins, pinned.
    pub plugins: Vec<Plugin>,
    /// The steps as planned, in the plan's order: a report needs them, and is made from the journal alone.
    #[serde(default)]
    pub steps: Vec<StepFacts>,
    /// Versions and settings of the backend.
    pub environment: Vec<(String, String)>,
    /// The command that repeats the run.
    pub command: String,
}

/// A step as planned, as far as a reader of the run wants to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepFacts {
    /// Its id.
    pub id: String,
    /// The kind of step, as written after `uses:`.
    pub uses: String,
    /// Name of its plugin.
    pub plugin: String,
    /// SHA-256 of the plugin's component, hexadecimal.
    pub plugin_digest: String,
    /// The steps that it waits for.
    pub needs: BTreeSet<String>,
    /// Whether it accompanies others.
    pub background: bool,
    /// Whether it stands under `finally`.
    pub finally: bool,
    /// The step, or `step.phase`, that it measures.
    pub during: Option<String>,
    /// What its plugin may do.
    pub grants: Grants,
    /// The rules that its measurement must hold, as the user wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

impl From<&PlannedStep> for StepFacts {
    fn from(step: &PlannedStep) -> Self {
        let during = step.during.as_ref().map(|during| match &during.phase {
            Some(phase) => format!("{}.{phase}", during.step),
            None => during.step.clone(),
        });
        Self {
            id: step.id.clone(),
            uses: step.uses.clone(),
            plugin: step.plugin.name.clone(),
            plugin_digest: step.plugin.digest.clone(),
            needs: step.needs.clone(),
            background: step.background,
            finally: step.finally,
            during,
            grants: step.grants.clone(),
            limits: step.limits.iter().map(|limit| limit.rule.clone()).collect(),
        }
    }
}

/// Which call of which attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallId {
    /// Which step; `engine` for the engine's own calls.
    pub step: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Number of the call in its attempt, from 0.
    pub call: u64,
    /// The call's name in the contract.
    pub name: String,
    /// Its class.
    pub class: Class,
    /// [`crate::call::digest`] of what was asked.
    pub digest: String,
    /// The arguments by name. Kept whole: they say what a diverged plugin was expected to ask, and they rebuild a
    /// simulated world.
    pub arguments: Value,
    /// When it was asked.
    pub asked_at: Millis,
}

impl CallId {
    /// The idempotency key: the same call of the same attempt has it in every life of the run.
    pub fn key(&self, run: &str) -> String {
        format!("{run}/{}/{}/{}/{}", self.step, self.attempt, self.call, self.digest)
    }
}

/// The step in a key that [`CallId::key`] made.
pub fn step_of_key(key: &str) -> &str {
    key.split('/').nth(1).unwrap_or_default()
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The plugin answered outputs.
    Succeeded {
        /// They, as a JSON object.
        outputs: Value,
    },
    /// The plugin answered an error, or was ended.
    Failed {
        /// Why.
        error: CallError,
    },
}

/// What became of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceState {
    /// It may exist: its creation was announced, and no good answer came.
    Announced,
    /// It exists: its creation was answered, or it was found.
    Live,
    /// It is gone.
    Deleted,
    /// It stays because the user asked for that.
    Kept,
    /// It should be gone and may not be.
    Leaked,
    /// It carries the run's tag and is not the run's own: it is left alone.
    Foreign,
}

impl ResourceState {
    /// The word in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Announced => "announced",
            Self::Live => "live",
            Self::Deleted => "deleted",
            Self::Kept => "kept",
            Self::Leaked => "leaked",
            Self::Foreign => "foreign",
        }
    }
}

/// Whether machines outlive the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// They are always given back.
    #[default]
    Never,
    /// They stay when the verdict is not pass.
    OnFailure,
    /// They always stay.
    Always,
}
