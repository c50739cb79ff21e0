//! What the cluster's nodes report while the run goes on, sampled into one file beside the journal.
//!
//! Samples are for readers: nothing is decided by them, so they are not events.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
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

/// Samples until it is dropped. `every` is the distance of samples, which lie at its multiples. The file of an earlier
/// life is mended at once.
pub fn sample(
    directory: &Path,
    run: &str,
    backend: Arc<dyn Backend>,
    clock: Arc<dyn Clock>,
    every: Millis,
) -> impl Future<Output = Infallible> {
    let opened = open(directory, clock.now());
    let attempt = Attempt { run: run.into(), workflow: String::new(), step: ENGINE.into(), number: 1 };
    async move {
        let written = match opened {
            Ok((file, last)) => write_samples(&file, last, &attempt, &*backend, &*clock, every).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::warn!("{FILE} cannot be written, so the charts of the nodes have a gap: {error}");
        }
        std::future::pending().await
    }
}

async fn write_samples(
    file: &File,
    mut last: Millis,
    attempt: &Attempt,
    backend: &dyn Backend,
    clock: &dyn Clock,
    every: Millis,
) -> std::io::Result<()> {
    loop {
        let at = next(last.max(clock.now().saturating_sub(1)), every);
        clock.sleep_until(at).await;
        last = at;
        let context = Context { attempt: attempt.clone(), number: 0, asked_at: at, key: String::new() };
        let Ok(nodes) = backend.call(&context, &Call::ClusterNodes(Nodes {})).await else { continue };
        write(file, at, nodes)?;
    }
}

/// As many samples are taken at the first distance, and half as many at each distance after it.
const MANY: u64 = 8192;

/// When the sample after a moment is taken. The distance doubles whenever the run has become twice as long, so that no run,
/// however long, fills the disk.
fn next(after: Millis, every: Millis) -> Millis {
    let lengths = after / every / MANY;
    let distance = every << (u64::BITS - lengths.leading_zeros());
    (after / distance + 1) * distance
}

/// Opens the file behind the last sample that a run knows which is at `now`; answers when that was, or 0. What stands
/// after it, a torn line or samples of a rehearsal that was ahead of its journal, is cut off.
fn open(directory: &Path, now: Millis) -> std::io::Result<(File, Millis)> {
    let mut file = OpenOptions::new().create(true).append(true).read(true).open(directory.join(FILE))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let (kept, last) = kept(&text, now);
    file.set_len(kept as u64)?;
    Ok((file, last))
}

/// How many bytes of the file are samples up to `now`, and when the last of them was taken.
fn kept(text: &[u8], now: Millis) -> (usize, Millis) {
    let (mut kept, mut last) = (0, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let at = serde_json::from_slice(line).ok().and_then(|sample: Value| sample["at"].as_u64());
        if line.last() != Some(&b'\n') || at.is_some_and(|at| at > now) {
            break;
        }
        kept += line.len();
        last = at.unwrap_or(last);
    }
    (kept, last)
}

fn write(mut file: &File, at: Millis, nodes: Value) -> std::io::Result<()> {
    if nodes.as_array().is_none_or(Vec::is_empty) {
        return Ok(());
    }
    file.write_all(format!("{}\n", json!({ "at": at, "nodes": nodes })).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_sampled_less_often() {
        const EVERY: Millis = 10_000;
        let mut moments = vec![next(0, EVERY)];
        while moments.last().is_some_and(|last| *last < 1_000_000 * 86_400_000) {
            moments.push(next(moments[moments.len() - 1], EVERY));
        }
        let distances: Vec<Millis> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distances[..MANY as usize - 1].iter().all(|distance| *distance == EVERY));
        assert!(distances.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == 2 * pair[0]));
        assert!(moments.len() < 100_000, "{}", moments.len());
        // Whoever begins between two samples takes the second one next.
        assert!(moments.windows(2).all(|pair| next(pair[1] - 1, EVERY) == pair[1] && next(pair[0], EVERY) == pair[1]));
    }

    #[test]
    fn whole_samples_up_to_now_are_kept() {
        let text = b"{\"at\":5,\"nodes\":[]}\nnonsense\n{\"at\":10,\"nodes\":[]}\n{\"at\":15,\"no";
        let ends: Vec<usize> = text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1).collect();
        assert_eq!(kept(text, 4), (0, 0));
        assert_eq!(kept(text, 9), (ends[1], 5));
        assert_eq!(kept(text, 10), (ends[2], 10));
        assert_eq!(kept(text, 99), (ends[2], 10));
    }
}
