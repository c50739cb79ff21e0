//! `cargo xtask plugins`: from guest crates to the components under `plugins/components`.

mod component;
pub mod one;
mod stage;
mod toolchain;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde::{Deserialize, Serialize};

use crate::{Result, root};
use component::Component;
use stage::Stage;
use toolchain::Toolchain;

/// The greatest size of a component, bytes: it is part of the binary that users download.
const LARGEST: usize = 300 * 1000;

/// `plugins/components/digests.json`: what is committed, and what it was built with.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Digests {
    /// The compiler's own name and version.
    toolchain: String,
    /// Each plugin's component.
    components: BTreeMap<String, Component>,
}

/// Builds all plugins into `plugins/components`.
pub fn build() -> Result {
    let toolchain = Toolchain::find()?;
    let folder = root().join("plugins/components");
    fs::create_dir_all(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    let digests = build_into(&toolchain, &folder)?;
    let text = serde_json::to_string_pretty(&digests)? + "\n";
    write(&folder.join("digests.json"), text.as_bytes())?;
    for (name, component) in &digests.components {
        println!("{name}: {} KB, {}", component.size.div_ceil(1000), component.imports.join(" "));
    }
    Ok(())
}

/// Builds all plugins into a temporary folder and compares with what is committed.
pub fn check() -> Result {
    let folder = root().join("plugins/components");
    let committed: Digests = serde_json::from_slice(&read(&folder.join("digests.json"))?)?;
    let toolchain = Toolchain::find()?;
    if toolchain.version != committed.toolchain {
        let Toolchain { version, .. } = &toolchain;
        let wanted = &committed.toolchain;
        return Err(format!("the committed components were built with {wanted}, and here is {version}: builds of different compilers cannot be compared").into());
    }
    let elsewhere = tempfile::tempdir()?;
    let built = build_into(&toolchain, elsewhere.path())?;
    let mut wrong = Vec::new();
    for name in plugin_names()? {
        let file = Component::of(&read(&folder.join(format!("{name}.wasm")))?)?;
        if built.components.get(&name) != Some(&file) || committed.components.get(&name) != Some(&file) {
            wrong.push(name);
        }
    }
    if wrong.is_empty() && built == committed {
        println!("{} components are what the sources give", built.components.len());
        return Ok(());
    }
    Err(format!("plugins/components is not what the sources give ({}): run `cargo xtask plugins`", wrong.join(", "))
        .into())
}

/// Builds all plugins and writes their components into a folder.
fn build_into(toolchain: &Toolchain, folder: &Path) -> Result<Digests> {
    let modules = compile(toolchain)?;
    let mut components = BTreeMap::new();
    for name in plugin_names()? {
        let module = read(&modules.join(format!("{}.wasm", name.replace('-', "_"))))?;
        let bytes = component::encode(&module).map_err(|e| format!("{name} is no plugin: {e:#}"))?;
        let component = Component::of(&bytes)?;
        if component.size > LARGEST {
            return Err(format!("{name} has {} bytes, more than {LARGEST}", component.size).into());
        }
        write(&folder.join(format!("{name}.wasm")), &bytes)?;
        components.insert(name, component);
    }
    Ok(Digests { toolchain: toolchain.version.clone(), components })
}

/// Compiles all plugins; answers the folder with their core modules.
fn compile(toolchain: &Toolchain) -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("plugins");
    let stage = Stage::set_up()?;
    let mut cargo = toolchain.cargo();
    cargo.args(["build", "--release", "--locked", "--workspace", "--exclude", "wfe-sdk"]);
    cargo.arg("--manifest-path").arg(stage.folder.join("plugins/Cargo.toml")).arg("--target-dir").arg(&target);
    cargo.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", remapped_paths(&stage.folder).join("\x1f"));
    run(&mut cargo)?;
    Ok(target.join(toolchain::TARGET).join("release"))
}

/// Flags that keep this machine's folders out of the components.
fn remapped_paths(sources: &Path) -> Vec<String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let folders = [(Some(sources.to_owned()), "/wfe"), (cargo, "/cargo")];
    let remap = |(folder, name): (Option<PathBuf>, &str)| {
        folder.map(|folder| format!("--remap-path-prefix={}={name}", folder.display()))
    };
    folders.into_iter().filter_map(remap).collect()
}

/// The folders of `plugins` that hold a crate, sorted.
fn plugin_names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("plugins"))? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn run(command: &mut Command) -> Result {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|e| format!("cannot run {program}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} failed: {status}").into()) }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()).into())
}

fn write(path: &Path, bytes: &[u8]) -> Result {
    fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()).into())
}
