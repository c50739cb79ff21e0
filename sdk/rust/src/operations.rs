//! Long work that another capability began.

use crate::bindings::wfe::operation::operations;
pub use crate::bindings::wfe::operation::operations::Status;
use crate::{Duration, Error, Result, clock, step};

/// Names long work, such as the start of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation(pub String);

/// How often a waiting step says how far the work is, and looks at what else concerns it.
const REPORT: Duration = Duration::seconds(30.0);

impl Operation {
    /// Waits until the work has ended, at most so long where a time is given, and says on the way how far it is.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        self.wait_and(timeout, || Ok(()))
    }

    /// The same, and looks at something else every 30 seconds; an error of that look ends the wait, not the work.
    pub fn wait_and(&self, timeout: Option<Duration>, look: impl Fn() -> Result<()>) -> Result<()> {
        let end = timeout.map(|timeout| clock::now().0 + timeout.0);
        loop {
            let left = end.map_or(f64::INFINITY, |end| end - clock::now().0);
            if left <= 0.0 {
                let message = format!("{} has not ended in {}", self.0, timeout.unwrap_or_default());
                return Err(Error::timeout("operation-timeout", message));
            }
            let status = self.poll(Duration(left.min(REPORT.0)))?;
            match status.failure {
                Some(failure) => return Err(failure.into()),
                None if status.done => return Ok(()),
                None => step::progress(status.progress, &status.detail),
            }
            look()?;
        }
    }

    /// Its state, once it has ended or the time is over.
    pub fn poll(&self, timeout: Duration) -> Result<Status> {
        let gone = || Error::infrastructure("no-such-operation", format!("{} is unknown", self.0));
        wait_any(std::slice::from_ref(self), timeout)?.into_iter().find(|status| status.id == self.0).ok_or_else(gone)
    }
}

/// Waits until at least one of the operations has ended, at most so long; answers the state of all.
pub fn wait_any(operations: &[Operation], timeout: Duration) -> Result<Vec<Status>> {
    let ids: Vec<_> = operations.iter().map(|operation| operation.0.clone()).collect();
    Ok(operations::wait_any(&ids, timeout.as_millis())?)
}
