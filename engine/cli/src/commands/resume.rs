//! `wfe resume`: carry on with a run whose process is gone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use wfe_core::backend::Backend;
use wfe_core::event::RunStarted;
use wfe_core::state::RunState;
use wfe_runner::recorder::Reporter;
use wfe_runner::run::{Cancel, Resumption, Run};
use wfe_runner::{directory, journal};

use crate::args::{BackendName, ResumeArgs};
use crate::failure::Failure;
use crate::workflow::{choice_of_run, prepare_again};
use crate::{backends, commands, progress, runtime, signals};

/// Resumes a run; answers the exit code of its verdict. Of a run that is over, the reports are made: its process may have
/// died before it made them.
pub fn resume(args: ResumeArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let begun = Begun::read(&directory)?;
    match (&begun.state.ended, &args.retry) {
        (Some(ended), None) => {
            errln!("notice: the run is over, with verdict {}: its reports are made again", ended.verdict.word());
            commands::report::make(&directory, &journal::read(&directory)?.entries, &begun.state, args.json)?;
            Ok(commands::run::exit_code(&begun.state))
        }
        _ => {
            let left = signals::Left::new(&args.run.runs.runs_dir);
            let reporters = vec![left.reporter()];
            carry_on(directory, begun, args.retry, reporters, |simulated| signals::listen(simulated, left), args.json)
        }
    }
}

/// A run as its journal has it.
pub struct Begun {
    /// Everything that is known of it.
    pub state: RunState,
    torn_bytes: u64,
}

impl Begun {
    /// Reads the journal in a run's directory.
    pub fn read(directory: &Path) -> Result<Self, Failure> {
        let contents = journal::read(directory)?;
        let state = RunState::fold(&contents.entries).map_err(|e| Failure::journal(directory, &e))?;
        Ok(Self { state, torn_bytes: contents.torn_bytes })
    }

    /// The backend that the run began with, made again.
    pub fn backend(&self) -> Result<(BackendName, Arc<dyn Backend>), Failure> {
        let RunStarted { backend, backend_options, .. } = &self.state.started;
        let name = BackendName::from_str(backend, false)
            .map_err(|_| Failure::request(format!("the run's backend `{backend}` is not known to this wfe")))?;
        Ok((name, backends::make(name, backend_options)?))
    }

    /// Tells that the journal's end was lost.
    pub fn tell_torn(&self) {
        if self.torn_bytes > 0 {
            errln!("notice: the journal's last line was torn ({} bytes) and is dropped", self.torn_bytes);
        }
    }
}

/// Carries on with a run until it is over and reports it; `retry` names a step of an ended run to try again, and `cancel`
/// is asked for when the run's runtime is there.
pub fn carry_on(
    directory: PathBuf,
    begun: Begun,
    retry: Option<String>,
    mut reporters: Vec<Box<dyn Reporter>>,
    cancel: impl FnOnce(bool) -> Cancel,
    json: bool,
) -> Result<u8, Failure> {
    let (name, backend) = begun.backend()?;
    let started = begun.state.started.clone();
    runtime(started.simulated)?.block_on(async {
        let choice = choice_of_run(name, &started);
        let ready = prepare_again(&directory, &started, &choice).await?;
        let telemetry_ms = commands::run::telemetry_ms(started.simulated);
        reporters.extend(progress::reporters(started.simulated));
        let resumption = Resumption { retry, telemetry_ms, reporters };
        let run = Run::resume(directory, ready.plan, ready.plugins, backend, resumption).await?;
        begun.tell_torn();
        let finished = run.carry_out(cancel(started.simulated)).await?;
        commands::run::report(&finished, json)
    })
}
