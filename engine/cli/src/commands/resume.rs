//! `wfe resume`: carry on with a run whose process is gone.

use wfe_core::state::RunState;
use wfe_runner::run::Run;
use wfe_runner::{directory, journal};

use clap::ValueEnum;

use crate::args::{BackendName, ResumeArgs};
use crate::failure::Failure;
use crate::workflow::{choice_of, directory_of, prepare};
use crate::{backends, commands, progress, runtime, signals};

/// Resumes a run; answers the exit code of its verdict. Of a run that is over, the reports are made: its process may have
/// died before it made them.
pub fn resume(args: ResumeArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let contents = journal::read(&directory)?;
    let state = RunState::fold(&contents.entries).map_err(|e| Failure::journal(&directory, &e))?;
    if let Some(ended) = &state.ended {
        errln!("notice: the run is over, with verdict {}: its reports are made again", ended.verdict.word());
        commands::report::make(&directory, &contents.entries, &state, args.json)?;
        return Ok(commands::run::exit_code(&state));
    }
    let started = state.started;
    let name = BackendName::from_str(&started.backend, false)
        .map_err(|_| Failure::request(format!("the run's backend `{}` is not known to this wfe", started.backend)))?;
    let backend = backends::make(name, &started.backend_options)?;
    runtime(started.simulated)?.block_on(async {
        let choice = choice_of(name, started.profile.clone(), started.set.clone().into_iter().collect());
        let copy = directory.join(wfe_runner::run::WORKFLOW);
        let base = directory_of(started.file.as_ref());
        let ready = prepare(&copy, &copy.display().to_string(), base, &choice).await?;
        let telemetry_ms = commands::run::telemetry_ms(started.simulated);
        let left = signals::Left::new(&args.run.runs.runs_dir);
        let mut reporters = progress::reporters(started.simulated);
        reporters.push(left.reporter());
        let run = Run::resume(directory, ready.plan, ready.plugins, backend, telemetry_ms, reporters).await?;
        if contents.torn_bytes > 0 {
            errln!("notice: the journal's last line was torn ({} bytes) and is dropped", contents.torn_bytes);
        }
        let finished = run.carry_out(signals::listen(started.simulated, left)).await?;
        commands::run::report(&finished, args.json)
    })
}
