//! A run as its journal has it.

use std::path::Path;

use wfe_core::Entry;
use wfe_core::state::RunState;

use crate::journal::{self, Contents, JournalError};

/// A run as its journal has it.
pub struct Begun {
    /// Everything that is known of it.
    pub state: RunState,
    /// Its events.
    pub entries: Vec<Entry>,
    /// Bytes of a torn last line, which is dropped.
    pub torn_bytes: u64,
    pub(crate) whole_bytes: u64,
}

impl Begun {
    /// Reads the journal in a run's directory.
    pub fn read(directory: &Path) -> Result<Self, JournalError> {
        let (begun, damage) = Self::read_readable(directory)?;
        damage.map_or(Ok(begun), Err)
    }

    /// Reads the journal in a run's directory as far as it makes sense; answers with it why no further.
    pub fn read_readable(directory: &Path) -> Result<(Self, Option<JournalError>), JournalError> {
        let (contents, damage) = journal::read_readable(directory)?;
        let Contents { mut entries, torn_bytes, whole_bytes } = contents;
        let senseless = |error| JournalError::Senseless { path: directory.join(journal::FILE), error };
        match RunState::fold_readable(&entries) {
            Ok((state, nonsense)) => {
                entries.truncate(state.next_n as usize);
                let damage = nonsense.map(senseless).or(damage);
                Ok((Self { state, entries, torn_bytes, whole_bytes }, damage))
            }
            Err(error) => Err(damage.unwrap_or_else(|| senseless(error))),
        }
    }
}
