//! `wfe plan`: the steps in order, and what a rehearsal says of their time, machines and cost.

use std::collections::BTreeMap;
use std::path::Path;

use wfe_core::event::Keep;
use wfe_core::ledger::MACHINE;
use wfe_core::plan::{Plan, PlannedStep};
use wfe_core::state::RunState;
use wfe_core::verdict::Verdict;
use wfe_runner::run::{Cancel, Finished, Options, Run};

use crate::args::{BackendName, PlanArgs};
use crate::failure::{Failure, INFRASTRUCTURE};
use crate::journal_lines::time;
use crate::workflow::{Ready, choice, prepare};
use crate::{backends, commands, runtime};

/// Shows the plan of a workflow.
pub fn plan(args: PlanArgs) -> Result<u8, Failure> {
    runtime(true)?.block_on(async {
        let shown = args.file.display().to_string();
        let ready = prepare(&args.file, &shown, &choice(&args.choice)?).await?;
        if args.dot {
            out!("{}", ready.plan.graphviz());
            return Ok(0);
        }
        let runs = for_a_moment()?;
        let state = rehearse(&ready, shown, args.seed, runs.path()).await?.state;
        print(&ready.plan, &state);
        Ok(state.ended.map_or(INFRASTRUCTURE, |ended| ended.verdict.exit_code()))
    })
}

/// Rehearses a plan in a directory of runs.
pub async fn rehearse(ready: &Ready, file: String, seed: u64, runs: &Path) -> Result<Finished, Failure> {
    let backend = backends::make(BackendName::Sim, &BTreeMap::new())?;
    let options = Options {
        runs: runs.into(),
        file,
        source: ready.bytes.clone(),
        set: BTreeMap::new(),
        seed,
        keep: Keep::Never,
        keep_ms: 0,
        deadline_ms: ready.plan.deadline_ms,
        backend_options: BTreeMap::new(),
        command: String::new(),
        version: env!("CARGO_PKG_VERSION").into(),
        telemetry_ms: commands::run::telemetry_ms(true),
    };
    let run = Run::begin(ready.plan.clone(), ready.plugins.clone(), backend, options, Vec::new()).await?;
    Ok(run.carry_out(Cancel::never()).await?)
}

/// A directory of runs that is gone when nobody needs it any more.
pub fn for_a_moment() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|e| Failure::infrastructure(format!("no temporary directory: {e}")))
}

fn print(plan: &Plan, state: &RunState) {
    outln!("{}: {} steps; times and costs come from a rehearsal (SIMULATED)\n", plan.name, plan.steps.len());
    outln!("{:16} {:18} {:>9} {:>9}  AFTER", "STEP", "USES", "STARTS", "TAKES");
    for step in &plan.steps {
        let attempt = state.attempt(&step.id);
        let starts = attempt.map_or("-".into(), |attempt| time(attempt.started));
        let took = attempt.and_then(|attempt| Some(time(attempt.ended? - attempt.started)));
        outln!("{:16} {:18} {starts:>9} {:>9}  {}", step.id, step.uses, took.unwrap_or("-".into()), after(step));
    }
    outln!("\nmachines");
    for (description, count) in machines(state) {
        outln!("  {count} × {description}");
    }
    match state.ledger.cost_usd(state.now) {
        Some(cost) => outln!("\ntakes {}, costs about {cost:.2} US dollars", time(state.now)),
        None => outln!("\ntakes {}; the cost is not known", time(state.now)),
    }
    if let Some(ended) = state.ended.as_ref().filter(|ended| ended.verdict != Verdict::Pass) {
        outln!("the rehearsal ends with {}: {}", ended.verdict.word(), ended.reasons.join("; "));
    }
}

fn after(step: &PlannedStep) -> String {
    let mut parts: Vec<String> = step.needs.iter().cloned().collect();
    parts.extend(step.during.iter().map(|during| match &during.phase {
        Some(phase) => format!("end of {}.{phase}", during.step),
        None => format!("end of {}", during.step),
    }));
    if step.finally {
        parts.push("everything, always".into());
    }
    if step.background {
        parts.push("(background)".into());
    }
    parts.join(", ")
}

fn machines(state: &RunState) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for machine in state.ledger.resources().filter(|resource| resource.kind == MACHINE) {
        *counts.entry(machine.description.as_str()).or_default() += 1;
    }
    counts
}
