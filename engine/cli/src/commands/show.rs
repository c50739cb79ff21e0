//! `wfe show`: one run's state.

use wfe_core::event::Outcome;
use wfe_core::state::{RunState, StepState};
use wfe_runner::begun::Begun;
use wfe_runner::directory;
use wfe_runner::owner::Owner;

use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::journal_lines::time;

/// Shows where a run stands.
pub fn show(args: ShowArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let (Begun { state, .. }, damage) = Begun::read_readable(&directory)?;
    if args.json {
        let text = serde_json::to_string_pretty(&state).map_err(|e| Failure::infrastructure(e.to_string()))?;
        outln!("{text}");
        return damage.map_or(Ok(0), |damage| Err(damage.into()));
    }
    print(&state, Owner::last(&directory).is_some_and(|owner| owner.is_here()));
    outln!("files      {}", directory.display());
    damage.map_or(Ok(0), |damage| Err(Failure::infrastructure(format!("{damage}\nwhat stands before that is shown"))))
}

fn print(state: &RunState, goes_on: bool) {
    let started = &state.started;
    outln!("run        {}", started.run);
    outln!("workflow   {} ({})", started.workflow, started.file);
    outln!("backend    {}{}", started.backend, if started.simulated { " (SIMULATED)" } else { "" });
    outln!("started    {}", started.wall);
    match &state.ended {
        Some(ended) => outln!("verdict    {} after {}", ended.verdict.word(), time(ended.at)),
        None if goes_on => outln!("verdict    none yet; last event at {}; it goes on", time(state.now)),
        None => outln!("verdict    none yet; last event at {}; `wfe resume` carries on", time(state.now)),
    }
    for reason in state.ended.iter().flat_map(|ended| &ended.reasons) {
        outln!("           {reason}");
    }
    outln!();
    for (id, step) in &state.steps {
        outln!("{id:20} {}", standing(step));
    }
    outln!();
    for resource in state.ledger.resources() {
        let why = resource.reason.as_deref().unwrap_or_default();
        outln!("{:8} {:20} {:10} {why}", resource.kind, resource.id, resource.state.word());
    }
}

fn standing(step: &StepState) -> String {
    if let Some(why) = &step.skipped {
        return format!("skipped: {why}");
    }
    let Some(attempt) = step.attempt() else { return "not started".to_owned() };
    let took = attempt.ended.map_or("…".to_owned(), |ended| time(ended - attempt.started));
    let phase = attempt.phases.last().filter(|phase| phase.ended.is_none()).map(|phase| phase.name.as_str());
    match &attempt.outcome {
        Some(Outcome::Succeeded { .. }) => format!("succeeded  {took}"),
        Some(Outcome::Failed { error }) => format!("failed     {took}  {}", error.message),
        None => format!("running since {}  {}", time(attempt.started), phase.unwrap_or_default()),
    }
}
