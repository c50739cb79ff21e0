//! A run without a runner: a clock, a place for intervals, and calls made by hand.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use wfe_core::backend::{Backend, Clock, Context, IntervalSink, Run};
use wfe_core::capability::cloud::{Create, Machine, Request, Terminate};
use wfe_core::capability::step::Attempt;
use wfe_core::capability::{cluster, operation};
use wfe_core::measure::Interval;
use wfe_core::{Call, CallError, Millis};

/// Real time since it was made.
pub struct RealClock(Instant);

impl Clock for RealClock {
    fn now(&self) -> Millis {
        self.0.elapsed().as_millis() as u64
    }

    fn sleep_until(&self, moment: Millis) -> BoxFuture<'static, ()> {
        tokio::time::sleep_until(self.0 + Duration::from_millis(moment.min(1 << 40))).boxed()
    }
}

/// Keeps all intervals.
#[derive(Default)]
pub struct Kept(pub Mutex<Vec<Interval>>);

impl IntervalSink for Kept {
    fn expect(&self, _: &str, _: &str) {}

    fn push(&self, interval: Interval) {
        self.0.lock().unwrap().push(interval);
    }
}

/// A run in a directory.
pub fn run(id: &str, directory: &Path) -> (Run, Arc<Kept>) {
    let kept = Arc::new(Kept::default());
    let run = Run {
        id: id.into(),
        directory: directory.into(),
        seed: 7,
        clock: Arc::new(RealClock(Instant::now())),
        intervals: kept.clone(),
    };
    (run, kept)
}

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Makes a call.
pub async fn call<T: DeserializeOwned>(backend: &dyn Backend, run: &Run, call: Call) -> Result<T, CallError> {
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    let attempt = Attempt { run: run.id.clone(), workflow: "test".into(), step: "test".into(), number: 1 };
    let key = format!("{}/test/1/{number}", run.id);
    let context = Context { attempt, number, asked_at: run.clock.now(), key };
    backend.call(&context, &call).await.map(|value| serde_json::from_value(value).expect("the answer fits"))
}

/// Creates machines.
pub async fn machines(
    backend: &dyn Backend,
    run: &Run,
    machine_type: &str,
    count: u32,
) -> Result<Vec<Machine>, CallError> {
    let request = Request { role: "database".into(), machine_type: machine_type.into(), count, racks: 3 };
    call(backend, run, Call::MachinesCreate(Create { request })).await
}

/// Machine ids.
pub fn ids(machines: &[Machine]) -> Vec<String> {
    machines.iter().map(|machine| machine.id.clone()).collect()
}

/// Waits for an operation; its failure is an error.
pub async fn finish(backend: &dyn Backend, run: &Run, id: String) -> Result<operation::Status, CallError> {
    let wait = operation::WaitAny { ids: vec![id], timeout_ms: 300_000 };
    let states: Vec<operation::Status> = call(backend, run, Call::OperationsWaitAny(wait)).await?;
    let status = states.into_iter().next().expect("as many states as ids");
    assert!(status.done, "not done in time: {status:?}");
    match status.failure {
        Some(failure) => Err(failure),
        None => Ok(status),
    }
}

/// Forms a cluster.
pub async fn form(backend: &dyn Backend, run: &Run, machines: &[Machine]) -> Result<operation::Status, CallError> {
    let create = cluster::Create { database: "cassandra 5.0".into(), machines: ids(machines) };
    let id = call(backend, run, Call::ClusterCreate(create)).await?;
    finish(backend, run, id).await
}

/// The nodes.
pub async fn nodes(backend: &dyn Backend, run: &Run) -> Vec<cluster::Node> {
    call(backend, run, Call::ClusterNodes(cluster::Nodes {})).await.unwrap()
}

/// Gives machines back.
pub async fn terminate(backend: &dyn Backend, run: &Run, machines: &[Machine]) {
    call::<()>(backend, run, Call::MachinesTerminate(Terminate { ids: ids(machines) })).await.unwrap();
}

/// Command lines of all processes that carry the run.
pub fn processes_of(run: &str) -> Vec<i32> {
    let tag = format!("-Dwfe.run={run}");
    let carries = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == tag.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(carries).collect()
}

/// The process of a machine.
pub fn process_of(run: &str, machine: &str) -> Pid {
    let tag = format!("-Dwfe.machine={machine}\0");
    let has = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains(&tag);
    processes_of(run).into_iter().find(has).and_then(Pid::from_raw).expect("the machine has a process")
}

/// Kills what a failed test leaves behind.
pub struct Guard(pub String);

impl Drop for Guard {
    fn drop(&mut self) {
        for pid in processes_of(&self.0) {
            let pid = Pid::from_raw(pid).unwrap();
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
