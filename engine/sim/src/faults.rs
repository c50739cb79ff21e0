//! Faults that a rehearsal injects.

use serde::{Deserialize, Serialize};

/// The faults of one rehearsal; none by default.
///
/// ```yaml
/// - machine-lost: {machine: i-0003, at: 3600}
/// - capacity: {machine-type: i4i.4xlarge}
/// - join-fails: {join: 1}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Faults(pub Vec<Fault>);

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A machine is gone from one moment to the next.
    MachineLost(MachineLost),
    /// The provider has no machine of a type.
    Capacity(Capacity),
    /// New nodes cannot become members and give up after the database's own time-out.
    JoinFails(JoinFails),
}

/// Which machine is lost, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MachineLost {
    /// Its id: machines count from `i-0001` in the order of their creation.
    pub machine: String,
    /// Seconds since the run began.
    pub at: f64,
}

/// Which machine type there is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Capacity {
    /// The provider's name of the type.
    pub machine_type: String,
}

/// Which join fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JoinFails {
    /// Counts from 1 in the order of the calls.
    pub join: u32,
}

impl Faults {
    /// Whether there is no machine of that type.
    pub(crate) fn no_capacity(&self, machine_type: &str) -> bool {
        self.0.iter().any(|fault| matches!(fault, Fault::Capacity(c) if c.machine_type == machine_type))
    }

    /// Whether the n-th join fails, from 1.
    pub(crate) fn join_fails(&self, number: u32) -> bool {
        self.0.iter().any(|fault| matches!(fault, Fault::JoinFails(j) if j.join == number))
    }

    /// When that machine is lost, milliseconds since the run began.
    pub(crate) fn lost_at(&self, machine: &str) -> Option<u64> {
        let moments = self.0.iter().filter_map(|fault| match fault {
            Fault::MachineLost(lost) if lost.machine == machine => Some((lost.at.max(0.0) * 1000.0) as u64),
            _ => None,
        });
        moments.min()
    }
}
