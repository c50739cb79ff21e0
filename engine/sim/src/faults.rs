//! Faults that a rehearsal injects.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wfe_core::call::class_of;
use wfe_core::{CallError, Millis};

/// One fault of each kind, as a file has them. Times are seconds since the run began.
pub const EXAMPLE: &str = "\
- machine-lost: { machine: i-0003, at: 3600 }
- loader-lost: { load: traffic, loader: 2, at: 3600 }
- capacity: { machine-type: i4i.4xlarge }
- join-fails: { join: 1 }
- active-reads: { node: node-2, at: 3600, seconds: 13, most: 94, each-ms: 0.3 }
- terminate-fails: { machine: i-0003 }
- answer-lost: { call: cloud/machines.create, number: 1 }
- answer-late: { call: cloud/machines.create, number: 1, seconds: 20 }
- applied-twice: { call: cloud/machines.create, number: 1 }
- listed-late: { seconds: 8 }
";

/// The faults of one rehearsal; none by default. [`EXAMPLE`] shows how they are written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Faults(pub Vec<Fault>);

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A machine is gone from one moment to the next.
    MachineLost(MachineLost),
    /// The provider has no machine of a type.
    Capacity(Capacity),
    /// New nodes cannot become members and give up after the database's own time-out.
    JoinFails(JoinFails),
    /// The provider does not take a machine back.
    TerminateFails(TerminateFails),
    /// A node works on few reads at a time; the others queue.
    ActiveReads(ActiveReads),
    /// A loader falls silent: its part of the load is missing from then on.
    LoaderLost(LoaderLost),
    /// A call that changes something is made, and its caller gets an error instead of the answer.
    AnswerLost(NthCall),
    /// A call that changes something is made, and its caller gets the answer later.
    AnswerLate(AnswerLate),
    /// A call that changes something is made twice, and its caller gets the first answer.
    AppliedTwice(NthCall),
    /// The provider lists machines some time after it made them.
    ListedLate(ListedLate),
}

/// As a file has it.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind_and_rest = serde_json::to_value(self).unwrap_or_default();
        let shown = kind_and_rest.as_object().into_iter().flatten().map(|(kind, rest)| {
            let rest = rest.as_object().into_iter().flatten().map(|(key, value)| match value {
                Value::String(text) => format!("{key}: {text}"),
                other => format!("{key}: {}", other.as_f64().map_or(other.to_string(), |number| number.to_string())),
            });
            format!("{kind}: {{ {} }}", rest.collect::<Vec<_>>().join(", "))
        });
        f.write_str(&shown.collect::<String>())
    }
}

/// The greatest time or amount, seconds or what else it counts: a rehearsal that waits for it has to end.
const MOST: f64 = 1e8;

impl Fault {
    /// Why it can never happen.
    fn problem(&self) -> Option<String> {
        let amounts: &[f64] = match self {
            Self::MachineLost(lost) => &[lost.at],
            Self::LoaderLost(lost) => &[lost.at],
            Self::ActiveReads(reads) => &[reads.at, reads.seconds, reads.most, reads.each_ms],
            Self::AnswerLate(late) => &[late.seconds],
            Self::ListedLate(late) => &[late.seconds],
            _ => &[],
        };
        if let Some(amount) = amounts.iter().find(|amount| !(amount.is_finite() && **amount >= 0.0)) {
            return Some(format!("a time or an amount is 0 or more, not {amount}"));
        }
        if let Some(amount) = amounts.iter().find(|amount| **amount > MOST) {
            return Some(format!("a time or an amount is at most {MOST:.0}, three years of seconds, not {amount:e}"));
        }
        match self {
            Self::JoinFails(JoinFails { join: 0 }) => Some("joins count from 1".into()),
            Self::LoaderLost(LoaderLost { loader: 0, .. }) => Some("loaders count from 1".into()),
            _ => self.call().and_then(NthCall::problem),
        }
    }

    /// The call that it concerns.
    fn call(&self) -> Option<&NthCall> {
        match self {
            Self::AnswerLost(call) | Self::AppliedTwice(call) => Some(call),
            Self::AnswerLate(late) => Some(&late.of),
            _ => None,
        }
    }
}

/// Which machine is lost, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MachineLost {
    /// Its id: machines count from `i-0001` in the order of their creation.
    pub machine: String,
    /// Seconds since the run began.
    pub at: f64,
}

/// Which machine type there is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Capacity {
    /// The provider's name of the type.
    pub machine_type: String,
}

/// Which join fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JoinFails {
    /// Counts from 1 in the order of the calls.
    pub join: u32,
}

/// Which machine cannot be given back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TerminateFails {
    /// Its id.
    pub machine: String,
}

/// Which node reads little at a time, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ActiveReads {
    /// Its name, such as `node-2`.
    pub node: String,
    /// Seconds since the run began.
    pub at: f64,
    /// For how long, seconds.
    pub seconds: f64,
    /// Reads that it works on at a time.
    pub most: f64,
    /// How long it holds each of them, milliseconds.
    pub each_ms: f64,
}

impl ActiveReads {
    /// Reads a second.
    pub(crate) fn rate(&self) -> f64 {
        (self.most / (self.each_ms / 1000.0)).max(0.0)
    }

    fn active(&self, now: Millis) -> bool {
        millis(self.at) <= now && now < millis(self.at + self.seconds)
    }
}

/// Which loader falls silent, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoaderLost {
    /// The load's name.
    pub load: String,
    /// Counts from 1.
    pub loader: u32,
    /// Seconds since the run began.
    pub at: f64,
}

/// A call that changes something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NthCall {
    /// Its name in the contract, such as `cloud/machines.create`.
    pub call: String,
    /// Which of the calls of that name, from 1.
    pub number: u32,
}

impl NthCall {
    fn problem(&self) -> Option<String> {
        match class_of(&self.call) {
            _ if self.number == 0 => Some("calls count from 1".into()),
            Some(class) if class.has_intent() => None,
            _ => Some(format!("`{}` is no call that changes something", self.call)),
        }
    }
}

/// Which call is answered late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AnswerLate {
    /// Which one.
    #[serde(flatten)]
    pub of: NthCall,
    /// How late, seconds.
    pub seconds: f64,
}

/// How late machines are listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ListedLate {
    /// Seconds after they were made.
    pub seconds: f64,
}

fn millis(seconds: f64) -> Millis {
    (seconds.max(0.0) * 1000.0) as Millis
}

impl Faults {
    /// What in them can never happen, for people.
    pub fn problems(&self) -> Vec<String> {
        self.0.iter().filter_map(Fault::problem).collect()
    }

    /// Whether there is no machine of that type.
    pub(crate) fn no_capacity(&self, machine_type: &str) -> bool {
        self.0.iter().any(|fault| matches!(fault, Fault::Capacity(c) if c.machine_type == machine_type))
    }

    /// Whether the n-th join fails, from 1.
    pub(crate) fn join_fails(&self, number: u32) -> bool {
        self.0.iter().any(|fault| matches!(fault, Fault::JoinFails(j) if j.join == number))
    }

    /// Whether the provider does not take that machine back.
    pub(crate) fn terminate_fails(&self, machine: &str) -> bool {
        self.0.iter().any(|fault| matches!(fault, Fault::TerminateFails(t) if t.machine == machine))
    }

    /// When that machine is lost.
    pub(crate) fn lost_at(&self, machine: &str) -> Option<Millis> {
        let moments = self.0.iter().filter_map(|fault| match fault {
            Fault::MachineLost(lost) if lost.machine == machine => Some(millis(lost.at)),
            _ => None,
        });
        moments.min()
    }

    /// The limit of active reads of a node now.
    pub(crate) fn active_reads(&self, node: &str, now: Millis) -> Option<&ActiveReads> {
        self.0.iter().find_map(|fault| match fault {
            Fault::ActiveReads(reads) if reads.node == node && reads.active(now) => Some(reads),
            _ => None,
        })
    }

    /// Whether that loader is silent now.
    pub(crate) fn loader_lost(&self, load: &str, loader: u32, now: Millis) -> bool {
        let lost = |lost: &LoaderLost| lost.load == load && lost.loader == loader && millis(lost.at) <= now;
        self.0.iter().any(|fault| matches!(fault, Fault::LoaderLost(fault) if lost(fault)))
    }

    /// The error that the n-th call of a name gets although it was made, from 1.
    pub(crate) fn answer_lost(&self, call: &str, number: u32) -> Option<CallError> {
        let is_lost = self.of(call, number).any(|fault| matches!(fault, Fault::AnswerLost(_)));
        let message = || format!("the connection broke before `{call}` was answered");
        is_lost.then(|| CallError::infrastructure("connection-lost", message()))
    }

    /// How late the n-th call of a name is answered, from 1, milliseconds.
    pub(crate) fn answer_late(&self, call: &str, number: u32) -> Millis {
        let late = self.of(call, number).filter_map(|fault| match fault {
            Fault::AnswerLate(late) => Some(millis(late.seconds)),
            _ => None,
        });
        late.sum()
    }

    /// Whether the n-th call of a name is made twice, from 1.
    pub(crate) fn applied_twice(&self, call: &str, number: u32) -> bool {
        self.of(call, number).any(|fault| matches!(fault, Fault::AppliedTwice(_)))
    }

    /// How late machines are listed after they were made, milliseconds.
    pub(crate) fn listed_late(&self) -> Millis {
        let late = self.0.iter().filter_map(|fault| match fault {
            Fault::ListedLate(late) => Some(millis(late.seconds)),
            _ => None,
        });
        late.max().unwrap_or(0)
    }

    fn of(&self, call: &str, number: u32) -> impl Iterator<Item = &Fault> {
        self.0.iter().filter(move |fault| fault.call().is_some_and(|of| of.call == call && of.number == number))
    }

    /// When the next fault of a node or a loader begins or ends.
    pub(crate) fn next_change(&self, now: Millis) -> Option<Millis> {
        let moments = self.0.iter().flat_map(|fault| match fault {
            Fault::ActiveReads(reads) => vec![millis(reads.at), millis(reads.at + reads.seconds)],
            Fault::LoaderLost(lost) => vec![millis(lost.at)],
            _ => Vec::new(),
        });
        moments.filter(|&at| at > now).min()
    }
}
