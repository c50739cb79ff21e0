//! Runs that have begun, taken from their directories.

use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use wfe_core::backend::Backend;
use wfe_core::event::RunStarted;
use wfe_runner::begun::Begun;
use wfe_runner::run::Takeover;

use crate::args::BackendName;
use crate::backends;
use crate::failure::Failure;

/// Takes over the run in a directory.
pub fn take(directory: &Path) -> Result<Takeover, Failure> {
    original(Takeover::of(directory)?)
}

/// Refuses a copy of a run's directory: what it lists belongs to the original.
pub fn original(taken: Takeover) -> Result<Takeover, Failure> {
    let (run, directory) = (&taken.begun.state.started.run, &taken.directory);
    let place = directory.canonicalize().unwrap_or_else(|_| directory.clone());
    match place.file_name().is_some_and(|name| name == run.as_str()) {
        true => Ok(taken),
        false => Err(Failure::request(format!(
            "{} holds run {run}, whose directory has its name: of a copy, nothing can be carried on or given back",
            directory.display()
        ))),
    }
}

/// The backend that a run began with, made again.
pub fn backend(started: &RunStarted) -> Result<(BackendName, Arc<dyn Backend>), Failure> {
    let RunStarted { backend, backend_options, .. } = started;
    let name = BackendName::from_str(backend, false)
        .map_err(|_| Failure::request(format!("the run's backend `{backend}` is not known to this wfe")))?;
    Ok((name, backends::make(name, backend_options)?))
}

/// Tells that the journal's end was lost.
pub fn tell_torn(begun: &Begun) {
    if begun.torn_bytes > 0 {
        errln!("notice: the journal's last line was torn ({} bytes) and is dropped", begun.torn_bytes);
    }
}
