//! A folder with the guests' sources that is the same on every machine.
//!
//! `cargo` makes the folder of a package that lies outside of its workspace, as the SDK does, part of the package's
//! identity, and with it of the order of functions in a component. So the sources are built in one place.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::{Result, root};

/// The place.
const FOLDER: &str = "/tmp/wfe-guests";
/// What of the repository the guests are built from.
const SOURCES: [&str; 2] = ["sdk", "plugins"];
/// Folders that are no sources.
const OTHERS: [&str; 2] = ["target", "components"];

/// The sources in their place. One build at a time uses it.
pub struct Stage {
    /// The folder.
    pub folder: PathBuf,
    _lock: File,
}

impl Stage {
    /// Waits until the place is free and puts the sources there.
    pub fn set_up() -> Result<Self> {
        let lock = File::create(format!("{FOLDER}.lock")).map_err(|e| format!("cannot create {FOLDER}.lock: {e}"))?;
        lock.lock()?;
        let folder = PathBuf::from(FOLDER);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|e| format!("cannot empty {FOLDER}: {e}"))?;
        }
        for source in SOURCES {
            copy(&root().join(source), &folder.join(source))?;
        }
        Ok(Self { folder, _lock: lock })
    }
}

/// Copies a folder with the times of its files, so that what has not changed is not compiled again.
fn copy(from: &Path, to: &Path) -> Result {
    fs::create_dir_all(to).map_err(|e| format!("cannot create {}: {e}", to.display()))?;
    for entry in fs::read_dir(from).map_err(|e| format!("cannot read {}: {e}", from.display()))? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if !entry.file_type()?.is_dir() {
            fs::copy(&path, &target).map_err(|e| format!("cannot copy {}: {e}", path.display()))?;
            File::options().write(true).open(&target)?.set_modified(entry.metadata()?.modified()?)?;
        } else if !OTHERS.iter().any(|other| entry.file_name() == *other) {
            copy(&path, &target)?;
        }
    }
    Ok(())
}
