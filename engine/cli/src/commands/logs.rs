//! `wfe logs`: what a run said.

use std::path::Path;
use std::time::Duration;

use wfe_core::{Entry, Event};
use wfe_runner::begun::Begun;
use wfe_runner::directory;
use wfe_runner::owner::Owner;

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
            let more = print(&directory, args.step.as_deref(), &mut shown)?;
            if !more || !args.follow {
                return Ok(0);
            }
            tokio::time::sleep(LOOK).await;
        }
    })
}

fn is_known(directory: &Path, step: &str) -> Result<(), Failure> {
    let steps = Begun::read(directory)?.state.started.steps;
    if steps.iter().any(|known| known.id == step) {
        return Ok(());
    }
    let known: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    Err(Failure::request(format!("the run has no step `{step}`; it has {}", known.join(", "))))
}

/// Prints the entries after the first `shown`; answers whether more can come: the run is not over, and its process is not
/// known to be gone.
fn print(directory: &Path, step: Option<&str>, shown: &mut usize) -> Result<bool, Failure> {
    // In this order: what the process wrote last is read when it is gone.
    let gone = Owner::last(directory).is_some_and(|owner| owner.is_gone());
    let begun = Begun::read(directory)?;
    for entry in begun.entries.iter().skip(*shown).filter(|entry| step.is_none_or(|step| is_about(entry, step))) {
        if let Some(line) = line(entry) {
            outln!("{line}");
        }
    }
    *shown = begun.entries.len();
    Ok(begun.state.ended.is_none() && !gone)
}

fn is_about(entry: &Entry, wanted: &str) -> bool {
    match &entry.event {
        Event::AttemptStarted { step, .. }
        | Event::StopRequested { step }
        | Event::AttemptEnded { step, .. }
        | Event::LimitChecked { step, .. }
        | Event::RetryRequested { step }
        | Event::StepSkipped { step, .. } => step == wanted,
        Event::CallIntended(id) | Event::CallAnswered { id, .. } => id.step == wanted,
        _ => false,
    }
}
