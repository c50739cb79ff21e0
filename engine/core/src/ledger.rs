//! The resources that a run may have created, folded from its events: from the moment their creation is announced.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::backend::Found;
use crate::capability::cloud::Create;
use crate::error::kind;
use crate::event::{CallId, Event, ResourceState};
use crate::{CallError, Millis};

/// Kind of the resources that [`crate::Call::MachinesCreate`] makes.
pub const MACHINE: &str = "machine";

/// Kind of the resources that [`crate::Call::LoadStart`] makes.
pub const LOAD: &str = "load";

/// One thing that the run made, or may have made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resource {
    /// What it is, such as `machine`.
    pub kind: String,
    /// The backend's id; for machines the key of the call that creates them while that is not answered.
    pub id: String,
    /// Its type, such as `i4i.large`.
    pub description: String,
    /// How many it stands for: more than one only while a creation is announced and not answered.
    pub count: u32,
    /// The step that made it; empty for a foreign one.
    pub step: String,
    /// The key of the call that made it; empty for a foreign one.
    pub key: String,
    /// When it was made, or found.
    pub created: Millis,
    /// When it was found gone.
    pub ended: Option<Millis>,
    /// What became of it.
    pub state: ResourceState,
    /// Why, where it was not deleted.
    pub reason: Option<String>,
    /// What an hour of it costs, US dollars.
    pub hourly_usd: Option<f64>,
    /// RFC 3339 wall time after which a kept one is not wanted any more.
    pub expires: Option<String>,
    /// Whether the engine has said what became of it.
    pub settled: bool,
}

impl Resource {
    /// Whether it may exist now and is the run's own.
    pub fn may_exist(&self) -> bool {
        use ResourceState::{Announced, Kept, Leaked, Live};
        matches!(self.state, Announced | Live | Kept | Leaked)
    }

    /// It is there. Whoever said that it is gone was wrong.
    fn found(&mut self) {
        if self.state == ResourceState::Deleted {
            let foreign = self.key.is_empty();
            self.state = if foreign { ResourceState::Foreign } else { ResourceState::Live };
            (self.ended, self.settled) = (None, foreign);
        }
    }

    fn settle(&mut self, at: Millis, state: ResourceState) {
        self.state = state;
        self.settled = true;
        if state == ResourceState::Deleted {
            self.ended.get_or_insert(at);
        }
    }
}

/// Everything that the run made, by kind and id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    run: String,
    entries: BTreeMap<(String, String), Resource>,
    /// Keys of announced calls that may still be on their way.
    in_flight: BTreeSet<String>,
    /// The calls that made machines or may have, by key, for ever: a cloud may list a machine long after it made it.
    makers: BTreeMap<String, Maker>,
}

/// A call that creates machines.
#[derive(Debug, Clone, PartialEq)]
struct Maker {
    step: String,
    asked: Millis,
    /// How many machines it may have made beyond what was answered.
    in_doubt: u32,
    /// When it was asked last, was answered, or was given up: from then on it makes nothing more.
    since: Millis,
}

/// JSON has no keys of two parts, and a resource says its kind and id itself.
impl Serialize for Ledger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.values())
    }
}

impl Ledger {
    /// The ledger of a run that has made nothing yet.
    pub fn of(run: &str) -> Self {
        Self { run: run.into(), ..Self::default() }
    }

    /// All resources, ordered by kind and id.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.entries.values()
    }

    /// The resources of a kind that are known to exist.
    pub fn live<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Resource> {
        self.resources().filter(move |resource| resource.kind == kind && resource.state == ResourceState::Live)
    }

    /// Everything but loads of which the engine has not yet said what became of it; a plugin may have given some of it
    /// back.
    pub fn unsettled(&self) -> impl Iterator<Item = &Resource> {
        self.resources().filter(|resource| resource.kind != LOAD && !resource.settled)
    }

    /// Everything of the run that may exist now.
    pub fn left(&self) -> impl Iterator<Item = &Resource> {
        self.resources().filter(|resource| resource.may_exist())
    }

    /// Whether nothing of the run can exist any more.
    pub fn is_clear(&self) -> bool {
        self.left().next().is_none() && self.in_doubt_since(None).is_none()
    }

    /// How many machines of a step may exist, those left out that the call with that key asks for.
    pub fn machines_of(&self, step: &str, but_of: &str) -> u32 {
        let machines = self.left().filter(|resource| resource.kind == MACHINE && resource.step == step);
        machines.filter(|machine| machine.key != but_of).map(|machine| machine.count).sum()
    }

    /// What the resources cost until `now`, US dollars; none when a price is not known.
    pub fn cost_usd(&self, now: Millis) -> Option<f64> {
        let machines = self.resources().filter(|resource| resource.kind == MACHINE && !resource.key.is_empty());
        machines
            .map(|resource| {
                let hours = resource.ended.unwrap_or(now).saturating_sub(resource.created) as f64 / 3_600_000.0;
                resource.hourly_usd.map(|price| price * hours)
            })
            .try_fold(0.0, |sum, cost| Some(sum + cost?))
    }

    /// Takes what an event says of resources.
    pub fn apply(&mut self, at: Millis, event: &Event) {
        match event {
            Event::CallIntended(id) => self.announced(at, id),
            Event::CallAnswered { id, answer } => {
                if id.class.has_intent() {
                    self.arrived(at, &id.key(&self.run), answer.as_ref().err());
                }
                self.answered(at, id, answer.as_ref().ok());
                if answer.as_ref().is_err_and(|error| error.kind == kind::INFRASTRUCTURE) {
                    self.load_in_doubt(at, id);
                }
            }
            Event::AttemptEnded { step, .. } => self.given_up(at, step),
            Event::Audited { found } => self.audited(at, found),
            Event::CleanUpStarted { .. } => self.take_back(),
            Event::RetryRequested { .. } => {
                self.take_back();
                self.entries.values_mut().for_each(|resource| resource.expires = None);
            }
            Event::ResourceSettled { kind, id, state, reason, hourly_usd, expires } => {
                let Some(resource) = self.entries.get_mut(&(kind.clone(), id.clone())) else { return };
                (resource.reason, resource.expires) = (reason.clone(), expires.clone());
                resource.hourly_usd = hourly_usd.or(resource.hourly_usd);
                resource.settle(at, *state);
            }
            Event::RunStarted(_)
            | Event::RunResumed { .. }
            | Event::AttemptStarted { .. }
            | Event::LimitChecked { .. }
            | Event::StopRequested { .. }
            | Event::StepSkipped { .. }
            | Event::CancelRequested { .. }
            | Event::FinallyStarted
            | Event::Noticed { .. }
            | Event::RunEnded { .. } => {}
        }
    }

    /// Nobody waits any more for the calls of a step that are on their way.
    fn given_up(&mut self, at: Millis, step: &str) {
        let calls = format!("{}/{step}/", self.run);
        for key in self.in_flight.extract_if(.., |key| key.starts_with(&calls)) {
            self.makers.entry(key).and_modify(|maker| maker.since = at);
        }
    }

    /// What was kept is in use or not wanted any more; what leaked is tried again.
    fn take_back(&mut self) {
        use ResourceState::{Kept, Leaked, Live};
        for resource in self.entries.values_mut().filter(|r| matches!(r.state, Kept | Leaked)) {
            resource.state = Live;
            resource.settled = false;
            resource.reason = None;
        }
    }

    /// An announced call was answered. Who refuses it has made nothing.
    fn arrived(&mut self, at: Millis, key: &str, error: Option<&CallError>) {
        self.in_flight.remove(key);
        let certain = error.is_none_or(|error| [kind::REQUEST, kind::UNSUPPORTED].contains(&error.kind.as_str()));
        if let Some(maker) = self.makers.get_mut(key) {
            maker.since = at;
            maker.in_doubt = if certain { 0 } else { maker.in_doubt };
        }
    }

    /// Takes what a call made or ended; no answer stands for an error, which may have left machines behind, but no load.
    fn answered(&mut self, at: Millis, id: &CallId, answer: Option<&Value>) {
        match (id.name.as_str(), answer) {
            ("cloud/machines.create", Some(machines)) => {
                self.forget(&id.key(&self.run));
                // Field by field: whatever else a journal says or leaves out, no machine of it is lost.
                for machine in machines.as_array().into_iter().flatten() {
                    let text = |name: &str| machine[name].as_str().unwrap_or_default();
                    self.created(at, id, MACHINE, text("id"), text("machine-type").to_owned());
                }
            }
            ("cloud/machines.terminate", Some(_)) => {
                for machine in id.arguments["ids"].as_array().into_iter().flatten().filter_map(|id| id.as_str()) {
                    self.ended(at, MACHINE, machine);
                }
            }
            ("load/loads.start", name) => {
                self.forget(&id.key(&self.run));
                if let Some(name) = name.and_then(Value::as_str) {
                    self.created(at, id, LOAD, name, String::new());
                }
            }
            ("load/loads.stop", Some(_)) => {
                self.ended(at, LOAD, id.arguments["load"].as_str().unwrap_or_default());
            }
            _ => {}
        }
    }

    /// A load whose start failed for infrastructure may run: it is stopped with its attempt.
    fn load_in_doubt(&mut self, at: Millis, id: &CallId) {
        if let Some(name) = load_name(id).filter(|_| id.name == "load/loads.start") {
            self.created(at, id, LOAD, &name, String::new());
        }
    }

    /// Since when machines of a step, or of any, may exist that no audit has found: their creation had no good answer.
    pub fn in_doubt_since(&self, step: Option<&str>) -> Option<Millis> {
        let known =
            |key: &str| self.resources().filter(|r| r.state != ResourceState::Announced && r.key == key).count() as u32;
        let of_step = |maker: &Maker| step.is_none_or(|step| maker.step == step);
        let in_doubt = self.makers.iter().filter(|(key, maker)| of_step(maker) && known(key) < maker.in_doubt);
        in_doubt.map(|(_, maker)| maker.since).max()
    }

    /// When the last call that makes machines ended or was asked: for a while after it a cloud may list too few.
    pub fn last_creation(&self) -> Option<Millis> {
        self.makers.values().map(|maker| maker.since).max()
    }

    fn announced(&mut self, at: Millis, id: &CallId) {
        self.in_flight.insert(id.key(&self.run));
        let key = id.key(&self.run);
        let (kind, name, description, count) = match id.name.as_str() {
            "cloud/machines.create" => match Create::deserialize(&id.arguments) {
                Ok(Create { request }) => {
                    let maker = Maker { step: id.step.clone(), asked: at, in_doubt: request.count, since: at };
                    self.makers.entry(key.clone()).and_modify(|known| known.since = at).or_insert(maker);
                    (MACHINE, key, request.machine_type, request.count)
                }
                Err(_) => return,
            },
            "load/loads.start" => match load_name(id) {
                Some(name) => (LOAD, name, String::new(), 1),
                None => return,
            },
            _ => return,
        };
        let announced =
            Resource { count, state: ResourceState::Announced, ..self.made(at, id, kind, &name, description) };
        let known = self.entries.get(&(kind.to_owned(), name.clone()));
        // A second start of a load that runs will be refused: it is the first one that lives.
        if known.is_none_or(|known| known.state != ResourceState::Live) {
            self.entries.insert((kind.into(), name), announced);
        }
    }

    /// A creation was answered: what came of it stands for itself.
    fn forget(&mut self, key: &str) {
        self.entries.retain(|_, resource| resource.state != ResourceState::Announced || resource.key != key);
    }

    fn created(&mut self, at: Millis, call: &CallId, kind: &str, id: &str, description: String) {
        let resource = self.made(at, call, kind, id, description);
        // A load's name is free again once the load has ended.
        let entry = self.entries.entry((kind.into(), id.into())).or_insert_with(|| resource.clone());
        if entry.state != ResourceState::Live {
            *entry = resource;
        }
    }

    fn made(&self, at: Millis, call: &CallId, kind: &str, id: &str, description: String) -> Resource {
        Resource {
            kind: kind.into(),
            id: id.into(),
            description,
            count: 1,
            step: call.step.clone(),
            key: call.key(&self.run),
            created: at,
            ended: None,
            state: ResourceState::Live,
            reason: None,
            hourly_usd: None,
            expires: None,
            settled: false,
        }
    }

    fn ended(&mut self, at: Millis, kind: &str, id: &str) {
        if let Some(resource) = self.entries.get_mut(&(kind.to_owned(), id.to_owned())) {
            resource.state = ResourceState::Deleted;
            resource.ended.get_or_insert(at);
        }
    }

    /// What was found by the run's tag and was made by a call of this run is the run's own, answered or not, and lives,
    /// whatever became known of it before. The rest is foreign. What was announced, is not on its way any more and was not
    /// found does not exist.
    fn audited(&mut self, at: Millis, found: &[Found]) {
        for found in found {
            let place = (found.kind.clone(), found.id.clone());
            if let Some(known) = self.entries.get_mut(&place) {
                known.found();
                continue;
            }
            let maker = self.makers.get(&found.key);
            let resource = Resource {
                kind: found.kind.clone(),
                id: found.id.clone(),
                description: found.description.clone(),
                count: 1,
                key: maker.map(|_| found.key.clone()).unwrap_or_default(),
                created: maker.map_or(at, |maker| maker.asked),
                ended: None,
                state: if maker.is_some() { ResourceState::Live } else { ResourceState::Foreign },
                reason: maker.is_none().then(|| "it carries the run's tag, and no call of the run made it".into()),
                hourly_usd: None,
                expires: None,
                settled: maker.is_none(),
                step: maker.map(|maker| maker.step.clone()).unwrap_or_default(),
            };
            self.entries.insert(place, resource);
        }
        let in_flight = &self.in_flight;
        self.entries
            .retain(|_, resource| resource.state != ResourceState::Announced || in_flight.contains(&resource.key));
    }
}

/// The name in the spec of a load.
fn load_name(start: &CallId) -> Option<String> {
    let spec: Value = serde_json::from_str(start.arguments["spec"].as_str()?).ok()?;
    spec["name"].as_str().map(str::to_owned)
}
