//! Runs that were never made: events, recorded load and telemetry, plausible and always the same.

#![allow(dead_code, reason = "the tests and the example each use a part of it")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use wfe_core::call::{class_of, digest};
use wfe_core::capability::cluster::{Node, Signal};
use wfe_core::catalog::Plugin;
use wfe_core::event::{CallId, Keep, Outcome, ResourceState, RunStarted, StepFacts};
use wfe_core::limits::{Comparison, Limit, LimitResult, Metric, evaluate};
use wfe_core::measure::{Counts, Interval, Measurement, Recording};
use wfe_core::plan::{CloudGrant, Grants};
use wfe_core::state::RunState;
use wfe_core::verdict::Verdict;
use wfe_core::{CallError, Entry, Event, Millis};
use wfe_report::{Document, TelemetrySample};

/// A run in the making.
pub struct Run {
    pub entries: Vec<Entry>,
    pub recording: Recording,
    pub telemetry: Vec<TelemetrySample>,
    random: u64,
    calls: u64,
}

impl Run {
    pub fn new(started: RunStarted) -> Self {
        let mut run =
            Self { entries: Vec::new(), recording: Recording::new(), telemetry: Vec::new(), random: 7, calls: 0 };
        run.at(0, Event::RunStarted(Box::new(started)));
        run
    }

    pub fn document(&self) -> Document {
        let state = RunState::fold(&self.entries).expect("the fixture's events fit together");
        Document::new(&state, &self.recording, &self.telemetry)
    }

    pub fn at(&mut self, at_s: u64, event: Event) {
        let n = self.entries.len() as u64;
        self.entries.push(Entry { n, at: at_s * 1_000, event });
    }

    pub fn begin(&mut self, at_s: u64, step: &str, attempt: u32) {
        let event = Event::AttemptStarted { step: step.into(), attempt, parameters: json!({}), window: None };
        self.at(at_s, event);
    }

    pub fn end(&mut self, at_s: u64, step: &str, attempt: u32, outcome: Result<Value, CallError>) {
        let outcome = match outcome {
            Ok(outputs) => Outcome::Succeeded { outputs },
            Err(error) => Outcome::Failed { error },
        };
        self.at(at_s, Event::AttemptEnded { step: step.into(), attempt, outcome, cut: false });
    }

    pub fn call(&mut self, at_s: u64, step: &str, name: &str, arguments: Value, answer: Value) {
        self.calls += 1;
        let id = CallId {
            step: step.into(),
            attempt: 1,
            call: self.calls,
            name: name.into(),
            class: class_of(name).expect("it is a call of the contract"),
            digest: digest(name, &arguments),
            arguments,
            asked_at: at_s * 1_000,
        };
        self.at(at_s, Event::CallAnswered { id, answer: Ok(answer) });
    }

    pub fn phase(&mut self, at_s: u64, step: &str, name: &str) {
        self.call(at_s, step, "step/context.phase", json!({ "name": name }), Value::Null);
    }

    pub fn machines(&mut self, at_s: u64, step: &str, machine_type: &str, ids: std::ops::Range<u32>) {
        let machine = |n: u32| {
            json!({ "id": format!("i-{n:04}"), "role": "database", "machine-type": machine_type, "rack": n % 3 + 1,
                "state": "pending", "address": "" })
        };
        let machines: Vec<_> = ids.map(machine).collect();
        self.call(at_s, step, "cloud/machines.create", json!({}), json!(machines));
    }

    pub fn settle(&mut self, at_s: u64, id: &str, state: ResourceState, reason: Option<&str>, hourly_usd: f64) {
        let (kind, id) = ("machine".into(), id.into());
        let reason = reason.map(str::to_owned);
        self.at(at_s, Event::ResourceSettled { kind, id, state, reason, hourly_usd: Some(hourly_usd), expires: None });
    }

    pub fn snapshot(&mut self, at_s: u64, step: &str, moment: &str, nodes: &[Node]) {
        self.call(at_s, step, "cluster/cluster.snapshot", json!({ "moment": moment }), json!(nodes));
    }

    pub fn measure(&mut self, at_s: u64, step: &str, window_s: (u64, u64), limits: &[Limit]) -> Vec<LimitResult> {
        let measurement: Measurement = self.recording.measure(window_s.0 * 1_000, window_s.1 * 1_000, None);
        let text = serde_json::to_string(&measurement).expect("a measurement can be encoded");
        self.call(at_s, step, "histogram/measurements.measure", json!({}), json!(text));
        let results = evaluate(limits, &self.recording, &measurement);
        for result in &results {
            self.at(at_s, Event::LimitChecked { step: step.into(), result: result.clone() });
        }
        results
    }

    /// A number from 0 to 1.
    pub fn random(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One interval of a load: so many operations by kind, each with a floor and a mean tail in milliseconds.
    pub fn load(&mut self, loader: &str, from_s: u64, to_s: u64, asked: f64, kinds: &[(&str, f64, f64, f64)]) {
        let mut operations = BTreeMap::new();
        for (name, rate, floor, tail) in kinds {
            operations
                .insert((*name).to_owned(), self.counts(*rate * (to_s - from_s) as f64, *floor, *tail, kinds.len()));
        }
        let (load, loader) = ("traffic".into(), loader.into());
        let (from_ms, to_ms) = (from_s * 1_000, to_s * 1_000);
        let warm_up = false;
        self.recording.push(Interval { load, loader, from_ms, to_ms, warm_up, asked_rate: Some(asked), operations });
    }

    fn counts(&mut self, count: f64, floor: f64, tail: f64, kinds: usize) -> Counts {
        let (mut response, mut service) = (Vec::new(), Vec::new());
        let (mut max_response_ns, mut max_service_ns) = (0, 0);
        // Three hundred different values stand for all operations.
        for number in 0..300 {
            let times = count as u64 / 300 + u64::from(number < count as u64 % 300);
            let ms = floor - (1.0 - self.random()).ln() * tail;
            let (ns, sent) = ((ms * 1e6) as u64, (ms * 0.93e6) as u64);
            response.push((ns, times));
            service.push((sent, times));
            max_response_ns = max_response_ns.max(ns);
            max_service_ns = max_service_ns.max(sent);
        }
        let share = 1.0 / kinds as f64;
        let (response, service) = (response.into_iter().collect(), service.into_iter().collect());
        Counts { response, service, max_response_ns, max_service_ns, clamped: 0, errors: BTreeMap::new(), share }
    }
}

pub fn started(workflow: &str, steps: &[(&str, &str)]) -> RunStarted {
    let facts = |(id, uses): &(&str, &str)| StepFacts {
        id: (*id).into(),
        uses: (*uses).into(),
        plugin: (*uses).into(),
        plugin_digest: format!("{:0<64}", digest(uses, &Value::Null)),
        needs: BTreeSet::new(),
        background: *uses == "load",
        finally: *uses == "report",
        during: (*id == "growth").then(|| "grow".into()),
        grants: Grants {
            capabilities: BTreeSet::from(["cluster".into()]),
            cloud: (*uses == "provision" || *uses == "grow-cluster")
                .then(|| CloudGrant { types: BTreeSet::from(["i4i.large".into(), "i4i.4xlarge".into()]), machines: 6 }),
            keyspaces: None,
        },
        limits: Vec::new(),
    };
    let plugins: BTreeSet<&str> = steps.iter().map(|(_, uses)| *uses).collect();
    let plugin = |name: &&str| Plugin {
        name: (*name).into(),
        digest: format!("{:0<64}", digest(name, &Value::Null)),
        imports: BTreeSet::from(["clock/clock.now".into(), "cluster/cluster.nodes".into()]),
        size: 182_344,
    };
    RunStarted {
        format: 1,
        run: "20250611-093000-elasticity-4f1c".into(),
        wfe: "0.1.0".into(),
        wall: "2025-06-11T09:30:00Z".into(),
        workflow: workflow.into(),
        description: "Grow a cluster that is 90 % full while a mixed load runs.".into(),
        file: format!("workflows/{workflow}.yaml"),
        workflow_digest: format!("{:0<64}", digest(workflow, &Value::Null)),
        backend: "sim".into(),
        simulated: true,
        profile: None,
        inputs: BTreeMap::from([("rate".into(), json!(9850)), ("database".into(), json!("scylla 2025.2"))]),
        set: BTreeMap::from([("rate".into(), "9850/s".into())]),
        seed: 42,
        backend_options: Default::default(),
        deadline_ms: None,
        keep: Keep::Never,
        keep_ms: 0,
        plugins: plugins.iter().map(plugin).collect(),
        steps: steps.iter().map(facts).collect(),
        environment: vec![("model".into(), "calibration 2025-06".into()), ("zone".into(), "us-east-1a".into())],
        command: format!("wfe run workflows/{workflow}.yaml --backend sim --seed 42 --set rate=9850/s"),
    }
}

pub fn limit(rule: &str, operation: &str, percentile: &str, bound: f64, any_ms: Option<Millis>) -> Limit {
    let (operation, percentile) = (operation.into(), percentile.into());
    Limit {
        rule: rule.into(),
        metric: Metric::Latency { operation, percentile, service: false },
        comparison: Comparison::AtMost,
        bound,
        of_asked: false,
        any_ms,
    }
}

pub fn node(number: u32, big: bool, used_percent: f64, signals: &[(&str, f64)]) -> Node {
    let total = if big { 3_492u64 << 30 } else { 436u64 << 30 };
    Node {
        name: format!("node-{number}"),
        machine: format!("i-{number:04}"),
        machine_type: if big { "i4i.4xlarge" } else { "i4i.large" }.into(),
        rack: (number - 1) % 3 + 1,
        state: "up".into(),
        used_bytes: (total as f64 * used_percent / 100.0) as u64,
        total_bytes: total,
        signals: signals.iter().map(|(name, value)| Signal { name: (*name).into(), value: *value }).collect(),
    }
}

const STEPS: [(&str, &str); 8] = [
    ("cluster", "provision"),
    ("fill", "fill-to-percent"),
    ("quiet", "wait-stable"),
    ("traffic", "load"),
    ("steady", "measure"),
    ("grow", "grow-cluster"),
    ("growth", "measure"),
    ("report", "report"),
];

/// Moments of the elasticity run, seconds.
const FILLED: u64 = 12_180;
const QUIET: u64 = 13_020;
const STEADY: (u64, u64) = (13_032, 14_832);
const GROWN: u64 = STEADY.1 + 2_552;

/// Four and a half hours: fill to 90 %, wait, measure half an hour, add three big nodes, measure that.
pub fn elasticity() -> Run {
    let mut run = Run::new(started("elasticity", &STEPS));
    record_load(&mut run);
    record_telemetry(&mut run);
    run.begin(0, "cluster", 1);
    run.machines(1, "cluster", "i4i.large", 1..4);
    run.machines(1, "cluster", "c6i.2xlarge", 4..7);
    run.phase(1, "cluster", "machines");
    run.phase(95, "cluster", "form");
    run.end(180, "cluster", 1, Ok(json!({ "nodes": 3 })));
    run.begin(180, "fill", 1);
    run.phase(180, "fill", "write");
    run.phase(FILLED - 300, "fill", "flush");
    run.snapshot(9_600, "fill", "soft limit", &nodes_at(9_600));
    run.snapshot(FILLED, "fill", "hard limit", &nodes_at(FILLED));
    run.end(FILLED, "fill", 1, Ok(json!({ "used_percent": 90.02, "rows": 361_204_122 })));
    run.begin(FILLED, "quiet", 1);
    let message = "stable was reached and lost again: compactions began on node-2 after 41 s";
    run.call(FILLED + 400, "quiet", "log/log.write", json!({ "level": "warn", "message": message }), Value::Null);
    run.end(QUIET, "quiet", 1, Ok(json!({ "held_s": 120 })));
    run.begin(QUIET, "traffic", 1);
    run.call(QUIET + 12, "traffic", "step/context.ready", json!({}), Value::Null);
    run.begin(STEADY.0, "steady", 1);
    let limits =
        [limit("read.p99 <= 10ms", "read", "p99", 10.0, None), limit("write.p99 <= 10ms", "write", "p99", 10.0, None)];
    run.measure(STEADY.1, "steady", STEADY, &limits);
    run.end(STEADY.1, "steady", 1, Ok(json!({})));
    run.begin(STEADY.1, "grow", 1);
    run.snapshot(STEADY.1, "grow", "scale-out", &nodes_at(STEADY.1));
    run.phase(STEADY.1, "grow", "machines");
    run.machines(STEADY.1, "grow", "i4i.4xlarge", 7..10);
    run.phase(STEADY.1 + 100, "grow", "join");
    run.phase(STEADY.1 + 212, "grow", "balance");
    let asked = json!({ "from-ms": 0, "severity": "warn", "limit": 100 });
    let event = json!([{ "at-ms": (STEADY.1 + 640) * 1_000, "node": "node-2", "severity": "warn",
        "message": "reactor stalled for 38 ms on shard 1" }]);
    run.call(GROWN, "grow", "observe/events.since", asked, event);
    run.end(GROWN, "grow", 1, Ok(json!({ "added": 3 })));
    run.begin(GROWN, "growth", 1);
    let any = limit("any 10m: read.p99 <= 15ms", "read", "p99", 15.0, Some(600_000));
    run.measure(GROWN, "growth", (STEADY.1, GROWN), &[limits[0].clone(), limits[1].clone(), any]);
    run.end(GROWN, "growth", 1, Ok(json!({})));
    run.at(GROWN, Event::StopRequested { step: "traffic".into() });
    run.end(GROWN + 10, "traffic", 1, Ok(json!({ "operations": 43_111_220 })));
    run.at(GROWN + 10, Event::FinallyStarted);
    run.begin(GROWN + 10, "report", 1);
    run.snapshot(GROWN + 10, "report", "final", &nodes_at(GROWN));
    run.end(GROWN + 11, "report", 1, Ok(json!({})));
    for id in 1..10 {
        let usd = [0.172, 0.34, 1.373][(id as usize - 1) / 3];
        run.settle(GROWN + 60, &format!("i-{id:04}"), ResourceState::Deleted, None, usd);
    }
    run.at(GROWN + 61, Event::RunEnded { verdict: Verdict::Pass, reasons: vec![], wall_s: 0.81 });
    run
}

fn record_load(run: &mut Run) {
    for from in (180..FILLED - 300).step_by(60) {
        for loader in ["loader-1", "loader-2", "loader-3"] {
            let rate = 9_900.0 + run.random() * 90.0;
            run.load(loader, from, from + 60, 10_000.0, &[("write", rate, 0.9, 1.1)]);
        }
    }
    for from in (QUIET..GROWN + 10).step_by(10) {
        let growing = from >= STEADY.1;
        let burst = if growing { 1.0 + 0.35 * run.random() } else { 1.0 + 0.1 * run.random() };
        for loader in ["loader-1", "loader-2", "loader-3"] {
            let (read, write) = if growing { (0.93 * burst, 0.55 * burst) } else { (0.69, 0.41 * burst) };
            let rate = 1_641.0;
            run.load(loader, from, from + 10, 3_283.3, &[("read", rate, 0.35, read), ("write", rate, 0.25, write)]);
        }
    }
}

fn nodes_at(at: u64) -> Vec<Node> {
    let grown = (at.saturating_sub(STEADY.1 + 212) as f64 / (GROWN - STEADY.1 - 212) as f64).clamp(0.0, 1.0);
    let filled = (at.saturating_sub(180) as f64 / (FILLED - 180) as f64).min(1.0) * 90.0;
    let wave = |period: u64| if at % period < period / 3 { 2.0 } else { 0.0 };
    let old = |n: u32| {
        let used = (filled - grown * (80.0 - f64::from(n))).max(0.4) + f64::from(n) * 0.7;
        let compactions =
            if at < QUIET - 120 || grown > 0.0 && grown < 1.0 { wave(600 + u64::from(n) * 130) + 1.0 } else { 0.0 };
        let streams = if grown > 0.0 && grown < 1.0 { 3.0 } else { 0.0 };
        node(
            n,
            false,
            used,
            &[("compactions", compactions), ("streams", streams), ("queued_reads", grown * 9.0 * wave(300))],
        )
    };
    let new = |n: u32| {
        let streams = if grown < 1.0 { 1.0 } else { 0.0 };
        node(
            n,
            true,
            0.3 + grown * (9.6 + f64::from(n) / 5.0),
            &[("compactions", 0.0), ("streams", streams), ("queued_reads", 0.0)],
        )
    };
    let joined = if at > STEADY.1 + 212 { 7 } else { 4 };
    (1..4).map(old).chain((4..joined).map(new)).collect()
}

fn record_telemetry(run: &mut Run) {
    run.telemetry =
        (180..GROWN + 60).step_by(10).map(|at| TelemetrySample { at: at * 1_000, nodes: nodes_at(at) }).collect();
}

/// Two minutes in which much goes wrong: a loader is missing, a limit breaks, a step is tried twice and one is skipped.
pub fn troubled() -> Run {
    let steps = [
        ("cluster", "provision"),
        ("traffic", "load"),
        ("steady", "measure"),
        ("grow", "grow-cluster"),
        ("growth", "measure"),
    ];
    let mut run = Run::new(started("trouble", &steps));
    for from in (20..80).step_by(10) {
        run.load("loader-1", from, from + 10, 100.0, &[("read", 50.0, 1.0, 3.0), ("write", 50.0, 1.0, 1.0)]);
        if from < 50 {
            run.load("loader-2", from, from + 10, 100.0, &[("read", 50.0, 1.0, 3.0), ("write", 50.0, 1.0, 1.0)]);
        }
    }
    run.begin(0, "cluster", 1);
    run.machines(1, "cluster", "i4i.large", 1..3);
    run.end(5, "cluster", 1, Err(CallError::infrastructure("capacity", "no capacity for i4i.large in this zone")));
    run.begin(10, "cluster", 2);
    run.machines(11, "cluster", "i4i.large", 3..5);
    run.end(20, "cluster", 2, Ok(json!({ "nodes": 2 })));
    run.begin(20, "traffic", 1);
    run.call(20, "traffic", "step/context.ready", json!({}), Value::Null);
    run.begin(20, "steady", 1);
    let limits =
        [limit("read.p99 <= 10ms", "read", "p99", 10.0, None), limit("write.p99 <= 10ms", "write", "p99", 10.0, None)];
    run.measure(80, "steady", (20, 80), &limits);
    run.snapshot(80, "steady", "final", &[node(1, false, 71.2, &[]), node(2, false, 69.9, &[])]);
    run.end(80, "steady", 1, Ok(json!({})));
    run.begin(80, "grow", 1);
    let message = "raft operation [read_barrier] timed out";
    run.call(95, "grow", "log/log.write", json!({ "level": "error", "message": message }), Value::Null);
    run.end(100, "grow", 1, Err(CallError::product("join-failed", format!("node-3 did not join: {message}"))));
    run.at(100, Event::StepSkipped { step: "growth".into(), reason: "`grow` failed".into() });
    run.at(100, Event::StopRequested { step: "traffic".into() });
    run.end(101, "traffic", 1, Ok(json!({})));
    run.settle(110, "i-0001", ResourceState::Deleted, None, 0.172);
    run.settle(110, "i-0002", ResourceState::Deleted, None, 0.172);
    run.settle(110, "i-0003", ResourceState::Leaked, Some("the cloud does not answer"), 0.172);
    run.settle(110, "i-0004", ResourceState::Kept, Some("asked for by --keep"), 0.172);
    let reasons = [
        "i-0003 may still exist: the cloud does not answer",
        "step `grow` failed: node-3 did not join",
        "`steady` breaks read.p99 <= 10ms",
    ];
    let reasons = reasons.map(str::to_owned).to_vec();
    run.at(111, Event::RunEnded { verdict: Verdict::Infrastructure, reasons, wall_s: 111.0 });
    run
}

/// A run in which every foreign text tries to be markup.
pub fn hostile() -> Run {
    let evil = "<script>alert(1)</script>\"'&]]>|`*\u{1b}[31m\n";
    let mut head = started(evil, &[(evil, evil)]);
    head.description = evil.into();
    head.run = evil.into();
    head.command = evil.into();
    head.environment = vec![(evil.into(), evil.into())];
    head.inputs = BTreeMap::from([(evil.into(), json!(evil))]);
    let mut run = Run::new(head);
    run.load(evil, 0, 10, 100.0, &[(evil, 100.0, 1.0, 1.0)]);
    run.load(evil, 10, 20, 100.0, &[(evil, 100.0, 1.0, 1.0)]);
    let mut nodes = vec![node(1, false, 50.0, &[(evil, 1.0)])];
    nodes[0].name = evil.into();
    run.telemetry.push(TelemetrySample { at: 5_000, nodes: nodes.clone() });
    run.begin(0, evil, 1);
    run.phase(0, evil, evil);
    run.measure(20, evil, (0, 20), &[limit(evil, evil, "p99", 1.0, None)]);
    run.snapshot(20, evil, evil, &nodes);
    run.call(20, evil, "log/log.write", json!({ "level": "error", "message": evil }), Value::Null);
    let sections = json!([{ "section": "limits" }, { "title": evil, "text": evil },
        { "title": evil, "table": { "columns": [evil], "rows": [[evil], [1]] } },
        { "section": "story" }, { "section": "measurements" }, { "section": "steps" }, { "section": "events" },
        { "section": "completeness" }, { "section": "resources" }, { "section": "unknown" }, 7]);
    let sections = json!({ "sections": sections.to_string() });
    run.call(20, evil, "report/report.publish", sections, Value::Null);
    run.end(20, evil, 1, Err(CallError::new(evil, evil, evil)));
    run.at(20, Event::RunEnded { verdict: Verdict::Fail, reasons: vec![evil.into(), evil.into()], wall_s: 1.0 });
    run
}

/// Six hours with twelve nodes and eight noisy signals: as much as a page has to take.
pub fn large() -> Run {
    let mut run = Run::new(started("large", &STEPS));
    for from in (0..21_600).step_by(30) {
        let rate = 400.0 + 30.0 * run.random();
        run.load("loader-1", from, from + 30, 1_000.0, &[("read", rate, 0.4, 2.0), ("write", rate, 0.3, 1.0)]);
    }
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for at in (0..21_600).step_by(10) {
        let mut nodes = Vec::new();
        for number in 1..13 {
            let signals: Vec<_> = names.iter().map(|name| (*name, run.random() * 1_000.0)).collect();
            nodes.push(node(number, false, 40.0 + 50.0 * run.random(), &signals));
        }
        run.telemetry.push(TelemetrySample { at: at * 1_000, nodes });
    }
    run
}
