//! Plays the published runs and prints what the model gives, or, with `rehearsal`, the whole elasticity test alone
//! (to measure its time).

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::Arc;

use common::{Nowhere, Player, at};
use wfe_sim::Faults;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("rehearsal") => rehearsal(),
        _ => published(),
    }
}

fn rehearsal() {
    let mut player = Player::with(1, Faults::default(), Some(Arc::new(Nowhere)), &[]);
    let machines = player.machines("i4i.large", 3, 3);
    player.cluster("scylla 2025.2", &machines);
    player.fill(90.0);
    player.mixed(9_850.0);
    player.sleep(1800.0);
    let more = player.machines("i4i.4xlarge", 3, 3);
    let seconds = player.join(&more).expect("joins");
    player.stop("mixed");
    println!("growth took {}; the run {}", clock(seconds), clock(player.seconds()));
}

fn published() {
    for (version, fill) in [("2025.2", 86.6), ("2025.2", 90.0), ("newest", 86.6), ("2025.1", 86.6)] {
        let mut player = Player::new(1);
        let machines = player.machines("i4i.large", 3, 3);
        player.cluster(&format!("scylla {version}"), &machines);
        player.fill(fill);
        println!("parallel, {version}, filled to {fill} % at {}", clock(player.seconds()));
        player.take();
        player.mixed(9_850.0);
        player.sleep(1800.0);
        player.nodes();
        show("steady", &player);
        let more = player.machines("i4i.4xlarge", 3, 3);
        player.take();
        let seconds = player.join(&more).expect("joins");
        show(&format!("growth {}", clock(seconds)), &player);
        println!("  usage {:.1?}", player.usage());
    }
    for (percent, rate) in [(50, 14_975.0), (80, 23_960.0), (100, 30_000.0)] {
        one_by_one(percent, rate);
    }
    disk_usage();
}

fn one_by_one(percent: u32, rate: f64) {
    let mut player = Player::new(1);
    let machines = player.machines("i4i.large", 3, 1);
    player.cluster("scylla newest", &machines);
    player.fill(86.6);
    println!("one by one, {percent} %");
    player.take();
    player.mixed(rate);
    player.sleep(1800.0 + 116.0);
    player.nodes();
    show("steady", &player);
    for cycle in 1..=3 {
        let more = player.machines("i4i.4xlarge", 1, 1);
        player.take();
        let outcome = player.join(&more);
        let took = outcome.map_or_else(|e| e.to_string(), clock);
        show(&format!("cycle {cycle} {took}"), &player);
    }
    println!("  usage {:.1?}", player.usage());
}

fn disk_usage() {
    let mut player = Player::new(1);
    let machines = player.machines("i4i.large", 3, 1);
    player.cluster("scylla newest", &machines);
    let from = player.seconds();
    player.start(serde_json::json!({
        "name": "fill", "mix": {"write": 1}, "concurrency": 450, "keys": "sequential", "rows": 400_000_000u64,
        "columns": 1, "column_bytes": 10_240,
    }));
    let soft = until(&mut player, 71.0);
    let hard = until(&mut player, 86.0);
    player.stop("fill");
    player.settle();
    let quiet = player.seconds();
    println!("soft {}, hard and quiet {}", clock(soft - from), clock(quiet - soft));
    println!("  (hard {})", clock(hard - soft));
    let more = player.machines("i4i.xlarge", 1, 1);
    let seconds = player.join(&more).expect("joins");
    println!("add and ready {}; usage {:.1?}", clock(seconds), player.usage());
}

fn until(player: &mut Player, percent: f64) -> f64 {
    while player.usage().into_iter().fold(0.0, f64::max) < percent {
        player.sleep(10.0);
    }
    player.seconds()
}

fn show(what: &str, player: &Player) {
    println!("  {what}");
    for (kind, seen) in player.take() {
        println!(
            "    {kind:5} P90 {:9.2} P99 {:9.2} ms, service P99 {:.2}, {:.0}/s, {} errors",
            seen.ms(0.9),
            seen.ms(0.99),
            at(&seen.service, 0.99),
            seen.rate(),
            seen.errors
        );
    }
}

fn clock(seconds: f64) -> String {
    let s = seconds.round() as u64;
    format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}
