//! The state of a run: the fold of its events.
//!
//! What is to be done next ([`next`]) and how the run ends ([`judge`]) are pure functions of it and of the plan.

mod due;
mod judge;
mod next;
mod retry;
mod step;
mod told;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::capability::cluster::Node;
use crate::capability::step::Phase;
use crate::event::{CallId, FORMAT, Outcome, RunStarted};
use crate::ledger::Ledger;
use crate::limits::LimitResult;
use crate::measure::Measurement;
use crate::verdict::Verdict;
use crate::{CallError, Entry, Event, Millis};

pub use due::Due;
pub use next::Action;
pub use step::{Attempt, PhaseState, StepState};
pub use told::{LogLine, Told};

/// Everything that is known of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunState {
    /// How it began.
    pub started: RunStarted,
    /// The steps that anything happened to, by id.
    pub steps: BTreeMap<String, StepState>,
    /// The measurements of successful calls, in order; those of an attempt that was tried again are gone.
    pub measurements: Vec<Measured>,
    /// The limits that were checked, in order, with their steps.
    pub limits: Vec<(String, LimitResult)>,
    /// Disk usage at named moments.
    pub disk: Vec<DiskUsage>,
    /// The sections of the report that a step asked for last.
    pub sections: Option<Sections>,
    /// What was told for readers alone.
    pub told: Told,
    /// What readers of the results should know.
    pub notices: Vec<String>,
    /// What the run made.
    pub ledger: Ledger,
    /// Why it should end early, if somebody asked for that.
    pub cancelled: Option<String>,
    /// Whether nobody asked, but the run could not go on.
    pub broken: bool,
    /// When the run is cancelled at the latest.
    pub deadline_ms: Option<Millis>,
    /// When `finally` began.
    pub finally_since: Option<Millis>,
    /// When a step began, ended or was skipped last, or somebody asked for a clean-up.
    pub last_change: Millis,
    /// How often a new process took over.
    pub resumed: u32,
    /// How it ended.
    pub ended: Option<Ended>,
    /// Time of the last event.
    pub now: Millis,
    /// Number of the next event.
    pub next_n: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ended {
    /// When.
    pub at: Millis,
    /// How.
    pub verdict: Verdict,
    /// Why, for people.
    pub reasons: Vec<String>,
    /// Wall time from the beginning to the end, seconds.
    pub wall_s: f64,
}

/// A measurement with the step that asked for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Which step.
    pub step: String,
    /// What came out.
    pub measurement: Measurement,
}

/// Disk usage of all nodes at a moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiskUsage {
    /// The step that asked.
    pub step: String,
    /// Its name, such as `hard limit`.
    pub moment: String,
    /// When.
    pub at: Millis,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// The sections of the report, as the plugin of a step wrote them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sections {
    /// The step that asked.
    pub step: String,
    /// A JSON array of objects.
    pub sections: Value,
}

/// A journal whose entries make no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FoldError {
    /// There is no entry.
    #[error("the journal holds no entry: nothing was made yet, or its entries are lost")]
    Empty,
    /// The first entry does not say how the run began.
    #[error("the journal does not begin with the start of a run")]
    NoStart,
    /// A newer `wfe` wrote it.
    #[error("the journal has format {found}, and this wfe knows formats up to {FORMAT}: use a newer wfe")]
    Newer {
        /// The format that it has.
        found: u32,
    },
    /// An entry has the wrong number.
    #[error("entry {found} stands where entry {expected} belongs")]
    Gap {
        /// The number that belongs there.
        expected: u64,
        /// The number that is there.
        found: u64,
    },
}

impl RunState {
    /// The state after the first entry.
    pub fn begin(first: &Entry) -> Result<Self, FoldError> {
        let Event::RunStarted(started) = &first.event else { return Err(FoldError::NoStart) };
        if started.format > FORMAT {
            return Err(FoldError::Newer { found: started.format });
        }
        Ok(Self {
            started: (**started).clone(),
            steps: BTreeMap::new(),
            measurements: Vec::new(),
            limits: Vec::new(),
            disk: Vec::new(),
            sections: None,
            notices: Vec::new(),
            told: Told::default(),
            ledger: Ledger::of(&started.run),
            cancelled: None,
            broken: false,
            deadline_ms: started.deadline_ms,
            finally_since: None,
            last_change: first.at,
            resumed: 0,
            ended: None,
            now: first.at,
            next_n: first.n + 1,
        })
    }

    /// The state after all entries.
    pub fn fold(entries: &[Entry]) -> Result<Self, FoldError> {
        let (state, nonsense) = Self::fold_readable(entries)?;
        nonsense.map_or(Ok(state), Err)
    }

    /// The state after as many entries as make sense, and why the next one does not; [`Self::next_n`] is how many.
    pub fn fold_readable(entries: &[Entry]) -> Result<(Self, Option<FoldError>), FoldError> {
        let (first, rest) = entries.split_first().ok_or(FoldError::Empty)?;
        let mut state = Self::begin(first)?;
        let nonsense = rest.iter().find_map(|entry| state.apply(entry).err());
        Ok((state, nonsense))
    }

    /// Takes one more event.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), FoldError> {
        if entry.n != self.next_n {
            return Err(FoldError::Gap { expected: self.next_n, found: entry.n });
        }
        self.next_n += 1;
        self.now = self.now.max(entry.at);
        self.ledger.apply(entry.at, &entry.event);
        self.apply_event(entry.at, &entry.event);
        Ok(())
    }

    fn apply_event(&mut self, at: Millis, event: &Event) {
        match event {
            Event::AttemptStarted { step, attempt, parameters, window } => {
                self.last_change = at;
                self.begin_attempt(at, step, *attempt, parameters.clone(), *window);
            }
            Event::CallAnswered { id, answer } => self.answered(at, id, answer),
            Event::StopRequested { step } => {
                self.steps.entry(step.clone()).or_default().stop_requested.get_or_insert(at);
            }
            Event::AttemptEnded { step, outcome, cut, .. } => {
                self.last_change = at;
                if let Some(attempt) = self.attempt_mut(step) {
                    attempt.end(at, outcome.clone(), *cut);
                }
            }
            Event::LimitChecked { step, result } => {
                self.checked(step, result);
            }
            Event::StepSkipped { step, reason } => {
                self.last_change = at;
                self.steps.entry(step.clone()).or_default().skipped = Some(reason.clone());
            }
            Event::CancelRequested { reason, broken } if self.cancelled.is_none() => {
                (self.cancelled, self.broken) = (Some(reason.clone()), *broken);
            }
            Event::CleanUpStarted { .. } => self.last_change = at,
            Event::FinallyStarted => {
                self.finally_since.get_or_insert(at);
            }
            Event::RunResumed { .. } => self.resumed += 1,
            Event::RetryRequested { step } => self.retry(at, step),
            // A process that died after it said so says it again.
            Event::Noticed { notice } if !self.notices.contains(notice) => self.notices.push(notice.clone()),
            Event::RunEnded { verdict, reasons, wall_s } => {
                self.ended = Some(Ended { at, verdict: *verdict, reasons: reasons.clone(), wall_s: *wall_s });
            }
            Event::RunStarted(_)
            | Event::CancelRequested { .. }
            | Event::CallIntended(_)
            | Event::Audited { .. }
            | Event::Noticed { .. }
            | Event::ResourceSettled { .. } => {}
        }
    }

    /// A rule is checked again after a crash, and once for each measurement of its step: the worst result counts.
    fn checked(&mut self, step: &str, result: &LimitResult) {
        let same = |(limited, known): &&mut (String, LimitResult)| limited == step && known.rule == result.rule;
        let rank = |holds: Option<bool>| match holds {
            Some(false) => 0,
            None => 1,
            Some(true) => 2,
        };
        match self.limits.iter_mut().find(same) {
            Some((_, known)) if rank(known.holds) < rank(result.holds) => {}
            Some((_, known)) => *known = result.clone(),
            None => self.limits.push((step.to_owned(), result.clone())),
        }
    }

    fn begin_attempt(
        &mut self,
        at: Millis,
        step: &str,
        number: u32,
        parameters: Value,
        window: Option<(Millis, Millis)>,
    ) {
        self.forget(step);
        let state = self.steps.entry(step.to_owned()).or_default();
        state.again = false;
        state.attempts.push(Attempt {
            number,
            started: at,
            ended: None,
            parameters,
            window,
            phases: Vec::new(),
            ready: None,
            outcome: None,
            cut: false,
        });
    }

    /// Another attempt of a step is due: what an earlier one told counts no more.
    fn forget(&mut self, step: &str) {
        self.measurements.retain(|measured| measured.step != step);
        self.limits.retain(|(limited, _)| limited != step);
        self.disk.retain(|usage| usage.step != step);
        self.sections.take_if(|sections| sections.step == step);
    }

    /// Takes what a call tells about the run itself; the world's answers concern the plugin alone.
    fn answered(&mut self, at: Millis, id: &CallId, answer: &Result<Value, CallError>) {
        let Ok(answer) = answer else { return };
        self.told.answered(at, id, answer);
        let CallId { step, name, arguments, .. } = id;
        match name.as_str() {
            "step/context.phase" => {
                if let (Ok(phase), Some(attempt)) = (Phase::deserialize(arguments), self.attempt_mut(step)) {
                    attempt.begin_phase(at, phase.name);
                }
            }
            "step/context.ready" => {
                if let Some(attempt) = self.attempt_mut(step) {
                    attempt.ready.get_or_insert(at);
                }
            }
            "histogram/measurements.measure" => {
                let measurement = answer.as_str().and_then(|text| serde_json::from_str(text).ok());
                self.measurements
                    .extend(measurement.map(|measurement| Measured { step: step.to_owned(), measurement }));
            }
            "cluster/cluster.snapshot" => {
                let moment = arguments["moment"].as_str().unwrap_or_default().to_owned();
                self.disk.extend(Vec::deserialize(answer).ok().map(|nodes| DiskUsage {
                    step: step.to_owned(),
                    moment,
                    at,
                    nodes,
                }));
            }
            "report/report.publish" => {
                let sections = arguments["sections"].as_str().and_then(|text| serde_json::from_str(text).ok());
                self.sections = sections.map(|sections| Sections { step: step.to_owned(), sections });
            }
            _ => {}
        }
    }

    fn attempt_mut(&mut self, step: &str) -> Option<&mut Attempt> {
        self.steps.get_mut(step)?.attempts.last_mut()
    }

    /// The attempt of a step that counts: its last one, unless another one is due.
    pub fn attempt(&self, step: &str) -> Option<&Attempt> {
        self.steps.get(step)?.attempt()
    }

    /// The window in which a step, or one phase of it, ran; none while it has not ended.
    pub fn window(&self, step: &str, phase: Option<&str>) -> Option<(Millis, Millis)> {
        let attempt = self.attempt(step)?;
        match phase {
            None => Some((attempt.started, attempt.ended?)),
            Some(name) => {
                let phase = attempt.phases.iter().find(|phase| phase.name == name)?;
                Some((phase.started, phase.ended?))
            }
        }
    }

    /// The outputs of a step that succeeded.
    pub fn outputs(&self, step: &str) -> Option<&Value> {
        match &self.attempt(step)?.outcome {
            Some(Outcome::Succeeded { outputs }) => Some(outputs),
            _ => None,
        }
    }
}
