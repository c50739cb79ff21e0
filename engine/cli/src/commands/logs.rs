//! `wfe logs`: what a run said.

use std::path::Path;
use std::time::Duration;

use wfe_core::{Entry, Event};
use wfe_runner::{directory, journal};

use crate::args::LogsArgs;
use crate::failure::Failure;
use crate::journal_lines::line;
use crate::runtime;

/// How often a followed journal is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Prints the events of a run, one line each.
pub fn logs(args: LogsArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    if let Some(step) = &args.step {
        is_known(&directory, step)?;
    }
    runtime(false)?.block_on(async {
        let mut shown = 0;
        loop {
            let over = print(&directory, args.step.as_deref(), &mut shown)?;
            if over || !args.follow {
                return Ok(0);
            }
            tokio::time::sleep(LOOK).await;
        }
    })
}

fn is_known(directory: &Path, step: &str) -> Result<(), Failure> {
    let entries = journal::read(directory)?.entries;
    let Some(Event::RunStarted(started)) = entries.first().map(|entry| &entry.event) else { return Ok(()) };
    match started.steps.iter().any(|known| known.id == step) {
        true => Ok(()),
        false => {
            let known: Vec<&str> = started.steps.iter().map(|step| step.id.as_str()).collect();
            Err(Failure::request(format!("the run has no step `{step}`; it has {}", known.join(", "))))
        }
    }
}

/// Prints the entries after the first `shown`; answers whether the run is over.
fn print(directory: &Path, step: Option<&str>, shown: &mut usize) -> Result<bool, Failure> {
    let entries = journal::read(directory)?.entries;
    for entry in entries.iter().skip(*shown).filter(|entry| step.is_none_or(|step| is_about(entry, step))) {
        if let Some(line) = line(entry) {
            outln!("{line}");
        }
    }
    *shown = entries.len();
    Ok(entries.last().is_some_and(|entry| matches!(entry.event, Event::RunEnded { .. })))
}

fn is_about(entry: &Entry, wanted: &str) -> bool {
    match &entry.event {
        Event::AttemptStarted { step, .. }
        | Event::StopRequested { step }
        | Event::AttemptEnded { step, .. }
        | Event::LimitChecked { step, .. }
        | Event::StepSkipped { step, .. } => step == wanted,
        Event::CallIntended(id) | Event::CallAnswered { id, .. } => id.step == wanted,
        _ => false,
    }
}
