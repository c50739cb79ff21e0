//! Loads that the engine's own generator makes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record;

record! {
    /// Start a load; answers its name.
    Start {
        /// A [`Spec`] as JSON text.
        spec: String,
    }
    /// Change the asked rate.
    SetRate {
        /// Which load.
        load: String,
        /// Operations a second.
        rate: f64,
    }
    /// The state of a load; answers [`Status`].
    StatusOf {
        /// Which load.
        load: String,
    }
    /// Stop a load; answers [`Status`].
    Stop {
        /// Which load.
        load: String,
    }
    /// How a load is doing.
    Status {
        /// Its name.
        id: String,
        /// `running`, `stopped` or `failed`.
        state: String,
        /// Operations that ended, errors included.
        operations: u64,
        /// How many of them failed.
        errors: u64,
        /// Operations a second in the last whole interval.
        rate: f64,
        /// Operations a second that were asked for.
        asked_rate: Option<f64>,
        /// The reason of a failure, or what is noteworthy.
        detail: String,
    }
}

/// The name of a load's loader, counted from 0.
pub fn loader_name(number: u32) -> String {
    format!("loader-{}", number + 1)
}

/// What a load does: the JSON object given to `loads.start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The load's name, unique in the run; the recorded logs carry it.
    pub name: String,
    /// Weight of each operation: `read`, `write`.
    pub mix: BTreeMap<String, f64>,
    /// Asked rate over all loaders, operations a second; none for a closed loop.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Operations in flight at the same time, over all loaders; the closed loop's size, the open loop's bound.
    pub concurrency: u32,
    /// How keys are drawn.
    pub keys: Keys,
    /// How many different keys there are, counted from key 0.
    pub rows: u64,
    /// Columns of a row.
    #[serde(default = "Spec::default_columns")]
    pub columns: u32,
    /// Bytes of one column.
    #[serde(default = "Spec::default_column_bytes")]
    pub column_bytes: u32,
    /// Consistency level: `ONE`, `QUORUM`, `ALL`.
    #[serde(default = "Spec::default_consistency")]
    pub consistency: String,
    /// Copies of each row.
    #[serde(default = "Spec::default_replication")]
    pub replication: u32,
    /// How many loader machines send it.
    #[serde(default = "Spec::default_loaders")]
    pub loaders: u32,
}

impl Spec {
    fn default_columns() -> u32 {
        8
    }
    fn default_column_bytes() -> u32 {
        128
    }
    fn default_consistency() -> String {
        "QUORUM".into()
    }
    fn default_replication() -> u32 {
        3
    }
    fn default_loaders() -> u32 {
        1
    }
}

/// How the keys of operations are drawn from `rows`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// One after another, from the first that was not yet written; wraps around at the end.
    Sequential,
    /// Each equally likely.
    Uniform,
    /// Bell-shaped around the middle, with a sixth of the range as standard deviation.
    Gaussian,
}
