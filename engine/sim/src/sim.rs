//! The backend: calls of a run, answered by a world that is moved on to the run's clock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use wfe_core::backend::{Answered, Backend, Context, Facts, Found, Offers, Run, answer};
use wfe_core::capability::{cloud, operation};
use wfe_core::{Call, CallError, Millis};

use crate::apply::changes;
use crate::calibration::calibration;
use crate::faults::Faults;
use crate::fleet::timed_out;
use crate::world::World;

/// The simulated cloud and cluster.
pub struct Sim {
    faults: Faults,
    opened: Mutex<Option<Opened>>,
}

struct Opened {
    run: Run,
    world: World,
}

impl Sim {
    /// A simulator that injects these faults.
    pub fn new(faults: Faults) -> Self {
        Self { faults, opened: Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the world as it is now; answers it with when the next step ends.
    fn look<T>(&self, look: impl FnOnce(&mut Opened, Millis) -> T) -> Result<(T, Millis), CallError> {
        let mut guard = self.lock();
        let opened =
            guard.as_mut().ok_or_else(|| CallError::infrastructure("not-open", "the simulator was not opened"))?;
        let now = opened.run.clock.now();
        let sink = opened.run.intervals.clone();
        let next = opened.world.advance(now, sink.as_ref());
        Ok((look(opened, now), next))
    }

    /// Waits, step by step, until there is an answer or the time is over.
    async fn wait(
        &self,
        deadline: Millis,
        mut done: impl FnMut(&World, Millis, bool) -> Result<Option<Value>, CallError>,
    ) -> Result<Value, CallError> {
        loop {
            let look = |opened: &mut Opened, now: Millis| {
                let answer = done(&opened.world, now, now >= deadline);
                (answer, opened.run.clock.clone())
            };
            let ((answered, clock), next) = self.look(look)?;
            match answered? {
                Some(value) => return Ok(value),
                None => clock.sleep_until(next.min(deadline)).await,
            }
        }
    }

    async fn wait_running(&self, context: &Context, wait: &cloud::WaitRunning) -> Result<Value, CallError> {
        let deadline = context.asked_at.saturating_add(wait.timeout_ms);
        let done = |world: &World, now: Millis, over: bool| match world.fleet.all_running(&wait.ids, now)? {
            Some(machines) => answer(machines).map(Some),
            None if over => Err(timed_out("booting", wait.timeout_ms)),
            None => Ok(None),
        };
        self.wait(deadline, done).await
    }

    async fn wait_any(&self, context: &Context, wait: &operation::WaitAny) -> Result<Value, CallError> {
        let deadline = context.asked_at.saturating_add(wait.timeout_ms);
        let done = |world: &World, now: Millis, over: bool| {
            let statuses = world.statuses(&wait.ids, now)?;
            let ready = over || statuses.is_empty() || statuses.iter().any(|status| status.done);
            if ready { answer(statuses).map(Some) } else { Ok(None) }
        };
        self.wait(deadline, done).await
    }

    async fn answer(&self, context: &Context, call: &Call) -> Result<Value, CallError> {
        match call {
            Call::MachinesWaitRunning(wait) => self.wait_running(context, wait).await,
            Call::OperationsWaitAny(wait) => self.wait_any(context, wait).await,
            call if changes(call) => {
                let make = |opened: &mut Opened, now: Millis| {
                    let (sink, clock) = (opened.run.intervals.clone(), opened.run.clock.clone());
                    (opened.world.apply(&context.key, call, now, sink.as_ref()), clock)
                };
                let ((made, clock), _) = self.look(make)?;
                if clock.now() < made.answered_at {
                    clock.sleep_until(made.answered_at).await;
                }
                made.answer
            }
            call => self.look(|opened, now| opened.world.ask(call, now))?.0,
        }
    }

    fn rebuild(&self, run: &Run, history: &[Answered]) -> Result<World, CallError> {
        let mut world = World::new(run.seed, self.faults.clone());
        for past in history.iter().filter(|past| changes(&past.call)) {
            let made_at = past.answered_at.saturating_sub(world.next_answer_late(&past.call));
            let made = world.apply(&past.key, &past.call, made_at.max(world.now), run.intervals.as_ref());
            let again = made.answer;
            if again != past.answer {
                return Err(differs(past, &again));
            }
        }
        Ok(world)
    }

    fn end(&self) {
        let mut guard = self.lock();
        let Some(opened) = guard.as_mut() else { return };
        let now = opened.run.clock.now().max(opened.world.now);
        let sink = opened.run.intervals.clone();
        opened.world.advance_exactly(now, sink.as_ref());
        for index in 0..opened.world.loads.len() {
            opened.world.stop(index, sink.as_ref());
        }
    }
}

fn differs(past: &Answered, again: &Result<Value, CallError>) -> CallError {
    let show = |answer: &Result<Value, CallError>| match answer {
        Ok(value) => value.to_string(),
        Err(error) => error.to_string(),
    };
    let message = format!(
        "the simulator answered differently to `{}` at {} ms: {} before, {} now",
        past.call.name(),
        past.answered_at,
        show(&past.answer),
        show(again)
    );
    CallError::infrastructure("simulator-differs", message)
}

impl Backend for Sim {
    fn facts(&self) -> Facts {
        let faults = match serde_json::to_string(&self.faults) {
            Ok(text) if !self.faults.0.is_empty() => vec![("faults".to_owned(), text)],
            _ => Vec::new(),
        };
        let mut environment =
            vec![("model".to_owned(), "calibrated to published runs of i4i and i8g machines".to_owned())];
        environment.extend(faults);
        Facts { name: "sim".into(), simulated: true, environment }
    }

    fn offers(&self) -> Offers {
        let known = calibration();
        let machine_types = known.machine_types.keys().cloned().collect();
        Offers { machine_types: Some(machine_types), databases: Some(known.database_names()) }
    }

    fn open<'a>(&'a self, run: Run, history: &'a [Answered]) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            let world = self.rebuild(&run, history)?;
            *self.lock() = Some(Opened { run, world });
            Ok(())
        }
        .boxed()
    }

    fn call<'a>(&'a self, context: &'a Context, call: &'a Call) -> BoxFuture<'a, Result<Value, CallError>> {
        self.answer(context, call).boxed()
    }

    fn audit<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Found>, CallError>> {
        async move { Ok(self.look(|opened, now| opened.world.fleet.audit(now))?.0) }.boxed()
    }

    fn keep<'a>(&'a self, machines: &'a [String], until: Option<&'a str>) -> BoxFuture<'a, Result<(), CallError>> {
        async move { self.look(|opened, _| opened.world.fleet.keep(machines, until)).map(|_| ()) }.boxed()
    }

    fn recorded_until<'a>(&'a self, _moment: Millis) -> BoxFuture<'a, ()> {
        // Looking brings the world to the present, and the present is at least that moment.
        async move { drop(self.look(|_, _| ())) }.boxed()
    }

    fn notices(&self) -> Vec<String> {
        self.lock().as_ref().map(|opened| opened.world.idle_faults()).unwrap_or_default()
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            self.end();
            Ok(())
        }
        .boxed()
    }
}
