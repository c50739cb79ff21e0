//! `wfe report`: the reports of a run, made again from its journal and logs alone.

use std::path::Path;

use wfe_core::Entry;
use wfe_core::state::RunState;
use wfe_report::Document;
use wfe_runner::{directory, journal};

use crate::args::ShowArgs;
use crate::commands::run::{print, write};
use crate::failure::Failure;

/// Makes the reports again; works while the run goes on.
pub fn report(args: ShowArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let entries = journal::read(&directory)?.entries;
    let state = RunState::fold(&entries).map_err(|e| Failure::journal(&directory, &e))?;
    make(&directory, &entries, &state, args.json)?;
    Ok(0)
}

/// Makes the reports of a run from its journal and logs, and prints its summary or its result.
pub fn make(directory: &Path, entries: &[Entry], state: &RunState, json: bool) -> Result<(), Failure> {
    let loaded = wfe_report::load_run(directory, entries);
    let mut document = Document::new(state, entries, &loaded.recording, &loaded.telemetry);
    loaded.notices.iter().for_each(|notice| errln!("notice: {notice}"));
    document.notices.extend(loaded.notices);
    write(&document, directory)?;
    print(&document, directory, json);
    Ok(())
}
