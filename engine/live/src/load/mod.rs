//! The load generator: one thread, one runtime and one session for each load, no task for each request.
//!
//! Open loop: operation `n` is intended at a time computed from `n`; its response time counts from there, its service time
//! from when it was sent. Operations over the bound in flight wait with their intended times; none is dropped in silence.

mod alarm;
mod errors;
mod flight;
mod keys;
mod positions;
mod record;
mod row;
mod schedule;
mod schema;
mod spec;
mod state;
mod thread;
mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde::Deserialize;
use tokio::sync::{mpsc, oneshot, watch};
use wfe_core::backend::{Answered, Run};
use wfe_core::capability::load::{Spec, Status};
use wfe_core::{Call, CallError, Millis};

use crate::control::Login;
use crate::lock;
use positions::Positions;
pub use spec::{Checked, Kind};
use state::{Shared, State};

/// The keyspace of all loads.
pub const KEYSPACE: &str = "wfe";

/// What can be chosen about loads.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Length of a recorded interval, milliseconds.
    pub interval_ms: u64,
    /// How long an operation may take before it counts as timed out, milliseconds.
    pub timeout_ms: u64,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { interval_ms: 1_000, timeout_ms: 10_000 }
    }
}

/// Whom a load sends to.
#[derive(Debug, Clone)]
pub struct Target {
    /// CQL addresses of nodes that are up.
    pub nodes: Vec<SocketAddr>,
    /// As whom.
    pub login: Option<Login>,
    /// How the tables of loads are compacted, as CQL writes it; none leaves it to the database.
    pub compaction: Option<&'static str>,
}

/// What a load's thread is told.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// From now on so many operations a second.
    Rate(f64),
    /// Send nothing more.
    Stop,
}

struct Load {
    /// Whether it has no rate.
    closed: bool,
    shared: Arc<Shared>,
    orders: mpsc::UnboundedSender<Order>,
    /// Closed when the thread has ended, however.
    alive: watch::Receiver<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The loads of one run.
pub struct Loads {
    run: Run,
    options: LoadOptions,
    positions: Positions,
    /// Held while a load starts: two schema changes at the same time do not agree.
    starting: tokio::sync::Mutex<()>,
    known: Mutex<BTreeMap<String, Arc<Load>>>,
}

impl Loads {
    /// No loads yet; `directory` is the run's.
    pub fn new(run: Run, directory: &Path, options: LoadOptions) -> Self {
        let positions = Positions::new(directory);
        Self { run, options, positions, starting: tokio::sync::Mutex::default(), known: Mutex::default() }
    }

    /// Reads a load's description.
    pub fn parse(text: &str) -> Result<Checked, CallError> {
        let spec: Spec = serde_json::from_str(text)
            .map_err(|e| CallError::request("load-spec", format!("the description of a load is wrong: {e}")))?;
        spec::check(&spec)
    }

    /// Starts a load; answers when its first interval, the warm-up, is over.
    pub async fn start(&self, spec: Checked, target: Target) -> Result<String, CallError> {
        self.start_at(spec, target, 0, 0).await
    }

    /// Starts a load that has ended so many operations already, and so many of them with an error.
    async fn start_at(&self, spec: Checked, target: Target, operations: u64, errors: u64) -> Result<String, CallError> {
        let name = spec.name.clone();
        let _alone = self.starting.lock().await;
        self.check_name(&name)?;
        let started = self.spawn(spec, target, Shared::counting_from(operations, errors))?;
        started.await.unwrap_or_else(|_| {
            Err(CallError::infrastructure("load-not-started", format!("the thread of load `{name}` broke off")))
        })?;
        Ok(name)
    }

    fn check_name(&self, name: &str) -> Result<(), CallError> {
        if lock(&self.known).get(name).is_some_and(|load| load.shared.is_live()) {
            return Err(CallError::request("load-exists", format!("a load `{name}` runs already: stop it first")));
        }
        Ok(())
    }

    fn spawn(
        &self,
        spec: Checked,
        target: Target,
        shared: Shared,
    ) -> Result<oneshot::Receiver<Result<(), CallError>>, CallError> {
        let (orders, taken) = mpsc::unbounded_channel();
        let (started, answer) = oneshot::channel();
        let (living, alive) = watch::channel(());
        let closed = spec.rate.is_none();
        let (shared, name) = (Arc::new(shared), spec.name.clone());
        let position = self.positions.of(&spec.shape.table())?;
        let job = thread::Job {
            run: self.run.clone(),
            spec,
            options: self.options.clone(),
            target,
            shared: shared.clone(),
            position,
            orders: taken,
            started,
        };
        let thread = std::thread::Builder::new().name(format!("load {name}")).spawn(move || {
            let _living = living;
            thread::run(job);
        });
        let failed = |e| CallError::infrastructure("load-not-started", format!("no thread for load `{name}`: {e}"));
        let thread = Mutex::new(Some(thread.map_err(failed)?));
        lock(&self.known).insert(name.clone(), Arc::new(Load { closed, shared, orders, alive, thread }));
        Ok(answer)
    }

    /// Changes the asked rate from now on.
    pub fn set_rate(&self, name: &str, rate: f64) -> Result<(), CallError> {
        spec::check_rate(rate)?;
        let load = self.load(name)?;
        if load.closed {
            let message = format!("load `{name}` is a closed loop: it has no rate that could be changed");
            return Err(CallError::request("closed-loop", message));
        }
        if load.shared.is_live() && load.orders.send(Order::Rate(rate)).is_ok() {
            return Ok(());
        }
        let status = self.status(name)?;
        let message = format!("load `{name}` is {} and has no rate any more: {}", status.state, status.detail);
        Err(CallError::infrastructure("load-ended", message))
    }

    /// The state of a load.
    pub fn status(&self, name: &str) -> Result<Status, CallError> {
        let load = self.load(name)?;
        if load.alive.has_changed().is_err() {
            load.shared.gone();
        }
        Ok(load.shared.status(name))
    }

    /// Stops a load; answers when all it sent has ended and is recorded.
    pub async fn stop(&self, name: &str) -> Result<Status, CallError> {
        let load = self.load(name)?;
        // The thread may have ended already.
        let _ = load.orders.send(Order::Stop);
        let mut alive = load.alive.clone();
        while alive.changed().await.is_ok() {}
        if let Some(thread) = lock(&load.thread).take() {
            // How it ended is in its state.
            let _ = thread.join();
        }
        self.status(name)
    }

    /// Answers when every interval that ended until that moment is handed over; a load's thread that hangs is not
    /// waited for longer than two intervals.
    pub async fn recorded_until(&self, moment: Millis) {
        const LOOK_MS: Millis = 20;
        let clock = &self.run.clock;
        let patience = clock.now() + 2 * self.options.interval_ms;
        let behind = || {
            let whole = |load: &Arc<Load>| load.shared.recorded_ms.load(Ordering::Acquire) + self.options.interval_ms;
            lock(&self.known).values().any(|load| load.shared.is_live() && whole(load) <= moment)
        };
        while behind() && clock.now() < patience {
            clock.sleep_until(clock.now() + LOOK_MS).await;
        }
    }

    /// Stops all loads.
    pub async fn close(&self) {
        let names: Vec<String> = lock(&self.known).keys().cloned().collect();
        for name in names {
            // It is known, and that is all that could fail.
            let _ = self.stop(&name).await;
        }
    }

    /// Takes up the loads of an earlier life of the run that were not stopped. What they did not send in between is missing
    /// in the record. `target` has no nodes when there is nothing to send to.
    pub async fn revive(&self, history: &[Answered], target: &Target) {
        for (name, Unstopped { spec, operations, errors }) in unstopped(history) {
            let result = match target.nodes.is_empty() {
                true => Err(CallError::infrastructure("load-lost", "the database is gone")),
                false => self.start_at(spec, target.clone(), operations, errors).await.map(|_| ()),
            };
            if let Err(error) = result {
                self.lost(&name, &error.message);
            }
        }
    }

    fn lost(&self, name: &str, why: &str) {
        let shared = Arc::new(Shared::default());
        shared.set(State::Failed, format!("it was not started again when the run was resumed: {why}"));
        let (orders, _) = mpsc::unbounded_channel();
        let (_, alive) = watch::channel(());
        let load = Load { closed: false, shared, orders, alive, thread: Mutex::default() };
        lock(&self.known).insert(name.into(), Arc::new(load));
    }

    fn load(&self, name: &str) -> Result<Arc<Load>, CallError> {
        let found = lock(&self.known).get(name).cloned();
        found.ok_or_else(|| CallError::request("unknown-load", format!("this run has no load `{name}`")))
    }
}

/// A load that was started and not stopped, as the journal knew it last.
struct Unstopped {
    /// What it does, at its last rate.
    spec: Checked,
    /// Operations that had ended.
    operations: u64,
    /// How many of them had failed.
    errors: u64,
}

/// The loads that were started and not stopped, by name.
fn unstopped(history: &[Answered]) -> BTreeMap<String, Unstopped> {
    let mut loads = BTreeMap::new();
    for Answered { call, answer, .. } in history {
        let Ok(answer) = answer else { continue };
        match call {
            Call::LoadStart(start) => {
                let fresh = |spec: Checked| (spec.name.clone(), Unstopped { spec, operations: 0, errors: 0 });
                loads.extend(Loads::parse(&start.spec).ok().map(fresh));
            }
            Call::LoadSetRate(set) => {
                loads.entry(set.load.clone()).and_modify(|load| load.spec.rate = Some(set.rate));
            }
            Call::LoadStatus(asked) => {
                if let (Some(load), Ok(status)) = (loads.get_mut(&asked.load), Status::deserialize(answer)) {
                    (load.operations, load.errors) = (status.operations, status.errors);
                }
            }
            Call::LoadStop(stop) => drop(loads.remove(&stop.load)),
            _ => {}
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use wfe_core::capability::load::{SetRate, Start, StatusOf, Stop};

    use super::*;

    fn answered(call: Call, answer: Result<Value, CallError>) -> Answered {
        Answered { asked_at: 0, answered_at: 0, key: String::new(), call, answer }
    }

    fn start(name: &str) -> Call {
        let spec = format!(
            r#"{{"name": "{name}", "mix": {{"read": 1}}, "rate": 5, "concurrency": 1, "keys": "uniform", "rows": 1}}"#
        );
        Call::LoadStart(Start { spec })
    }

    #[test]
    fn only_loads_that_ran_are_taken_up_as_they_were_last() {
        let failed = Err(CallError::infrastructure("x", "y"));
        let shared = Shared::counting_from(12, 3);
        let status = serde_json::to_value(shared.status("traffic")).map_err(|e| CallError::request("x", e.to_string()));
        let history = [
            answered(start("fill"), Ok(Value::Null)),
            answered(start("traffic"), Ok(Value::Null)),
            answered(start("refused"), failed),
            answered(Call::LoadSetRate(SetRate { load: "traffic".into(), rate: 7.0 }), Ok(Value::Null)),
            answered(Call::LoadStatus(StatusOf { load: "traffic".into() }), status),
            answered(Call::LoadStop(Stop { load: "fill".into() }), Ok(Value::Null)),
        ];
        let known = |(name, load): (String, Unstopped)| (name, load.spec.rate, load.operations, load.errors);
        let loads: Vec<_> = unstopped(&history).into_iter().map(known).collect();
        assert_eq!(loads, [("traffic".to_owned(), Some(7.0), 12, 3)]);
    }
}
