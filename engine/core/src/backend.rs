//! What answers capability calls: the simulated cluster, local processes, a cloud, an existing cluster.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::capability::step::Attempt;
use crate::measure::Interval;
use crate::{Call, CallError, Millis};

/// A world that a run acts on.
///
/// A backend answers the calls of `cloud`, `operation`, `cluster`, `cql`, `load` and `observe`; the engine itself answers
/// the others. It waits on [`Run::clock`] alone. One backend serves one run.
pub trait Backend: Send + Sync {
    /// Facts that do not change.
    fn facts(&self) -> Facts;

    /// What workflows can ask of it, known before it is opened.
    fn offers(&self) -> Offers;

    /// Called once, before anything else. `history` is empty for a new run. For a resumed run it holds the calls that
    /// were answered, in order, so that the backend can find again, or rebuild, the world they made.
    fn open<'a>(&'a self, run: Run, history: &'a [Answered]) -> BoxFuture<'a, Result<(), CallError>>;

    /// Answers one call. Dropping the future abandons the wait, not the work that the call began.
    fn call<'a>(&'a self, context: &'a Context, call: &'a Call) -> BoxFuture<'a, Result<Value, CallError>>;

    /// Answers when every interval that ended until that moment has been pushed. The moment is not in the future.
    fn recorded_until<'a>(&'a self, moment: Millis) -> BoxFuture<'a, ()>;

    /// Everything that carries the run's tag and exists, whoever made it.
    fn audit<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Found>, CallError>>;

    /// Writes on machines that stay after the run when they are not wanted any more, RFC 3339; none takes it away again.
    fn keep<'a>(&'a self, machines: &'a [String], until: Option<&'a str>) -> BoxFuture<'a, Result<(), CallError>>;

    /// What readers of the results should know, once the run is over and before it is closed.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Ends everything that lives in this process alone, such as load threads; recorded intervals are complete when it
    /// answers. Machines are not touched: the engine gives them back by [`Call::MachinesTerminate`].
    fn close<'a>(&'a self) -> BoxFuture<'a, Result<(), CallError>>;
}

/// What a backend is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// Its name on the command line.
    pub name: String,
    /// Whether its numbers come from a model.
    pub simulated: bool,
    /// Versions and settings that a report should show, by name.
    pub environment: Vec<(String, String)>,
}

/// Something that carries the tag of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// What it is, such as `machine`.
    pub kind: String,
    /// The backend's id.
    pub id: String,
    /// Its type, such as `i4i.large`.
    pub description: String,
    /// The key of the call that made it, as it stands on the thing itself; empty when none does.
    pub key: String,
}

/// What can be asked of a backend; nothing is known of what is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// The machine types that it can create; an empty list when it creates no machines.
    pub machine_types: Option<Vec<String>>,
    /// The databases that it can form a cluster of: product and version with one space between them.
    pub databases: Option<Vec<String>>,
}

/// What a backend gets to know of its run.
#[derive(Clone)]
pub struct Run {
    /// The run's id, the tag of everything that the run creates.
    pub id: String,
    /// The run's directory.
    pub directory: PathBuf,
    /// The seed of everything random.
    pub seed: u64,
    /// The run's clock.
    pub clock: Arc<dyn Clock>,
    /// Where recorded load goes.
    pub intervals: Arc<dyn IntervalSink>,
}

/// The run's clock.
pub trait Clock: Send + Sync {
    /// Milliseconds since the run began.
    fn now(&self) -> Millis;
    /// Answers at that moment; at once when it is past.
    fn sleep_until(&self, moment: Millis) -> BoxFuture<'static, ()>;
}

/// Takes what the loads recorded, interval by interval, each load's in order.
pub trait IntervalSink: Send + Sync {
    /// Announces a loader of a load that starts: it counts as missing until it records something.
    fn expect(&self, load: &str, loader: &str);

    /// Takes one whole interval.
    fn push(&self, interval: Interval);
}

/// Who makes a call, and when it was asked.
#[derive(Debug, Clone)]
pub struct Context {
    /// The attempt that asks; the engine's own calls carry the step `engine`.
    pub attempt: Attempt,
    /// Number of the call in its attempt, from 0.
    pub number: u64,
    /// When it was asked. Timeouts count from here: after a resume this lies in the past.
    pub asked_at: Millis,
    /// Names this call for ever: the same key asks for the same thing, not for another one.
    pub key: String,
}

/// A call that a backend answered in an earlier life of the run.
#[derive(Debug, Clone)]
pub struct Answered {
    /// When it was asked.
    pub asked_at: Millis,
    /// When it was answered.
    pub answered_at: Millis,
    /// The key it was made with.
    pub key: String,
    /// What was asked.
    pub call: Call,
    /// What was answered.
    pub answer: Result<Value, CallError>,
}

/// An answer as the contract's JSON.
pub fn answer(value: impl Serialize) -> Result<Value, CallError> {
    serde_json::to_value(value)
        .map_err(|e| CallError::infrastructure("encoding", format!("an answer cannot be encoded: {e}")))
}
