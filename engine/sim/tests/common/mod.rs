//! Plays calls against the simulator on a clock that jumps.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};
use wfe_core::backend::{Answered, Backend, Clock, Context, IntervalSink, Run};
use wfe_core::capability::step::Attempt;
use wfe_core::measure::{Interval, Packed, Tally, ms};
use wfe_core::{Call, CallError, Millis};
use wfe_sim::{Faults, Sim};

/// A clock on which every wait is over at once.
#[derive(Default)]
pub struct Jumping(AtomicU64);

impl Clock for Jumping {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, moment: Millis) -> BoxFuture<'static, ()> {
        self.jump(moment);
        ready(()).boxed()
    }
}

impl Jumping {
    /// Moves on to a moment, unless it is past.
    pub fn jump(&self, moment: Millis) {
        self.0.fetch_max(moment, Ordering::SeqCst);
    }
}

/// What was recorded since the last look, by kind of operation.
#[derive(Default)]
pub struct Recorded {
    pub kinds: Mutex<BTreeMap<String, Seen>>,
    pub trace: Mutex<Option<Vec<String>>>,
}

pub struct Seen {
    pub response: Tally,
    pub service: Tally,
    pub errors: u64,
    pub from_ms: Millis,
    pub to_ms: Millis,
}

impl Seen {
    pub fn ms(&self, quantile: f64) -> f64 {
        at(&self.response, quantile)
    }

    pub fn rate(&self) -> f64 {
        self.response.total() as f64 * 1000.0 / (self.to_ms - self.from_ms) as f64
    }
}

/// A percentile, ms.
pub fn at(tally: &Tally, quantile: f64) -> f64 {
    let [ns] = tally.at([quantile]);
    ms(ns)
}

impl IntervalSink for Recorded {
    fn expect(&self, _: &str, _: &str) {}

    fn push(&self, interval: Interval) {
        if let Some(trace) = self.trace.lock().expect("no panic").as_mut() {
            trace.push(line(&interval));
        }
        let mut kinds = self.kinds.lock().expect("no panic");
        for (kind, counts) in &interval.operations {
            let seen = kinds.entry(kind.clone()).or_insert_with(|| Seen {
                response: Tally::default(),
                service: Tally::default(),
                errors: 0,
                from_ms: interval.from_ms,
                to_ms: interval.to_ms,
            });
            seen.response.add(&counts.response);
            seen.service.add(&counts.service);
            seen.errors += counts.errors.values().map(Packed::count).sum::<u64>();
            seen.to_ms = interval.to_ms;
            let highest: Packed = [(counts.max_response_ns, counts.response.count().min(1))].into_iter().collect();
            assert_eq!(counts.response.max_ns(), highest.max_ns(), "the greatest time is the exact one");
        }
    }
}

fn line(interval: &Interval) -> String {
    let mut text = format!(
        "{} {} {}-{} {:?}",
        interval.load, interval.loader, interval.from_ms, interval.to_ms, interval.asked_rate
    );
    for (kind, c) in &interval.operations {
        let sum: u64 =
            c.response.counts().map(|(place, count)| (place as u64).wrapping_mul(count)).fold(0, u64::wrapping_add);
        let errors: Vec<(&String, u64)> = c.errors.iter().map(|(class, h)| (class, h.count())).collect();
        text += &format!(
            " {kind} {} {sum} {} {} {} {errors:?}",
            c.response.count(),
            c.service.count(),
            c.max_response_ns,
            c.max_service_ns
        );
    }
    text
}

/// Takes intervals and forgets them.
pub struct Nowhere;

impl IntervalSink for Nowhere {
    fn expect(&self, _: &str, _: &str) {}

    fn push(&self, _: Interval) {}
}

/// A run against the simulator.
pub struct Player {
    pub sim: Sim,
    pub clock: Arc<Jumping>,
    pub recorded: Arc<Recorded>,
    pub history: Vec<Answered>,
    number: u64,
}

impl Player {
    pub fn new(seed: u64) -> Self {
        Self::with(seed, Faults::default(), None, &[])
    }

    pub fn with(seed: u64, faults: Faults, sink: Option<Arc<dyn IntervalSink>>, history: &[Answered]) -> Self {
        let (clock, recorded) = (Arc::new(Jumping::default()), Arc::new(Recorded::default()));
        if let Some(last) = history.last() {
            clock.jump(last.answered_at);
        }
        let sim = Sim::new(faults);
        let run = Run {
            id: "run-1".into(),
            directory: "/nowhere".into(),
            seed,
            clock: clock.clone(),
            intervals: sink.unwrap_or_else(|| recorded.clone()),
        };
        sim.open(run, history).now_or_never().expect("opening never waits").expect("a rebuilt world answers the same");
        Self { sim, clock, recorded, history: history.to_vec(), number: history.len() as u64 }
    }

    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    pub fn seconds(&self) -> f64 {
        self.now() as f64 / 1000.0
    }

    pub fn sleep(&self, seconds: f64) {
        self.clock.jump(self.now() + (seconds * 1000.0) as Millis);
    }

    pub fn call(&mut self, name: &str, arguments: Value) -> Result<Value, CallError> {
        self.number += 1;
        let key = format!("key-{}", self.number);
        self.call_with(&key, name, arguments)
    }

    pub fn call_with(&mut self, key: &str, name: &str, arguments: Value) -> Result<Value, CallError> {
        let call = Call::parse(name, &arguments).expect("a known name").expect("arguments that fit");
        let attempt = Attempt { run: "run-1".into(), workflow: "test".into(), step: "test".into(), number: 1 };
        let asked_at = self.now();
        let context = Context { attempt, number: self.number, asked_at, key: key.into() };
        let answer = self.sim.call(&context, &call).now_or_never().expect("the clock jumps");
        let past = Answered { asked_at, answered_at: self.now(), key: key.into(), call, answer: answer.clone() };
        self.history.push(past);
        answer
    }

    pub fn ok(&mut self, name: &str, arguments: Value) -> Value {
        self.call(name, arguments).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn machines(&mut self, machine_type: &str, count: u32, racks: u32) -> Vec<String> {
        let request =
            json!({"request": {"role": "database", "machine-type": machine_type, "count": count, "racks": racks}});
        let machines = self.ok("cloud/machines.create", request);
        let ids: Vec<String> =
            machines.as_array().expect("a list").iter().map(|m| m["id"].as_str().expect("id").to_owned()).collect();
        self.ok("cloud/machines.wait-running", json!({"ids": ids, "timeout-ms": 600_000}));
        ids
    }

    pub fn cluster(&mut self, database: &str, machines: &[String]) {
        let id = self.ok("cluster/cluster.create", json!({"database": database, "machines": machines}));
        self.wait(&id).expect("forms");
    }

    /// Joins; answers how long it took, seconds.
    pub fn join(&mut self, machines: &[String]) -> Result<f64, CallError> {
        let from = self.seconds();
        let id = self.ok("cluster/cluster.join", json!({"machines": machines}));
        self.wait(&id).map(|()| self.seconds() - from)
    }

    pub fn wait(&mut self, id: &Value) -> Result<(), CallError> {
        loop {
            let statuses = self.ok("operation/operations.wait-any", json!({"ids": [id], "timeout-ms": 30_000}));
            if statuses[0]["done"] == json!(true) {
                let failure = &statuses[0]["failure"];
                return match failure.is_null() {
                    true => Ok(()),
                    false => Err(serde_json::from_value(failure.clone()).expect("an error")),
                };
            }
        }
    }

    pub fn start(&mut self, spec: Value) {
        self.ok("load/loads.start", json!({"spec": spec.to_string()}));
    }

    pub fn stop(&mut self, load: &str) -> Value {
        self.ok("load/loads.stop", json!({"load": load}))
    }

    pub fn nodes(&mut self) -> Vec<Value> {
        self.ok("cluster/cluster.nodes", json!({})).as_array().expect("a list").clone()
    }

    /// Disk usage of each node, percent.
    pub fn usage(&mut self) -> Vec<f64> {
        let bytes = |node: &Value, field: &str| node[field].as_f64().expect("bytes");
        self.nodes().iter().map(|n| bytes(n, "used-bytes") / bytes(n, "total-bytes") * 100.0).collect()
    }

    pub fn signal(&mut self, name: &str) -> f64 {
        let nodes = self.nodes();
        let signals = nodes.iter().flat_map(|n| n["signals"].as_array().expect("a list").clone());
        signals.filter(|s| s["name"] == json!(name)).map(|s| s["value"].as_f64().expect("a number")).sum()
    }

    pub fn settle(&mut self) {
        while self.signal("compactions") > 0.0 {
            self.sleep(10.0);
        }
    }

    /// What was recorded since the last time.
    pub fn take(&self) -> BTreeMap<String, Seen> {
        std::mem::take(&mut self.recorded.kinds.lock().expect("no panic"))
    }

    /// Writes sequential rows at 30,000/s until the fullest disk is at `percent`.
    pub fn fill(&mut self, percent: f64) {
        self.start(json!({
            "name": "fill", "mix": {"write": 1}, "rate": 30_000, "concurrency": 450, "keys": "sequential",
            "rows": 400_000_000u64, "loaders": 3,
        }));
        while self.usage().into_iter().fold(0.0, f64::max) < percent {
            self.sleep(10.0);
        }
        self.stop("fill");
        self.settle();
    }

    pub fn mixed(&mut self, rate: f64) {
        self.start(json!({
            "name": "mixed", "mix": {"write": 1, "read": 1}, "rate": rate, "concurrency": 450, "keys": "gaussian",
            "rows": 180_000_000u64, "loaders": 3,
        }));
    }
}
