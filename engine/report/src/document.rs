//! Every fact of a run that a reader may want to know, each in one place.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wfe_core::capability::observe::DatabaseEvent;
use wfe_core::event::{Outcome, RunStarted, StepFacts};
use wfe_core::ledger::{MACHINE, Resource};
use wfe_core::limits::LimitResult;
use wfe_core::measure::text::{self, latency, rate};
use wfe_core::measure::{Distribution, Measurement, Recording};
use wfe_core::state::{Attempt, DiskUsage, LogLine, RunState};
use wfe_core::verdict::Verdict;
use wfe_core::{CallError, Millis};

use crate::story::Story;
use crate::telemetry::TelemetrySample;

/// A run, as its readers see it.
#[derive(Debug, Clone)]
pub struct Document {
    /// How it began.
    pub started: RunStarted,
    /// How it ended; for a run that has not ended `inconclusive`.
    pub verdict: Verdict,
    /// Whether the run has not ended.
    pub partial: bool,
    /// Why it ended like that.
    pub reasons: Vec<String>,
    /// One sentence with the numbers that decided.
    pub headline: String,
    /// How long it took on its own clock.
    pub duration_ms: Millis,
    /// How long it took for the people who waited, seconds.
    pub wall_s: Option<f64>,
    /// How often another process took over.
    pub resumed: u32,
    /// The steps in the plan's order.
    pub steps: Vec<Step>,
    /// The measured windows in the order in which they were measured.
    pub windows: Vec<Window>,
    /// The rules with their steps.
    pub limits: Vec<(String, LimitResult)>,
    /// Disk usage at named moments.
    pub disk: Vec<DiskUsage>,
    /// Everything over time.
    pub story: Story,
    /// What the database said.
    pub database_events: Vec<DatabaseEvent>,
    /// Warnings and errors that plugins wrote.
    pub log_lines: Vec<LogLine>,
    /// What the run made.
    pub resources: Vec<Resource>,
    /// What that cost, US dollars; none when a price is not known.
    pub cost_usd: Option<f64>,
    /// Hours of machines.
    pub machine_hours: f64,
    /// The sections that the workflow asked for.
    pub sections: Option<Value>,
    /// What could not be read of the run's files.
    pub notices: Vec<String>,
}

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    /// As planned.
    pub facts: StepFacts,
    /// Where it stands.
    pub status: StepStatus,
    /// Why it never started.
    pub skipped: Option<String>,
    /// Its attempts.
    pub attempts: Vec<Attempt>,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say all there is")]
pub enum StepStatus {
    Waiting,
    Running,
    Succeeded,
    Failed,
    Skipped,
}

/// One measured window.
#[derive(Debug, Clone)]
pub struct Window {
    /// The step that measured, with a number when it measured several windows.
    pub label: String,
    /// The step that measured.
    pub step: String,
    /// What came out.
    pub measurement: Measurement,
    /// Its merged latencies.
    pub distributions: Vec<Distribution>,
}

impl StepStatus {
    /// The word in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl Step {
    /// When its first attempt began.
    pub fn started(&self) -> Option<Millis> {
        self.attempts.first().map(|attempt| attempt.started)
    }

    /// From the beginning of its first attempt to the end of its last, or to `now`.
    pub fn duration(&self, now: Millis) -> Option<Millis> {
        let last = self.attempts.last()?;
        Some(last.ended.unwrap_or(now).saturating_sub(self.started()?))
    }

    /// Why it failed.
    pub fn error(&self) -> Option<&CallError> {
        self.last_if(StepStatus::Failed).and_then(Attempt::error)
    }

    /// What it answered, a JSON object.
    pub fn outputs(&self) -> Option<&Value> {
        match &self.last_if(StepStatus::Succeeded)?.outcome {
            Some(Outcome::Succeeded { outputs }) => Some(outputs),
            _ => None,
        }
    }

    /// Its last attempt, if the step stands like this: a step that was to be tried again has attempts that count no more.
    fn last_if(&self, status: StepStatus) -> Option<&Attempt> {
        self.attempts.last().filter(|_| self.status == status)
    }
}

impl Document {
    /// Puts together what is known of a run.
    pub fn new(state: &RunState, recording: &Recording, telemetry: &[TelemetrySample]) -> Self {
        let ended = state.ended.as_ref();
        let windows = windows(state, recording);
        let duration_ms = state.now;
        let verdict = ended.map_or(Verdict::Inconclusive, |ended| ended.verdict);
        let reasons = ended.map_or(vec!["the run has not ended: this report is partial".into()], |e| e.reasons.clone());
        Self {
            started: state.started.clone(),
            verdict,
            partial: ended.is_none(),
            headline: headline(verdict, &reasons, &state.limits, &windows),
            reasons,
            duration_ms,
            wall_s: ended.map(|ended| ended.wall_s),
            resumed: state.resumed,
            steps: steps(state),
            limits: limits(state),
            disk: state.disk.clone(),
            story: Story::new(duration_ms, recording, telemetry),
            database_events: state.told.database_events.clone(),
            log_lines: state.told.log_lines.clone(),
            resources: state.ledger.resources().cloned().collect(),
            cost_usd: state.ledger.cost_usd(duration_ms),
            machine_hours: machine_hours(state, duration_ms),
            sections: state.sections.as_ref().map(|asked| asked.sections.clone()),
            notices: state.notices.clone(),
            windows,
        }
    }

    /// All kinds of operation that were measured: writes, reads, then the others.
    pub fn operations(&self) -> Vec<&str> {
        let measured = self.windows.iter().flat_map(|window| &window.measurement.operations);
        let mut names: Vec<&str> = measured.map(|operation| operation.operation.as_str()).collect();
        names.sort_by_key(|name| (*name != "write", *name != "read", *name));
        names.dedup();
        names
    }
}

fn machine_hours(state: &RunState, now: Millis) -> f64 {
    let machines = state.ledger.resources().filter(|resource| resource.kind == MACHINE);
    let lives = machines.map(|machine| machine.ended.unwrap_or(now).saturating_sub(machine.created));
    lives.sum::<Millis>() as f64 / 3_600_000.0
}

/// What came out of every rule; a rule whose step did not measure decides nothing.
fn limits(state: &RunState) -> Vec<(String, LimitResult)> {
    let is_known =
        |step: &str, rule: &str| state.limits.iter().any(|(known, limit)| known == step && limit.rule == rule);
    let planned = state.started.steps.iter().flat_map(|step| step.limits.iter().map(move |rule| (&step.id, rule)));
    let unmeasured = planned.filter(|(step, rule)| !is_known(step, rule)).map(|(step, rule)| {
        let place = format!("`{step}` measured nothing");
        (step.clone(), LimitResult { rule: rule.clone(), value: text::NONE.into(), holds: None, place })
    });
    state.limits.iter().cloned().chain(unmeasured).collect()
}

fn steps(state: &RunState) -> Vec<Step> {
    let planned = &state.started.steps;
    let known: BTreeSet<&str> = planned.iter().map(|facts| facts.id.as_str()).collect();
    let unplanned = state.steps.keys().filter(|id| !known.contains(id.as_str())).map(|id| StepFacts {
        id: id.clone(),
        uses: String::new(),
        plugin: String::new(),
        plugin_digest: String::new(),
        needs: Default::default(),
        background: false,
        finally: false,
        during: None,
        grants: Default::default(),
        limits: Vec::new(),
    });
    planned.iter().cloned().chain(unplanned).map(|facts| step(facts, state)).collect()
}

fn step(facts: StepFacts, state: &RunState) -> Step {
    let found = state.steps.get(&facts.id);
    let attempts = found.map(|step| step.attempts.clone()).unwrap_or_default();
    let skipped = found.and_then(|step| step.skipped.clone());
    let status = match (found.and_then(|step| step.attempt()).map(|attempt| &attempt.outcome), &skipped) {
        (_, Some(_)) => StepStatus::Skipped,
        (None, None) => StepStatus::Waiting,
        (Some(None), None) => StepStatus::Running,
        (Some(Some(Outcome::Succeeded { .. })), None) => StepStatus::Succeeded,
        (Some(Some(Outcome::Failed { .. })), None) => StepStatus::Failed,
    };
    Step { facts, status, skipped, attempts }
}

fn windows(state: &RunState, recording: &Recording) -> Vec<Window> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let windows = state.measurements.iter().map(|measured| {
        let number = seen.entry(&measured.step).or_default();
        *number += 1;
        let label = if *number == 1 { measured.step.clone() } else { format!("{} #{number}", measured.step) };
        let measurement = measured.measurement.clone();
        let distributions = recording.distributions(measurement.from_ms, measurement.to_ms);
        Window { label, step: measured.step.clone(), measurement, distributions }
    });
    windows.collect()
}

/// The sentence under the verdict.
fn headline(verdict: Verdict, reasons: &[String], limits: &[(String, LimitResult)], windows: &[Window]) -> String {
    let numbers = windows.iter().filter_map(window_in_words).take(3).collect::<Vec<_>>().join("; ");
    let numbers = if numbers.is_empty() { String::new() } else { format!(" {numbers}.") };
    if verdict != Verdict::Pass {
        let more = match reasons.len() {
            0 | 1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        return format!("{}{more}.{numbers}", sentence(reasons.first().map_or("no reason was given", String::as_str)));
    }
    match limits.len() {
        0 => format!("Every step succeeded; the workflow sets no limits.{numbers}"),
        1 => format!("The one limit holds.{numbers}"),
        count => format!("All {count} limits hold.{numbers}"),
    }
}

/// A fragment with a capital letter and without its full stop. An id or a name at its beginning stays as it is.
fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    if !text.split(' ').next().is_some_and(|word| word.chars().all(char::is_alphabetic)) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn window_in_words(window: &Window) -> Option<String> {
    let operations = &window.measurement.operations;
    let tails: Vec<_> =
        operations.iter().map(|found| format!("{} P99 {}", found.operation, latency(found.response_ms.p99))).collect();
    let achieved = window.measurement.rate()?;
    let asked = window.measurement.asked_rate().map_or(String::new(), |asked| format!(" of {} asked", rate(asked)));
    let incomplete = if window.measurement.complete { "" } else { " (incomplete)" };
    Some(format!("{}{incomplete}: {} at {}{asked}", window.label, tails.join(", "), rate(achieved)))
}
