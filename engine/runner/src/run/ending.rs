//! How a run ends: what the database said is kept, loads stop, machines are given back, the verdict is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use serde_json::Value;
use wfe_core::backend::Context;
use wfe_core::capability::cloud::{DescribeType, List, Machine, MachineType, Terminate};
use wfe_core::capability::load::Stop;
use wfe_core::capability::observe::Since;
use wfe_core::capability::step::Attempt;
use wfe_core::event::{CallId, ENGINE, Keep, ResourceState};
use wfe_core::ledger::{LOAD, MACHINE, Resource};
use wfe_core::limits::LimitResult;
use wfe_core::verdict::Verdict;
use wfe_core::{Call, CallError, Event, call, limits};

use crate::clock::wall;
use crate::host::call::key;

use super::{Finished, Run, RunError};

/// The most database events that are kept for the report.
const MOST_EVENTS: u32 = 200;

impl Run {
    /// Ends the run: nothing of it is left but what is to be kept.
    pub(super) async fn end(self) -> Result<Finished, RunError> {
        self.stop_loads(|_| true).await?;
        let since = Since { from_ms: 0, severity: "warn".into(), limit: MOST_EVENTS };
        drop(self.engine_call(Call::EventsSince(since)).await?);
        self.settle_machines().await?;
        let closed = self.services.backend.close().await;
        let recorder = &self.services.recorder;
        let (verdict, mut reasons) = recorder.with_state(|state| state.judge(&self.plan));
        reasons.extend(closed.err().map(|error| format!("the backend did not close: {}", error.message)));
        reasons.extend(self.services.recording.broken());
        recorder.record_durably(Event::RunEnded { verdict, reasons, wall_s: self.wall_s() }).await?;
        Ok(Finished {
            state: recorder.with_state(Clone::clone),
            recording: self.services.recording.take(),
            directory: self.directory,
        })
    }

    fn wall_s(&self) -> f64 {
        let begun = self.services.recorder.with_state(|state| humantime::parse_rfc3339(&state.started.wall));
        let since = wall().duration_since(begun.unwrap_or(SystemTime::UNIX_EPOCH));
        since.map_or(0.0, |since| since.as_secs_f64())
    }

    /// Stops the loads that an ended attempt left running.
    pub(super) async fn stop_loads_of(&self, step: &str) -> Result<(), RunError> {
        self.stop_loads(|load| load.step == step).await
    }

    async fn stop_loads(&self, which: impl Fn(&Resource) -> bool) -> Result<(), RunError> {
        let loads: Vec<String> = self.services.recorder.with_state(|state| {
            state.ledger.live(LOAD).filter(|load| which(load)).map(|load| load.id.clone()).collect()
        });
        for load in loads {
            if let Err(error) = self.engine_call(Call::LoadStop(Stop { load: load.clone() })).await? {
                tracing::warn!("load {load} did not stop in order: {error}");
                self.settle(LOAD, &load, ResourceState::Deleted, Some(error.message), None)?;
            }
        }
        Ok(())
    }

    /// Holds the limits of a step against its measurements.
    pub(super) async fn check_limits(&self, step: &str) -> Result<(), RunError> {
        let Some(planned) = self.plan.step(step) else { return Ok(()) };
        let recorder = &self.services.recorder;
        let measurements = recorder.with_state(|state| {
            let own = state.measurements.iter().filter(|measured| measured.step == step);
            own.map(|measured| measured.measurement.clone()).collect::<Vec<_>>()
        });
        if measurements.is_empty() {
            for limit in &planned.limits {
                let (rule, place) = (limit.rule.clone(), "the step measured nothing".to_owned());
                let result = LimitResult { rule, value: "n/a".into(), holds: None, place };
                recorder.record(Event::LimitChecked { step: step.to_owned(), result })?;
            }
        }
        for measurement in measurements {
            // A resumed run fed the measurement from the journal, and the recording may lag behind it.
            self.services.backend.recorded_until(measurement.to_ms).await;
            let results =
                self.services.recording.with(|recording| limits::evaluate(&planned.limits, recording, &measurement));
            for result in results {
                recorder.record(Event::LimitChecked { step: step.to_owned(), result })?;
            }
        }
        Ok(())
    }

    /// Gives machines back, or keeps them as asked, and says what became of each.
    async fn settle_machines(&self) -> Result<(), RunError> {
        let live: Vec<Resource> =
            self.services.recorder.with_state(|state| state.ledger.unsettled(MACHINE).cloned().collect());
        let prices = self.prices(&live).await?;
        let keep = self.keeps_machines();
        let ids: Vec<String> = live.iter().map(|machine| machine.id.clone()).collect();
        let refused = match keep || ids.is_empty() {
            true => None,
            false => self.engine_call(Call::MachinesTerminate(Terminate { ids })).await?.err(),
        };
        let left = if keep { Ok(BTreeSet::new()) } else { self.left_over(&live).await? };
        for machine in &live {
            let (state, reason) = match (&left, &refused) {
                _ if keep => (ResourceState::Kept, Some("as asked by --keep".to_owned())),
                (Ok(left), _) if !left.contains(&machine.id) => (ResourceState::Deleted, None),
                (_, Some(error)) => (ResourceState::Leaked, Some(error.message.clone())),
                (Ok(_), None) => (ResourceState::Leaked, Some("still listed after it was terminated".to_owned())),
                (Err(error), None) => (ResourceState::Leaked, Some(format!("cannot be listed: {}", error.message))),
            };
            self.settle(MACHINE, &machine.id, state, reason, prices.get(&machine.description).copied())?;
        }
        Ok(())
    }

    fn keeps_machines(&self) -> bool {
        self.services.recorder.with_state(|state| match state.started.keep {
            Keep::Never => false,
            Keep::Always => true,
            Keep::OnFailure => state.judge(&self.plan).0 != Verdict::Pass,
        })
    }

    /// Which of these machines the backend still lists.
    async fn left_over(&self, machines: &[Resource]) -> Result<Result<BTreeSet<String>, CallError>, RunError> {
        if machines.is_empty() {
            return Ok(Ok(BTreeSet::new()));
        }
        let listed = self.engine_call(Call::MachinesList(List {})).await?;
        Ok(listed.map(|value| {
            let listed: Vec<Machine> = serde_json::from_value(value).unwrap_or_default();
            listed.into_iter().filter(|machine| machine.state != "terminated").map(|machine| machine.id).collect()
        }))
    }

    async fn prices(&self, machines: &[Resource]) -> Result<BTreeMap<String, f64>, RunError> {
        let types: BTreeSet<&String> = machines.iter().map(|machine| &machine.description).collect();
        let mut prices = BTreeMap::new();
        for name in types {
            let described = self.engine_call(Call::MachinesDescribeType(DescribeType { name: name.clone() })).await?;
            if let Some(facts) = described.ok().and_then(|value| serde_json::from_value::<MachineType>(value).ok()) {
                prices.insert(name.clone(), facts.hourly_usd);
            }
        }
        Ok(prices)
    }

    fn settle(
        &self,
        kind: &str,
        id: &str,
        state: ResourceState,
        reason: Option<String>,
        hourly_usd: Option<f64>,
    ) -> Result<(), RunError> {
        let event = Event::ResourceSettled { kind: kind.into(), id: id.into(), state, reason, hourly_usd };
        self.services.recorder.record(event)?;
        Ok(())
    }

    /// Makes a call of the engine's own, journaled as a plugin's is.
    async fn engine_call(&self, call: Call) -> Result<Result<Value, CallError>, RunError> {
        let services = &self.services;
        let (run, workflow, number) = services
            .recorder
            .with_state(|state| (state.started.run.clone(), state.started.workflow.clone(), state.next_n));
        let arguments = call.arguments();
        let id = CallId {
            step: ENGINE.into(),
            attempt: 1,
            call: number,
            name: call.name().into(),
            class: call.class(),
            digest: call::digest(call.name(), &arguments),
            arguments,
            asked_at: services.clock.now(),
        };
        if id.class.has_intent() {
            services.recorder.record_durably(Event::CallIntended(id.clone())).await?;
        }
        let attempt = Attempt { run: run.clone(), workflow, step: ENGINE.into(), number: 1 };
        let context = Context { attempt, number, asked_at: id.asked_at, key: key(&run, &id) };
        let answer = services.backend.call(&context, &call).await;
        services.recorder.record(Event::CallAnswered { id, answer: answer.clone() })?;
        Ok(answer)
    }
}
