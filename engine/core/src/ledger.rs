//! The resources that a run may have created, folded from its events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::Millis;
use crate::capability::cloud::Machine;
use crate::event::{Event, ResourceState};

/// Kind of the resources that [`crate::Call::MachinesCreate`] makes.
pub const MACHINE: &str = "machine";

/// Kind of the resources that [`crate::Call::LoadStart`] makes.
pub const LOAD: &str = "load";

/// One thing that the run made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resource {
    /// What it is, such as `machine`.
    pub kind: String,
    /// The backend's id.
    pub id: String,
    /// Its type, such as `i4i.large`.
    pub description: String,
    /// The step that made it.
    pub step: String,
    /// When it was made.
    pub created: Millis,
    /// When it was found gone.
    pub ended: Option<Millis>,
    /// What became of it.
    pub state: ResourceState,
    /// Why, where it was not deleted.
    pub reason: Option<String>,
    /// What an hour of it costs, US dollars.
    pub hourly_usd: Option<f64>,
    /// Whether the engine has said what became of it.
    pub settled: bool,
}

/// Everything that the run made, by kind and id.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Ledger {
    #[serde(serialize_with = "as_list")]
    entries: BTreeMap<(String, String), Resource>,
}

/// JSON has no keys of two parts, and a resource says its kind and id itself.
fn as_list<S: Serializer>(entries: &BTreeMap<(String, String), Resource>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.values())
}

impl Ledger {
    /// All resources, ordered by kind and id.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.entries.values()
    }

    /// The resources of a kind that may still exist.
    pub fn live<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Resource> {
        self.resources().filter(move |resource| resource.kind == kind && resource.state == ResourceState::Live)
    }

    /// The resources of a kind of which the engine has not yet said what became of them; a plugin may have given some of
    /// them back.
    pub fn unsettled<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Resource> {
        self.resources().filter(move |resource| resource.kind == kind && !resource.settled)
    }

    /// How many machines a step has made, gone ones included.
    pub fn machines_of(&self, step: &str) -> usize {
        self.resources().filter(|resource| resource.kind == MACHINE && resource.step == step).count()
    }

    /// What the resources cost until `now`, US dollars; none when a price is not known.
    pub fn cost_usd(&self, now: Millis) -> Option<f64> {
        let machines = self.resources().filter(|resource| resource.kind == MACHINE);
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
            Event::CallAnswered { id, answer: Ok(answer) } if id.name == "cloud/machines.create" => {
                for machine in Vec::<Machine>::deserialize(answer).unwrap_or_default() {
                    self.created(at, &id.step, MACHINE, &machine.id, machine.machine_type);
                }
            }
            Event::CallAnswered { id, answer: Ok(_) } if id.name == "cloud/machines.terminate" => {
                for machine in id.arguments["ids"].as_array().into_iter().flatten().filter_map(|id| id.as_str()) {
                    self.settle(at, MACHINE, machine, ResourceState::Deleted, None, None);
                }
            }
            Event::CallAnswered { id, answer: Ok(answer) } if id.name == "load/loads.start" => {
                let name = answer.as_str().unwrap_or_default();
                self.created(at, &id.step, LOAD, name, String::new());
            }
            Event::CallAnswered { id, answer: Ok(_) } if id.name == "load/loads.stop" => {
                let name = id.arguments["load"].as_str().unwrap_or_default();
                self.settle(at, LOAD, name, ResourceState::Deleted, None, None);
            }
            Event::ResourceSettled { kind, id, state, reason, hourly_usd } => {
                self.settle(at, kind, id, *state, reason.clone(), *hourly_usd);
                if let Some(resource) = self.entries.get_mut(&(kind.clone(), id.clone())) {
                    resource.settled = true;
                }
            }
            _ => {}
        }
    }

    fn created(&mut self, at: Millis, step: &str, kind: &str, id: &str, description: String) {
        let resource = Resource {
            kind: kind.into(),
            id: id.into(),
            description,
            step: step.into(),
            created: at,
            ended: None,
            state: ResourceState::Live,
            reason: None,
            hourly_usd: None,
            settled: false,
        };
        // A load's name is free again once the load has ended.
        let entry = self.entries.entry((kind.into(), id.into())).or_insert_with(|| resource.clone());
        if entry.state != ResourceState::Live {
            *entry = resource;
        }
    }

    fn settle(
        &mut self,
        at: Millis,
        kind: &str,
        id: &str,
        state: ResourceState,
        reason: Option<String>,
        hourly_usd: Option<f64>,
    ) {
        let Some(resource) = self.entries.get_mut(&(kind.to_owned(), id.to_owned())) else { return };
        resource.state = state;
        resource.reason = reason;
        resource.hourly_usd = hourly_usd.or(resource.hourly_usd);
        if state == ResourceState::Deleted {
            resource.ended.get_or_insert(at);
        }
    }
}
