//! One load thread: one runtime, one session, one task that sends, waits and counts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::unconstrained;
use wfe_core::CallError;
use wfe_core::backend::Run;

use crate::load::alarm::Alarm;
use crate::load::flight::{Failure, Flight};
use crate::load::keys::{self, Draw};
use crate::load::positions::Position;
use crate::load::record::{Ended, Recorder};
use crate::load::schedule::{Ns, Schedule};
use crate::load::state::{Shared, State};
use crate::load::wire::Wire;
use crate::load::{Checked, Kind, LoadOptions, Order, Target};
use crate::monotonic::Monotonic;

/// Everything a load thread needs.
pub struct Job {
    /// The run that it records for.
    pub run: Run,
    /// What it does.
    pub spec: Checked,
    /// Interval and deadline.
    pub options: LoadOptions,
    /// Whom it sends to.
    pub target: Target,
    /// What others see of it.
    pub shared: Arc<Shared>,
    /// Where sequential writes are.
    pub position: Position,
    /// What it is told.
    pub orders: UnboundedReceiver<Order>,
    /// Answered when the first interval is over, or nothing could be sent.
    pub started: oneshot::Sender<Result<(), CallError>>,
}

/// Runs a load to its end on the current thread.
pub fn run(job: Job) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(unconstrained(connect_and_drive(job))),
        Err(e) => give_up(job, CallError::infrastructure("load-not-started", format!("no runtime for the load: {e}"))),
    }
}

fn give_up(job: Job, error: CallError) {
    job.shared.set(State::Failed, error.message.clone());
    // Nobody waits when the call was abandoned.
    let _ = job.started.send(Err(error));
}

async fn connect_and_drive(job: Job) {
    let wire = match Wire::connect(&job.target, &job.spec).await {
        Ok(wire) => wire,
        Err(error) => return give_up(job, error),
    };
    match Alarm::new() {
        Ok(alarm) => Drive::new(job).run(&wire, alarm).await,
        Err(e) => give_up(job, CallError::infrastructure("load-not-started", format!("no timer for the load: {e}"))),
    }
}

/// How often deadlines are looked at.
const SWEEP_NS: Ns = 50_000_000;
/// A load none of whose operations succeed for so long has failed.
const HOPELESS_NS: Ns = 10_000_000_000;

struct Drive {
    clock: Monotonic,
    spec: Checked,
    seed: u64,
    timeout_ns: Ns,
    /// None for a closed loop.
    schedule: Option<Schedule>,
    /// Number of the next operation of a closed loop.
    next: u64,
    recorder: Recorder,
    shared: Arc<Shared>,
    position: Position,
    reads: u64,
    orders: UnboundedReceiver<Order>,
    started: Option<oneshot::Sender<Result<(), CallError>>>,
    stopping: bool,
    last_success: Ns,
}

/// An operation that is to be sent.
#[derive(Clone, Copy)]
struct Due {
    /// Which kind, as an index into the mix.
    kind: usize,
    send: Kind,
    key: i64,
    intended: Ns,
}

impl Drive {
    fn new(job: Job) -> Self {
        let Job { run, spec, options, shared, position, orders, started, .. } = job;
        let kinds = spec.mix.iter().map(|(kind, share)| (kind.name().to_owned(), *share)).collect();
        run.intervals.expect(&spec.name, LOADER);
        let names = (spec.name.clone(), LOADER.to_owned());
        let recorder = Recorder::new(names, kinds, run.clock.now(), options.interval_ms, run.intervals);
        Self {
            clock: Monotonic::start(),
            seed: keys::mix(run.seed) ^ keys::mix(name_seed(&spec.name)),
            timeout_ns: options.timeout_ms.saturating_mul(1_000_000),
            schedule: spec.rate.map(|rate| Schedule::new(0, rate)),
            next: 0,
            recorder,
            shared,
            position,
            reads: 0,
            orders,
            started: Some(started),
            stopping: false,
            last_success: 0,
            spec,
        }
    }

    async fn run(mut self, wire: &Wire, mut alarm: Alarm) {
        let flight = Flight::new(self.spec.concurrency);
        let mut flying = FuturesUnordered::new();
        let mut sweep = SWEEP_NS;
        self.shared.set(State::Running, String::new());
        self.shared.interval(0.0, self.spec.rate);
        let clock = self.clock;
        loop {
            let now = clock.now_ns();
            self.turn(now);
            if now >= sweep {
                flight.expire(now.saturating_sub(self.timeout_ns));
                sweep = now + SWEEP_NS;
            }
            while let Some((due, place)) = self.take(now, &flight) {
                flying.push(send(clock, wire, &flight, place, due));
            }
            if self.stopping && flying.is_empty() {
                break;
            }
            let wake = self.wake(sweep, flying.len());
            tokio::select! {
                biased;
                order = self.orders.recv(), if !self.stopping => self.obey(order),
                Some((due, sent, ended, failure)) = flying.next(), if !flying.is_empty() => {
                    self.count(due, sent, ended, failure);
                }
                rung = alarm.until(now, wake) => if rung.is_err() { self.stop("the kernel's timer failed") },
            }
        }
        self.finish(clock.now_ns());
    }

    /// Hands over intervals that have ended.
    fn turn(&mut self, now: Ns) {
        if !self.recorder.turn(now, self.schedule.as_ref()) {
            return;
        }
        self.shared.recorded_ms.store(self.recorder.recorded_ms(), Ordering::Release);
        self.shared.interval(self.recorder.rate(), self.schedule.as_ref().map(Schedule::rate));
        self.position.save();
        if let Some(started) = self.started.take() {
            // Nobody waits when the call was abandoned.
            let _ = started.send(Ok(()));
        }
    }

    /// The next operation that is due, when there is a place for it.
    fn take(&mut self, now: Ns, flight: &Flight) -> Option<(Due, usize)> {
        if self.stopping {
            return None;
        }
        let waiting = self.schedule.as_ref().is_none_or(|schedule| schedule.next_at().is_some_and(|at| at <= now));
        let place = if waiting { flight.board()? } else { return None };
        let (number, intended) = match &mut self.schedule {
            Some(schedule) => schedule.take(now)?,
            None => (self.next, now),
        };
        self.next = number + 1;
        let mut draw = Draw::new(self.seed, number);
        let kind = self.spec.kind(draw.unit());
        let (reads, position) = (&mut self.reads, &self.position);
        let send = self.spec.mix[kind].0;
        let sequential = || match send {
            Kind::Write => position.take(),
            Kind::Read => {
                *reads += 1;
                *reads - 1
            }
        };
        let key = keys::key(self.spec.keys, self.spec.rows, &mut draw, sequential) as i64;
        Some((Due { kind, send, key, intended }, place))
    }

    /// When there is something to do although nothing is answered.
    fn wake(&self, sweep: Ns, flying: usize) -> Ns {
        let due = self.schedule.as_ref().filter(|_| !self.stopping && flying < self.spec.concurrency);
        let due = due.and_then(Schedule::next_at).unwrap_or(Ns::MAX);
        due.min(sweep).min(self.recorder.edge())
    }

    fn obey(&mut self, order: Option<Order>) {
        match order {
            Some(Order::Rate(rate)) => {
                let now = self.clock.now_ns();
                self.turn(now);
                if let Some(schedule) = &mut self.schedule {
                    schedule.set_rate(now, rate);
                }
                self.shared.interval(self.recorder.rate(), Some(rate));
            }
            Some(Order::Stop) | None => self.stop(""),
        }
    }

    /// Sends nothing more; a reason makes it a failure.
    fn stop(&mut self, failure: &str) {
        let now = self.clock.now_ns();
        self.turn(now);
        self.stopping = true;
        if let Some(schedule) = &mut self.schedule {
            let unsent = schedule.intended_before(now).ceil() as u64;
            let unsent = unsent.saturating_sub(self.next);
            schedule.set_rate(now, 0.0);
            if unsent > 1 {
                self.shared.note(format!("{unsent} operations were intended and not sent when it was stopped"));
            }
        }
        if !failure.is_empty() {
            self.shared.set(State::Failing, failure.to_owned());
        }
    }

    fn count(&mut self, due: Due, sent: Ns, ended: Ns, failure: Result<(), Failure>) {
        self.turn(ended);
        let Due { kind, intended, .. } = due;
        let error = failure.as_ref().err().map(|failure| failure.class);
        self.recorder.record(Ended { kind, intended, sent, ended, error });
        self.shared.operations.fetch_add(1, Ordering::Relaxed);
        match failure {
            Ok(()) => self.last_success = ended,
            Err(failure) => self.failed(ended, failure),
        }
    }

    fn failed(&mut self, now: Ns, failure: Failure) {
        self.shared.errors.fetch_add(1, Ordering::Relaxed);
        let said = || failure.said.map_or_else(|| "no answer in time".to_owned(), |error| error.to_string());
        let said = self.shared.first_words(failure.class, said);
        if !self.stopping && now.saturating_sub(self.last_success) >= HOPELESS_NS {
            let class = failure.class;
            self.stop(&format!("every operation failed for 10 s, the last one with `{class}`: {said}"));
        }
    }

    fn finish(mut self, now: Ns) {
        self.recorder.finish(now, self.schedule.as_ref());
        self.position.save();
        self.shared.end();
        if let Some(started) = self.started.take() {
            // Nobody waits when the call was abandoned.
            let _ = started.send(Ok(()));
        }
    }
}

/// All loaders of a local run are this process.
const LOADER: &str = "loader-1";

/// Two loads of one run draw other keys.
fn name_seed(name: &str) -> u64 {
    name.bytes().fold(0, |seed, byte| keys::mix(seed ^ u64::from(byte)))
}

async fn send(
    clock: Monotonic,
    wire: &Wire,
    flight: &Flight,
    place: usize,
    due: Due,
) -> (Due, Ns, Ns, Result<(), Failure>) {
    let sent = clock.now_ns();
    let result = flight.fly(place, sent, wire.send(due.send, due.key)).await;
    (due, sent, clock.now_ns(), result)
}
