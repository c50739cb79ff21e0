//! A rehearsal that somebody asks to end, at every moment: always an orderly end, always the verdict `cancelled`.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

use std::collections::BTreeSet;
use std::fs;

use wfe_core::event::{Outcome, ResourceState};
use wfe_core::state::RunState;
use wfe_core::verdict::Verdict;
use wfe_core::{Event, Millis};
use wfe_runner::journal;
use wfe_tests::{Planned, Trouble, cluster, killed, planned, rehearse, rehearse_in, resume_in};

/// Its `finally` takes two minutes.
const WORKFLOW: &str = concat!(
    "name: cancelled\nsteps:\n",
    cluster!(),
    "  quiet:
    needs: [cluster]
    uses: wait-stable
    with: { hold: 30s }
  traffic:
    needs: [quiet]
    uses: load
    background: true
    with: { mix: { write: 1, read: 1 }, rate: 5000/s, rows: 100000 }
  steady:
    needs: [traffic]
    uses: measure
    with: { for: 1m }
finally:
  quiet-again:
    uses: wait-stable
    with: { hold: 2m }
  report:
    needs: [quiet-again]
    uses: report
"
);

fn cancelled_at(planned: &Planned, at: Millis) -> (RunState, Vec<wfe_core::Entry>) {
    let runs = tempfile::tempdir().unwrap();
    let finished = rehearse_in(planned, runs.path(), 3, &Trouble { cancelled_at: Some(at), ..Trouble::default() });
    let entries = journal::read(&finished.directory).unwrap().entries;
    (finished.state, entries)
}

/// Nothing but `finally` begins after the request; nothing of the run is left, and it says why it ended.
fn ended_in_order(at: Millis, state: &RunState, entries: &[wfe_core::Entry]) {
    let ended = state.ended.as_ref().unwrap();
    assert_eq!(ended.verdict, Verdict::Cancelled, "cancelled at {at}: {:?}", ended.reasons);
    assert_eq!(ended.reasons[0], "cancelled: Ctrl-C", "cancelled at {at}");
    let asked = entries.iter().position(|entry| matches!(entry.event, Event::CancelRequested { .. })).unwrap();
    assert_eq!(entries[asked].at, at);
    let mut begun = BTreeSet::new();
    for entry in &entries[asked..] {
        if let Event::AttemptStarted { step, .. } = &entry.event {
            begun.insert(step.as_str());
        }
    }
    assert!(begun.iter().all(|step| ["quiet-again", "report"].contains(step)), "cancelled at {at}: {begun:?}");
    for resource in state.ledger.resources() {
        assert_eq!(resource.state, ResourceState::Deleted, "cancelled at {at}: {resource:?}");
    }
    for (id, step) in &state.steps {
        let over = step.skipped.is_some() || step.attempts.last().is_some_and(|attempt| attempt.outcome.is_some());
        assert!(over, "cancelled at {at}: `{id}` has not ended");
    }
    let report = state.attempt("report").and_then(|attempt| attempt.outcome.as_ref());
    let quiet = state.attempt("quiet-again").and_then(|attempt| attempt.outcome.as_ref());
    let succeeded = |outcome: Option<&Outcome>| matches!(outcome, Some(Outcome::Succeeded { .. }));
    // Without a cluster `finally` has nothing to wait for, fails, and what needs that is skipped.
    let has_cluster = entries.iter().any(|entry| match &entry.event {
        Event::CallAnswered { id, .. } => id.name == "cluster/cluster.create",
        _ => false,
    });
    assert_eq!(
        (succeeded(quiet), succeeded(report)),
        (has_cluster, has_cluster),
        "cancelled at {at}: {quiet:?} {report:?}"
    );
    // `finally` waits two minutes, after a cluster that is being formed has come up; nobody waits for more.
    assert!(ended.at <= at + 270_000, "cancelled at {at}, ended at {}", ended.at);
}

#[test]
fn cancelled_at_every_moment() {
    let planned = planned(WORKFLOW, &[]);
    let runs = tempfile::tempdir().unwrap();
    let whole = rehearse(&planned, runs.path(), 3);
    assert_eq!(whole.state.ended.as_ref().unwrap().verdict, Verdict::Pass);
    let entries = journal::read(&whole.directory).unwrap().entries;
    let end = whole.state.now;
    // Just before, at and just after everything that happens, and between.
    let mut moments: BTreeSet<Millis> = (1..end).step_by(2_311).collect();
    moments.extend(entries.iter().flat_map(|entry| [entry.at.saturating_sub(1), entry.at, entry.at + 1]));
    moments.retain(|at| (1..end).contains(at));
    assert!(moments.len() > 100, "{}", moments.len());
    for at in moments {
        let (state, entries) = cancelled_at(&planned, at);
        ended_in_order(at, &state, &entries);
    }
}

/// What `wfe cancel` does when the process of a run is gone: it takes the run over, and is asked before anything happens.
#[test]
fn cancelled_where_a_crash_cut_it() {
    let planned = planned(WORKFLOW, &[]);
    let runs = tempfile::tempdir().unwrap();
    let whole = rehearse(&planned, runs.path(), 3);
    let entries = journal::read(&whole.directory).unwrap().entries;
    let lines = fs::read(whole.directory.join(journal::FILE)).unwrap();
    let lines: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let last = entries.iter().rposition(|entry| matches!(entry.event, Event::AttemptEnded { .. })).unwrap();
    for kept in 1..=last {
        let directory = runs.path().join(format!("killed-{kept}"));
        killed(&directory, &lines[..kept].concat(), &planned);
        let at = entries[kept - 1].at;
        let trouble = Trouble { cancelled_at: Some(at), ..Trouble::default() };
        let finished = resume_in(&planned, &directory, &trouble).unwrap();
        ended_in_order(at, &finished.state, &journal::read(&directory).unwrap().entries);
    }
}

#[test]
fn what_was_measured_before_stays() {
    let planned = planned(WORKFLOW, &[]);
    let runs = tempfile::tempdir().unwrap();
    let whole = rehearse(&planned, runs.path(), 3);
    let in_finally = whole.state.finally_since.unwrap() + 1_000;
    let (state, _) = cancelled_at(&planned, in_finally);
    assert_eq!(state.measurements, whole.state.measurements);
    assert_eq!(state.ended.unwrap().verdict.exit_code(), 130);
}

#[test]
fn a_step_that_waits_to_be_tried_again_is_over() {
    let text = WORKFLOW.replace("machines: 4 } }", "machines: 8 } }\n    retry: { attempts: 2, backoff: 10m }");
    let planned = planned(&text, &[]);
    let lost = serde_json::json!([{ "machine-lost": { "machine": "i-0002", "at": 20 } }]);
    let faults = serde_json::from_value(lost).unwrap();
    let runs = tempfile::tempdir().unwrap();
    let trouble = Trouble { faults, cancelled_at: Some(100_000) };
    let finished = rehearse_in(&planned, runs.path(), 3, &trouble);
    let entries = journal::read(&finished.directory).unwrap().entries;
    ended_in_order(100_000, &finished.state, &entries);
    assert_eq!(finished.state.steps["cluster"].attempts.len(), 1);
}
