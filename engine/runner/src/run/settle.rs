//! What becomes of the things that a run made: found by its tag, given back or kept, and said.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use wfe_core::backend::Found;
use wfe_core::capability::cloud::{DescribeType, MachineType, Terminate};
use wfe_core::event::ResourceState;
use wfe_core::ledger::{Ledger, MACHINE, Resource};
use wfe_core::{Call, CallError, Event, Millis};

use crate::clock::wall;
use crate::host::attempt::Services;
use crate::recorder::RecordError;

/// When, after a run's steps are over, machines that were given back and are still there are asked for again; the last
/// time decides.
const AGAIN_MS: [Millis; 3] = [2_000, 12_000, 0];
/// For so long after a creation its machines are looked for: a cloud lists them late.
const LISTED_WITHIN_MS: Millis = 12_000;
/// How often they are looked for.
const LOOK_MS: Millis = 2_000;

/// What an audit found, or why it could not.
pub(crate) type Looked = Result<Vec<Found>, CallError>;

impl Services {
    /// Gives back everything that the run made and that still exists, and says what became of each.
    pub(super) async fn give_back(&self) -> Result<(), RecordError> {
        let mut looked = self.audit().await?;
        let mut refused = BTreeMap::new();
        let began = self.gives_back_since();
        for again in AGAIN_MS {
            refused = self.terminate(self.machines_of_own(&looked)).await?;
            looked = self.look(Ledger::last_creation).await?;
            if looked.is_ok() && self.machines_of_own(&looked).is_empty() {
                break;
            }
            self.clock.sleep_until(began + again).await;
            looked = self.audit().await?;
        }
        let own = self.own();
        let prices = self.prices(&own).await?;
        for resource in &own {
            let (state, reason) = match (&looked, refused.get(&resource.id)) {
                (Ok(found), _) if !is_among(resource, found) => (ResourceState::Deleted, None),
                (_, Some(error)) => (ResourceState::Leaked, Some(error.message.clone())),
                (Ok(_), None) => (ResourceState::Leaked, Some("still there after it was given back".to_owned())),
                (Err(error), None) => (ResourceState::Leaked, Some(not_looked_for(error))),
            };
            let price = prices.get(&resource.description).copied();
            self.settle(resource, state, reason, price, None)?;
        }
        Ok(())
    }

    /// Leaves machines running, with the moment on them when they are not wanted any more.
    pub(super) async fn keep(&self, keep_ms: Millis) -> Result<(), RecordError> {
        let looked = self.look(Ledger::last_creation).await?;
        let ids = self.machines_of_own(&looked);
        let until = humantime::format_rfc3339_seconds(expiry(keep_ms)).to_string();
        let unmarked = self.backend.keep(&ids, Some(&until)).await.err();
        let own = self.own();
        let prices = self.prices(&own).await?;
        for resource in &own {
            let as_asked =
                |but: String| (ResourceState::Kept, Some(format!("as asked by --keep{but}")), Some(until.clone()));
            let (state, reason, expires) = match (&looked, &unmarked) {
                (Ok(found), _) if !is_among(resource, found) => (ResourceState::Deleted, None, None),
                (Err(error), _) if resource.state == ResourceState::Deleted => {
                    (ResourceState::Leaked, Some(not_looked_for(error)), None)
                }
                (Err(error), _) => as_asked(format!("; {}", not_looked_for(error))),
                (_, Some(error)) => as_asked(format!("; not marked with its end: {}", error.message)),
                _ => as_asked(String::new()),
            };
            let price = prices.get(&resource.description).copied();
            self.settle(resource, state, reason, price, expires)?;
        }
        Ok(())
    }

    /// Asks the backend to take machines back, one by one when it does not take them all; answers which it refused.
    async fn terminate(&self, ids: Vec<String>) -> Result<BTreeMap<String, CallError>, RecordError> {
        let ask = async |ids| self.engine_call(Call::MachinesTerminate(Terminate { ids })).await;
        let mut refused = BTreeMap::new();
        if ids.len() > 1 && ask(ids.clone()).await?.is_ok() {
            return Ok(refused);
        }
        for id in ids {
            refused.extend(ask(vec![id.clone()]).await?.err().map(|error| (id, error)));
        }
        Ok(refused)
    }

    /// When giving back began. Virtual time stood still while nobody rehearsed: a clean-up that was cut goes on with its
    /// waits. In real time it waits anew, for what the cloud does about the latest request.
    fn gives_back_since(&self) -> Millis {
        let now = self.clock.now();
        self.recorder.with_state(|state| if state.started.simulated { state.last_change } else { now })
    }

    /// What the engine has not yet said anything of.
    fn own(&self) -> Vec<Resource> {
        self.recorder.with_state(|state| state.ledger.unsettled().cloned().collect())
    }

    /// The ids of the run's own machines that may be there: nobody said that they are gone, listed or not.
    fn machines_of_own(&self, looked: &Looked) -> Vec<String> {
        let is_listed = |r: &Resource| looked.as_ref().is_ok_and(|found| is_among(r, found));
        let may_be_there = |r: &Resource| r.state == ResourceState::Live || is_listed(r);
        let own = self.own().into_iter();
        own.filter(|r| r.kind == MACHINE && may_be_there(r)).map(|machine| machine.id).collect()
    }

    /// Asks the backend what there is, again and again for as long as it may list too few machines `since` then.
    pub(crate) async fn look(&self, since: impl Fn(&Ledger) -> Option<Millis>) -> Result<Looked, RecordError> {
        loop {
            let looked = self.audit().await?;
            let since = self.recorder.with_state(|state| since(&state.ledger));
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

fn not_looked_for(error: &CallError) -> String {
    format!("cannot be looked for: {}", error.message)
}

/// When machines that are kept for so long are not wanted any more; RFC 3339 ends with the year 9999.
fn expiry(keep_ms: Millis) -> SystemTime {
    let latest = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    wall().checked_add(Duration::from_millis(keep_ms)).map_or(latest, |until| until.min(latest))
}
