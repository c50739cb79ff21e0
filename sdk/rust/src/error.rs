//! The error value that a step ends with and that capabilities answer.

use std::fmt;

use crate::bindings::wfe::types::types;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done.
///
/// `kind` decides what the run's verdict becomes when nobody handles the error, so choose it by asking whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Whose turn it is: one of the constants of [`kind`].
    pub kind: String,
    /// A short stable word for programs, such as `disk-full`.
    pub code: String,
    /// One sentence for people: what, where and what to do.
    pub message: String,
    /// When it may be worth asking again, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// More facts as a JSON object, `{}` when there are none.
    pub details: String,
}

/// The kinds of error.
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

impl Error {
    /// An error without further facts. `kind` is one of the constants of [`kind`].
    pub fn new(kind: &str, code: &str, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            code: code.into(),
            message: message.into(),
            retry_after_ms: None,
            details: "{}".into(),
        }
    }

    /// The workflow asks for something that makes no sense.
    pub fn request(code: &str, message: impl Into<String>) -> Self {
        Self::new(kind::REQUEST, code, message)
    }

    /// The product under test misbehaved.
    pub fn product(code: &str, message: impl Into<String>) -> Self {
        Self::new(kind::PRODUCT, code, message)
    }

    /// A machine, the network, capacity or a plugin failed.
    pub fn infrastructure(code: &str, message: impl Into<String>) -> Self {
        Self::new(kind::INFRASTRUCTURE, code, message)
    }

    /// Numbers are missing.
    pub fn incomplete(code: &str, message: impl Into<String>) -> Self {
        Self::new(kind::INCOMPLETE, code, message)
    }

    /// It took too long.
    pub fn timeout(code: &str, message: impl Into<String>) -> Self {
        Self::new(kind::TIMEOUT, code, message)
    }

    /// The same error with words before its message: what was being done when it came.
    pub fn context(mut self, doing: &str) -> Self {
        self.message = format!("{doing}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.message, self.kind, self.code)
    }
}

impl std::error::Error for Error {}

impl From<types::Error> for Error {
    fn from(error: types::Error) -> Self {
        let types::Error { kind, code, message, retry_after_ms, details } = error;
        Self { kind, code, message, retry_after_ms, details }
    }
}

impl From<Error> for types::Error {
    fn from(error: Error) -> Self {
        let Error { kind, code, message, retry_after_ms, details } = error;
        Self { kind, code, message, retry_after_ms, details }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::infrastructure("json", error.to_string())
    }
}
