//! `wfe cancel`: end a run in order.

use wfe_runner::directory;
use wfe_runner::journal::{Journal, JournalError};

use crate::args::CancelArgs;
use crate::begun::Begun;
use crate::commands::resume::carry_on;
use crate::failure::Failure;
use crate::signals::{self, Left};

/// Asks the process that carries out a run to end it in order; does so itself when that process is gone.
pub fn cancel(args: CancelArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let begun = Begun::read_to_change(&directory)?;
    let run = begun.state.started.run.clone();
    if let Some(ended) = &begun.state.ended {
        return Err(Failure::request(format!("run {run} is over, with verdict {}", ended.verdict.word())));
    }
    let already = begun.state.cancelled.is_some();
    match Journal::reopen(&directory) {
        Err(JournalError::Owned { owner: Some(owner), .. }) if already && owner.is_here() => {
            outln!("{owner} is ending the run in order already; `wfe logs {run} -f` follows it");
            Ok(0)
        }
        Err(JournalError::Owned { owner: Some(owner), .. }) if owner.terminate() => {
            outln!("asked {owner} to end the run in order; `wfe logs {run} -f` follows it");
            Ok(0)
        }
        Err(JournalError::Owned { owner, .. }) => {
            let who = owner.map_or("a process that is not known".into(), |owner| owner.to_string());
            Err(Failure::request(format!("the run belongs to {who}: cancel it on that machine")))
        }
        Err(error) => Err(error.into()),
        Ok(unowned) => {
            drop(unowned);
            errln!("the process of run {run} is gone: ending the run in order");
            let left = Left::new(&args.run.runs.runs_dir, "resume");
            let listen = |simulated, left| signals::listen(simulated, left, Some("wfe cancel"));
            carry_on(directory, begun, None, left, listen, args.json)
        }
    }
}
