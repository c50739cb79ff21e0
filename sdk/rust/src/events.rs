//! What the database says while it runs: capability `observe`.

use crate::bindings::wfe::observe::events;
pub use crate::bindings::wfe::observe::events::Event;
use crate::{Duration, Result};

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// It may explain a bad result.
    Warn,
    /// Something is wrong.
    Error,
}

impl Severity {
    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Events since a moment that matter at least so much, oldest first, at most so many.
pub fn since(from: Duration, least: Severity, limit: u32) -> Result<Vec<Event>> {
    Ok(events::since(from.as_millis(), least.name(), limit)?)
}
