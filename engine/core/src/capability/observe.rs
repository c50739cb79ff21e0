//! What the database says while it runs.

use super::record;
use crate::Millis;

record! {
    /// Events since a moment; answers a list of [`DatabaseEvent`].
    Since {
        /// The first millisecond.
        from_ms: Millis,
        /// The least severity: `info`, `warn` or `error`.
        severity: String,
        /// At most so many.
        limit: u32,
    }
    /// One event of the database.
    DatabaseEvent {
        /// When, on the run's clock.
        at_ms: Millis,
        /// Which node.
        node: String,
        /// `info`, `warn` or `error`.
        severity: String,
        /// What it said.
        message: String,
    }
}
