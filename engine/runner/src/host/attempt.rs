//! One attempt of a step: a plugin's instance with its own memory, its limits and its place in the journal.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use wasmtime::component::{ComponentType, Instance, Lift, TypedFunc};
use wasmtime::{ResourceLimiter, Store, StoreLimits, StoreLimitsBuilder};
use wfe_core::backend::{Backend, Clock};
use wfe_core::capability::step;
use wfe_core::event::{CallId, Outcome};
use wfe_core::plan::Grants;
use wfe_core::{CallError, Millis};

use crate::plugin::Loaded;
use crate::plugin::engine::{MEMORY_LIMIT, TICKS_WITHOUT_CALL};
use crate::recorder::{RecordError, Recorder};
use crate::recording::LoadRecording;

use super::offline::Offline;
use super::replay::Replay;

/// The interface that a plugin exports.
pub const PLUGIN_INTERFACE: &str = "wfe:step/plugin@0.1.0";

/// What all attempts of a run share.
pub struct Services {
    /// Takes events.
    pub recorder: Recorder,
    /// Answers for the world.
    pub backend: Arc<dyn Backend>,
    /// The run's clock.
    pub clock: Arc<dyn Clock>,
    /// What the loads recorded.
    pub recording: Arc<LoadRecording>,
    /// The seed of everything random.
    pub seed: u64,
}

/// One attempt, as the host sees it.
pub struct Attempt {
    /// What all attempts share.
    pub services: Arc<Services>,
    /// Which attempt it is.
    pub info: step::Attempt,
    /// What its plugin may do.
    pub grants: Grants,
    /// The window that it measures.
    pub window: Option<(Millis, Millis)>,
    /// Becomes true when it is asked to stop.
    pub stop: watch::Receiver<Option<Millis>>,
    /// What an earlier life of it asked.
    pub replay: Replay,
    /// Calls made so far.
    pub(super) calls: u64,
    /// What they take in the journal, bytes.
    pub(super) bytes: u64,
    /// When the last replayed answer was given: a guest takes no time, so the next call was asked then.
    pub(super) resumed_at: Option<Millis>,
}

impl Attempt {
    /// An attempt that began at `started`; `replay` holds what an earlier life of it asked.
    pub fn new(
        services: Arc<Services>,
        info: step::Attempt,
        grants: Grants,
        window: Option<(Millis, Millis)>,
        stop: watch::Receiver<Option<Millis>>,
        replay: Option<(Millis, Replay)>,
    ) -> Self {
        let resumed_at = replay.as_ref().map(|(started, _)| *started);
        let replay = replay.map(|(_, replay)| replay).unwrap_or_default();
        Self { services, info, grants, window, stop, replay, calls: 0, bytes: 0, resumed_at }
    }

    /// Runs the plugin to its end.
    pub async fn run(self, loaded: &Loaded, kind: &str, parameters: &Value) -> Result<Outcome, RecordError> {
        match run_plugin(loaded, Caller::Attempt(Box::new(self)), kind, parameters).await {
            Ok(outcome) => Ok(outcome),
            Err(End::Unrecorded(error)) => Err(*error),
            // Only the second can be: what is not in the journal is made.
            Err(end @ (End::Unanswered { .. } | End::Error(_))) => Ok(Outcome::Failed { error: end.into() }),
        }
    }
}

/// Runs a plugin to its end in a store of its own. An error is an end from outside.
pub(super) async fn run_plugin(
    loaded: &Loaded,
    caller: Caller,
    kind: &str,
    parameters: &Value,
) -> Result<Outcome, End> {
    let mut store = Store::new(loaded.pre.engine(), Guest { caller, limits: limits() });
    Guest::prepare(&mut store);
    let ended = run_guest(&mut store, loaded, kind, parameters).await;
    ended.or_else(|error| match error.downcast::<End>() {
        Ok(end) => Err(end),
        Err(trap) => Ok(Outcome::Failed { error: trapped(&loaded.facts.name, &trap) }),
    })
}

/// The longest text of a plugin's error that is kept, characters.
const LONGEST_TEXT: usize = 16 << 10;

pub(crate) type RunResult = (Result<String, GuestError>,);

async fn run_guest(
    store: &mut Store<Guest>,
    loaded: &Loaded,
    kind: &str,
    parameters: &Value,
) -> wasmtime::Result<Outcome> {
    let instance = loaded.pre.instantiate_async(&mut *store).await?;
    let run = run_function(store, &instance)?;
    let (answer,) = run.call_async(&mut *store, (kind, &parameters.to_string())).await?;
    Ok(match answer.map(|text| serde_json::from_str::<Value>(&text)) {
        Ok(Ok(outputs)) if outputs.is_object() => Outcome::Succeeded { outputs },
        Ok(_) => {
            let message = "its outputs are no JSON object: a fault of the plugin";
            Outcome::Failed { error: CallError::infrastructure("bad-outputs", message) }
        }
        Err(error) => Outcome::Failed { error: error.into() },
    })
}

/// The plugin's `run`, which must have the contract's type.
pub(crate) fn run_function<'a>(
    store: &mut Store<Guest>,
    instance: &Instance,
) -> wasmtime::Result<TypedFunc<(&'a str, &'a str), RunResult>> {
    let interface = instance.get_export_index(&mut *store, None, PLUGIN_INTERFACE);
    let function = instance
        .get_export_index(&mut *store, interface.as_ref(), "run")
        .ok_or_else(|| wasmtime::format_err!("it exports no `run`"))?;
    instance.get_typed_func(store, function)
}

fn trapped(plugin: &str, trap: &wasmtime::Error) -> CallError {
    let (code, mut why) = why_trapped(trap);
    if code == PANICKED {
        why.push_str("; its log may say why");
    }
    CallError::infrastructure(code, format!("plugin `{plugin}` was ended: {why}"))
}

/// The word of a plugin that reached code which it meant never to reach.
const PANICKED: &str = "panicked";

/// Why a plugin was ended: a word for programs and a few for people.
pub(crate) fn why_trapped(trap: &wasmtime::Error) -> (&'static str, String) {
    let root = trap.root_cause().to_string();
    match trap.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::Interrupt) => ("endless", "it computed for five seconds without a call".to_owned()),
        Some(wasmtime::Trap::UnreachableCodeReached) => (PANICKED, "it panicked".to_owned()),
        Some(wasmtime::Trap::StackOverflow) => ("stack", "its stack overflowed".to_owned()),
        _ if root.contains("growing memory") => {
            ("memory", format!("it may use {} MiB of memory ({root})", MEMORY_LIMIT >> 20))
        }
        _ => ("trapped", root),
    }
}

/// The contract's error record as the guest gives it.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct GuestError {
    kind: String,
    code: String,
    message: String,
    #[component(name = "retry-after-ms")]
    retry_after_ms: Option<u64>,
    details: String,
}

impl From<GuestError> for CallError {
    fn from(error: GuestError) -> Self {
        let GuestError { kind, code, message, retry_after_ms, details } = error;
        let cut = |text: String| text.chars().take(LONGEST_TEXT).collect();
        Self { kind: cut(kind), code: cut(code), message: cut(message), retry_after_ms, details: cut(details) }
    }
}

/// The code of the error of a plugin that asks something else than it asked before.
pub(super) const DIVERGED: &str = "diverged";

/// Why an attempt is ended from outside of its plugin.
#[derive(Debug, thiserror::Error)]
pub enum End {
    /// The attempt fails with this error.
    #[error("{0}")]
    Error(CallError),
    /// An event could not be recorded: the run itself cannot go on.
    #[error("{0}")]
    Unrecorded(Box<RecordError>),
    /// The journal that answers for an attempt holds no answer to a call: the attempt ended, or its process died, in it.
    #[error("the journal ends before call {number}: {asked}")]
    Unanswered {
        /// Which call, from 0.
        number: u64,
        /// What was asked.
        asked: String,
    },
}

impl End {
    pub(super) fn broken(message: String) -> Self {
        Self::Error(CallError::infrastructure("plugin-broken", message))
    }

    /// A call that could not be recorded. When it is too large, the plugin is to blame and not the run.
    pub(super) fn unrecorded(name: &str, error: RecordError) -> Self {
        match error.is_too_large() {
            true => Self::broken(format!("`{name}` was asked with too much: {error}")),
            false => Self::Unrecorded(Box::new(error)),
        }
    }

    pub(super) fn diverged(number: u64, recorded: &CallId, name: &str, arguments: &Value) -> Self {
        let message = format!(
            "the plugin diverged at call {number}: expected {} {}, asked {name} {arguments}; \
             a plugin must not depend on anything but its parameters and the answers it gets",
            recorded.name, recorded.arguments
        );
        Self::Error(CallError::infrastructure(DIVERGED, message))
    }
}

impl From<End> for CallError {
    fn from(end: End) -> Self {
        match end {
            End::Error(error) => error,
            End::Unrecorded(error) => Self::infrastructure("journal", error.to_string()),
            End::Unanswered { .. } => Self::infrastructure("unanswered", end.to_string()),
        }
    }
}

/// What a store holds: who makes the plugin's calls, and the limits of its memory.
pub struct Guest {
    caller: Caller,
    limits: StoreLimits,
}

/// In whose name a plugin's calls are made.
pub(super) enum Caller {
    /// A plugin that is asked outside of a run, where no capability is there; the text is what it does then.
    Nobody(&'static str),
    /// An attempt of a run.
    Attempt(Box<Attempt>),
    /// An attempt that is over: only what the journal holds is answered.
    Offline(Offline),
}

impl Guest {
    /// For a plugin that is asked outside of a run, where no capability is there. `doing` is what it does, as "the plugin
    /// described itself".
    pub(crate) fn without_run(doing: &'static str) -> Self {
        Self { caller: Caller::Nobody(doing), limits: limits() }
    }

    /// Sets a store's limits.
    pub(crate) fn prepare(store: &mut Store<Self>) {
        store.limiter(|guest| -> &mut dyn ResourceLimiter { &mut guest.limits });
        store.set_epoch_deadline(TICKS_WITHOUT_CALL);
    }

    /// Answers a call of the plugin.
    pub(super) async fn call(&mut self, name: &str, arguments: Value) -> Result<Result<Value, CallError>, End> {
        match &mut self.caller {
            Caller::Attempt(attempt) => attempt.call(name, arguments).await,
            Caller::Offline(offline) => offline.call(name, &arguments),
            Caller::Nobody(doing) => Err(End::broken(format!("`{name}` was called while the plugin {doing}"))),
        }
    }
}

fn limits() -> StoreLimits {
    StoreLimitsBuilder::new()
        .memory_size(MEMORY_LIMIT)
        .table_elements(100_000)
        .instances(16)
        .memories(4)
        .tables(16)
        .trap_on_grow_failure(true)
        .build()
}
