//! The files of a run directory: what is read for a report, and what is written.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use wfe_core::capability::load::loader_name;
use wfe_core::hlog::{self, Logs};
use wfe_core::measure::Recording;
use wfe_core::state::RunState;

use crate::telemetry::TelemetrySample;
use crate::{Document, html, json, junit, markdown};

/// What lies beside the journal.
#[derive(Default)]
pub struct LoadedRun {
    /// The recorded load, from `hdr/*.hlog`.
    pub recording: Recording,
    /// What the nodes reported, from `telemetry.jsonl`.
    pub telemetry: Vec<TelemetrySample>,
    /// What could not be read, for people; put it into [`Document::notices`].
    pub notices: Vec<String>,
}

/// Reads a run directory's logs and telemetry. What is damaged or missing becomes a notice, never an error: the run's
/// state tells which loads ran.
pub fn load_run(directory: &Path, state: &RunState) -> LoadedRun {
    let logs = directory.join("hdr");
    let open = {
        let logs = logs.clone();
        move |load: &str, loader: &str| File::open(logs.join(hlog::file_name(load, loader)))
    };
    let mut run = LoadedRun { recording: Recording::over(Logs(open), Recording::ROOM), ..LoadedRun::default() };
    let mut files: Vec<_> = match fs::read_dir(logs) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => Vec::new(),
    };
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "hlog")) {
        run.load_log(file);
    }
    run.miss_loaders(state);
    let (samples, notices) = load_telemetry(directory);
    run.telemetry = samples;
    run.notices.extend(notices);
    run
}

/// Reads a run directory's telemetry alone, for a run whose recording is still in memory; and what could not be read.
pub fn load_telemetry(directory: &Path) -> (Vec<TelemetrySample>, Vec<String>) {
    match fs::read_to_string(directory.join("telemetry.jsonl")) {
        Ok(text) => TelemetrySample::read(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Default::default(),
        Err(error) => (Vec::new(), vec![format!("telemetry.jsonl cannot be read: {error}")]),
    }
}

impl LoadedRun {
    /// Says which loaders ran and have no log.
    fn miss_loaders(&mut self, state: &RunState) {
        let mut ran = loaders(state);
        ran.retain(|(load, loader)| !self.recording.knows(load, loader));
        for (load, loader) in ran {
            self.recording.expect_loader(&load, &loader);
            let log = hlog::file_name(&load, &loader);
            self.notices.push(format!("{log} is missing: what this loader recorded is missing data"));
        }
    }

    fn load_log(&mut self, file: &Path) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut refused = 0;
        let push = |interval| refused += usize::from(!self.recording.push(interval));
        let log = match File::open(file).and_then(|file| hlog::read(BufReader::new(file), push)) {
            Ok(log) => log,
            Err(error) => return self.notices.push(format!("{name} cannot be read: {error}")),
        };
        match &log.header {
            Some(header) => self.recording.expect_loader(&header.load, &header.loader),
            None => self.notices.push(format!("{name} does not name its load and loader")),
        }
        if refused > 0 {
            self.notices.push(format!("{name}: {refused} intervals overlap others and are left out"));
        }
        self.notices.extend(log.notice.map(|notice| format!("{name}: {notice}")));
        self.notices.extend(log.damage.iter().map(|found| format!("{name}, line {}: {}", found.line, found.problem)));
    }
}

/// The loaders of all loads that were started, each with its load's name.
fn loaders(state: &RunState) -> BTreeSet<(String, String)> {
    // Outside the simulator all loaders of a load are one process.
    let count = |asked: u32| if state.started.simulated { asked } else { 1 };
    let loads = state.told.loads.iter();
    loads.flat_map(|(load, asked)| (0..count(*asked)).map(|number| (load.clone(), loader_name(number)))).collect()
}

/// Writes `report.html`, `report.md`, `result.json` and `junit.xml`. Each file is whole at any moment, and one that cannot
/// be written keeps no other from being written. The error is the first one.
pub fn write_all(document: &Document, directory: &Path) -> io::Result<()> {
    let written = [
        write(directory, "report.html", &html(document)),
        write(directory, "report.md", &markdown(document)),
        write(directory, "result.json", &json(document)),
        write(directory, "junit.xml", &junit(document)),
    ];
    written.into_iter().collect()
}

fn write(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let target = directory.join(name);
    let draft = directory.join(format!(".{name}.draft"));
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot write {}: {error}", target.display()));
    let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &target));
    written.map_err(|error| {
        drop(fs::remove_file(&draft));
        named(error)
    })
}
