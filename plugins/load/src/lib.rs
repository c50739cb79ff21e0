//! Step `load`: a load that goes on in the background while other steps act.

mod rows;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wfe_sdk::check::Check;
use wfe_sdk::cluster::Node;
use wfe_sdk::loads::{Consistency, Keys, Load, Spec, Status};
use wfe_sdk::{Bytes, Duration, Error, Rate, Result, cluster, loads, log, step};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Weight of each kind of operation; one that is left out is not sent.
    #[serde(default)]
    mix: Mix,
    /// Asked rate over all loaders; without it a closed loop of `concurrency` operations.
    #[schemars(range(max = 100_000_000), extend("exclusiveMinimum" = 0))]
    rate: Option<Rate>,
    /// How keys are drawn.
    #[serde(default)]
    keys: Keys,
    /// How many different keys there are; without it, about as many rows as the cluster's disks hold.
    #[schemars(range(min = 1))]
    rows: Option<u64>,
    /// Columns of a row.
    #[serde(default = "columns")]
    #[schemars(range(min = 1, max = 256))]
    columns: u32,
    /// Bytes of one column.
    #[serde(default = "column_bytes")]
    #[schemars(range(min = 1, max = 1_048_576))]
    column_bytes: Bytes,
    /// Operations in flight at the same time, over all loaders.
    #[serde(default = "concurrency")]
    #[schemars(range(min = 1, max = 20_000))]
    concurrency: u32,
    /// How many copies must answer an operation.
    #[serde(default)]
    consistency: Consistency,
    /// Copies of each row.
    #[serde(default = "replication")]
    #[schemars(range(min = 1, max = 9))]
    replication: u32,
    /// How many loader machines send it.
    #[schemars(range(min = 1, max = 256))]
    loaders: Option<u32>,
    /// Go on although a node is lost: for tests that take nodes away.
    #[serde(default)]
    tolerate_lost_nodes: bool,
    /// The load's name, unique in the run; the step's id when it is not given.
    #[schemars(length(min = 1))]
    name: Option<String>,
}

/// Weight of each kind of operation.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Mix {
    /// Reads of one row.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    read: f64,
    /// Writes of one row.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    write: f64,
}

impl Default for Mix {
    fn default() -> Self {
        Self { read: 1.0, write: 1.0 }
    }
}

#[derive(Serialize, JsonSchema)]
struct Outputs {
    /// Operations that ended, errors included.
    operations: u64,
    /// Operations that failed.
    errors: u64,
}

fn columns() -> u32 {
    8
}
fn column_bytes() -> Bytes {
    Bytes(128.0)
}
fn concurrency() -> u32 {
    384
}
fn replication() -> u32 {
    3
}

/// How often the load is looked at.
const POLL: Duration = Duration::seconds(30.0);
/// How often it is looked at until its first operations have ended, at least, and how many times.
const FIRST_POLL: Duration = Duration::seconds(2.0);
const FIRST_POLLS: u32 = 15;
const LONGEST_POLL: Duration = Duration::seconds(86_400.0);

fn check(p: &Parameters, check: &mut Check) {
    if p.mix.read + p.mix.write <= 0.0 {
        check.refuse(["/mix"], "`read`, `write` or both need a weight above 0");
    }
}

fn run(p: Parameters) -> Result<Outputs> {
    let tolerant = p.tolerate_lost_nodes;
    let rate = p.rate;
    let load = loads::start(&spec(p)?)?;
    let mut stop = wait_for_operations(&load, rate)?;
    step::ready();
    let members = up();
    while !stop {
        let status = alive(load.status()?)?;
        step::progress(None, doing(&status));
        if !tolerant && down(&members).is_some() {
            stop = step::wait_stop(cluster::LOST_AFTER);
            if let Some(lost) = down(&members).filter(|_| !stop) {
                return Err(lost.lost());
            }
        }
        stop = stop || step::wait_stop(POLL);
    }
    outputs(load.stop()?)
}

fn spec(p: Parameters) -> Result<Spec> {
    let rows = match p.rows {
        Some(rows) => rows,
        None => rows::estimate(f64::from(p.columns) * p.column_bytes.0, p.replication)?,
    };
    Ok(Spec {
        name: p.name.unwrap_or_else(|| step::info().step),
        mix: [("read", p.mix.read), ("write", p.mix.write)].map(|(name, weight)| (name.to_owned(), weight)).into(),
        rate: p.rate,
        concurrency: p.concurrency,
        keys: p.keys,
        rows,
        columns: p.columns,
        column_bytes: p.column_bytes.0 as u32,
        consistency: p.consistency,
        replication: p.replication,
        loaders: p.loaders,
    })
}

/// The nodes; none when they cannot be asked just now.
fn nodes() -> Vec<Node> {
    cluster::nodes().unwrap_or_default()
}

/// The names of the nodes that are up.
fn up() -> Vec<String> {
    nodes().into_iter().filter(Node::is_up).map(|node| node.name).collect()
}

/// A node that was up when the load began and is down. One that stays so ends the load, and with it the steps that it
/// accompanies: their numbers would be of another cluster.
fn down(members: &[String]) -> Option<Node> {
    nodes().into_iter().find(|node| node.is_down() && members.contains(&node.name))
}

/// A load that has not done anything is not ready. True when the step is asked to stop meanwhile.
fn wait_for_operations(load: &Load, rate: Option<Rate>) -> Result<bool> {
    let poll = first_poll(rate);
    for _ in 0..FIRST_POLLS {
        let stop = step::wait_stop(poll);
        if stop || succeeded(&alive(load.status()?)?) > 0 {
            return Ok(stop);
        }
    }
    let waited = Duration(poll.0 * f64::from(FIRST_POLLS));
    let status = load.status()?;
    let message = format!("{} had no operation answered in its first {waited}: {}", load.name(), doing(&status));
    Err(Error::product("no-operations", message))
}

/// In all first polls together three operations are due.
fn first_poll(rate: Option<Rate>) -> Duration {
    let due = rate.map_or(0.0, |rate| 3.0 / rate.0 / f64::from(FIRST_POLLS));
    Duration(due.clamp(FIRST_POLL.0, LONGEST_POLL.0))
}

/// The status, when the load still runs.
fn alive(status: Status) -> Result<Status> {
    if status.state == "running" {
        return Ok(status);
    }
    Err(Error::infrastructure("load-died", format!("{} is {}: {}", status.id, status.state, doing(&status))))
}

fn succeeded(status: &Status) -> u64 {
    status.operations.saturating_sub(status.errors)
}

fn doing(status: &Status) -> String {
    let asked = status.asked_rate.map(|rate| format!(" of {}", Rate(rate))).unwrap_or_default();
    let detail = if status.detail.is_empty() { String::new() } else { format!(", {}", status.detail) };
    format!("{}{asked}, {} operations, {} errors{detail}", Rate(status.rate), status.operations, status.errors)
}

/// That nothing failed is no evidence that something was done.
fn outputs(status: Status) -> Result<Outputs> {
    if status.state == "failed" {
        return Err(Error::infrastructure("load-died", format!("{} failed: {}", status.id, doing(&status))));
    }
    if succeeded(&status) == 0 {
        let message = format!("{} ended without one operation that was answered: {}", status.id, doing(&status));
        return Err(Error::product("no-operations", message));
    }
    log::info(format!("{} ended after {} operations, {} errors", status.id, status.operations, status.errors));
    Ok(Outputs { operations: status.operations, errors: status.errors })
}

wfe_sdk::plugin! {
    "load": run, "Sends a load for as long as other steps need it.", check: check, background
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: &str, operations: u64, errors: u64) -> Status {
        let detail = "connection refused".into();
        let (id, state) = ("traffic".into(), state.into());
        Status { id, state, operations, errors, rate: 99.6, asked_rate: Some(300.0), detail }
    }

    #[test]
    fn a_mix_has_something_in_it() {
        let said = |read, write| {
            let p = Parameters {
                mix: Mix { read, write },
                rate: None,
                keys: Keys::Uniform,
                rows: None,
                columns: columns(),
                column_bytes: column_bytes(),
                concurrency: concurrency(),
                consistency: Consistency::Quorum,
                replication: replication(),
                loaders: None,
                tolerate_lost_nodes: false,
                name: None,
            };
            let mut found = Check::default();
            check(&p, &mut found);
            found.problems().iter().map(|problem| problem.path.clone()).collect::<Vec<_>>()
        };
        assert!(said(0.0, 1.0).is_empty() && said(3.0, 0.5).is_empty());
        assert_eq!(said(0.0, 0.0), ["/mix"]);
    }

    #[test]
    fn a_slow_load_has_time_to_begin() {
        assert_eq!(first_poll(None), FIRST_POLL);
        assert_eq!(first_poll(Some(Rate(5_000.0))), FIRST_POLL);
        assert_eq!(first_poll(Some(Rate(1.0 / 3_600.0))).0.round(), 720.0);
        assert_eq!(first_poll(Some(Rate(1e-12))), LONGEST_POLL);
    }

    #[test]
    fn a_dead_load_says_why() {
        let error = alive(status("failed", 10, 1)).unwrap_err();
        let expected = "traffic is failed: 100/s of 300/s, 10 operations, 1 errors, connection refused";
        assert_eq!((error.code.as_str(), error.message.as_str()), ("load-died", expected));
        assert!(alive(status("running", 0, 0)).is_ok());
    }

    #[test]
    fn a_load_that_did_nothing_is_no_success() {
        assert_eq!(outputs(status("stopped", 0, 0)).err().map(|e| e.code).as_deref(), Some("no-operations"));
        assert_eq!(outputs(status("stopped", 7, 7)).err().map(|e| e.code).as_deref(), Some("no-operations"));
        assert_eq!(outputs(status("failed", 9, 1)).err().map(|e| e.code).as_deref(), Some("load-died"));
    }
}
