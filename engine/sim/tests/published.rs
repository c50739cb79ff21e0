//! The model against published runs. The figures are facts; the tolerances say how far the model is trusted.

mod common;

use std::collections::BTreeMap;

use common::{Player, Seen, at};
use wfe_sim::Faults;

type Kinds = BTreeMap<String, Seen>;

fn near(what: &str, value: f64, published: f64, tolerance: f64) {
    let apart = value / published - 1.0;
    assert!(apart.abs() <= tolerance, "{what}: {value:.2} where {published} was published ({:+.0} %)", apart * 100.0);
}

fn percentiles(what: &str, seen: &BTreeMap<String, Seen>, published: [f64; 4]) {
    let found = [("write", 0.9), ("read", 0.9), ("write", 0.99), ("read", 0.99)];
    for ((kind, quantile), published) in found.into_iter().zip(published) {
        near(&format!("{what} {kind} {quantile}"), seen[kind].ms(quantile), published, 0.25);
    }
}

fn elasticity(fill: f64) {
    let mut player = Player::new(7);
    let machines = player.machines("i4i.large", 3, 3);
    player.cluster("scylla 2025.2", &machines);
    player.fill(fill);
    player.take();
    player.mixed(9_850.0);
    player.sleep(1800.0);
    player.nodes();
    let steady = player.take();
    percentiles("steady", &steady, [1.12, 1.97, 2.13, 3.35]);
    near("steady rate", steady["read"].rate() + steady["write"].rate(), 9_850.0, 0.001);
    let more = player.machines("i4i.4xlarge", 3, 3);
    player.take();
    let seconds = player.join(&more).expect("joins");
    percentiles("scale-out", &player.take(), [1.39, 2.33, 2.54, 4.39]);
    near("growth", seconds, 42.0 * 60.0 + 32.0, 0.15);
    assert!(player.usage().iter().all(|percent| (percent - fill / 9.0).abs() < 0.5));
}

#[test]
fn parallel_growth_from_90_percent() {
    elasticity(90.0);
}

#[test]
fn parallel_growth_from_87_percent() {
    elasticity(86.6);
}

/// Three nodes at 87 %, then three bigger ones one after another; answers steady state and cycles.
fn one_by_one(rate: f64) -> (Player, Kinds, Vec<(Option<f64>, Kinds)>) {
    let mut player = Player::new(7);
    let machines = player.machines("i4i.large", 3, 1);
    player.cluster("scylla newest", &machines);
    player.fill(86.6);
    player.take();
    player.mixed(rate);
    player.sleep(1800.0 + 116.0);
    player.nodes();
    let steady = player.take();
    let mut cycles = Vec::new();
    for _ in 0..3 {
        let more = player.machines("i4i.4xlarge", 1, 1);
        player.take();
        let seconds = player.join(&more).ok();
        cycles.push((seconds, player.take()));
    }
    (player, steady, cycles)
}

#[test]
fn one_by_one_at_half_load() {
    let (_, steady, cycles) = one_by_one(14_975.0);
    near("write P99", steady["write"].ms(0.99), 2.14, 0.25);
    near("read P99", steady["read"].ms(0.99), 4.65, 0.25);
    for ((seconds, _), published) in cycles.iter().zip([1405.0, 686.0, 422.0]) {
        near("cycle", seconds.expect("joins"), published, 0.2);
    }
    // The published tails are 699 and 859 ms; they sit where demand meets its share, so only their kind is held.
    for kind in ["read", "write"] {
        let tail = cycles[0].1[kind].ms(0.99);
        assert!((200.0..4_000.0).contains(&tail), "{kind}: {tail}");
        assert!(cycles[1].1[kind].ms(0.99) < 10.0);
    }
}

#[test]
fn one_by_one_overloaded() {
    let (_, steady, cycles) = one_by_one(23_960.0);
    near("rate", steady["read"].rate() + steady["write"].rate(), 18_790.0, 0.05);
    near("P99", steady["read"].ms(0.99), 410_438.0, 0.2);
    assert!(at(&steady["read"].service, 0.5) < 50.0, "the server's own time leaves the wait out");
    for ((seconds, _), published) in cycles.iter().zip([1905.0, 898.0, 552.0]) {
        near("cycle", seconds.expect("joins"), published, 0.2);
    }
    near("P99 in cycle 1", cycles[0].1["read"].ms(0.99), 718_870.0, 0.2);
}

#[test]
fn third_node_never_joins_at_full_load() {
    let (mut player, _, cycles) = one_by_one(30_000.0);
    let joined: Vec<bool> = cycles.iter().map(|(seconds, _)| seconds.is_some()).collect();
    assert_eq!(joined, [true, true, false]);
    let events =
        player.ok("observe/events.since", serde_json::json!({"from-ms": 0, "severity": "error", "limit": 100}));
    assert!(events.to_string().contains("raft operation [read_barrier] timed out"), "{events}");
}

#[test]
fn versions_differ_by_their_streaming() {
    for (version, published) in [("newest", 1582.0), ("2025.1", 3995.0)] {
        let mut player = Player::new(7);
        let machines = player.machines("i4i.large", 3, 3);
        player.cluster(&format!("scylla {version}"), &machines);
        player.fill(87.0);
        player.mixed(9_850.0);
        let more = player.machines("i4i.4xlarge", 3, 3);
        near(version, player.join(&more).expect("joins"), published, 0.15);
    }
}

#[test]
fn bigger_node_beside_three_small_ones() {
    let mut player = Player::new(7);
    let machines = player.machines("i4i.large", 3, 1);
    player.cluster("scylla newest", &machines);
    let from = player.seconds();
    player.start(serde_json::json!({
        "name": "fill", "mix": {"write": 1}, "concurrency": 450, "keys": "sequential", "rows": 400_000_000u64,
        "columns": 1, "column_bytes": 10_240,
    }));
    let until = |player: &mut Player, percent: f64| {
        while player.usage().into_iter().fold(0.0, f64::max) < percent {
            player.sleep(10.0);
        }
        player.seconds()
    };
    let soft = until(&mut player, 71.0);
    until(&mut player, 86.0);
    player.stop("fill");
    player.settle();
    near("soft limit", soft - from, 4887.0, 0.1);
    near("hard limit and quiet", player.seconds() - soft, 3211.0, 0.1);
    let more = player.machines("i4i.xlarge", 1, 1);
    near("add and ready", player.join(&more).expect("joins"), 981.0, 0.2);
    let usage = player.usage();
    for (percent, published) in usage.iter().zip([57.4, 57.4, 57.4, 43.0]) {
        near("disk", *percent, published, 0.03);
    }
}

/// Three nodes that read from memory at 1.2 million operations a second.
fn cached_reads(faults: Faults) -> Player {
    let mut player = Player::with(7, faults, None, &[]);
    let machines = player.machines("i8g.4xlarge", 3, 3);
    player.cluster("scylla newest", &machines);
    player.start(serde_json::json!({
        "name": "fill", "mix": {"write": 1}, "rate": 100_000, "concurrency": 450, "keys": "sequential", "rows": 1_000_000,
    }));
    player.sleep(30.0);
    player.stop("fill");
    player.sleep(600.0 - player.seconds());
    player.take();
    player.start(serde_json::json!({
        "name": "steps", "mix": {"read": 1}, "rate": 1_200_000, "concurrency": 1150, "keys": "uniform", "rows": 1_000_000,
        "consistency": "ONE",
    }));
    player
}

#[test]
fn throughput_steps_of_cached_reads() {
    let mut player = cached_reads(Faults::default());
    player.sleep(1800.0);
    player.ok("load/loads.set-rate", serde_json::json!({"load": "steps", "rate": 1_500_000}));
    let step = player.take();
    near("P95 at 1.2 M", step["read"].ms(0.95), 1.10, 0.25);
    near("P99 at 1.2 M", step["read"].ms(0.99), 4.86, 0.25);
    player.sleep(1800.0);
    player.stop("steps");
    near("P99 at 1.5 M", player.take()["read"].ms(0.99), 6.30, 0.25);
}

#[test]
fn node_at_its_limit_of_active_reads() {
    let fault = |at: u32, seconds: f64| serde_json::json!({"active-reads": {"node": "node-2", "at": at, "seconds": seconds, "most": 94, "each-ms": 0.3}});
    let faults = serde_json::json!([fault(700, 13.0), fault(1900, 1.5)]);
    let mut player = cached_reads(serde_json::from_value(faults).expect("faults"));
    player.sleep(110.0);
    near("queued reads", player.signal("pending-reads"), 1_008.0, 0.1);
    let mut tails = Vec::new();
    let mut whole = wfe_core::measure::Tally::default();
    for end in [1200.0, 1800.0, 2400.0] {
        player.sleep(end - player.seconds());
        player.nodes();
        let seen = player.take();
        whole.merge(&seen["read"].response);
        tails.push(seen["read"].ms(0.99));
    }
    near("first interval", tails[0], 2_672.0, 0.25);
    near("second interval", tails[1], 5.9, 0.25);
    assert!((50.0..400.0).contains(&tails[2]), "third interval: {}", tails[2]);
    near("P99", at(&whole, 0.99), 1_754.0, 0.35);
}
