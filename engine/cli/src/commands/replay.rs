//! `wfe replay`: run a step's plugin against what happened, offline.

use std::path::Path;

use serde_json::{Value, json};
use wfe_core::event::{Outcome, RunStarted};
use wfe_core::state::{Attempt, RunState};
use wfe_core::{CallError, Millis};
use wfe_runner::begun::Begun;
use wfe_runner::directory;
use wfe_runner::host::Replay;
use wfe_runner::host::offline::{self, Replayed, Watch};
use wfe_runner::plugin::Plugins;

use crate::args::ReplayArgs;
use crate::failure::{Failure, INFRASTRUCTURE};
use crate::journal_lines::time;
use crate::runtime;

/// The longest text of arguments and answers that is shown.
const SHOWN: usize = 160;

/// Replays an attempt; answers 0 when the plugin asked and answered what it did then.
pub fn replay(args: ReplayArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let begun = Begun::read(&directory)?;
    let attempt = attempt(&begun.state, &args.step, args.attempt)?;
    let calls = Replay::of_attempt(&begun.entries, &args.step, attempt.number);
    let count = calls.len();
    if !args.json {
        outln!("{} attempt {}, {count} calls, offline", args.step, attempt.number);
    }
    runtime(true)?.block_on(async {
        let uses = begun.state.started.steps.iter().find(|step| step.id == args.step).map(|step| step.uses.as_str());
        let uses = uses.unwrap_or_default();
        let plugins = plugins(&directory, &begun.state.started, uses, args.plugin.as_deref()).await?;
        let renamed = args.plugin.as_ref().map(|file| with_kind(&file.display().to_string(), uses));
        let (loaded, kind) = plugins.find(renamed.as_deref().unwrap_or(uses)).ok_or_else(|| no_kind(uses))?;
        let watch: Watch = if args.json { Box::new(|_, _, _, _, _| ()) } else { Box::new(show) };
        let now = offline::replay(loaded, &kind.name, &attempt.parameters, calls, watch).await;
        let same = now.is_as_then(attempt.outcome.as_ref(), attempt.cut);
        match args.json {
            true => outln!("{:#}", json(&args.step, &attempt, count, &now, same)),
            false => compare(&now, &attempt, same),
        }
        Ok(if same { 0 } else { INFRASTRUCTURE })
    })
}

/// The run's own plugin, or another build of it.
async fn plugins(run: &Path, started: &RunStarted, uses: &str, other: Option<&Path>) -> Result<Plugins, Failure> {
    let loaded = match other {
        None => Plugins::load_copies(&[uses.to_owned()].into(), run, &started.plugins).await,
        Some(file) => Plugins::load(&[file.display().to_string()].into(), Path::new(".")).await,
    };
    Ok(loaded?)
}

/// The same kind of step, `#kind`, of another file.
fn with_kind(file: &str, uses: &str) -> String {
    let kind = uses.split_once('#').map(|(_, kind)| format!("#{kind}"));
    format!("{file}{}", kind.unwrap_or_default())
}

fn no_kind(uses: &str) -> Failure {
    Failure::request(format!("the plugin has no kind of step `{uses}`"))
}

fn attempt(state: &RunState, step: &str, number: Option<u32>) -> Result<Attempt, Failure> {
    let known = state.steps.keys().cloned().collect::<Vec<_>>().join(", ");
    let unknown = || Failure::request(format!("no step `{step}` of the run was started; there are {known}"));
    let attempts = &state.steps.get(step).filter(|step| !step.attempts.is_empty()).ok_or_else(unknown)?.attempts;
    let found = match number {
        None => attempts.last(),
        Some(number) => attempts.iter().find(|attempt| attempt.number == number),
    };
    found.cloned().ok_or_else(|| Failure::request(format!("step `{step}` had {} attempts", attempts.len())))
}

fn show(number: u64, name: &str, arguments: &Value, at: Millis, answer: &Result<Value, CallError>) {
    let answer = match answer {
        Ok(Value::Null) => String::new(),
        Ok(value) => format!(" -> {}", short(&value.to_string())),
        Err(error) => format!(" -> {error}"),
    };
    outln!("{:>8}  {number:>5}  {name} {}{answer}", time(at), short(&arguments.to_string()));
}

fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded { outputs } => format!("succeeded: {outputs}"),
        Outcome::Failed { error } => format!("failed ({}, {}): {}", error.kind, error.code, error.message),
    }
}

fn told_now(now: &Replayed) -> String {
    match now {
        Replayed::Ended(outcome) => told(outcome),
        Replayed::GoesOn(place) => place.clone(),
    }
}

/// What came of a replay, for programs.
fn json(step: &str, then: &Attempt, calls: usize, now: &Replayed, same: bool) -> Value {
    let outputs = match now {
        Replayed::Ended(Outcome::Succeeded { outputs }) => Some(outputs),
        _ => None,
    };
    json!({
        "step": step,
        "attempt": then.number,
        "calls": calls,
        "same": same,
        "outcome": told_now(now),
        "outputs": outputs,
        "then": then.outcome.as_ref().map(told),
    })
}

fn compare(now: &Replayed, then: &Attempt, same: bool) {
    outln!("{}", told_now(now));
    match &then.outcome {
        Some(outcome) if then.cut => outln!("then the engine ended it, and it {}", told(outcome)),
        Some(_) if same => outln!("the same as then"),
        Some(outcome) => outln!("then it {}", told(outcome)),
        None => outln!("the attempt was not over when the journal ends"),
    }
}
