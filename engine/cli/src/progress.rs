//! Progress on stderr: a live view on a terminal, one line for each event elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use wfe_core::state::RunState;
use wfe_core::{Entry, Event};
use wfe_runner::recorder::Reporter;

use crate::journal_lines::{line, time};
use crate::output;
use crate::spool::{self, Said, View};

/// The reporter of a run. A rehearsal is over before a live view could be read, so it gets lines, and it may wait for
/// whoever reads them; a run against a real world must not.
pub fn reporter(simulated: bool) -> Box<dyn Reporter> {
    if !simulated {
        let plain = std::env::var_os("CI").is_some() || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match plain || !std::io::stderr().is_terminal() {
            true => spool::install(Lines),
            false => spool::install(Live::new()),
        }
    }
    Box::new(Progress)
}

/// Tells what people care about.
struct Progress;

impl Reporter for Progress {
    fn recorded(&mut self, entry: &Entry, _: &RunState) {
        if !matches!(&entry.event, Event::CallAnswered { id, .. } if id.name == PROGRESS) && line(entry).is_none() {
            return;
        }
        if let Err(Said::Entry(entry)) = spool::say(Said::Entry(Box::new(entry.clone()))) {
            Lines.entry(&entry);
        }
    }
}

/// The call that says how far a step is.
const PROGRESS: &str = "step/context.progress";

/// One line for each event.
struct Lines;

impl View for Lines {
    fn line(&mut self, line: &str) {
        output::line_on_stderr(line);
    }

    fn entry(&mut self, entry: &Entry) {
        if let Some(line) = line(entry) {
            self.line(&line);
        }
    }
}

/// Lines that scroll, and under them one line for each running step.
struct Live {
    screen: MultiProgress,
    steps: BTreeMap<String, ProgressBar>,
}

impl Live {
    fn new() -> Self {
        Self { screen: MultiProgress::new(), steps: BTreeMap::new() }
    }

    fn begin(&mut self, step: &str) {
        let bar = self.screen.add(ProgressBar::new_spinner());
        let style = ProgressStyle::with_template("{spinner} {prefix:16} {elapsed_precise}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.set_prefix(step.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        self.steps.insert(step.to_owned(), bar);
    }

    fn told(&self, step: &str, name: &str, arguments: &serde_json::Value) {
        let Some(bar) = self.steps.get(step) else { return };
        match name {
            "step/context.phase" => bar.set_message(arguments["name"].as_str().unwrap_or_default().to_owned()),
            PROGRESS => {
                let part = arguments["fraction"].as_f64().map(|part| format!("{:3.0} %  ", part * 100.0));
                let text = arguments["message"].as_str().unwrap_or_default();
                bar.set_message(format!("{}{text}", part.unwrap_or_default()));
            }
            _ => {}
        }
    }
}

impl View for Live {
    fn line(&mut self, line: &str) {
        // A terminal that is gone loses the view, not the run.
        drop(self.screen.println(line));
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.event {
            Event::AttemptStarted { step, .. } => self.begin(step),
            Event::CallAnswered { id, .. } => self.told(&id.step, &id.name, &id.arguments),
            Event::AttemptEnded { step, .. } => {
                if let Some(bar) = self.steps.remove(step) {
                    bar.finish_and_clear();
                }
            }
            Event::RunEnded { .. } => self.line(&format!("over after {}", time(entry.at))),
            _ => {}
        }
        if let Some(line) = line(entry) {
            self.line(&line);
        }
    }
}
