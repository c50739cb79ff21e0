//! What the nodes reported about themselves while the run went on: `telemetry.jsonl`.

use serde::{Deserialize, Serialize};
use wfe_core::Millis;
use wfe_core::capability::cluster::Node;

/// The nodes at one moment: one line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TelemetrySample {
    /// When, on the run's clock.
    pub at: Millis,
    /// The nodes.
    pub nodes: Vec<Node>,
}

impl TelemetrySample {
    /// Reads a file's text; lines that cannot be read are left out and named.
    pub fn read(text: &str) -> (Vec<Self>, Vec<String>) {
        let (mut samples, mut notices) = (Vec::new(), Vec::new());
        let last = text.lines().count();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str(line) {
                Ok(sample) => samples.push(sample),
                Err(_) if number + 1 == last && !text.ends_with('\n') => {}
                Err(error) => notices.push(format!("telemetry, line {}: {error}", number + 1)),
            }
        }
        (samples, notices)
    }
}
