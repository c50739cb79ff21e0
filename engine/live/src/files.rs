//! File helpers whose errors say what was tried, and on which path.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wfe_core::CallError;

/// An error about a path: `cannot <verb> <path>: <why>`.
pub fn error(verb: &str, path: &Path, why: impl std::fmt::Display) -> CallError {
    CallError::infrastructure("file", format!("cannot {verb} {}: {why}", path.display()))
}

/// Creates a directory and those above it.
pub fn create_dir(path: &Path) -> Result<(), CallError> {
    fs::create_dir_all(path).map_err(|e| error("create", path, e))
}

/// Writes a whole file: it has its old or its new text, never a part.
pub fn write(path: &Path, text: &str) -> Result<(), CallError> {
    let beside = path.with_extension("new");
    fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)).map_err(|e| error("write", path, e))
}

/// Writes a value as JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), CallError> {
    let text = serde_json::to_string_pretty(value).map_err(|e| error("encode", path, e))?;
    write(path, &text)
}

/// Reads a value from JSON; none when there is no such file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, CallError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(error("read", path, e)),
    };
    serde_json::from_str(&text).map(Some).map_err(|e| error("understand", path, e))
}

/// Removes a directory with all that is in it; no error when there is none.
pub fn remove_dir(path: &Path) -> Result<(), CallError> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(error("remove", path, e)),
        _ => Ok(()),
    }
}
