//! The error value that a capability answers and a step ends with.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why something could not be done: the `error` record of the contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CallError {
    /// One of the constants of [`kind`]; it decides the run's verdict when nobody handles the error.
    pub kind: String,
    /// A short stable word for programs, such as `disk-full`.
    pub code: String,
    /// One sentence for people: what, where and what to do.
    pub message: String,
    /// When it may be worth asking again, in milliseconds.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
    /// More facts as a JSON object, `{}` when there are none.
    #[serde(default = "empty_object")]
    pub details: String,
}

/// Whose turn it is when something failed.
pub mod kind {
    /// The caller asked for something that makes no sense.
    pub const REQUEST: &str = "request";
    /// The workflow does not grant it.
    pub const DENIED: &str = "denied";
    /// The product under test misbehaved.
    pub const PRODUCT: &str = "product";
    /// Numbers are missing.
    pub const INCOMPLETE: &str = "incomplete";
    /// A machine, the network, capacity or a plugin failed.
    pub const INFRASTRUCTURE: &str = "infrastructure";
    /// It took too long.
    pub const TIMEOUT: &str = "timeout";
    /// Somebody asked to stop.
    pub const CANCELLED: &str = "cancelled";
    /// This backend cannot do it.
    pub const UNSUPPORTED: &str = "unsupported";
    /// It may or may not have happened.
    pub const UNKNOWN_OUTCOME: &str = "unknown-outcome";
}

fn empty_object() -> String {
    "{}".into()
}

impl CallError {
    /// An error without further facts. `kind` is one of the constants of [`kind`].
    pub fn new(kind: &str, code: &str, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            code: code.into(),
            message: message.into(),
            retry_after_ms: None,
            details: empty_object(),
        }
    }

    /// The caller asked for something that makes no sense.
    pub fn request(code: &str, message: impl Into<String>) -> Self {
        Self::new(kind::REQUEST, code, message)
    }

    /// A machine, the network, capacity or a plugin failed.
    pub fn infrastructure(code: &str, message: impl Into<String>) -> Self {
        Self::new(kind::INFRASTRUCTURE, code, message)
    }

    /// The product under test misbehaved.
    pub fn product(code: &str, message: impl Into<String>) -> Self {
        Self::new(kind::PRODUCT, code, message)
    }

    /// This backend cannot do it.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(kind::UNSUPPORTED, "unsupported", message)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.message, self.kind, self.code)
    }
}

impl std::error::Error for CallError {}
