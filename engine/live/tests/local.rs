//! Real Cassandra on this machine. Needs Java 17 and Maven: without them these tests fail and say what to install.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use rustix::process::Signal;
use support::*;
use tempfile::tempdir;
use tokio::sync::Mutex;
use wfe_core::Call;
use wfe_core::backend::{Backend, Run};
use wfe_core::capability::cloud::{self, List, Machine, Request};
use wfe_core::capability::cluster::{Create, Flush, Join};
use wfe_core::capability::cql;
use wfe_core::capability::load::{SetRate, Start, Status, StatusOf, Stop};
use wfe_core::capability::observe::{DatabaseEvent, Since};
use wfe_core::measure::Packed;
use wfe_live::{Local, LocalOptions, Login, Static, StaticOptions};

/// One cluster at a time: two cores are few.
static ALONE: Mutex<()> = Mutex::const_new(());

fn id(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

async fn start(backend: &dyn Backend, run: &Run, spec: serde_json::Value) -> String {
    call(backend, run, Call::LoadStart(Start { spec: spec.to_string() })).await.unwrap()
}

async fn status(backend: &dyn Backend, run: &Run, load: &str) -> Status {
    call(backend, run, Call::LoadStatus(StatusOf { load: load.into() })).await.unwrap()
}

async fn stop(backend: &dyn Backend, run: &Run, load: &str) -> Status {
    call(backend, run, Call::LoadStop(Stop { load: load.into() })).await.unwrap()
}

async fn pause(run: &Run, ms: u64) {
    run.clock.sleep_until(run.clock.now() + ms).await;
}

/// Intervals hold what the status counts, follow each other without a gap, and have what was asked.
fn check_intervals(kept: &Kept, status: &Status, asked: f64) {
    let intervals = kept.0.lock().unwrap();
    let own: Vec<_> = intervals.iter().filter(|interval| interval.load == status.id).collect();
    assert!(own.windows(2).all(|pair| pair[0].to_ms == pair[1].from_ms), "a gap between intervals");
    assert!(own[0].warm_up && own[1..].iter().all(|interval| !interval.warm_up));
    let count = |n: &wfe_core::measure::Interval| n.operations.values().map(|c| c.response.count()).sum::<u64>();
    assert_eq!(own.iter().map(|interval| count(interval)).sum::<u64>(), status.operations);
    let errors: u64 =
        own.iter().flat_map(|i| i.operations.values()).flat_map(|c| c.errors.values()).map(|h| h.count()).sum();
    assert_eq!(errors, status.errors);
    for interval in &own[1..own.len() - 1] {
        let rate = interval.asked_rate.unwrap();
        assert!((rate - asked).abs() < 1.0, "asked {rate}, not {asked}");
    }
    let seconds = (own[own.len() - 1].to_ms - own[0].from_ms) as f64 / 1e3;
    let achieved = status.operations as f64 / seconds;
    assert!((achieved / asked - 1.0).abs() < 0.03, "{achieved}/s of {asked}/s");
}

/// A load at 300/s over a cluster that grows while it runs, a fill, an existing cluster's view of it, and the end.
#[tokio::test]
async fn a_cluster_is_loaded_filled_grown_and_given_back() {
    let _alone = ALONE.lock().await;
    let directory = tempdir().unwrap();
    let id = id("whole");
    let _guard = Guard(id.clone());
    let (run, kept) = run(&id, directory.path());
    let forming = spawn_blocking_life(run.clone());
    let (mut all, operation) = forming.await.unwrap();
    assert_eq!(all.iter().map(|machine| machine.rack).collect::<Vec<_>>(), [1, 2, 3]);
    say(&run, "the first life ended");
    let local = Local::new(LocalOptions::default());
    local.open(run.clone(), &[]).await.unwrap();
    finish(&local, &run, operation).await.unwrap();
    say(&run, "formed");
    let before = nodes(&local, &run).await;
    assert!(before.iter().all(|node| node.state == "up" && node.total_bytes == 96 << 20), "{before:#?}");
    assert_eq!(processes_of(&id).len(), 3);

    fill(&local, &run, &kept).await;
    say(&run, "filled");
    let after = nodes(&local, &run).await;
    for (before, after) in before.iter().zip(&after) {
        let grown = after.used_bytes - before.used_bytes;
        assert!((8 << 20..14 << 20).contains(&grown), "{} grew by {grown} bytes", after.name);
    }

    let traffic = serde_json::json!({
        "name": "traffic", "mix": {"write": 1, "read": 1}, "rate": 300, "concurrency": 64, "keys": "gaussian", "rows": 8000
    });
    start(&local, &run, traffic).await;
    freeze(&run, &id, &kept).await;
    say(&run, "frozen for 2 s, and thawed");
    let joiner = machines(&local, &run, "i4i.xlarge", 1).await.unwrap();
    let join = Call::ClusterJoin(Join { machines: ids(&joiner) });
    let operation = call(&local, &run, join).await.unwrap();
    pause(&run, 2_000).await;
    assert_eq!(nodes(&local, &run).await[3].state, "joining");
    finish(&local, &run, operation).await.unwrap();
    say(&run, "joined");
    pause(&run, 3_000).await;
    let ended = stop(&local, &run, "traffic").await;
    assert_eq!((ended.state.as_str(), ended.errors), ("stopped", 0), "{ended:?}");
    check_intervals(&kept, &ended, 300.0);
    let grown = nodes(&local, &run).await;
    assert_eq!(grown[3].state, "up");
    assert!(grown[3].used_bytes > 3 << 20, "the new node fetched {} bytes", grown[3].used_bytes);
    all.extend(joiner);

    existing(&run, &all).await;
    say(&run, "asked as an existing cluster");
    let since = Since { from_ms: 0, severity: "info".into(), limit: 10_000 };
    let events: Vec<DatabaseEvent> = call(&local, &run, Call::EventsSince(since)).await.unwrap();
    let joined = events.iter().find(|event| event.node == "node-4").unwrap();
    assert!((5_000..run.clock.now()).contains(&joined.at_ms), "{joined:?}");

    resume(&run, &id, &all).await;
    say(&run, "resumed");
    let victim = process_of(&id, "database-2");
    rustix::process::kill_process(victim, Signal::KILL).unwrap();
    pause(&run, 500).await;
    let states: Vec<String> = nodes(&local, &run).await.into_iter().map(|node| node.state).collect();
    assert_eq!(states, ["up", "down", "up", "up"]);
    terminate(&local, &run, &all).await;
    say(&run, "terminated");
    assert_eq!(processes_of(&id), Vec::<i32>::new());
    assert_eq!(call::<Vec<Machine>>(&local, &run, Call::MachinesList(List {})).await.unwrap(), []);
    assert!(directory.path().join("artifacts/database-4/system.log").is_file());
    assert!(!directory.path().join("machines/database-1/data").exists());
    local.close().await.unwrap();
}

/// A life of the run that ends while the cluster is being formed: its machines, and the operation that is left.
fn spawn_blocking_life(run: Run) -> tokio::task::JoinHandle<(Vec<Machine>, String)> {
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let local = Local::new(LocalOptions::default());
            local.open(run.clone(), &[]).await.unwrap();
            let machines = machines(&local, &run, "i4i.large", 3).await.unwrap();
            let create = Create { database: "cassandra 5.0".into(), machines: ids(&machines) };
            let operation = call(&local, &run, Call::ClusterCreate(create)).await.unwrap();
            while processes_of(&run.id).is_empty() {
                pause(&run, 100).await;
            }
            (machines, operation)
        })
    })
}

fn say(run: &Run, what: &str) {
    eprintln!("{:>6} ms {what}", run.clock.now());
}

/// Stops all nodes for two seconds: what should have been sent meanwhile waits, and its response time says so.
async fn freeze(run: &Run, id: &str, kept: &Kept) {
    let signal = |signal| {
        for pid in processes_of(id) {
            rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
        }
    };
    let begun = run.clock.now();
    signal(Signal::STOP);
    pause(run, 2_000).await;
    signal(Signal::CONT);
    pause(run, 4_000).await;
    let intervals = kept.0.lock().unwrap();
    let second: Packed = [(1_000_000_000, 1)].into_iter().collect();
    let second = second.counts().next().unwrap().0;
    let (mut late, mut greatest, mut service) = (0, 0, 0);
    for interval in intervals.iter().filter(|i| i.load == "traffic" && i.from_ms + 1_000 > begun) {
        for counts in interval.operations.values() {
            late += counts.response.counts().filter(|(place, _)| *place > second).map(|(_, n)| n).sum::<u64>();
            greatest = greatest.max(counts.max_response_ns);
            service = service.max(counts.max_service_ns);
        }
    }
    assert!((1_900_000_000..6_000_000_000).contains(&greatest), "the greatest response time is {greatest} ns");
    assert!(service <= greatest);
    // 600 operations were intended in the two seconds, 300 of them at least a second before the end.
    assert!((250..1_200).contains(&late), "{late} operations were late by a second");
}

/// Writes 8,000 rows of 1 KiB as they come, flushes, and reads one back.
async fn fill(local: &Local, run: &Run, kept: &Kept) {
    let spec = serde_json::json!({
        "name": "fill", "mix": {"write": 1}, "rate": 800, "concurrency": 64, "keys": "sequential", "rows": 1_000_000
    });
    let name = start(local, run, spec).await;
    while status(local, run, &name).await.operations < 4_000 {
        pause(run, 100).await;
    }
    call::<()>(local, run, Call::LoadSetRate(SetRate { load: name.clone(), rate: 2_000.0 })).await.unwrap();
    while status(local, run, &name).await.operations < 8_000 {
        pause(run, 50).await;
    }
    let ended = stop(local, run, &name).await;
    assert_eq!((ended.state.as_str(), ended.errors), ("stopped", 0), "{ended:?}");
    let counted: u64 =
        kept.0.lock().unwrap().iter().map(|interval| interval.operations["write"].response.count()).sum();
    assert_eq!(counted, ended.operations);
    call::<()>(local, run, Call::ClusterFlush(Flush {})).await.unwrap();
    let query = cql::Query {
        statement: "SELECT key, c7 FROM wfe.rows_8x128 WHERE key = ?".into(),
        values: format!("[{}]", ended.operations - 1),
    };
    let rows: String = call(local, run, Call::CqlQuery(query)).await.unwrap();
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows[0]["key"], ended.operations - 1, "sequential keys have no holes");
    assert_eq!(rows[0]["c7"].as_str().unwrap().len(), 2 + 2 * 128);
}

/// The same cluster as the static backend sees it.
async fn existing(run: &Run, machines: &[Machine]) {
    let login = Login { user: "wfe".into(), password: "wfe".into() };
    let options = StaticOptions { login: Some(login), ..StaticOptions::default() };
    let backend = Static::new(vec![machines[0].address.clone()], options);
    backend.open(run.clone(), &[]).await.unwrap();
    let nodes = nodes(&backend, run).await;
    assert_eq!(nodes.len(), 4);
    assert!(nodes.iter().all(|node| node.state == "up" && node.total_bytes > 0 && node.used_bytes > 0), "{nodes:#?}");
    let request = Request { role: "database".into(), machine_type: "i4i.large".into(), count: 1, racks: 1 };
    let error = call::<Vec<Machine>>(&backend, run, Call::MachinesCreate(cloud::Create { request })).await.unwrap_err();
    assert_eq!(error.kind, "unsupported");
    let spec = serde_json::json!({
        "name": "closed", "mix": {"read": 1}, "concurrency": 4, "keys": "uniform", "rows": 1000
    });
    start(&backend, run, spec).await;
    let ended = stop(&backend, run, "closed").await;
    assert!(ended.operations > 100 && ended.errors == 0 && ended.asked_rate.is_none(), "{ended:?}");
    backend.close().await.unwrap();
}

/// Another life of the run finds its machines and processes again, and starts none.
async fn resume(run: &Run, id: &str, machines: &[Machine]) {
    let processes = processes_of(id);
    let local = Local::new(LocalOptions::default());
    local.open(run.clone(), &[]).await.unwrap();
    assert_eq!(call::<Vec<Machine>>(&local, run, Call::MachinesList(List {})).await.unwrap(), machines);
    assert!(nodes(&local, run).await.iter().all(|node| node.state == "up"));
    local.close().await.unwrap();
    assert_eq!(processes_of(id), processes);
}

/// Up to three times the disk of one node is written: it refuses before that, and the load says why it failed.
#[tokio::test]
async fn a_full_disk_refuses_writes_and_fails_the_load() {
    let _alone = ALONE.lock().await;
    let directory = tempdir().unwrap();
    let id = id("full");
    let _guard = Guard(id.clone());
    let (run, kept) = run(&id, directory.path());
    let local = Local::new(LocalOptions::default());
    local.open(run.clone(), &[]).await.unwrap();
    let machines = machines(&local, &run, "i4i.large", 1).await.unwrap();
    form(&local, &run, &machines).await.unwrap();
    say(&run, "formed");
    let spec = serde_json::json!({
        "name": "fill", "mix": {"write": 1}, "rate": 500, "concurrency": 64, "keys": "sequential", "rows": 1_000_000,
        "columns": 1, "column_bytes": 16_384, "replication": 1, "consistency": "ONE"
    });
    start(&local, &run, spec).await;
    let mut refused = status(&local, &run, "fill").await;
    while refused.state == "running" && refused.operations - refused.errors < 3 * 96 * 64 {
        pause(&run, 250).await;
        refused = status(&local, &run, "fill").await;
    }
    let node = &nodes(&local, &run).await[0];
    say(&run, &format!("{refused:?} {node:?}"));
    let ended = stop(&local, &run, "fill").await;
    assert_eq!(ended.state, "failed", "{ended:?}");
    assert!(ended.detail.starts_with("every operation failed for 10 s, the last one with `disk-full`: "), "{ended:?}");
    let classes: Vec<String> =
        kept.0.lock().unwrap().iter().flat_map(|i| i.operations["write"].errors.keys().cloned()).collect();
    assert!(classes.iter().all(|class| class == "disk-full") && !classes.is_empty(), "{classes:?}");
    let percent = node.used_bytes * 100 / node.total_bytes;
    // The node looks at its disk twice a second, and 8 MiB are written in one.
    assert!((85..=110).contains(&percent), "{percent} %");
    terminate(&local, &run, &machines).await;
    assert_eq!(processes_of(&id), Vec::<i32>::new());
}

#[tokio::test]
async fn a_node_that_dies_while_it_starts_fails_the_operation_with_its_last_lines() {
    let _alone = ALONE.lock().await;
    let directory = tempdir().unwrap();
    let id = id("dies");
    let _guard = Guard(id.clone());
    let (run, _) = run(&id, directory.path());
    let settings = BTreeMap::from([("commitlog_sync".to_owned(), "sometimes".to_owned())]);
    let local = Local::new(LocalOptions { settings, ..LocalOptions::default() });
    local.open(run.clone(), &[]).await.unwrap();
    let machines = machines(&local, &run, "i4i.large", 3).await.unwrap();
    let begun = run.clock.now();
    let error = form(&local, &run, &machines).await.unwrap_err();
    say(&run, &error.message);
    assert_eq!((error.kind.as_str(), error.code.as_str()), ("product", "node-died"));
    assert!(error.message.starts_with("node-1 on database-1 ended with exit status"), "{}", error.message);
    assert!(error.message.contains("commitlog_sync"), "{}", error.message);
    assert!(run.clock.now() - begun < 90_000, "it took {} ms", run.clock.now() - begun);
    terminate(&local, &run, &machines).await;
    assert_eq!(processes_of(&id), Vec::<i32>::new());
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let directory = tempdir().unwrap();
    let (run, _) = run(&id("port"), directory.path());
    let block = [127, 250, 7];
    let _taken = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::new(127, 250, 7, 2), 9042)).unwrap();
    let local = Local::new(LocalOptions { block: Some(block), ..LocalOptions::default() });
    local.open(run.clone(), &[]).await.unwrap();
    let error = machines(&local, &run, "i4i.large", 3).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.code.as_str()), ("infrastructure", "port-in-use"));
    assert!(error.message.starts_with("port 9042 of 127.250.7.2 is in use: end the process"), "{}", error.message);
}

#[tokio::test]
async fn what_does_not_exist_is_refused() {
    let directory = tempdir().unwrap();
    let (run, _) = run(&id("refused"), directory.path());
    let local = Local::new(LocalOptions::default());
    local.open(run.clone(), &[]).await.unwrap();
    let error = machines(&local, &run, "i4i.lage", 3).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.code.as_str()), ("request", "unknown-machine-type"));
    let machines = machines(&local, &run, "i4i.large", 1).await.unwrap();
    let create = Create { database: "scylla 2025.2".into(), machines: ids(&machines) };
    let error = call::<String>(&local, &run, Call::ClusterCreate(create)).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.code.as_str()), ("request", "unknown-database"));
    let error = call::<String>(&local, &run, Call::ClusterJoin(Join { machines: ids(&machines) })).await.unwrap_err();
    assert_eq!(error.code, "no-cluster");
    let spec = r#"{"name":"x","mix":{"read":1},"concurrency":1,"keys":"uniform","rows":1}"#.to_owned();
    let error = call::<String>(&local, &run, Call::LoadStart(Start { spec })).await.unwrap_err();
    assert_eq!(error.code, "no-cluster");
}

#[tokio::test]
async fn a_contact_point_that_does_not_answer_is_named() {
    let directory = tempdir().unwrap();
    let (run, _) = run(&id("static"), directory.path());
    let backend = Static::new(vec!["127.250.8.1:9042".into()], StaticOptions::default());
    let error = backend.open(run.clone(), &[]).await.unwrap_err();
    assert!(error.message.starts_with("contact point `127.250.8.1:9042` cannot be reached: "), "{}", error.message);
    assert!(run.clock.now() < 10_000);
}
