//! How a run ended, and the exit code that says so.

use serde::{Deserialize, Serialize};

/// How a run ended. Later ones win over earlier ones when several things went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every step succeeded and every limit holds.
    Pass,
    /// Numbers are missing or incomplete.
    Inconclusive,
    /// A limit is broken, or the product misbehaved.
    Fail,
    /// A machine, the network, capacity or a plugin failed: the run says nothing about the product.
    Infrastructure,
    /// Somebody asked to stop.
    Cancelled,
}

impl Verdict {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::Inconclusive => 3,
            Self::Infrastructure => 4,
            Self::Cancelled => 130,
        }
    }

    /// The word in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Infrastructure => "infrastructure",
            Self::Cancelled => "cancelled",
        }
    }
}
