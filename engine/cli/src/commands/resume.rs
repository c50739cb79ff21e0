//! `wfe resume`: carry on with a run whose process is gone.

use std::path::PathBuf;

use wfe_runner::directory;
use wfe_runner::run::{Cancel, Resumption, Run};

use crate::args::ResumeArgs;
use crate::begun::Begun;
use crate::failure::Failure;
use crate::signals::{self, Left};
use crate::workflow::{choice_of_run, prepare_again};
use crate::{commands, progress, runtime};

/// Resumes a run; answers the exit code of its verdict. Of a run that is over, the reports are made: its process may have
/// died before it made them.
pub fn resume(args: ResumeArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let begun = Begun::read_to_change(&directory)?;
    match (&begun.state.ended, &args.retry) {
        (Some(ended), None) => {
            errln!("notice: the run is over, with verdict {}: its reports are made again", ended.verdict.word());
            commands::report::make(&directory, &begun, args.json)?;
            Ok(commands::run::exit_code(&begun.state))
        }
        _ => {
            let left = Left::new(&args.run.runs.runs_dir, "resume");
            let listen = |simulated, left| signals::listen(simulated, left, None);
            carry_on(directory, begun, args.retry, left, listen, args.json)
        }
    }
}

/// Carries on with a run until it is over and reports it; `retry` names a step of an ended run to try again, and `listen`
/// is called when the run's runtime is there.
pub fn carry_on(
    directory: PathBuf,
    begun: Begun,
    retry: Option<String>,
    left: Left,
    listen: impl FnOnce(bool, Left) -> Cancel,
    json: bool,
) -> Result<u8, Failure> {
    let (name, backend) = begun.backend()?;
    let started = begun.state.started.clone();
    runtime(started.simulated)?.block_on(async {
        let choice = choice_of_run(name, &started);
        let ready = prepare_again(&directory, &started, &choice).await?;
        let telemetry_ms = commands::run::telemetry_ms(started.simulated);
        let reporters = vec![progress::reporter(started.simulated), left.reporter()];
        let resumption = Resumption { retry, telemetry_ms, reporters };
        let run = Run::resume(directory, ready.plan, ready.plugins, backend, resumption).await?;
        begun.tell_torn();
        let finished = run.carry_out(listen(started.simulated, left)).await?;
        commands::run::report(&finished, json)
    })
}
