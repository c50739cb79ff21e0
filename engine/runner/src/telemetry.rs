//! What the cluster's nodes report while the run goes on, sampled into one file beside the journal.
//!
//! Samples are for readers: nothing is decided by them, so they are not events.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use wfe_core::backend::{Backend, Clock, Context};
use wfe_core::capability::cluster::Nodes;
use wfe_core::capability::step::Attempt;
use wfe_core::event::ENGINE;
use wfe_core::{Call, Millis};

/// Name of the file in a run's directory: lines of `{"at": ms, "nodes": [..]}`.
pub const FILE: &str = "telemetry.jsonl";

/// Samples until it is dropped. `every` is the distance of samples, which lie at its multiples.
pub async fn sample(
    directory: &Path,
    run: &str,
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    every: Millis,
) -> Infallible {
    if let Err(error) = write_samples(directory, run, backend, clock, every).await {
        tracing::warn!("{FILE} cannot be written, so the charts of the nodes have a gap: {error}");
    }
    std::future::pending().await
}

async fn write_samples(
    directory: &Path,
    run: &str,
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    every: Millis,
) -> std::io::Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(directory.join(FILE))?;
    loop {
        let at = (clock.now() / every + 1) * every;
        clock.sleep_until(at).await;
        let attempt = Attempt { run: run.into(), workflow: String::new(), step: ENGINE.into(), number: 1 };
        let context = Context { attempt, number: 0, asked_at: at, key: String::new() };
        let Ok(nodes) = backend.call(&context, &Call::ClusterNodes(Nodes {})).await else { continue };
        write(&file, at, nodes)?;
    }
}

fn write(mut file: &File, at: Millis, nodes: Value) -> std::io::Result<()> {
    if nodes.as_array().is_none_or(Vec::is_empty) {
        return Ok(());
    }
    file.write_all(format!("{}\n", json!({ "at": at, "nodes": nodes })).as_bytes())
}
