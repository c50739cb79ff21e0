//! Step `fill-to-percent`: writes until the fullest disk of the cluster is used up to some percentage.
//!
//! Not a count of rows but the measured usage of the disks decides when to stop, and it is the fullest node that stops
//! it: the others follow, and no disk is ever full by accident.

mod guard;
mod pace;
mod parameters;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use wfe_sdk::cluster::Node;
use wfe_sdk::loads::{Load, Spec};
use wfe_sdk::{Duration, Percent, Rate, Result, clock, cluster, loads, log, step};

use guard::{Guard, fullest};
use pace::{Decision, Pace, Sample};
use parameters::{Goal, Parameters};

#[derive(Serialize, JsonSchema)]
struct Outputs {
    /// Rows that were written: operations without errors.
    rows: u64,
    /// Usage of the fullest disk, everything in memory flushed.
    used_percent: Percent,
    /// How long it took.
    seconds: Duration,
}

fn fill(p: Parameters) -> Result<Outputs> {
    let goal = p.goal();
    let start = clock::now();
    step::phase(if goal.soft.is_some() { SOFT.0 } else { HARD.0 });
    let nodes = cluster::nodes()?;
    // A disk that is full enough already, as after an earlier attempt, needs no load.
    let rows = if fullest(&nodes)?.used_percent() < goal.percent { write(&p, &goal, &nodes)? } else { 0 };
    cluster::flush()?;
    let nodes = cluster::snapshot(HARD.1)?;
    guard::below_ceiling(&goal, &nodes)?;
    let used_percent = Percent(fullest(&nodes)?.used_percent());
    let seconds = Duration(clock::now().0 - start.0);
    log::info(format!("{rows} rows in {seconds}: the fullest disk is at {used_percent}"));
    Ok(Outputs { rows, used_percent, seconds })
}

/// The phases, each with the name of the moment at its end.
const SOFT: (&str, &str) = ("soft-limit", "soft limit");
const HARD: (&str, &str) = ("hard-limit", "hard limit");

/// Writes until the goal is reached; answers how many rows. The load ends with this function, however it ends.
fn write(p: &Parameters, goal: &Goal, nodes: &[Node]) -> Result<u64> {
    let spec = p.spec(nodes);
    let load = loads::start(&spec)?;
    steer(p, goal, &spec, &load, nodes)?;
    let status = load.stop()?;
    Ok(status.operations.saturating_sub(status.errors))
}

/// Looks, decides, waits, until the goal is reached.
fn steer(p: &Parameters, goal: &Goal, spec: &Spec, load: &Load, nodes: &[Node]) -> Result<()> {
    let mut guard = Guard::new(nodes.len(), p.max_errors, spec.rows);
    let mut pace = Pace::new(goal.clone(), p.growth(nodes));
    let mut flushed = false;
    loop {
        let (now, nodes, status) = (clock::now(), cluster::nodes()?, load.status()?);
        guard::below_ceiling(goal, &nodes)?;
        guard.look(now, &nodes, &status)?;
        let fullest = fullest(&nodes)?;
        let used = fullest.used_percent();
        let sample = Sample { at: now.0, used, flushed, writes: status.operations };
        step::progress(used / goal.percent, doing(fullest, goal, &pace));
        flushed = false;
        match pace.decide(&sample) {
            Decision::Done => return Ok(()),
            Decision::SoftLimit => {
                cluster::snapshot(SOFT.1)?;
                step::phase(HARD.0);
            }
            Decision::Flush => {
                cluster::flush()?;
                flushed = true;
            }
            Decision::SlowDown { rate, wait } => {
                log::info(format!("slowing down to {} at {}", Rate(rate), Percent(used)));
                load.set_rate(Rate(rate))?;
                clock::sleep(Duration(wait));
            }
            Decision::Wait(wait) => clock::sleep(Duration(guard.patience(wait))),
        }
    }
}

fn doing(fullest: &Node, goal: &Goal, pace: &Pace) -> String {
    let used = Percent(fullest.used_percent());
    let left = pace.left().map(|left| format!(", about {} left", Duration(left))).unwrap_or_default();
    format!("{} is at {used} of {}{left}", fullest.name, Percent(goal.percent))
}

/// Only writes.
fn writes() -> BTreeMap<String, f64> {
    BTreeMap::from([("write".to_owned(), 1.0)])
}

wfe_sdk::plugin! {
    "fill-to-percent": fill, "Writes until the fullest disk of the cluster is used up to some percentage.",
    check: Parameters::check, phases: ["soft-limit", "hard-limit"]
}
