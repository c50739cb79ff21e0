//! Long work that goes on beside the calls, by id.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use wfe_core::backend::{Clock, Context};
use wfe_core::capability::operation::{Status, WaitAny};
use wfe_core::{CallError, Millis};

/// The operations of one run.
#[derive(Debug, Default)]
pub struct Operations {
    known: Mutex<BTreeMap<String, Status>>,
    changed: Notify,
}

impl Operations {
    /// Takes up an operation; false when it is known already.
    pub fn begin(&self, id: &str, detail: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains_key(id) {
            return false;
        }
        let status = Status { id: id.into(), done: false, failure: None, progress: None, detail: detail.into() };
        known.insert(id.into(), status);
        true
    }

    /// Says how far an operation is.
    pub fn progress(&self, id: &str, fraction: Option<f64>, detail: String) {
        self.change(id, |status| {
            status.progress = fraction;
            status.detail = detail;
        });
    }

    /// Ends an operation.
    pub fn end(&self, id: &str, result: Result<String, CallError>) {
        self.change(id, |status| {
            status.done = true;
            match result {
                Ok(detail) => (status.progress, status.detail) = (Some(1.0), detail),
                Err(error) => (status.detail, status.failure) = (error.message.clone(), Some(error)),
            }
        });
    }

    /// Waits until one of the asked operations is done, or the time is over; answers the state of all.
    pub async fn wait_any(
        &self,
        clock: &dyn Clock,
        context: &Context,
        wait: &WaitAny,
    ) -> Result<Vec<Status>, CallError> {
        let deadline: Millis = context.asked_at.saturating_add(wait.timeout_ms);
        loop {
            let changed = self.changed.notified();
            let states = self.states(&wait.ids)?;
            if states.iter().any(|status| status.done) || clock.now() >= deadline {
                return Ok(states);
            }
            tokio::select! {
                () = changed => {}
                () = clock.sleep_until(deadline) => {}
            }
        }
    }

    fn states(&self, ids: &[String]) -> Result<Vec<Status>, CallError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        ids.iter()
            .map(|id| {
                let unknown = || CallError::request("unknown-operation", format!("there is no operation `{id}`"));
                known.get(id).cloned().ok_or_else(unknown)
            })
            .collect()
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Status)) {
        if let Some(status) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get_mut(id) {
            change(status);
        }
        self.changed.notify_waiters();
    }
}
