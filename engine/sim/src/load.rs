//! A load: what it asks for, how late it is, and what it has done.

use wfe_core::CallError;
use wfe_core::capability::load::{Keys, Spec, Status, loader_name};

use crate::record::Recorder;

/// Most copies of a row.
pub const MOST_COPIES: u32 = 9;
/// Most loaders of a load.
const MOST_LOADERS: u32 = 256;
/// Greatest row, bytes.
const GREATEST_ROW: f64 = 64.0 * 1024.0 * 1024.0;

/// One load.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// What was asked for; its rate is kept up to date.
    pub spec: Spec,
    /// Part of the operations that write.
    pub writes: f64,
    /// Whether it still sends.
    pub state: State,
    /// How late operations start, seconds.
    pub lag: f64,
    /// The machines that its loaders run on, by turns.
    pub machines: Vec<String>,
    /// Its loaders that still send, from 0.
    pub loaders: Vec<u32>,
    /// What it has done.
    pub recorder: Recorder,
}

/// Whether a load still sends.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It does.
    Running,
    /// It was asked to stop.
    Stopped,
    /// It could not go on.
    Failed(String),
}

impl Load {
    /// Reads what a load should do.
    pub fn parse(text: &str, now: u64) -> Result<Self, CallError> {
        let spec: Spec =
            serde_json::from_str(text).map_err(|e| CallError::request("bad-load", format!("bad load: {e}")))?;
        let writes =
            check(&spec).map_err(|why| CallError::request("bad-load", format!("load `{}`: {why}", spec.name)))?;
        let loaders = (0..spec.loaders).collect();
        Ok(Self {
            spec,
            writes,
            state: State::Running,
            lag: 0.0,
            machines: Vec::new(),
            loaders,
            recorder: Recorder::new(now),
        })
    }

    /// Whether it still sends.
    pub fn running(&self) -> bool {
        self.state == State::Running
    }

    /// Its loaders on that machine send no more.
    pub fn lose_machine(&mut self, machine: &str) {
        let (place, places) = (self.machines.iter().position(|id| id == machine), self.machines.len());
        if let Some(place) = place {
            self.lose_loaders(|loader| loader as usize % places == place);
        }
    }

    /// Some of its loaders send no more; it has failed when none is left.
    pub fn lose_loaders(&mut self, lost: impl Fn(u32) -> bool) {
        self.loaders.retain(|loader| !lost(*loader));
        if self.loaders.is_empty() {
            self.state = State::Failed("every loader is lost".into());
        }
    }

    /// Part of its loaders that still send.
    fn there(&self) -> f64 {
        self.loaders.len() as f64 / f64::from(self.spec.loaders)
    }

    /// Operations a second that its loaders ask for.
    pub fn asked(&self) -> Option<f64> {
        self.spec.rate.map(|rate| rate * self.there())
    }

    /// Operations that its loaders keep in flight at most.
    pub fn in_flight(&self) -> f64 {
        f64::from(self.spec.concurrency) * self.there()
    }

    /// What is not as it should be, for people.
    fn noteworthy(&self) -> String {
        let lost = (0..self.spec.loaders).filter(|loader| !self.loaders.contains(loader));
        let lost = lost.map(|loader| format!("{} is lost", loader_name(loader)));
        let failures = Some(self.recorder.failures()).filter(|text| !text.is_empty());
        let late = (self.lag > 1.0).then(|| format!("operations start {:.1} s late", self.lag));
        lost.chain(failures).chain(late).collect::<Vec<String>>().join("; ")
    }

    /// Bytes of payload of one row.
    pub fn row_bytes(&self) -> f64 {
        f64::from(self.spec.columns) * f64::from(self.spec.column_bytes)
    }

    /// How many replicas must answer.
    pub fn quorum(&self) -> u32 {
        match self.spec.consistency.as_str() {
            "ONE" => 1,
            "ALL" => self.spec.replication,
            _ => self.spec.replication / 2 + 1,
        }
    }

    /// Part of the writes that make a new row, when the table has so many rows.
    pub fn new_part(&self, present: f64) -> f64 {
        let rows = self.spec.rows as f64;
        match self.spec.keys {
            Keys::Sequential if present < rows => 1.0,
            Keys::Sequential => 0.0,
            Keys::Uniform | Keys::Gaussian => (1.0 - present / rows).clamp(0.0, 1.0),
        }
    }

    /// Part of the reads that fall on the `rows` rows which are read most.
    pub fn hit_part(&self, rows: f64) -> f64 {
        let keys = self.spec.rows as f64;
        match self.spec.keys {
            Keys::Gaussian => erf(rows / (2.0 * keys / 6.0) / std::f64::consts::SQRT_2),
            Keys::Sequential | Keys::Uniform => (rows / keys).min(1.0),
        }
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        let (state, detail) = match &self.state {
            State::Running => ("running", self.noteworthy()),
            State::Stopped => ("stopped", self.noteworthy()),
            State::Failed(why) => ("failed", why.clone()),
        };
        Status {
            id: self.spec.name.clone(),
            state: state.into(),
            operations: self.recorder.operations(),
            errors: self.recorder.errors(),
            rate: self.recorder.last_rate,
            asked_rate: self.spec.rate,
            detail,
        }
    }
}

/// The part of writes of a spec that makes sense; else what is wrong with it.
fn check(spec: &Spec) -> Result<f64, String> {
    let weight = |kind: &str| spec.mix.get(kind).copied().unwrap_or(0.0);
    let (reads, writes) = (weight("read"), weight("write"));
    if let Some(other) = spec.mix.keys().find(|kind| !matches!(kind.as_str(), "read" | "write")) {
        return Err(format!("unknown operation `{other}` in its mix; there are `read` and `write`"));
    }
    let positive = |weight: f64| weight.is_finite() && weight >= 0.0;
    let row = f64::from(spec.columns) * f64::from(spec.column_bytes);
    let wrong = [
        (spec.name.is_empty(), "it has no name".to_owned()),
        (
            !positive(reads) || !positive(writes) || !positive(reads + writes) || reads + writes == 0.0,
            "the weights of its mix must be positive".into(),
        ),
        (spec.rate.is_some_and(|rate| !positive(rate)), "its rate must be 0 or more".into()),
        (spec.concurrency == 0, "its concurrency must be at least 1".into()),
        (spec.rows == 0, "it needs at least one row".into()),
        (!(1.0..=GREATEST_ROW).contains(&row), format!("its rows must have 1 byte to 64 MiB, not {row} bytes")),
        (!(1..=MOST_COPIES).contains(&spec.replication), format!("its replication must be 1 to {MOST_COPIES}")),
        (!(1..=MOST_LOADERS).contains(&spec.loaders), format!("it needs 1 to {MOST_LOADERS} loaders")),
        (
            !matches!(spec.consistency.as_str(), "ONE" | "QUORUM" | "ALL"),
            format!("unknown consistency `{}`; there are ONE, QUORUM, ALL", spec.consistency),
        ),
    ];
    match wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
        Some((_, why)) => Err(why),
        None => Ok(writes / (reads + writes)),
    }
}

/// The error function, to about 1e-7 (Abramowitz and Stegun 7.1.26).
fn erf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let poly =
        t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    (1.0 - poly * (-x * x).exp()).copysign(x)
}
