//! Faults and limits of the simulated world, as a plugin sees them.

mod common;

use std::collections::BTreeSet;

use common::Player;
use serde_json::json;
use wfe_sim::{FAULTS_EXAMPLE, Faults};

fn faulty(faults: serde_json::Value) -> Player {
    let faults: Faults = serde_json::from_value(faults).expect("faults");
    Player::with(1, faults, None, &[])
}

fn three(player: &mut Player) -> Vec<String> {
    let machines = player.machines("i4i.large", 3, 3);
    player.cluster("scylla newest", &machines);
    machines
}

fn light(consistency: &str) -> serde_json::Value {
    json!({
        "name": "light", "mix": {"write": 1, "read": 1}, "rate": 1000, "concurrency": 50, "keys": "uniform", "rows": 1_000_000,
        "consistency": consistency,
    })
}

#[test]
fn no_capacity_is_infrastructure() {
    let mut player = faulty(json!([{"capacity": {"machine-type": "i4i.large"}}]));
    let request = json!({"request": {"role": "db", "machine-type": "i4i.large", "count": 2, "racks": 1}});
    let error = player.call("cloud/machines.create", request).expect_err("none there");
    assert_eq!((error.kind.as_str(), error.code.as_str()), ("infrastructure", "no-capacity"));
    assert!(player.ok("cloud/machines.list", json!({})).as_array().expect("a list").is_empty());
}

#[test]
fn lost_machine_while_booting_ends_the_wait() {
    let mut player = faulty(json!([{"machine-lost": {"machine": "i-0002", "at": 5}}]));
    let request = json!({"request": {"role": "db", "machine-type": "i4i.large", "count": 2, "racks": 1}});
    player.ok("cloud/machines.create", request);
    let wait = json!({"ids": ["i-0001", "i-0002"], "timeout-ms": 600_000});
    let error = player.call("cloud/machines.wait-running", wait).expect_err("lost");
    assert_eq!((error.code.as_str(), player.now()), ("machine-lost", 5_000));
}

#[test]
fn waiting_has_an_end() {
    let mut player = Player::new(1);
    player.ok(
        "cloud/machines.create",
        json!({"request": {"role": "db", "machine-type": "i4i.large", "count": 1, "racks": 1}}),
    );
    let error = player
        .call("cloud/machines.wait-running", json!({"ids": ["i-0001"], "timeout-ms": 1500}))
        .expect_err("boots longer");
    assert_eq!((error.kind.as_str(), player.now()), ("timeout", 1_500));
}

#[test]
fn one_lost_node_leaves_a_quorum_but_not_all() {
    for (consistency, fails) in [("QUORUM", false), ("ALL", true)] {
        let mut player = faulty(json!([{"machine-lost": {"machine": "i-0002", "at": 1000}}]));
        three(&mut player);
        player.start(light(consistency));
        player.sleep(1000.0 - player.seconds() + 100.0);
        let down: Vec<serde_json::Value> = player.nodes().iter().map(|n| n["state"].clone()).collect();
        assert_eq!(down, ["up", "down", "up"]);
        assert_eq!(player.signal("hints") > 0.0, !fails);
        let status = player.stop("light");
        assert_eq!(status["errors"].as_u64().expect("a count") > 0, fails, "{status}");
        assert!(!fails || (status["errors"] == json!(100_000)), "{status}");
    }
}

#[test]
fn load_fails_with_its_cluster() {
    let mut player = Player::new(1);
    let machines = three(&mut player);
    player.start(light("QUORUM"));
    player.sleep(60.0);
    player.ok("cloud/machines.terminate", json!({"ids": machines}));
    let status = player.ok("load/loads.status", json!({"load": "light"}));
    assert_eq!(status["state"], json!("failed"));
    assert_eq!(status["operations"], json!(60_000));
    assert_eq!(status["operations"].as_u64(), Some(player.take().values().map(|s| s.response.total()).sum()));
}

#[test]
fn lost_machine_ends_its_join() {
    let mut player = faulty(json!([{"machine-lost": {"machine": "i-0004", "at": 900}}]));
    three(&mut player);
    player.start(light("QUORUM"));
    player.sleep(600.0);
    let more = player.machines("i4i.xlarge", 1, 1);
    player.sleep(850.0 - player.seconds());
    let error = player.join(&more).expect_err("lost");
    assert_eq!((error.kind.as_str(), player.now()), ("infrastructure", 900_000));
}

#[test]
fn join_that_fails_says_so_on_both_sides() {
    let mut player = faulty(json!([{"join-fails": {"join": 1}}]));
    three(&mut player);
    player.start(light("QUORUM"));
    let more = player.machines("i4i.xlarge", 2, 2);
    let error = player.join(&more[..1]).expect_err("fails");
    assert_eq!((error.kind.as_str(), error.code.as_str()), ("product", "join-failed"));
    let events = player.ok("observe/events.since", json!({"from-ms": 0, "severity": "error", "limit": 10}));
    let said: Vec<String> =
        events.as_array().expect("a list").iter().map(|e| format!("{} {}", e["node"], e["message"])).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    "node-4" "raft operation [read_barrier] timed out"
    "node-1" "Transferring snapshot to node-4 failed"
    "#);
    player.join(&more[1..]).expect("the next one joins");
}

#[test]
fn full_disk_refuses_writes() {
    let mut player = Player::new(1);
    three(&mut player);
    player.start(json!({"name": "flood", "mix": {"write": 1}, "concurrency": 450, "keys": "sequential", "rows": 1_000_000_000u64}));
    player.sleep(20_000.0);
    assert!(player.usage().iter().all(|percent| (percent - 100.0).abs() < 1e-6));
    let status = player.stop("flood");
    assert!(status["errors"].as_u64().expect("a count") > 0);
    assert!(status["detail"].as_str().expect("text").contains("disk-full"), "{status}");
    let events = player.ok("observe/events.since", json!({"from-ms": 0, "severity": "warn", "limit": 100}));
    assert_eq!(events.as_array().expect("a list").len(), 9);
}

#[test]
fn wrong_calls_are_answered_with_what_to_do() {
    let mut player = Player::new(1);
    let mut said = String::new();
    let mut wrong = |player: &mut Player, name: &str, arguments: serde_json::Value| {
        let error = player.call(name, arguments).expect_err("wrong");
        said += &format!("{}: {error}\n", name.split('/').next_back().unwrap_or(name));
    };
    wrong(&mut player, "load/loads.start", json!({"spec": light("ONE").to_string()}));
    wrong(&mut player, "cluster/cluster.nodes", json!({}));
    wrong(&mut player, "cluster/cluster.join", json!({"machines": []}));
    wrong(&mut player, "cloud/machines.terminate", json!({"ids": ["i-0009"]}));
    wrong(
        &mut player,
        "cloud/machines.create",
        json!({"request": {"role": "db", "machine-type": "i4i.large", "count": 0, "racks": 1}}),
    );
    let loader = player.machines("c6i.large", 1, 1);
    wrong(&mut player, "cluster/cluster.create", json!({"database": "scylla newest", "machines": loader}));
    player.ok(
        "cloud/machines.create",
        json!({"request": {"role": "db", "machine-type": "i4i.large", "count": 1, "racks": 1}}),
    );
    wrong(&mut player, "cluster/cluster.create", json!({"database": "scylla newest", "machines": ["i-0002"]}));
    player.sleep(100.0);
    player.cluster("scylla newest", &["i-0002".into()]);
    wrong(&mut player, "cluster/cluster.join", json!({"machines": ["i-0002"]}));
    wrong(&mut player, "load/loads.start", json!({"spec": light("ONE").to_string()}));
    wrong(&mut player, "load/loads.status", json!({"load": "nope"}));
    wrong(&mut player, "operation/operations.wait-any", json!({"ids": ["join-7"], "timeout-ms": 1}));
    wrong(&mut player, "cql/session.query", json!({"statement": "SELECT 1", "values": "[]"}));
    insta::assert_snapshot!(said, @r#"
    loads.start: there is no cluster to load: create one first (request, no-cluster)
    cluster.nodes: there is no cluster yet: create one first (request, no-cluster)
    cluster.join: there is no cluster yet: create one first (request, no-cluster)
    machines.terminate: this run has no machine `i-0009` (request, unknown-machine)
    machines.create: cannot create 0 machines in 1 rack(s): ask for 1 to 256 machines in at least one rack (request, bad-request)
    cluster.create: machine i-0001 (c6i.large) has no local disk for a database (request, no-disk)
    cluster.create: machine i-0002 is pending: wait until it runs (request, not-running)
    cluster.join: machine i-0002 has a node already (request, machine-in-use)
    loads.start: load `light` asks for 3 copies, more than nodes are up (request, bad-load)
    loads.status: this run has no load `nope` (request, unknown-load)
    operations.wait-any: this run has no operation `join-7` (request, unknown-operation)
    session.query: the simulator has no rows: CQL statements need a real database (unsupported, unsupported)
    "#);
}

#[test]
fn faults_are_written_in_yaml() {
    let faults: Faults = serde_saphyr::from_str(FAULTS_EXAMPLE).expect("faults");
    let kinds: BTreeSet<_> = faults.0.iter().map(std::mem::discriminant).map(|kind| format!("{kind:?}")).collect();
    assert_eq!((faults.0.len(), kinds.len()), (10, 10));
    assert!(serde_saphyr::from_str::<Faults>("- machine-lost: {machine: i-0003, when: 1}").is_err());
    assert!(serde_saphyr::from_str::<Faults>("- earthquake: {at: 1}").is_err());
}

#[test]
fn another_product_spreads_by_node() {
    let mut player = Player::new(1);
    let machines = player.machines("i4i.large", 3, 1);
    player.cluster("cassandra 5.0", &machines);
    player.start(json!({"name": "fill", "mix": {"write": 1}, "rate": 8_000, "concurrency": 100, "keys": "sequential", "rows": 1_000_000_000u64}));
    player.sleep(1800.0);
    player.stop("fill");
    player.settle();
    let more = player.machines("i4i.large", 1, 1);
    player.join(&more).expect("joins");
    let usage = player.usage();
    assert!(usage.iter().all(|percent| (percent / usage[0] - 1.0).abs() < 0.02), "{usage:?}");
}

#[test]
fn lost_loader_is_missing_from_then_on() {
    let mut player = faulty(json!([{"loader-lost": {"load": "light", "loader": 2, "at": 500}}]));
    three(&mut player);
    player.sleep(400.0 - player.seconds());
    *player.recorded.trace.lock().expect("no panic") = Some(Vec::new());
    let mut spec = light("QUORUM");
    spec["loaders"] = json!(4);
    player.start(spec);
    player.sleep(155.0);
    let status = player.stop("light");
    assert_eq!(status["operations"], json!(100 * 1000 + 55 * 750));
    assert_eq!(status["detail"], json!("loader-2 is lost"));
    let trace = player.recorded.trace.lock().expect("no panic").take().expect("traced");
    let last: Vec<&str> = trace.iter().filter(|l| l.contains("550000-555000")).map(|l| &l[..14]).collect();
    assert_eq!(last, ["light loader-1", "light loader-3", "light loader-4"]);
    assert_eq!(trace.iter().filter(|l| l.contains("loader-2")).count(), 10);
}
