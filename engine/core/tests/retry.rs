//! A step of an ended run is tried again: what came of its first attempt, and of what fell with it, counts no more.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

use std::collections::BTreeSet;

use serde_json::json;
use wfe_core::event::{Outcome, RunStarted, StepFacts};
use wfe_core::limits::LimitResult;
use wfe_core::plan::Grants;
use wfe_core::state::RunState;
use wfe_core::verdict::Verdict;
use wfe_core::{CallError, Entry, Event};

/// A run of these steps, each with what it needs.
fn begun(steps: &[(&str, &[&str])]) -> RunState {
    let facts = |(id, needs): &(&str, &[&str])| {
        let needs: BTreeSet<&str> = needs.iter().copied().collect();
        json!({ "id": id, "uses": "u", "plugin": "p", "plugin_digest": "", "needs": needs, "background": false,
                "finally": false, "during": null, "grants": Grants::default() })
    };
    let steps: Vec<StepFacts> = steps.iter().map(|step| serde_json::from_value(facts(step)).unwrap()).collect();
    let started = json!({
        "format": 1, "run": "r", "wfe": "0", "wall": "", "workflow": "w", "description": "", "file": "w.yaml",
        "workflow_digest": "", "backend": "sim", "simulated": true, "profile": null, "inputs": {}, "set": {}, "seed": 1,
        "keep": "always", "keep_ms": 0, "deadline_ms": null, "backend_options": {}, "plugins": [], "environment": [],
        "command": ""
    });
    let started = RunStarted { steps, ..serde_json::from_value(started).unwrap() };
    RunState::begin(&Entry { n: 0, at: 0, event: Event::RunStarted(Box::new(started)) }).unwrap()
}

fn tell(state: &mut RunState, event: Event) {
    let entry = Entry { n: state.next_n, at: state.now + 1, event };
    state.apply(&entry).unwrap();
}

fn attempt(state: &mut RunState, step: &str, number: u32, outcome: Outcome) {
    let (step, attempt) = (step.to_owned(), number);
    tell(state, Event::AttemptStarted { step: step.clone(), attempt, parameters: json!({}), window: None });
    if matches!(outcome, Outcome::Succeeded { .. }) {
        let (rule, value, place) = ("read.p99: <= 1ms".to_owned(), "2 ms".to_owned(), "the window".to_owned());
        let result = LimitResult { rule, value, holds: Some(false), place };
        tell(state, Event::LimitChecked { step: step.clone(), result });
    }
    tell(state, Event::AttemptEnded { step, attempt, outcome, cut: false });
}

fn succeeded() -> Outcome {
    Outcome::Succeeded { outputs: json!({ "n": 1 }) }
}

fn failed() -> Outcome {
    Outcome::Failed { error: CallError::infrastructure("lost", "a machine is lost") }
}

#[test]
fn what_an_earlier_try_told_counts_no_more() {
    let mut state = begun(&[("first", &[]), ("grow", &["first"]), ("after", &["grow"])]);
    attempt(&mut state, "first", 1, succeeded());
    attempt(&mut state, "grow", 1, failed());
    tell(&mut state, Event::StepSkipped { step: "after".into(), reason: "`grow` failed".into() });
    let (reasons, wall_s) = (Vec::new(), 0.0);
    tell(&mut state, Event::RunEnded { verdict: Verdict::Infrastructure, reasons, wall_s });
    tell(&mut state, Event::RetryRequested { step: "grow".into() });
    assert!(state.ended.is_none());
    assert!(state.attempt("grow").is_none(), "another attempt is due");
    assert!(state.outputs("first").is_some() && state.outputs("grow").is_none());

    attempt(&mut state, "grow", 2, succeeded());
    attempt(&mut state, "after", 1, failed());
    let (reasons, wall_s) = (Vec::new(), 0.0);
    tell(&mut state, Event::RunEnded { verdict: Verdict::Infrastructure, reasons, wall_s });
    assert_eq!(state.limits.len(), 2);
    tell(&mut state, Event::RetryRequested { step: "after".into() });
    let limited: Vec<&str> = state.limits.iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(limited, ["first", "grow"], "what succeeded keeps what it told");
    assert!(state.outputs("grow").is_some() && state.outputs("after").is_none());
}

/// The second try never starts: what the first one ended with is history, and not how the step stands.
#[test]
fn what_is_skipped_the_second_time_tells_nothing_of_the_first() {
    let mut state = begun(&[("grow", &[]), ("after", &["grow"])]);
    attempt(&mut state, "grow", 1, failed());
    tell(&mut state, Event::StepSkipped { step: "after".into(), reason: "`grow` failed".into() });
    let (reasons, wall_s) = (Vec::new(), 0.0);
    tell(&mut state, Event::RunEnded { verdict: Verdict::Infrastructure, reasons: reasons.clone(), wall_s });
    tell(&mut state, Event::RetryRequested { step: "grow".into() });
    tell(&mut state, Event::StepSkipped { step: "grow".into(), reason: "the run was cancelled".into() });
    assert!(state.attempt("grow").is_none());
    assert!(state.steps["grow"].attempts[0].error().is_some(), "its history stays");
    assert_eq!(state.attempt("grow").and_then(|attempt| attempt.error()), None);
}
