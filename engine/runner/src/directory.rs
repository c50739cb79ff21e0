//! Run directories: where a run keeps its files, and how runs are found again.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::clock::wall_seconds;

/// A directory that cannot be made, read or found.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The file system said no.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What went wrong.
        source: io::Error,
    },
    /// No run has that name.
    #[error("no run `{name}` in {}; `wfe runs` lists what there is", runs.display())]
    Unknown {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        runs: PathBuf,
    },
    /// Several runs begin with that text.
    #[error("`{name}` could be {}; write more of it", candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The ids that begin with it.
        candidates: Vec<String>,
    },
}

/// Makes the directory of a new run and answers its id and path. The id is the workflow's name, the wall time in UTC
/// and a few digits that keep runs of the same second apart.
pub fn create(runs: &Path, workflow: &str) -> Result<(String, PathBuf), DirectoryError> {
    make(runs)?;
    let stamp: String = wall_seconds().chars().filter(char::is_ascii_digit).collect();
    let name: String = workflow.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let name = match name.trim_matches('-') {
        "" => "run",
        name => name,
    };
    let made = tempfile::Builder::new()
        .prefix(&format!("{name}-{}-{}-", &stamp[..8], &stamp[8..]))
        .rand_bytes(4)
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in(runs)
        .map_err(|source| io_error(runs, "making the run's directory", source))?;
    let path = made.keep();
    let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((id, path))
}

/// The ids of all runs, oldest first.
pub fn list(runs: &Path) -> Result<Vec<String>, DirectoryError> {
    let entries = match fs::read_dir(runs) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(io_error(runs, "listing the runs", source)),
    };
    let mut found: Vec<(SystemTime, String)> = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let journal = fs::metadata(entry.path().join(crate::journal::FILE));
        if let Some(journal) = journal.ok().filter(fs::Metadata::is_file) {
            let begun = journal.created().or(journal.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((begun, entry.file_name().to_string_lossy().into_owned()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, id)| id).collect())
}

/// The directory of the run that is meant: an id, a unique prefix of one, or `last`.
pub fn find(runs: &Path, name: &str) -> Result<PathBuf, DirectoryError> {
    let runs = &std::path::absolute(runs).map_err(|source| io_error(runs, "finding the directory of runs", source))?;
    let ids = list(runs)?;
    let unknown = || DirectoryError::Unknown { name: name.into(), runs: runs.into() };
    if name == "last" {
        return ids.last().map(|id| runs.join(id)).ok_or_else(unknown);
    }
    if ids.iter().any(|id| id == name) {
        return Ok(runs.join(name));
    }
    let candidates: Vec<String> = ids.into_iter().filter(|id| id.starts_with(name) && !name.is_empty()).collect();
    match candidates.as_slice() {
        [] => Err(unknown()),
        [id] => Ok(runs.join(id)),
        _ => Err(DirectoryError::Ambiguous { name: name.into(), candidates }),
    }
}

/// Makes a directory if it is not there.
pub fn make(path: &Path) -> Result<(), DirectoryError> {
    fs::create_dir_all(path).map_err(|source| io_error(path, "making the directory", source))
}

/// Reads a file, but at most `most` bytes of it: what has no end, such as a device, is not read for ever.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file whole or not at all.
pub fn write(path: &Path, content: &[u8]) -> Result<(), DirectoryError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(directory).and_then(|mut temporary| {
        temporary.write_all(content)?;
        temporary.persist(path).map_err(|e| e.error)?;
        Ok(())
    });
    written.map_err(|source| io_error(path, "writing the file", source))
}

fn io_error(path: &Path, doing: &'static str, source: io::Error) -> DirectoryError {
    DirectoryError::Io { path: path.into(), doing, source }
}
