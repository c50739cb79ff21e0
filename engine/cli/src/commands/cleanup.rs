//! `wfe cleanup`: give back what runs left behind.

use std::path::{Path, PathBuf};

use wfe_core::event::ResourceState;
use wfe_core::state::RunState;
use wfe_runner::begun::Begun;
use wfe_runner::clock::wall_seconds;
use wfe_runner::{directory, run};

use crate::args::CleanupArgs;
use crate::begun::{backend, take, tell_torn};
use crate::commands::report::write_again;
use crate::failure::{Failure, INFRASTRUCTURE};
use crate::signals::{self, Left};
use crate::{progress, runtime};

/// Cleans up one run, or all whose kept machines have expired; answers 0 when nothing of them is left.
pub fn cleanup(args: CleanupArgs) -> Result<u8, Failure> {
    let runs = &args.runs.runs_dir;
    let Some(name) = &args.run else { return expired(&args) };
    clean(directory::find(runs, name)?)
}

/// A run whose journal cannot be read is said and passed over: it must not keep others from being cleaned up.
fn expired(args: &CleanupArgs) -> Result<u8, Failure> {
    let now = wall_seconds();
    let mut code = 0;
    for id in directory::list(&args.runs.runs_dir)? {
        let directory = args.runs.runs_dir.join(&id);
        let outcome = match Begun::read(&directory) {
            Ok(begun) if !has_expired(&begun.state, &now) => continue,
            Ok(_) => clean(directory),
            Err(error) => Err(error.into()),
        };
        match outcome {
            Ok(left) => code = code.max(left),
            Err(failure) => {
                errln!("{id}: {}", failure.message);
                code = code.max(failure.code);
            }
        }
    }
    Ok(code)
}

fn has_expired(state: &RunState, now: &str) -> bool {
    state.ended.is_some()
        && state.ledger.left().any(|resource| resource.expires.as_deref().is_some_and(|expires| expires <= now))
}

fn clean(directory: PathBuf) -> Result<u8, Failure> {
    let taken = take(&directory)?;
    let RunState { started, ended, ledger, .. } = &taken.begun.state;
    let (id, simulated) = (started.run.clone(), started.simulated);
    let clear = ended.is_some() && ledger.is_clear();
    let (_, backend) = backend(started)?;
    let left = Left::new(directory.parent().unwrap_or(Path::new(".")), "cleanup");
    left.note(&taken.begun.state);
    let reporters = vec![progress::reporter(simulated), left.reporter()];
    let state = runtime(simulated)?.block_on(async {
        // What it does is the orderly end: nothing can be asked of it but to go on or to end at once.
        drop(signals::listen(simulated, left, Some("wfe cleanup")));
        tell_torn(&taken.begun);
        run::clean_up(taken, backend, reporters).await
    })?;
    write_again(&directory, &Begun::read(&directory)?)?;
    let left: Vec<_> = state.ledger.left().collect();
    for resource in &left {
        let reason = resource.reason.as_deref().unwrap_or_default();
        outln!("{id}: {} {} {}: {reason}", resource.kind, resource.id, resource.state.word());
    }
    for resource in state.ledger.resources().filter(|resource| resource.state == ResourceState::Foreign) {
        outln!("{id}: {} {} carries the run's tag, is not its own, and is left alone", resource.kind, resource.id);
    }
    match left.is_empty() {
        true if clear => outln!("{id}: nothing was left of it"),
        true => outln!("{id}: everything is given back"),
        false => return Ok(INFRASTRUCTURE),
    }
    Ok(0)
}
