//! What is known of the plugins before a run: their kinds of step, what they take and give, what they can ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The step kinds that a workflow can use, by the text after `uses:`.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Each kind with the plugin that has it.
    pub kinds: BTreeMap<String, (Arc<Plugin>, StepKind)>,
}

/// One plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// SHA-256 of its component, hexadecimal.
    pub digest: String,
    /// The functions that it imports, as [`crate::call::NAMES`] has them.
    pub imports: BTreeSet<String>,
    /// Size of its component, bytes.
    pub size: u64,
}

impl Plugin {
    /// The capabilities that it imports: the part of a function's name before the `/`.
    pub fn capabilities(&self) -> BTreeSet<&str> {
        self.imports.iter().filter_map(|name| name.split('/').next()).collect()
    }
}

/// The document that a plugin's `describe` answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The kinds of step that the plugin can run.
    pub kinds: Vec<StepKind>,
}

/// One kind of step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepKind {
    /// Its name, such as `wait-stable`.
    pub name: String,
    /// What it does, in one sentence.
    pub summary: String,
    /// JSON Schema of the parameters. A number whose `format` is `duration`, `rate`, `bytes` or `percent` is written
    /// with its unit in a workflow and reaches the plugin in seconds, operations per second, bytes or percent.
    pub parameters: Value,
    /// JSON Schema of the outputs.
    pub outputs: Value,
    /// Whether it is meant for `background: true`.
    #[serde(default)]
    pub background: bool,
    /// Names of its phases, for `during: step.phase`.
    #[serde(default)]
    pub phases: Vec<String>,
}
