//! `cargo xtask plugin FOLDER`: from any guest crate to its component.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::component::{self, Component};
use super::toolchain::{TARGET, Toolchain};
use super::{read, run, write};
use crate::Result;

/// What `cargo metadata` says of a crate.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    crate_types: Vec<String>,
}

/// Builds the crate in a folder and puts its component beside its `Cargo.toml`.
pub fn build(folder: &Path) -> Result {
    let manifest = folder.join("Cargo.toml");
    let manifest = manifest.canonicalize().map_err(|e| format!("cannot read {}: {e}", manifest.display()))?;
    let toolchain = Toolchain::find()?;
    let Metadata { packages, target_directory } = metadata(&toolchain, &manifest)?;
    let package = packages.into_iter().find(|package| package.manifest_path == manifest);
    let Package { name, targets, .. } = package.ok_or_else(|| format!("{} is no package", manifest.display()))?;
    let library = targets.iter().find(|target| target.crate_types.iter().any(|kind| kind == "cdylib"));
    let advice = || format!("{name} is no plugin: its Cargo.toml needs\n[lib]\ncrate-type = [\"cdylib\"]");
    let module = library.ok_or_else(advice)?.name.replace('-', "_") + ".wasm";
    let mut cargo = toolchain.cargo();
    cargo.args(["build", "--release", "--manifest-path"]).arg(&manifest);
    run(&mut cargo)?;
    let module = read(&target_directory.join(TARGET).join("release").join(module))?;
    let bytes = component::encode(&module).map_err(|e| format!("{name} is no plugin: {e:#}"))?;
    let file = manifest.with_file_name(format!("{name}.wasm"));
    write(&file, &bytes)?;
    let Component { size, imports, .. } = Component::of(&bytes)?;
    println!("{}: {} KB, {}", file.display(), size.div_ceil(1000), imports.join(" "));
    Ok(())
}

fn metadata(toolchain: &Toolchain, manifest: &Path) -> Result<Metadata> {
    let mut cargo = toolchain.cargo();
    cargo.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(manifest);
    let output = cargo.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
