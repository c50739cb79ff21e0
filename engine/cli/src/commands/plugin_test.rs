//! `wfe plugin test`: does a plugin survive a crash at every call? For authors of plugins in any language.

use std::fs;
use std::path::Path;

use wfe_core::event::Outcome;
use wfe_core::state::RunState;
use wfe_core::{Entry, Event};
use wfe_runner::host::Replay;
use wfe_runner::host::offline::{self, Replayed};
use wfe_runner::journal;
use wfe_runner::run::{Cancel, Finished, Resumption, Run, Takeover, WORKFLOW};

use crate::args::{BackendName, ChoiceArgs, PluginTestArgs};
use crate::commands::plan::{for_a_moment, rehearse};
use crate::commands::run::telemetry_ms;
use crate::failure::{Failure, INFRASTRUCTURE};
use crate::journal_lines::line;
use crate::workflow::{Ready, choice, prepare};
use crate::{backends, runtime};

/// Rehearses a workflow, replays each of its steps offline, then kills the rehearsal after every entry of its journal and
/// resumes it. Answers 0 when every step ended in the same way each time.
pub fn test(args: PluginTestArgs) -> Result<u8, Failure> {
    let runs = for_a_moment()?;
    let choice = choice(&ChoiceArgs { backend: BackendName::Sim, profile: args.profile, set: args.set })?;
    let shown = args.file.display().to_string();
    runtime(true)?.block_on(async {
        let ready = prepare(&args.file, &shown, &choice).await?;
        let whole = rehearse(&ready, shown.clone(), args.seed, runs.path()).await?;
        let entries = journal::read(&whole.directory)?.entries;
        let mut found = replayed(&ready, &whole.state, &entries).await;
        found.extend(killed(&ready, &whole, &entries, runs.path()).await?);
        if found.is_empty() {
            outln!("{shown}: killed after each of {} journal entries and resumed, the same each time", entries.len());
            return Ok(0);
        }
        found.iter().for_each(|found| outln!("{found}"));
        Ok(INFRASTRUCTURE)
    })
}

/// What each step answers to the calls that it got answered, offline, where that is not what it answered then.
async fn replayed(ready: &Ready, state: &RunState, entries: &[Entry]) -> Vec<String> {
    let mut found = Vec::new();
    for (id, step) in &state.steps {
        let uses = ready.plan.step(id).map(|planned| planned.uses.as_str()).unwrap_or_default();
        let Some((loaded, kind)) = ready.plugins.find(uses) else { continue };
        for attempt in step.attempts.iter().filter(|attempt| attempt.outcome.is_some()) {
            let calls = Replay::of_attempt(entries, id, attempt.number);
            let now =
                offline::replay(loaded, &kind.name, &attempt.parameters, calls, Box::new(|_, _, _, _, _| ())).await;
            if !now.is_as_then(attempt.outcome.as_ref(), attempt.cut) {
                let now = match &now {
                    Replayed::Ended(outcome) => told(Some(outcome)),
                    Replayed::GoesOn(place) => format!("goes on ({place})"),
                };
                found.push(format!("{id}, replayed: {now} instead of {}", told(attempt.outcome.as_ref())));
            }
        }
    }
    found
}

/// Where the run that was killed and resumed ended otherwise than the whole one.
async fn killed(ready: &Ready, whole: &Finished, entries: &[Entry], runs: &Path) -> Result<Vec<String>, Failure> {
    let text = fs::read(whole.directory.join(journal::FILE)).map_err(|e| unwritable(&whole.directory, &e))?;
    let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place + 1);
    let mut found = Vec::new();
    for entry in entries.iter().take_while(|entry| !matches!(entry.event, Event::RunEnded { .. })) {
        let end = ends.next().unwrap_or(text.len());
        let directory = runs.join("killed");
        let left = [(journal::FILE, &text[..end]), (WORKFLOW, &ready.bytes[..])];
        fs::create_dir(&directory).map_err(|e| unwritable(&directory, &e))?;
        for (name, content) in left {
            fs::write(directory.join(name), content).map_err(|e| unwritable(&directory, &e))?;
        }
        let backend = backends::make(BackendName::Sim, &Default::default())?;
        let resumption = Resumption { telemetry_ms: telemetry_ms(true), ..Resumption::default() };
        let (plan, plugins) = (ready.plan.clone(), ready.plugins.clone());
        let run = Run::resume(Takeover::of(&directory)?, plan, plugins, backend, resumption).await?;
        let resumed = run.carry_out(Cancel::never()).await?.state;
        let place = line(entry).map_or(format!("entry {}", entry.n), |line| line.trim().to_owned());
        found.extend(differences(&whole.state, &resumed).map(|what| format!("killed after `{place}`: {what}")));
        fs::remove_dir_all(&directory).map_err(|e| unwritable(&directory, &e))?;
    }
    Ok(found)
}

fn unwritable(directory: &Path, error: &std::io::Error) -> Failure {
    Failure::infrastructure(format!("{}: {error}", directory.display()))
}

fn differences<'a>(whole: &'a RunState, resumed: &'a RunState) -> impl Iterator<Item = String> + 'a {
    whole.steps.keys().filter_map(move |id| {
        let outcome = |state: &'a RunState| state.attempt(id).and_then(|attempt| attempt.outcome.as_ref());
        let (then, now) = (outcome(whole), outcome(resumed));
        (then != now).then(|| format!("{id} {} instead of {}", told(now), told(then)))
    })
}

fn told(outcome: Option<&Outcome>) -> String {
    match outcome {
        None => "did not start".into(),
        Some(Outcome::Succeeded { outputs }) => format!("succeeded with {outputs}"),
        Some(Outcome::Failed { error }) => format!("failed ({error})"),
    }
}
