//! How far sequential writes have come in each table: kept in the run's directory, so that the next load carries on after
//! the last, in this life of the run or another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use wfe_core::CallError;

use crate::{files, lock};

/// The positions of all tables of a run.
#[derive(Debug)]
pub struct Positions {
    directory: PathBuf,
    tables: Mutex<BTreeMap<String, Position>>,
}

impl Positions {
    /// Those of a run's directory.
    pub fn new(run: &Path) -> Self {
        Self { directory: run.join("loads"), tables: Mutex::default() }
    }

    /// The position of a table.
    pub fn of(&self, table: &str) -> Result<Position, CallError> {
        let mut tables = lock(&self.tables);
        if let Some(position) = tables.get(table) {
            return Ok(position.clone());
        }
        files::create_dir(&self.directory)?;
        let path = self.directory.join(format!("{table}.next"));
        let next = files::read_json(&path)?.unwrap_or(0);
        let position = Position { path, next: Arc::new(AtomicU64::new(next)), saved: Arc::new(AtomicU64::new(next)) };
        tables.insert(table.into(), position.clone());
        Ok(position)
    }
}

/// The first key of a table that no sequential write has taken.
#[derive(Debug, Clone)]
pub struct Position {
    path: PathBuf,
    next: Arc<AtomicU64>,
    saved: Arc<AtomicU64>,
}

impl Position {
    /// Takes the next key.
    pub fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes the position to disk when it has changed. When that fails, a later life of the run writes some rows again,
    /// which changes nothing: a row is made of its key alone.
    pub fn save(&self) {
        let next = self.next.load(Ordering::Relaxed);
        if self.saved.swap(next, Ordering::Relaxed) != next
            && let Err(error) = files::write_json(&self.path, &next)
        {
            tracing::warn!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_life_carries_on_after_the_last_saved_key() {
        let run = tempfile::tempdir().unwrap();
        let position = Positions::new(run.path()).of("rows").unwrap();
        assert_eq!([position.take(), position.take()], [0, 1]);
        position.save();
        assert_eq!(Positions::new(run.path()).of("rows").unwrap().take(), 2);
        assert_eq!(Positions::new(run.path()).of("others").unwrap().take(), 0);
    }
}
