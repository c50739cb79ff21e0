//! `wfe resume`: carry on with a run whose process is gone.

use wfe_runner::directory;
use wfe_runner::run::{Cancel, Resumption, Run, Takeover};

use crate::args::ResumeArgs;
use crate::begun::{backend, take, tell_torn};
use crate::failure::Failure;
use crate::signals::{self, Left};
use crate::workflow::{choice_of_run, prepare_again};
use crate::{commands, progress, runtime};

/// Resumes a run; answers the exit code of its verdict. Of a run that is over, the reports are made: its process may have
/// died before it made them.
pub fn resume(args: ResumeArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let taken = take(&directory)?;
    match (&taken.begun.state.ended, &args.retry) {
        (Some(ended), None) => {
            errln!("notice: the run is over, with verdict {}: its reports are made again", ended.verdict.word());
            commands::report::make(&directory, &taken.begun, args.json)?;
            Ok(commands::run::exit_code(&taken.begun.state))
        }
        _ => {
            let left = Left::new(&args.run.runs.runs_dir, "resume");
            let listen = |simulated, left| signals::listen(simulated, left, None);
            carry_on(taken, args.retry, left, listen, args.json)
        }
    }
}

/// Carries on with a run until it is over and reports it; `retry` names a step of an ended run to try again, and `listen`
/// is called when the run's runtime is there.
pub fn carry_on(
    taken: Takeover,
    retry: Option<String>,
    left: Left,
    listen: impl FnOnce(bool, Left) -> Cancel,
    json: bool,
) -> Result<u8, Failure> {
    let started = taken.begun.state.started.clone();
    left.note(&taken.begun.state);
    let (name, backend) = backend(&started)?;
    runtime(started.simulated)?.block_on(async {
        let choice = choice_of_run(name, &started);
        let ready = prepare_again(&taken.directory, &started, &choice).await?;
        let telemetry_ms = commands::run::telemetry_ms(started.simulated);
        let reporters = vec![progress::reporter(started.simulated), left.reporter()];
        let resumption = Resumption { retry, telemetry_ms, reporters };
        tell_torn(&taken.begun);
        let run = Run::resume(taken, ready.plan, ready.plugins, backend, resumption).await?;
        let finished = run.carry_out(listen(started.simulated, left)).await?;
        commands::run::report(&finished, json)
    })
}
