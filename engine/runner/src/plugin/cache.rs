//! Components compiled ahead of time, kept in the user's cache directory.
//!
//! A compiled component is native code: loading a foreign one would run anything. So the cache is a directory that only
//! its owner can enter, a file's name is the digest of the component and of the engine's configuration, and compiled
//! components are accepted from nowhere else.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// The component, from the cache if it was compiled before. `bytes` is the component, `digest` its SHA-256.
pub fn load(engine: &Engine, bytes: &[u8], digest: &str) -> wasmtime::Result<Component> {
    let Some(file) = directory().map(|directory| directory.join(file_name(engine, digest))) else {
        return Component::new(engine, bytes);
    };
    if file.exists() {
        // SAFETY: the file lies in a directory that only this user can write to, and `store` alone writes there.
        match unsafe { Component::deserialize_file(engine, &file) } {
            Ok(component) => return Ok(component),
            Err(error) => tracing::debug!("{} is compiled again: {error}", file.display()),
        }
    }
    let compiled = engine.precompile_component(bytes)?;
    if let Err(error) = store(&file, &compiled) {
        tracing::debug!("compiled component is not kept: {error}");
    }
    // SAFETY: these bytes were compiled by this engine a moment ago.
    unsafe { Component::deserialize(engine, &compiled) }
}

fn file_name(engine: &Engine, digest: &str) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    let key = Sha256::digest(format!("{digest} {:016x}", hasher.finish()));
    let key: String = key.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{key}.cwasm")
}

/// `wfe/plugins` in the user's cache directory, made when it is not there; none when there is no safe place.
fn directory() -> Option<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(&std::env::var_os("HOME")?).join(".cache"),
    };
    let directory = base.join("wfe").join("plugins");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
    let facts = fs::metadata(&directory).ok()?;
    let safe = facts.uid() == rustix::process::geteuid().as_raw() && facts.permissions().mode() & 0o022 == 0;
    safe.then_some(directory)
}

/// Writes the file whole or not at all.
fn store(file: &Path, compiled: &[u8]) -> std::io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    temporary.write_all(compiled)?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}
