//! A run that has begun, as its journal has it.

use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use wfe_core::Entry;
use wfe_core::backend::Backend;
use wfe_core::event::RunStarted;
use wfe_core::state::RunState;
use wfe_runner::journal::{self, Contents};

use crate::args::BackendName;
use crate::backends;
use crate::failure::Failure;

/// A run as its journal has it.
pub struct Begun {
    /// Everything that is known of it.
    pub state: RunState,
    /// Its events.
    pub entries: Vec<Entry>,
    torn_bytes: u64,
}

impl Begun {
    /// Reads the journal in a run's directory.
    pub fn read(directory: &Path) -> Result<Self, Failure> {
        let (begun, damage) = Self::read_readable(directory)?;
        match damage {
            None => Ok(begun),
            Some(damage) => Err(damage.and(
                "`wfe show` tells what stands before that; machines that it lists may have to be given back by hand",
            )),
        }
    }

    /// Reads the journal of a run that is to be changed. A copy of a run's directory is refused: what it lists belongs to
    /// the original.
    pub fn read_to_change(directory: &Path) -> Result<Self, Failure> {
        let begun = Self::read(directory)?;
        let (run, name) = (&begun.state.started.run, directory.file_name().unwrap_or_default());
        match name == run.as_str() {
            true => Ok(begun),
            false => Err(Failure::request(format!(
                "{} holds run {run}, whose directory has its name: of a copy, nothing can be carried on or given back",
                directory.display()
            ))),
        }
    }

    /// Reads the journal in a run's directory as far as it makes sense; answers with it what does not.
    pub fn read_readable(directory: &Path) -> Result<(Self, Option<Failure>), Failure> {
        let (Contents { mut entries, torn_bytes, .. }, damage) = journal::read_readable(directory)?;
        let damage = damage.map(Failure::from);
        match RunState::fold_readable(&entries) {
            Ok((state, nonsense)) => {
                entries.truncate(state.next_n as usize);
                let damage = nonsense.map(|error| Failure::journal(directory, &error)).or(damage);
                Ok((Self { state, entries, torn_bytes }, damage))
            }
            Err(error) => Err(damage.unwrap_or_else(|| Failure::journal(directory, &error))),
        }
    }

    /// The backend that the run began with, made again.
    pub fn backend(&self) -> Result<(BackendName, Arc<dyn Backend>), Failure> {
        let RunStarted { backend, backend_options, .. } = &self.state.started;
        let name = BackendName::from_str(backend, false)
            .map_err(|_| Failure::request(format!("the run's backend `{backend}` is not known to this wfe")))?;
        Ok((name, backends::make(name, backend_options)?))
    }

    /// Tells that the journal's end was lost.
    pub fn tell_torn(&self) {
        if self.torn_bytes > 0 {
            errln!("notice: the journal's last line was torn ({} bytes) and is dropped", self.torn_bytes);
        }
    }
}
