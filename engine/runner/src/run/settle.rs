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

/// How long after a failed attempt to give machines back the next one comes; the last one decides.
const PATIENCE_MS: [Millis; 3] = [2_000, 10_000, 0];

impl Services {
    /// Gives back everything that the run made and that still exists, and says what became of each.
    pub(super) async fn give_back(&self) -> Result<(), RecordError> {
        let first = self.audit().await?.err();
        let own: Vec<Resource> = self.recorder.with_state(|state| state.ledger.unsettled().cloned().collect());
        if own.is_empty() {
            return Ok(());
        }
        let prices = self.prices(&own).await?;
        let (refused, left) = self.terminate(&own, first).await?;
        for resource in &own {
            let (state, reason) = match (&left, &refused) {
                (Ok(left), _) if !left.contains(&(resource.kind.clone(), resource.id.clone())) => {
                    (ResourceState::Deleted, None)
                }
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
        let unknown = self.audit().await?.err();
        let own: Vec<Resource> = self.recorder.with_state(|state| state.ledger.unsettled().cloned().collect());
        let ids: Vec<String> = own.iter().filter(|r| r.kind == MACHINE).map(|r| r.id.clone()).collect();
        let until = humantime::format_rfc3339_seconds(wall() + Duration::from_millis(keep_ms)).to_string();
        let unmarked = self.backend.keep(&ids, &until).await.err();
        let prices = self.prices(&own).await?;
        for resource in &own {
            let reason = match (resource.state, &unknown, &unmarked) {
                (ResourceState::Announced, Some(error), _) => format!("cannot be looked for: {}", error.message),
                (_, _, Some(error)) => format!("as asked by --keep; not marked with its end: {}", error.message),
                _ => "as asked by --keep".to_owned(),
            };
            let price = prices.get(&resource.description).copied();
            self.settle(resource, ResourceState::Kept, Some(reason), price, Some(until.clone()))?;
        }
        Ok(())
    }

    /// Asks the backend for everything that carries the run's tag.
    pub(super) async fn audit(&self) -> Result<Result<Vec<Found>, CallError>, RecordError> {
        let found = self.backend.audit().await;
        if let Ok(found) = &found {
            self.recorder.record(Event::Audited { found: found.clone() })?;
        }
        Ok(found)
    }

    /// Gives machines back until nothing is found any more; answers why that was refused, and what is left.
    async fn terminate(
        &self,
        own: &[Resource],
        unknown: Option<CallError>,
    ) -> Result<(Option<CallError>, Result<BTreeSet<(String, String)>, CallError>), RecordError> {
        let machines = own.iter().filter(|r| r.kind == MACHINE && r.state != ResourceState::Announced);
        let mut ids: Vec<String> = machines.map(|machine| machine.id.clone()).collect();
        let (mut refused, mut left) = (None, unknown.map_or_else(|| Ok(BTreeSet::new()), Err));
        for pause in PATIENCE_MS {
            if !ids.is_empty() {
                refused = self.engine_call(Call::MachinesTerminate(Terminate { ids: ids.clone() })).await?.err();
            }
            left = self.audit().await?.map(|found| found.into_iter().map(|found| (found.kind, found.id)).collect());
            let gone =
                |left: &BTreeSet<(String, String)>| !own.iter().any(|r| left.contains(&(r.kind.clone(), r.id.clone())));
            if left.as_ref().is_ok_and(gone) {
                break;
            }
            if let Ok(left) = &left {
                ids.retain(|id| left.contains(&(MACHINE.to_owned(), id.clone())));
            }
            self.clock.sleep_until(self.clock.now() + pause).await;
        }
        Ok((refused, left))
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
