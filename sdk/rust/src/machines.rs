//! Machines: capability `cloud`, granted with machine types and a count.

use crate::bindings::wfe::cloud::machines;
pub use crate::bindings::wfe::cloud::machines::{Machine, MachineType as TypeFacts, Request};
pub use crate::obtain::obtain;
use crate::{Duration, Result};

/// Asks for machines; they are `pending` until they have booted.
pub fn create(request: &Request) -> Result<Vec<Machine>> {
    Ok(machines::create(request)?)
}

/// Waits until all of them run. Fails when one is lost or the time is over.
pub fn wait_running(ids: &[String], timeout: Duration) -> Result<Vec<Machine>> {
    Ok(machines::wait_running(ids, timeout.as_millis())?)
}

/// The machines of this run that are not terminated.
pub fn list() -> Result<Vec<Machine>> {
    Ok(machines::list()?)
}

/// Gives machines back. Terminating a terminated machine is no error, and the engine gives back what is left at the
/// end of a run.
pub fn terminate(ids: &[String]) -> Result<()> {
    Ok(machines::terminate(ids)?)
}

/// What this backend knows of a machine type.
pub fn describe_type(name: &str) -> Result<TypeFacts> {
    Ok(machines::describe_type(name)?)
}
