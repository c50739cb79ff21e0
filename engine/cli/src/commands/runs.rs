//! `wfe runs`: what there is.

use std::path::Path;

use serde_json::json;
use wfe_core::state::RunState;
use wfe_runner::{directory, journal};

use crate::args::RunsArgs;
use crate::failure::Failure;

/// Lists the runs, oldest first.
pub fn runs(args: RunsArgs) -> Result<u8, Failure> {
    let ids = directory::list(&args.runs.runs_dir)?;
    let rows: Vec<Row> = ids.iter().map(|id| row(&args.runs.runs_dir, id)).collect();
    if args.json {
        let list: Vec<_> = rows
            .iter()
            .map(|row| json!({ "run": row.id, "started": row.started, "backend": row.backend, "state": row.state }))
            .collect();
        outln!("{}", serde_json::Value::Array(list));
        return Ok(0);
    }
    if rows.is_empty() {
        outln!("no runs in {}; `wfe run FILE` makes one", args.runs.runs_dir.display());
        return Ok(0);
    }
    let width = rows.iter().map(|row| row.id.len()).max().unwrap_or_default();
    outln!("{:width$}  {:20}  {:8}  STATE", "RUN", "STARTED", "BACKEND");
    for Row { id, started, backend, state } in rows {
        outln!("{id:width$}  {started:20.19}  {backend:8}  {state}");
    }
    Ok(0)
}

struct Row {
    id: String,
    started: String,
    backend: String,
    state: String,
}

/// The verdict, and how many things of the run may still exist.
fn standing(state: &RunState) -> String {
    let verdict = state.ended.as_ref().map_or("not over", |ended| ended.verdict.word());
    match state.ledger.left().count() {
        left if left > 0 && state.ended.is_some() => format!("{verdict}, {left} not given back"),
        _ => verdict.into(),
    }
}

fn row(runs: &Path, id: &str) -> Row {
    let state = journal::read(&runs.join(id))
        .map_err(|e| e.to_string())
        .and_then(|contents| RunState::fold(&contents.entries).map_err(|e| e.to_string()));
    match state {
        Ok(state) => Row {
            id: id.into(),
            started: state.started.wall.clone(),
            backend: state.started.backend.clone(),
            state: standing(&state),
        },
        Err(error) => Row { id: id.into(), started: "-".into(), backend: "-".into(), state: error },
    }
}
