//! `wfe report`: the reports of a run, made again from its journal and logs alone.

use wfe_core::state::RunState;
use wfe_runner::recording::LoadRecording;
use wfe_runner::{directory, journal, telemetry};

use crate::args::ShowArgs;
use crate::commands::run::write;
use crate::failure::Failure;

/// Makes the reports again; works while the run goes on.
pub fn report(args: ShowArgs) -> Result<u8, Failure> {
    let directory = directory::find(&args.run.runs.runs_dir, &args.run.run)?;
    let entries = journal::read(&directory)?.entries;
    let state = RunState::fold(&entries).map_err(|e| Failure::infrastructure(e.to_string()))?;
    let (recording, notices) = LoadRecording::read(&directory)
        .map_err(|e| Failure::infrastructure(format!("the HDR logs in {} cannot be read: {e}", directory.display())))?;
    notices.iter().for_each(|notice| eprintln!("notice: {notice}"));
    let samples = wfe_report::read_telemetry(&directory.join(telemetry::FILE));
    let document = wfe_report::Document::new(&state, &entries, &recording, &samples);
    write(&document, &directory)?;
    match args.json {
        true => println!("{}", wfe_report::json(&document)),
        false => print!("{}", wfe_report::summary(&document, &directory)),
    }
    Ok(0)
}
