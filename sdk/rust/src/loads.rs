//! Loads that the engine's own load generator makes: a plugin says what to send, and operations never cross the sandbox.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bindings::wfe::load::loads;
pub use crate::bindings::wfe::load::loads::LoadStatus as Status;
use crate::{Rate, Result, log};

/// What a load does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The load's name, unique in the run; the recorded logs carry it.
    pub name: String,
    /// Weight of each operation: `read`, `write`.
    pub mix: BTreeMap<String, f64>,
    /// Asked rate over all loaders; none for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Operations in flight at the same time, over all loaders: the closed loop's size, the open loop's bound.
    pub concurrency: u32,
    /// How keys are drawn.
    pub keys: Keys,
    /// How many different keys there are, counted from key 0.
    pub rows: u64,
    /// Columns of a row.
    pub columns: u32,
    /// Bytes of one column.
    pub column_bytes: u32,
    /// How many copies must answer.
    pub consistency: Consistency,
    /// Copies of each row.
    pub replication: u32,
    /// How many loader machines send it; the engine's own default when none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaders: Option<u32>,
}

impl Spec {
    /// A closed loop of 64 operations over so many rows of 8 columns of 128 bytes, three copies each, at `QUORUM`.
    pub fn new(name: impl Into<String>, mix: BTreeMap<String, f64>, keys: Keys, rows: u64) -> Self {
        Self {
            name: name.into(),
            mix,
            rate: None,
            concurrency: 64,
            keys,
            rows,
            columns: 8,
            column_bytes: 128,
            consistency: Consistency::Quorum,
            replication: 3,
            loaders: None,
        }
    }
}

/// How the keys of operations are drawn from all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// One after another, from the first that was not yet written; wraps around at the end.
    Sequential,
    /// Each equally likely.
    #[default]
    Uniform,
    /// Bell-shaped around the middle, with a sixth of the range as standard deviation.
    Gaussian,
}

/// How many copies of a row must answer an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Consistency {
    /// One of them.
    One,
    /// More than half of them.
    #[default]
    Quorum,
    /// Each.
    All,
}

/// A running load. It is stopped when this value goes out of scope, so a step that fails leaves no load behind.
#[derive(Debug)]
pub struct Load {
    name: String,
    stopped: bool,
}

/// Starts a load; answers once it is connected, prepared and sending.
pub fn start(spec: &Spec) -> Result<Load> {
    let name = loads::start(&serde_json::to_string(spec)?)?;
    Ok(Load { name, stopped: false })
}

impl Load {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Changes the asked rate.
    pub fn set_rate(&self, rate: Rate) -> Result<()> {
        Ok(loads::set_rate(&self.name, rate.0)?)
    }

    /// How it is doing.
    pub fn status(&self) -> Result<Status> {
        Ok(loads::status(&self.name)?)
    }

    /// Stops it; every operation that was sent has ended and is recorded when this answers.
    pub fn stop(mut self) -> Result<Status> {
        self.stopped = true;
        Ok(loads::stop(&self.name)?)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if self.stopped {
            return;
        }
        if let Err(error) = loads::stop(&self.name) {
            log::warn(format!("the load {} could not be stopped: {}", self.name, error.message));
        }
    }
}
