//! Step `load`: a load that goes on in the background while other steps act.

mod rows;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wfe_sdk::loads::{Keys, Load, Spec, Status};
use wfe_sdk::{Bytes, Duration, Error, Rate, Result, loads, log, step};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Weight of each kind of operation: `read`, `write`.
    #[serde(default = "half_and_half")]
    mix: BTreeMap<String, f64>,
    /// Asked rate over all loaders; without it a closed loop of `concurrency` operations.
    rate: Option<Rate>,
    /// How keys are drawn.
    #[serde(default)]
    keys: Keys,
    /// How many different keys there are; without it, about as many rows as the cluster's disks hold.
    #[schemars(range(min = 1))]
    rows: Option<u64>,
    /// Columns of a row.
    #[serde(default = "columns")]
    #[schemars(range(min = 1))]
    columns: u32,
    /// Bytes of one column.
    #[serde(default = "column_bytes")]
    column_bytes: Bytes,
    /// Operations in flight at the same time, over all loaders.
    #[serde(default = "concurrency")]
    #[schemars(range(min = 1))]
    concurrency: u32,
    /// Consistency level: `ONE`, `QUORUM`, `ALL`.
    #[serde(default = "consistency")]
    consistency: String,
    /// Copies of each row.
    #[serde(default = "replication")]
    #[schemars(range(min = 1))]
    replication: u32,
    /// How many loader machines send it.
    #[schemars(range(min = 1))]
    loaders: Option<u32>,
    /// The load's name, unique in the run; the step's id when it is not given.
    name: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Outputs {
    /// Operations that ended, errors included.
    operations: u64,
    /// Operations that failed.
    errors: u64,
}

fn half_and_half() -> BTreeMap<String, f64> {
    [("read", 1.0), ("write", 1.0)].into_iter().map(|(name, weight)| (name.to_owned(), weight)).collect()
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
fn consistency() -> String {
    "QUORUM".into()
}
fn replication() -> u32 {
    3
}

/// How often the load is looked at.
const POLL: Duration = Duration::seconds(60.0);
/// How often it is looked at until its first operations have ended, and how many times.
const FIRST_POLL: Duration = Duration::seconds(2.0);
const FIRST_POLLS: u32 = 15;

fn run(p: Parameters) -> Result<Outputs> {
    let load = loads::start(&spec(p)?)?;
    let mut stop = wait_for_operations(&load)?;
    step::ready();
    while !stop {
        let status = alive(load.status()?)?;
        step::progress(None, doing(&status));
        stop = step::wait_stop(POLL);
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
        mix: p.mix,
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

/// A load that has not done anything is not ready. True when the step is asked to stop meanwhile.
fn wait_for_operations(load: &Load) -> Result<bool> {
    for _ in 0..FIRST_POLLS {
        let stop = step::wait_stop(FIRST_POLL);
        if stop || succeeded(&alive(load.status()?)?) > 0 {
            return Ok(stop);
        }
    }
    let waited = Duration(FIRST_POLL.0 * f64::from(FIRST_POLLS));
    let status = load.status()?;
    let message = format!("{} had no operation answered in its first {waited}: {}", load.name(), doing(&status));
    Err(Error::product("no-operations", message))
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
    "load": run, "Sends a load for as long as other steps need it.", background
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
