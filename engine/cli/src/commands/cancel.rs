//! `wfe cancel`: end a run in order.

use wfe_runner::directory;
use wfe_runner::journal::{Journal, JournalError};
use wfe_runner::run::Cancel;

use crate::args::CancelArgs;
use crate::commands::resume::{Begun, carry_on};
use crate::failure::Failure;

/// Asks the process that carries out a run to end it in order; does so itself when that process is gone.
pub fn cancel(args: CancelArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let begun = Begun::read(&directory)?;
    let run = begun.state.started.run.clone();
    if let Some(ended) = &begun.state.ended {
        return Err(Failure::request(format!("run {run} is over, with verdict {}", ended.verdict.word())));
    }
    match Journal::reopen(&directory) {
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
            carry_on(directory, begun, None, Vec::new(), |_| Cancel::now("wfe cancel"), args.json)
        }
    }
}
