//! `wfe cancel`: end a run in order.

use std::path::Path;

use wfe_runner::begun::Begun;
use wfe_runner::directory;
use wfe_runner::journal::JournalError;
use wfe_runner::owner::Owner;
use wfe_runner::run::Takeover;

use crate::args::CancelArgs;
use crate::begun::original;
use crate::commands::resume::carry_on;
use crate::failure::Failure;
use crate::signals::{self, Left};

/// Asks the process that carries out a run to end it in order; does so itself when that process is gone.
pub fn cancel(args: CancelArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let taken = match Takeover::of(&directory) {
        Err(JournalError::Owned { owner, .. }) => return ask(&directory, owner),
        taken => original(taken?)?,
    };
    let (run, ended) = (&taken.begun.state.started.run, &taken.begun.state.ended);
    if let Some(ended) = ended {
        return Err(Failure::request(format!("run {run} is over, with verdict {}", ended.verdict.word())));
    }
    errln!("the process of run {run} is gone: ending the run in order");
    let left = Left::new(&args.run.runs.runs_dir, "resume");
    let listen = |simulated, left| signals::listen(simulated, left, Some("wfe cancel"));
    carry_on(taken, None, left, listen, args.json)
}

/// Asks the process that owns a run, unless somebody has.
fn ask(directory: &Path, owner: Option<Owner>) -> Result<u8, Failure> {
    let state = Begun::read(directory)?.state;
    let run = &state.started.run;
    match owner {
        Some(owner) if owner.is_here() && state.cancelled.is_some() => {
            outln!("{owner} is ending the run in order already; `wfe logs {run} -f` follows it");
            Ok(0)
        }
        Some(owner) if owner.terminate() => {
            outln!("asked {owner} to end the run in order; `wfe logs {run} -f` follows it");
            Ok(0)
        }
        owner => {
            let who = owner.map_or("a process that is not known".into(), |owner| owner.to_string());
            Err(Failure::request(format!("the run belongs to {who}: cancel it on that machine")))
        }
    }
}
