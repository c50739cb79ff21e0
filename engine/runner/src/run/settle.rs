//! What becomes of the things that a run made: found by its tag, given back or kept, and said.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wfe_core::backend::Found;
use wfe_core::capability::cloud::{DescribeType, MachineType, Terminate};
use wfe_core::event::ResourceState;
use wfe_core::ledger::{MACHINE, Resource};
use wfe_core::{Call, CallError, Event, Millis};

use crate::clock::wall;
use crate::host::attempt::Services;
use crate::recorder::RecordError;

/// How long after an attempt to give machines back the next look at what is left comes; the last one decides.
const PATIENCE_MS: [Millis; 3] = [2_000, 10_000, 0];
/// For so long after a creation without a good answer its machines are looked for: a cloud lists them late.
const LISTED_WITHIN_MS: Millis = 12_000;
/// How often they are looked for.
const LOOK_MS: Millis = 2_000;

/// What an audit found, or why it could not.
pub(crate) type Looked = Result<Vec<Found>, CallError>;

impl Services {
    /// Gives back everything that the run made and that still exists, and says what became of each.
    pub(super) async fn give_back(&self) -> Result<(), RecordError> {
        let mut looked = self.look(None).await?;
        let mut refused = None;
        for pause in PATIENCE_MS {
            let ids = self.machines_of_own(&looked);
            if !ids.is_empty() {
                refused = self.engine_call(Call::MachinesTerminate(Terminate { ids })).await?.err();
                looked = self.audit().await?;
            }
            if looked.is_ok() && self.machines_of_own(&looked).is_empty() {
                break;
            }
            self.clock.sleep_until(self.clock.now() + pause).await;
            looked = self.audit().await?;
        }
        let own = self.own();
        let prices = self.prices(&own).await?;
        for resource in &own {
            let (state, reason) = match (&looked, &refused) {
                (Ok(found), _) if !is_among(resource, found) => (ResourceState::Deleted, None),
                (_, Some(error)) => (ResourceState::Leaked, Some(error.message.clone())),
                (Ok(_), None) => (ResourceState::Leaked, Some("still there after it was given back".to_owned())),
                (Err(error), None) => (ResourceState::Leaked, Some(format!("cannot be looked for: {}", error.message))),
            };
            let price = prices.get(&resource.description).copied();
            self.settle(resource, state, reason, price, None)?;
        }
        Ok(())
    }

    /// Leaves machines running, with the moment on them when they are not wanted any more.
    pub(super) async fn keep(&self, keep_ms: Millis) -> Result<(), RecordError> {
        let looked = self.look(None).await?;
        let ids = self.machines_of_own(&looked);
        let until = wall().checked_add(Duration::from_millis(keep_ms)).unwrap_or_else(wall);
        let until = humantime::format_rfc3339_seconds(until).to_string();
        let unmarked = self.backend.keep(&ids, Some(&until)).await.err();
        let own = self.own();
        let prices = self.prices(&own).await?;
        for resource in &own {
            let price = prices.get(&resource.description).copied();
            if !may_be_there(resource, &looked) {
                self.settle(resource, ResourceState::Deleted, None, price, None)?;
                continue;
            }
            let reason = match (&looked, &unmarked) {
                (Err(error), _) => format!("as asked by --keep; cannot be looked for: {}", error.message),
                (_, Some(error)) => format!("as asked by --keep; not marked with its end: {}", error.message),
                _ => "as asked by --keep".to_owned(),
            };
            self.settle(resource, ResourceState::Kept, Some(reason), price, Some(until.clone()))?;
        }
        Ok(())
    }

    /// What the engine has not yet said anything of.
    fn own(&self) -> Vec<Resource> {
        self.recorder.with_state(|state| state.ledger.unsettled().cloned().collect())
    }

    /// The ids of the run's own machines that may be there.
    fn machines_of_own(&self, looked: &Looked) -> Vec<String> {
        let own = self.own().into_iter();
        let there = own.filter(|r| r.kind == MACHINE && r.state != ResourceState::Announced && may_be_there(r, looked));
        there.map(|machine| machine.id).collect()
    }

    /// Asks the backend what there is, and again for a while where machines of a step, or of any, are in doubt.
    pub(crate) async fn look(&self, step: Option<&str>) -> Result<Looked, RecordError> {
        loop {
            let looked = self.audit().await?;
            let since = self.recorder.with_state(|state| state.ledger.in_doubt_since(step));
            let now = self.clock.now();
            if since.is_none_or(|since| now >= since + LISTED_WITHIN_MS) {
                return Ok(looked);
            }
            self.clock.sleep_until(now + LOOK_MS).await;
        }
    }

    /// Asks the backend for everything that carries the run's tag.
    async fn audit(&self) -> Result<Looked, RecordError> {
        let found = self.backend.audit().await;
        if let Ok(found) = &found {
            self.recorder.record(Event::Audited { found: found.clone() })?;
        }
        Ok(found)
    }

    /// What an hour of each type of machine costs.
    async fn prices(&self, resources: &[Resource]) -> Result<BTreeMap<String, f64>, RecordError> {
        let machines = resources.iter().filter(|resource| resource.kind == MACHINE);
        let types: BTreeSet<&String> = machines.map(|machine| &machine.description).collect();
        let mut prices = BTreeMap::new();
        for name in types {
            let described = self.engine_call(Call::MachinesDescribeType(DescribeType { name: name.clone() })).await?;
            if let Some(facts) = described.ok().and_then(|value| serde_json::from_value::<MachineType>(value).ok()) {
                prices.insert(name.clone(), facts.hourly_usd);
            }
        }
        Ok(prices)
    }

    /// Says what became of a resource.
    pub(super) fn settle(
        &self,
        resource: &Resource,
        state: ResourceState,
        reason: Option<String>,
        hourly_usd: Option<f64>,
        expires: Option<String>,
    ) -> Result<(), RecordError> {
        let (kind, id) = (resource.kind.clone(), resource.id.clone());
        self.recorder.record(Event::ResourceSettled { kind, id, state, reason, hourly_usd, expires })?;
        Ok(())
    }
}

fn is_among(resource: &Resource, found: &[Found]) -> bool {
    found.iter().any(|found| found.kind == resource.kind && found.id == resource.id)
}

/// What was given back and cannot be looked for is taken to be gone.
fn may_be_there(resource: &Resource, looked: &Looked) -> bool {
    match looked {
        Ok(found) => is_among(resource, found),
        Err(_) => resource.state != ResourceState::Deleted,
    }
}
