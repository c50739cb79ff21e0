//! What holds for every run: looking changes nothing, sums add up, more load is never faster, nothing panics.

mod common;

use common::Player;
use proptest::prelude::*;
use serde_json::{Value, json};
use wfe_core::backend::Answered;
use wfe_sim::Faults;

#[derive(Debug, Clone)]
enum Act {
    Machines(u32, u32),
    Create,
    Join,
    Start { write: u32, rate: Option<u32>, keys: &'static str, consistency: &'static str },
    SetRate(u32),
    Stop,
    Terminate(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let rate = prop_oneof![Just(None), (0u32..60_000).prop_map(Some)];
    prop_oneof![
        (1u32..4, 1u32..4).prop_map(|(count, racks)| Act::Machines(count, racks)),
        Just(Act::Create),
        Just(Act::Join),
        (
            0u32..3,
            rate,
            prop_oneof![Just("sequential"), Just("uniform"), Just("gaussian")],
            prop_oneof![Just("ONE"), Just("QUORUM"), Just("ALL")]
        )
            .prop_map(|(write, rate, keys, consistency)| Act::Start { write, rate, keys, consistency }),
        (0u32..60_000).prop_map(Act::SetRate),
        Just(Act::Stop),
        (0usize..6).prop_map(Act::Terminate),
    ]
}

/// A run that always has a cluster, then does anything.
fn script() -> impl Strategy<Value = Vec<(u32, Act)>> {
    let start = vec![(0, Act::Machines(3, 3)), (90, Act::Create), (200, Act::Machines(2, 2))];
    prop::collection::vec((0u32..900, act()), 1..8).prop_map(move |acts| [start.clone(), acts].concat())
}

/// Plays a script; answers what was answered to calls that change something.
struct Play {
    player: Player,
    seed: u64,
    free: Vec<String>,
    load: u32,
    answers: Vec<String>,
}

impl Play {
    fn new(seed: u64) -> Self {
        let player = Player::new(seed);
        *player.recorded.trace.lock().expect("no panic") = Some(Vec::new());
        Self { player, seed, free: Vec::new(), load: 0, answers: Vec::new() }
    }

    fn call(&mut self, name: &str, arguments: Value) -> Option<Value> {
        // Keys are counted by changes alone, so that looks do not move them.
        let key = format!("change-{}", self.answers.len());
        let answer = self.player.call_with(&key, name, arguments);
        self.answers.push(format!("{name} {answer:?}"));
        answer.ok()
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Machines(count, racks) => {
                let request = json!({"role": "db", "machine-type": "i4i.large", "count": count, "racks": racks});
                let machines = self.call("cloud/machines.create", json!({"request": request})).unwrap_or_default();
                let ids = machines.as_array().cloned().unwrap_or_default();
                self.free.extend(ids.iter().map(|m| m["id"].as_str().expect("an id").to_owned()));
            }
            Act::Create => {
                let machines = std::mem::take(&mut self.free);
                self.call("cluster/cluster.create", json!({"database": "scylla newest", "machines": machines}));
            }
            Act::Join => {
                let machines = self.free.pop();
                self.call("cluster/cluster.join", json!({"machines": machines.into_iter().collect::<Vec<_>>()}));
            }
            Act::Start { write, rate, keys, consistency } => {
                self.load += 1;
                let spec = json!({
                    "name": format!("load-{}", self.load), "mix": {"write": write, "read": 2 - write}, "rate": rate,
                    "concurrency": 300, "keys": keys, "rows": 1_000_000_000u64, "loaders": 2, "consistency": consistency,
                });
                self.call("load/loads.start", json!({"spec": spec.to_string()}));
            }
            Act::SetRate(rate) => {
                let load = format!("load-{}", self.load);
                self.call("load/loads.set-rate", json!({"load": load, "rate": rate}));
            }
            Act::Stop => {
                let load = format!("load-{}", self.load);
                self.call("load/loads.stop", json!({"load": load}));
            }
            Act::Terminate(index) => {
                self.call("cloud/machines.terminate", json!({"ids": [format!("i-{:04}", index + 1)]}));
            }
        }
    }

    fn look(&mut self) {
        let _ = self.player.call("cluster/cluster.nodes", json!({}));
        let _ = self.player.call("load/loads.status", json!({"load": format!("load-{}", self.load)}));
        let _ = self.player.call("observe/events.since", json!({"from-ms": 0, "severity": "info", "limit": 1000}));
        let _ = self.player.call("cloud/machines.list", json!({}));
    }

    fn run(mut self, script: &[(u32, Act)], looks: &[u32]) -> (Vec<String>, Vec<String>) {
        for (delay, act) in script {
            let until = self.player.seconds() + f64::from(*delay);
            for look in looks {
                let moment = f64::from(*look) / 10.0;
                if self.player.seconds() + moment < until {
                    self.player.sleep(moment);
                    self.look();
                }
            }
            let rest = until - self.player.seconds();
            self.player.sleep(rest + 1e-4);
            self.act(act);
        }
        let trace = self.player.recorded.trace.lock().expect("no panic").take().unwrap_or_default();
        // A world that is made again from its history answers the same, or this panics.
        Player::with(self.seed, Faults::default(), None, &self.player.history);
        (self.answers, trace)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn looking_changes_nothing(seed: u64, script in script(), looks in prop::collection::vec(1u32..900, 1..12)) {
        let quiet = Play::new(seed).run(&script, &[]);
        let watched = Play::new(seed).run(&script, &looks);
        prop_assert_eq!(quiet, watched);
    }
}

#[test]
fn sums_add_up() {
    let mut player = Player::new(3);
    let machines = player.machines("i4i.large", 3, 3);
    player.cluster("scylla newest", &machines);
    player.start(json!({"name": "fill", "mix": {"write": 1}, "rate": 20_000, "concurrency": 100, "keys": "sequential", "rows": 1_000_000_000u64, "loaders": 7}));
    player.sleep(1_234.567);
    let status = player.stop("fill");
    let recorded = player.take();
    assert_eq!(status["operations"], json!(recorded["write"].response.total()));
    assert_eq!(status["operations"], json!(24_691_340));
    assert_eq!(recorded["write"].response.total(), recorded["write"].service.total());
    let used: f64 = player.nodes().iter().map(|n| n["used-bytes"].as_f64().expect("bytes")).sum();
    assert!((used / (24_691_340.0 * 1024.0 * 1.1 * 3.0) - 1.0).abs() < 1e-6, "{used}");
}

#[test]
fn more_load_is_never_faster() {
    let mut before = (0.0, 0.0, 0.0);
    for rate in [500, 2_000, 5_000, 9_850, 12_000, 14_975, 17_000, 18_300, 20_000, 24_000, 60_000] {
        let mut player = Player::new(3);
        let machines = player.machines("i4i.large", 3, 3);
        player.cluster("scylla newest", &machines);
        player.fill(60.0);
        player.take();
        player.mixed(f64::from(rate));
        player.sleep(600.0);
        player.stop("mixed");
        let seen = player.take();
        let now = (seen["read"].ms(0.99), seen["write"].ms(0.99), seen["read"].rate());
        assert!(
            now.0 >= before.0 * 0.995 && now.1 >= before.1 * 0.995 && now.2 >= before.2 * 0.995,
            "{rate}/s: {before:?} then {now:?}"
        );
        before = now;
    }
}

#[test]
fn odd_loads_are_refused_or_run() {
    let base = json!({"name": "odd", "mix": {"write": 1, "read": 1}, "rate": 100, "concurrency": 10, "keys": "uniform", "rows": 1000});
    let odd = [
        ("rate", json!(0)),
        ("rate", json!(1e9)),
        ("rate", json!(1e-9)),
        ("rate", json!(-1)),
        ("rate", json!(1e300)),
        ("rate", Value::Null),
        ("rows", json!(0)),
        ("rows", json!(u64::MAX)),
        ("columns", json!(0)),
        ("columns", json!(u32::MAX)),
        ("column_bytes", json!(1)),
        ("concurrency", json!(0)),
        ("concurrency", json!(u32::MAX)),
        ("loaders", json!(0)),
        ("loaders", json!(256)),
        ("loaders", json!(u32::MAX)),
        ("replication", json!(0)),
        ("replication", json!(4)),
        ("replication", json!(200)),
        ("consistency", json!("TWO")),
        ("consistency", json!("ALL")),
        ("mix", json!({})),
        ("mix", json!({"read": 0})),
        ("mix", json!({"scan": 1})),
        ("mix", json!({"read": 1e308, "write": 1e308})),
        ("mix", json!({"read": -1, "write": 2})),
        ("keys", json!("zipf")),
        ("name", json!("")),
        ("more", json!(1)),
    ];
    let mut lines = String::new();
    for (field, value) in odd {
        let mut player = Player::new(3);
        let machines = player.machines("i4i.large", 3, 3);
        player.cluster("scylla newest", &machines);
        let mut spec = base.clone();
        spec[field] = value.clone();
        let outcome = match player.call("load/loads.start", json!({"spec": spec.to_string()})) {
            Err(error) => error.kind,
            Ok(name) => {
                player.sleep(61.5);
                let status = player.ok("load/loads.stop", json!({"load": name}));
                let recorded: u64 = player.take().values().map(|seen| seen.response.total()).sum();
                assert_eq!(status["operations"], json!(recorded), "{field} {value}");
                format!("{} operations, {} errors", status["operations"], status["errors"])
            }
        };
        lines += &format!("{field} {value}: {outcome}\n");
    }
    insta::assert_snapshot!(lines, @r#"
    rate 0: 0 operations, 0 errors
    rate 1000000000.0: 1077372 operations, 0 errors
    rate 1e-9: 0 operations, 0 errors
    rate -1: request
    rate 1e+300: 1077372 operations, 0 errors
    rate null: 1077372 operations, 0 errors
    rows 0: request
    rows 18446744073709551615: 6150 operations, 0 errors
    columns 0: request
    columns 4294967295: request
    column_bytes 1: 6150 operations, 0 errors
    concurrency 0: request
    concurrency 4294967295: 6150 operations, 0 errors
    loaders 0: request
    loaders 256: 6150 operations, 0 errors
    loaders 4294967295: request
    replication 0: request
    replication 4: request
    replication 200: request
    consistency "TWO": request
    consistency "ALL": 6150 operations, 0 errors
    mix {}: request
    mix {"read":0}: request
    mix {"scan":1}: request
    mix {"read":1e+308,"write":1e+308}: request
    mix {"read":-1,"write":2}: request
    keys "zipf": request
    name "": request
    more 1: request
    "#);
}

#[test]
fn history_rebuilds_the_same_world() {
    let mut player = Player::new(5);
    *player.recorded.trace.lock().expect("no panic") = Some(Vec::new());
    let machines = player.machines("i4i.large", 3, 3);
    player.cluster("scylla 2025.2", &machines);
    player.fill(30.0);
    player.mixed(9_850.0);
    player.sleep(123.4);
    let more = player.machines("i4i.4xlarge", 3, 3);
    let join = player.ok("cluster/cluster.join", json!({"machines": more}));
    player.sleep(200.0);
    player.nodes();

    let mut again = Player::with(5, Faults::default(), None, &player.history);
    *again.recorded.trace.lock().expect("no panic") = Some(Vec::new());
    assert_eq!(again.now(), player.now());
    for player in [&mut player, &mut again] {
        player.wait(&join).expect("joins");
    }
    assert_eq!(again.now(), player.now());
    assert_eq!(again.nodes(), player.nodes());
    assert_eq!(again.stop("mixed"), player.stop("mixed"));
    let trace = |player: &Player| player.recorded.trace.lock().expect("no panic").take().expect("traced");
    let (all, after) = (trace(&player), trace(&again));
    assert!(!after.is_empty() && all.ends_with(&after));
}

#[test]
fn another_history_is_an_error() {
    use futures_util::FutureExt;
    use wfe_core::backend::{Backend, Run};
    let mut player = Player::new(5);
    player.machines("i4i.large", 3, 3);
    let mut history: Vec<Answered> = player.history.clone();
    history[0].answer = Ok(json!([]));
    let run = Run {
        id: "run-1".into(),
        directory: "/nowhere".into(),
        seed: 5,
        clock: player.clock.clone(),
        intervals: player.recorded.clone(),
    };
    let sim = wfe_sim::Sim::new(Faults::default());
    let error = sim.open(run, &history).now_or_never().expect("at once").expect_err("differs");
    assert_eq!((error.kind.as_str(), error.code.as_str()), ("infrastructure", "simulator-differs"));
}

#[test]
fn same_key_is_the_same_call() {
    let mut player = Player::new(5);
    let request = json!({"request": {"role": "db", "machine-type": "i4i.large", "count": 2, "racks": 1}});
    let first = player.call_with("k", "cloud/machines.create", request.clone());
    player.sleep(5.0);
    assert_eq!(player.call_with("k", "cloud/machines.create", request), first);
    assert_eq!(player.ok("cloud/machines.list", json!({})).as_array().expect("a list").len(), 2);
}
