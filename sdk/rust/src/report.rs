//! What the report of the run shows, and in which order. The engine draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Result;
use crate::bindings::wfe::report::report;

/// One section of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Section {
    /// A section that the engine makes.
    Engine {
        /// Which one.
        section: EngineSection,
    },
    /// A text of the plugin.
    Text {
        /// Its heading.
        title: String,
        /// Plain text.
        text: String,
    },
    /// A table of the plugin.
    Table {
        /// Its heading.
        title: String,
        /// Its content.
        table: Table,
    },
}

impl From<EngineSection> for Section {
    fn from(section: EngineSection) -> Self {
        Self::Engine { section }
    }
}

/// The sections that the engine makes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EngineSection {
    /// The verdict and its reasons.
    Verdict,
    /// The limits and what decided them.
    Limits,
    /// What happened, in a few sentences.
    Story,
    /// Latencies and rates of each measurement.
    Measurements,
    /// The steps and their phases.
    Steps,
    /// What the database said.
    Events,
    /// Which loaders and seconds the numbers cover.
    Completeness,
    /// What was created, and what became of it.
    Resources,
}

/// A table: column names, and rows of texts and numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
}

/// Sets the sections of the report.
pub fn publish(sections: &[Section]) -> Result<()> {
    Ok(report::publish(&to_json(sections)?)?)
}

/// The sections as the contract has them.
pub fn to_json(sections: &[Section]) -> Result<String> {
    Ok(serde_json::to_string(sections)?)
}
