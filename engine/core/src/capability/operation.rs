//! Long work that another capability began.

use super::record;
use crate::CallError;

record! {
    /// Wait until one is done; answers a list of [`Status`].
    WaitAny {
        /// Which operations.
        ids: Vec<String>,
        /// The longest wait.
        timeout_ms: u64,
    }
    /// The state of one operation.
    Status {
        /// Which operation.
        id: String,
        /// Whether it has ended.
        done: bool,
        /// Why it ended without success.
        failure: Option<CallError>,
        /// From 0 to 1.
        progress: Option<f64>,
        /// What it is doing.
        detail: String,
    }
}
