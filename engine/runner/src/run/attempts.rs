//! The attempts that are running: started, carried on after a crash, stopped, aborted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use wfe_core::backend::Clock;
use wfe_core::capability::step;
use wfe_core::event::Outcome;
use wfe_core::plan::{PlannedStep, Problem};
use wfe_core::{CallError, Event, Millis, error};

use crate::host::attempt::Attempt;
use crate::plugin::Loaded;
use crate::recorder::RecordError;

use super::Run;

/// An attempt that ended, and whether that could be recorded.
pub struct Over {
    pub step: String,
    pub recorded: Result<(), RecordError>,
}

/// The attempts that are running in this process.
#[derive(Default)]
pub struct Attempts {
    pub running: FuturesUnordered<BoxFuture<'static, Over>>,
    handles: BTreeMap<String, Handle>,
    /// Answers the step whose moment to be tried again has come.
    pub timers: FuturesUnordered<BoxFuture<'static, String>>,
    timed: BTreeSet<String>,
}

/// How a running attempt is reached.
struct Handle {
    /// Since when its plugin is asked to stop.
    stop: watch::Sender<Option<Millis>>,
    abort: Option<oneshot::Sender<CallError>>,
    /// The other end of `abort`, until the attempt is started.
    aborted: Option<oneshot::Receiver<CallError>>,
}

impl Attempts {
    /// Makes place for an attempt of a step; false when one is already running.
    pub fn begin(&mut self, step: &str) -> bool {
        if self.handles.contains_key(step) {
            return false;
        }
        let (abort, aborted) = oneshot::channel();
        let handle = Handle { stop: watch::channel(None).0, abort: Some(abort), aborted: Some(aborted) };
        self.handles.insert(step.to_owned(), handle);
        true
    }

    /// Asks the plugin to stop, since that moment.
    pub fn stop(&self, step: &str, since: Millis) {
        if let Some(handle) = self.handles.get(step) {
            handle.stop.send_replace(Some(since));
        }
    }

    /// Remembers to look at a step again at that moment.
    pub fn wait_until(&mut self, clock: Arc<dyn Clock>, step: String, moment: Millis) {
        if self.timed.insert(step.clone()) {
            let timer = async move {
                clock.sleep_until(moment).await;
                step
            };
            self.timers.push(timer.boxed());
        }
    }

    /// A step's moment has come.
    pub fn is_timed_no_more(&mut self, step: &str) {
        self.timed.remove(step);
    }

    /// Ends the attempt with this error.
    pub fn abort(&mut self, step: &str, error: CallError) {
        if let Some(abort) = self.handles.get_mut(step).and_then(|handle| handle.abort.take()) {
            drop(abort.send(error));
        }
    }

    /// The attempt has ended.
    pub fn forget(&mut self, step: &str) {
        self.handles.remove(step);
    }
}

impl Run {
    /// Carries on with the attempts that were running when the run's earlier owner died.
    pub(super) fn resume_open_attempts(&mut self, attempts: &mut Attempts) {
        let open = self.services.recorder.with_state(|state| {
            let open = state.steps.iter().filter_map(|(id, step)| {
                let last = step.running()?;
                Some((id.clone(), last.clone(), step.stop_requested))
            });
            open.collect::<Vec<_>>()
        });
        for (id, last, stopping) in open {
            let Some(step) = self.plan.step(&id).cloned() else { continue };
            attempts.begin(&id);
            if let Some(since) = stopping {
                attempts.stop(&id, since);
            }
            let replay = Some((last.started, self.replays.remove(&id).unwrap_or_default()));
            let host = self.attempt(attempts, &step, last.number, last.window, replay);
            self.push(attempts, step, host, Begun { parameters: Ok(last.parameters), started: last.started });
        }
    }

    /// Starts an attempt now.
    pub(super) fn start(&self, attempts: &mut Attempts, id: &str, number: u32) -> Result<(), RecordError> {
        let Some(step) = self.plan.step(id).cloned() else { return Ok(()) };
        let recorder = &self.services.recorder;
        let window = step
            .during
            .as_ref()
            .and_then(|during| recorder.with_state(|state| state.window(&during.step, during.phase.as_deref())));
        let host = self.attempt(attempts, &step, number, window, None);
        let resolved = recorder.with_state(|state| step.parameters.resolve(|step| state.outputs(step)));
        let event = Event::AttemptStarted {
            step: step.id.clone(),
            attempt: number,
            parameters: resolved.as_ref().cloned().unwrap_or(Value::Null),
            window,
        };
        let started = recorder.record(event)?;
        self.push(attempts, step, host, Begun { parameters: resolved, started });
        Ok(())
    }

    fn attempt(
        &self,
        attempts: &Attempts,
        step: &PlannedStep,
        number: u32,
        window: Option<(Millis, Millis)>,
        replay: Option<(Millis, crate::host::Replay)>,
    ) -> Attempt {
        let stop = attempts.handles[&step.id].stop.subscribe();
        let info = self.services.recorder.with_state(|state| step::Attempt {
            run: state.started.run.clone(),
            workflow: state.started.workflow.clone(),
            step: step.id.clone(),
            number,
        });
        Attempt::new(self.services.clone(), info, step.grants.clone(), window, stop, replay)
    }

    fn push(&self, attempts: &mut Attempts, step: PlannedStep, host: Attempt, begun: Begun) {
        let aborted = attempts.handles.get_mut(&step.id).and_then(|handle| handle.aborted.take());
        let found = self.plugins.find(&step.uses).map(|(loaded, kind)| (loaded.clone(), kind.name.clone()));
        let services = self.services.clone();
        let followed = async move {
            let number = host.info.number;
            let recorded = match carry_out(&step, host, found, begun, aborted).await {
                Ok(ended) => services.end_attempt(&step, number, ended).await,
                Err(error) => Err(error),
            };
            Over { step: step.id, recorded }
        };
        attempts.running.push(followed.boxed());
    }
}

/// Runs an attempt to its end; answers how it ended, and whether its plugin would have gone on.
async fn carry_out(
    step: &PlannedStep,
    host: Attempt,
    found: Option<(Arc<Loaded>, String)>,
    Begun { parameters, started }: Begun,
    aborted: Option<oneshot::Receiver<CallError>>,
) -> Result<(Outcome, bool), RecordError> {
    let failed = |error| Ok((Outcome::Failed { error }, false));
    let parameters = match parameters {
        Ok(parameters) => parameters,
        Err(error) => return failed(error),
    };
    let Some((loaded, kind)) = found else {
        let message = format!("plugin `{}` is not loaded", step.uses);
        return failed(CallError::infrastructure("plugin-missing", message));
    };
    if step.parameters.is_open()
        && let Some(error) = refused(&loaded, &kind, step, &parameters).await
    {
        return failed(error);
    }
    let (clock, stopping) = (host.services.clock.clone(), host.stop.clone());
    let work = host.run(&loaded, &kind, &parameters);
    let ended_from_outside = outside(clock, step, started, first_of(aborted), stopping);
    match select(std::pin::pin!(work), std::pin::pin!(ended_from_outside)).await {
        Either::Left((outcome, _)) => outcome.map(|outcome| (outcome, false)),
        Either::Right((error, _)) => Ok((Outcome::Failed { error }, true)),
    }
}

/// Why an attempt is aborted, once it is.
async fn first_of(aborted: Option<oneshot::Receiver<CallError>>) -> CallError {
    if let Some(receiver) = aborted
        && let Ok(error) = receiver.await
    {
        return error;
    }
    std::future::pending().await
}

/// Values that came from other steps are judged now, by the schema and the plugin, before it can ask for anything.
async fn refused(loaded: &Loaded, kind: &str, step: &PlannedStep, parameters: &Value) -> Option<CallError> {
    match loaded.check_late(kind, parameters, &step.about()).await {
        Ok(problems) if problems.is_empty() => None,
        Ok(problems) => Some(CallError::request("parameters", Problem::all_words(&problems, &step.uses))),
        Err(why) => {
            let message = format!("plugin `{}` cannot check its parameters: {why}", loaded.facts.name);
            Some(CallError::infrastructure("plugin-broken", message))
        }
    }
}

/// An attempt whose first event is recorded.
struct Begun {
    /// An error when they need an output that is not there.
    parameters: Result<Value, CallError>,
    started: Millis,
}

/// How long a background step may take to end after it was asked to.
const STOP_MS: Millis = 300_000;
/// How long a step of `finally` may take when it does not say so itself.
const FINALLY_MS: Millis = 600_000;

/// Answers when the attempt has to be ended although its plugin goes on: aborted, out of time, or deaf.
async fn outside(
    clock: Arc<dyn Clock>,
    step: &PlannedStep,
    started: Millis,
    aborted: impl Future<Output = CallError>,
    mut stopping: watch::Receiver<Option<Millis>>,
) -> CallError {
    let timeout_ms = step.timeout_ms.or(step.finally.then_some(FINALLY_MS));
    let out_of_time = async {
        match timeout_ms {
            Some(timeout) => clock.sleep_until(started.saturating_add(timeout)).await,
            None => std::future::pending().await,
        }
        let message = format!("it took longer than its timeout of {} s", timeout_ms.unwrap_or_default() / 1000);
        CallError::new(error::kind::TIMEOUT, "timeout", message)
    };
    let deaf = async {
        match stopping.wait_for(Option::is_some).await.map(|since| *since) {
            Ok(Some(since)) => clock.sleep_until(since.saturating_add(STOP_MS)).await,
            _ => std::future::pending().await,
        }
        let message = format!("it did not end within {} s after it was asked to stop", STOP_MS / 1000);
        CallError::infrastructure("did-not-stop", message)
    };
    tokio::select! {
        biased;
        error = aborted => error,
        error = out_of_time => error,
        error = deaf => error,
    }
}
