//! `wfe report`: the reports of a run, made again from its journal and logs alone.

use std::path::Path;

use wfe_report::Document;
use wfe_runner::begun::Begun;
use wfe_runner::directory;

use crate::args::ShowArgs;
use crate::commands::run::{print, write};
use crate::failure::Failure;

/// Makes the reports again; works while the run goes on.
pub fn report(args: ShowArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    make(&directory, &Begun::read(&directory)?, args.json)?;
    Ok(0)
}

/// Makes the reports of a run from its journal and logs, and prints its summary or its result.
pub fn make(directory: &Path, begun: &Begun, json: bool) -> Result<(), Failure> {
    let document = write_again(directory, begun)?;
    print(&document, directory, json);
    Ok(())
}

/// Makes the reports of a run from its journal and logs.
pub fn write_again(directory: &Path, begun: &Begun) -> Result<Document, Failure> {
    let loaded = wfe_report::load_run(directory, &begun.state);
    let mut document = Document::new(&begun.state, &loaded.recording, &loaded.telemetry);
    loaded.notices.iter().for_each(|notice| errln!("notice: {notice}"));
    document.notices.extend(loaded.notices);
    write(&document, directory)?;
    Ok(document)
}
