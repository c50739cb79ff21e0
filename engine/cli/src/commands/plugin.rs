//! `wfe plugin`: what plugins there are, and what each takes, gives and can ask for.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;
use wfe_core::catalog::StepKind;
use wfe_runner::plugin::{Loaded, Plugins, builtin_names};

use crate::failure::Failure;
use crate::{runtime, schema_text};

/// Lists the built-in plugins.
pub fn list() -> Result<u8, Failure> {
    let plugins = runtime(false)?.block_on(Plugins::builtin())?;
    for (name, loaded) in plugins.iter() {
        let summary = loaded.description.kinds.first().map_or("", |kind| kind.summary.as_str());
        outln!("{name:16} {summary}");
    }
    Ok(0)
}

/// Shows one plugin.
pub fn inspect(name: &str, json: bool) -> Result<u8, Failure> {
    let uses: BTreeSet<String> = [name.to_owned()].into();
    let plugins = runtime(false)?.block_on(Plugins::load(&uses, Path::new(".")))?;
    let Some((_, loaded)) = plugins.iter().next() else {
        let known: Vec<_> = builtin_names().collect();
        return Err(Failure::request(format!(
            "no plugin `{name}`; built in are {}; others are given as a path that ends in .wasm",
            known.join(", ")
        )));
    };
    match json {
        true => outln!("{}", json!({ "plugin": loaded.facts, "kinds": loaded.description.kinds })),
        false => print(loaded),
    }
    Ok(0)
}

fn print(loaded: &Loaded) {
    outln!("plugin      {}", loaded.facts.name);
    outln!("digest      sha256:{}", loaded.facts.digest);
    outln!("size        {} bytes", loaded.facts.size);
    outln!("can call    {}", loaded.facts.imports.iter().cloned().collect::<Vec<_>>().join("\n            "));
    for kind in &loaded.description.kinds {
        print_kind(kind);
    }
}

fn print_kind(kind: &StepKind) {
    outln!("\n{}: {}", kind.name, kind.summary);
    if kind.background {
        outln!("  runs in the background (`background: true`)");
    }
    if !kind.phases.is_empty() {
        outln!("  phases: {}", kind.phases.join(", "));
    }
    outln!("  with:");
    schema_text::parameters(&kind.parameters).iter().for_each(|line| outln!("{line}"));
    outln!("  outputs:");
    schema_text::outputs(&kind.outputs).iter().for_each(|line| outln!("{line}"));
}
