//! Plugins: found, compiled, linked, described and asked.

mod builtin;
mod cache;
mod check;
pub mod engine;

pub use builtin::names as builtin_names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};
use wfe_core::catalog::{Catalog, Description, Plugin, StepKind};
use wfe_core::workflow::is_plugin_file;

use crate::directory::{self, DirectoryError};
use crate::host::attempt::{Guest, PLUGIN_INTERFACE, run_function, why_trapped};
use crate::host::link;

/// A plugin that cannot be used, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("plugin `{plugin}`: {message}")]
pub struct PluginError {
    /// Its name, or the path that the workflow gives.
    pub plugin: String,
    /// What is wrong.
    pub message: String,
}

/// A plugin, compiled and linked, ready for any number of attempts.
pub struct Loaded {
    /// What is known of it.
    pub facts: Plugin,
    /// Its kinds of step.
    pub description: Description,
    /// Its component, if it came from a file: a run keeps a copy.
    component: Option<Vec<u8>>,
    pub(crate) pre: InstancePre<Guest>,
}

/// The plugins that a workflow can use, by the text before a `#` in `uses:`.
#[derive(Clone, Default)]
pub struct Plugins {
    loaded: BTreeMap<String, Arc<Loaded>>,
}

impl Plugins {
    /// Loads the plugins behind these `uses:` texts: built-in kinds by name, others by a path ending in `.wasm`,
    /// relative to `base`. Names that no plugin has are left out: the plan says so at their place.
    pub async fn load(uses: &BTreeSet<String>, base: &Path) -> Result<Self, PluginError> {
        Self::load_from(uses, |source| base.join(source.trim_start_matches("./"))).await
    }

    /// Loads the plugins of a run from the copies in its directory; `known` are those that the run began with.
    pub async fn load_copies(uses: &BTreeSet<String>, run: &Path, known: &[Plugin]) -> Result<Self, PluginError> {
        let digest = |source: &str| known.iter().find(|plugin| plugin.name == source).map(|plugin| &plugin.digest);
        Self::load_from(uses, |source| digest(source).map_or_else(|| source.into(), |digest| copy_of(run, digest)))
            .await
    }

    /// Keeps copies of the components that came from files in a run's directory.
    pub(crate) fn copy(&self, run: &Path) -> Result<(), DirectoryError> {
        for loaded in self.loaded.values() {
            if let Some(component) = &loaded.component {
                directory::make(&run.join(COPIES))?;
                directory::write(&copy_of(run, &loaded.facts.digest), component)?;
            }
        }
        Ok(())
    }

    async fn load_from(uses: &BTreeSet<String>, place: impl Fn(&str) -> PathBuf) -> Result<Self, PluginError> {
        let mut plugins = Self::default();
        for text in uses {
            let source = text.split('#').next().unwrap_or(text);
            if plugins.loaded.contains_key(source) {
                continue;
            }
            let loaded = match (builtin::find(source), is_plugin_file(source)) {
                (Some(bytes), _) => load(source, bytes).await?,
                (None, true) => {
                    let bytes = read(source, &place(source))?;
                    Loaded { component: Some(bytes.clone()), ..load(source, &bytes).await? }
                }
                (None, false) => continue,
            };
            plugins.loaded.insert(source.to_owned(), Arc::new(loaded));
        }
        Ok(plugins)
    }

    /// All built-in plugins.
    pub async fn builtin() -> Result<Self, PluginError> {
        let names = builtin::names().map(str::to_owned).collect();
        Self::load(&names, Path::new(".")).await
    }

    /// The plugin behind a `uses:` text, and the kind of step that is meant.
    pub fn find(&self, uses: &str) -> Option<(&Arc<Loaded>, &StepKind)> {
        let (source, kind) = uses.split_once('#').map_or((uses, None), |(source, kind)| (source, Some(kind)));
        let loaded = self.loaded.get(source)?;
        let kinds = &loaded.description.kinds;
        let kind = match kind {
            Some(name) => kinds.iter().find(|kind| kind.name == name)?,
            None => kinds.iter().find(|kind| kind.name == source).or(kinds.first().filter(|_| kinds.len() == 1))?,
        };
        Some((loaded, kind))
    }

    /// What the plan needs to know of them.
    pub fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::default();
        for (source, loaded) in &self.loaded {
            let facts = Arc::new(loaded.facts.clone());
            for kind in &loaded.description.kinds {
                let entry = (facts.clone(), kind.clone());
                if is_plugin_file(source) {
                    catalog.kinds.insert(format!("{source}#{}", kind.name), entry.clone());
                }
                if !is_plugin_file(source) || loaded.description.kinds.len() == 1 {
                    catalog.kinds.insert(source.clone(), entry);
                }
            }
        }
        catalog
    }

    /// All loaded plugins with the text that names them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Loaded)> {
        self.loaded.iter().map(|(source, loaded)| (source.as_str(), loaded.as_ref()))
    }
}

/// Name of the directory of copied components in a run's directory.
const COPIES: &str = "plugins";

fn copy_of(run: &Path, digest: &str) -> PathBuf {
    run.join(COPIES).join(format!("{digest}.wasm"))
}

fn read(source: &str, path: &Path) -> Result<Vec<u8>, PluginError> {
    let failed = |why: String| PluginError { plugin: source.into(), message: format!("{} {why}", path.display()) };
    let bytes = directory::read(path, MOST_BYTES + 1).map_err(|e| failed(format!("cannot be read: {e}")))?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(failed(format!("is larger than a component may be ({} MiB)", MOST_BYTES >> 20))),
        false => Ok(bytes),
    }
}

/// The largest component that is read, bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Compiles, links and describes one component.
pub async fn load(name: &str, bytes: &[u8]) -> Result<Loaded, PluginError> {
    let fail = |message: String| PluginError { plugin: name.into(), message };
    is_component(bytes).map_err(fail)?;
    let engine = engine::shared().map_err(fail)?;
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let component = cache::load(&engine, bytes, &digest)
        .map_err(|e| fail(format!("not a WebAssembly component that this wfe can run: {e:#}")))?;
    let functions = link::functions(&component).map_err(fail)?;
    let imports = functions.iter().map(|function| function.name.clone()).collect();
    let facts = Plugin { name: name.into(), digest, imports, size: bytes.len() as u64 };
    let mut linker = Linker::new(&engine);
    link::define(&mut linker, functions).map_err(|e| fail(format!("{e:#}")))?;
    let pre = linker.instantiate_pre(&component).map_err(|e| fail(format!("cannot be linked: {e:#}")))?;
    let description = describe(&pre).await.map_err(fail)?;
    Ok(Loaded { facts, description, component: None, pre })
}

/// Tells what is no component by its first bytes, in words that whoever named the file understands.
fn is_component(bytes: &[u8]) -> Result<(), String> {
    match bytes {
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => {
            Err("it is a WebAssembly module and no component: build it for the target wasm32-wasip2".into())
        }
        [0, b'a', b's', b'm', ..] => Ok(()),
        _ => Err("it is no WebAssembly file".into()),
    }
}

/// Asks the plugin for its kinds of step; no capability is there while it answers.
async fn describe(pre: &InstancePre<Guest>) -> Result<Description, String> {
    let mut store = Store::new(pre.engine(), Guest::without_run("described itself"));
    Guest::prepare(&mut store);
    let broken = |e: wasmtime::Error| format!("does not describe itself: {e:#}");
    let instance = pre.instantiate_async(&mut store).await.map_err(broken)?;
    let interface = instance
        .get_export_index(&mut store, None, PLUGIN_INTERFACE)
        .ok_or_else(|| format!("does not export `{PLUGIN_INTERFACE}`"))?;
    let function = instance
        .get_export_index(&mut store, Some(&interface), "describe")
        .ok_or_else(|| format!("`{PLUGIN_INTERFACE}` has no `describe`"))?;
    let describe = instance.get_typed_func::<(), (String,)>(&mut store, function).map_err(broken)?;
    let ended = |e: wasmtime::Error| format!("does not describe itself: {}", why_trapped(&e).1);
    let (text,) = describe.call_async(&mut store, ()).await.map_err(ended)?;
    let unreadable = |e| format!("describes itself in a way that cannot be read: {e}");
    let description = serde_json::from_str(&text).map_err(unreadable)?;
    run_function(&mut store, &instance).map_err(|e| format!("cannot be run: {e:#}"))?;
    check::check_function(&mut store, &instance).map_err(|e| format!("cannot check parameters: {e:#}"))?;
    Ok(description)
}
