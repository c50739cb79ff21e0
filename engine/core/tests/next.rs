//! The order of a run, played through without any I/O: random graphs, random outcomes, random cancels.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use wfe_core::call::Class;
use wfe_core::catalog::Plugin;
use wfe_core::event::{CallId, FORMAT, Keep, Outcome, RunStarted};
use wfe_core::plan::{Grants, Plan, PlannedStep, Retry, Template};
use wfe_core::state::{Action, Due, RunState};
use wfe_core::verdict::Verdict;
use wfe_core::{CallError, Entry, Event};

/// What a step's attempts do.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Succeeds,
    FailsProduct,
    FailsOnce,
    FailsWhenReady,
    AlwaysLosesItsMachine,
}

#[derive(Debug, Clone)]
struct StepShape {
    needs: Vec<Index>,
    background: bool,
    finally: bool,
    fate: Fate,
    attempts: u32,
}

#[derive(Debug, Clone)]
struct Shape {
    steps: Vec<StepShape>,
    cancel_after: Option<usize>,
    order: Vec<Index>,
}

fn step_shapes() -> impl Strategy<Value = StepShape> {
    let fate = prop_oneof![
        3 => Just(Fate::Succeeds),
        1 => Just(Fate::FailsProduct),
        1 => Just(Fate::FailsOnce),
        1 => Just(Fate::FailsWhenReady),
        1 => Just(Fate::AlwaysLosesItsMachine),
    ];
    let needs = prop::collection::vec(any::<Index>(), 0..3);
    (needs, prop::bool::weighted(0.25), prop::bool::weighted(0.2), fate, 1u32..4).prop_map(
        |(needs, background, finally, fate, attempts)| StepShape { needs, background, finally, fate, attempts },
    )
}

fn shapes() -> impl Strategy<Value = Shape> {
    let steps = prop::collection::vec(step_shapes(), 1..9);
    (steps, prop::option::weighted(0.3, 0usize..20), prop::collection::vec(any::<Index>(), 64))
        .prop_map(|(steps, cancel_after, order)| Shape { steps, cancel_after, order })
}

fn id(index: usize) -> String {
    format!("s{index}")
}

fn plan(shape: &Shape) -> Plan {
    let steps = shape.steps.iter().enumerate().map(|(index, step)| {
        let earlier: Vec<usize> = (0..index).filter(|other| shape.steps[*other].finally == step.finally).collect();
        let needs = step.needs.iter().filter(|_| !earlier.is_empty()).map(|pick| id(*pick.get(&earlier)));
        PlannedStep {
            id: id(index),
            uses: "anything".into(),
            plugin: Arc::new(Plugin {
                name: "anything".into(),
                digest: String::new(),
                imports: BTreeSet::new(),
                size: 0,
            }),
            needs: needs.collect(),
            background: step.background,
            during: None,
            finally: step.finally,
            parameters: Template(json!({})),
            grants: Grants::default(),
            limits: Vec::new(),
            timeout_ms: None,
            retry: Retry { attempts: step.attempts, backoff_ms: 10 },
        }
    });
    Plan {
        name: "random".into(),
        description: String::new(),
        digest: String::new(),
        profile: None,
        inputs: BTreeMap::new(),
        steps: steps.collect(),
        deadline_ms: None,
    }
}

fn started() -> Event {
    Event::RunStarted(Box::new(RunStarted {
        format: FORMAT,
        run: "r".into(),
        wfe: "0".into(),
        wall: "2026-01-01T00:00:00Z".into(),
        workflow: "random".into(),
        description: String::new(),
        file: "random.yaml".into(),
        workflow_digest: String::new(),
        backend: "sim".into(),
        simulated: true,
        profile: None,
        inputs: BTreeMap::new(),
        set: BTreeMap::new(),
        seed: 1,
        keep: Keep::Never,
        keep_ms: 0,
        deadline_ms: None,
        backend_options: BTreeMap::new(),
        plugins: Vec::new(),
        steps: Vec::new(),
        environment: Vec::new(),
        command: String::new(),
    }))
}

/// A runner without a world: it records what it is told to, and attempts end as their fates say.
struct Player<'a> {
    plan: &'a Plan,
    shape: &'a Shape,
    state: RunState,
    entries: Vec<Entry>,
    running: Vec<(String, u32)>,
    /// Steps that wait to be tried again, and those of them whose moment has come.
    waiting: Vec<String>,
    timely: BTreeSet<String>,
    stopping: BTreeSet<String>,
    starts: Vec<(String, u32)>,
    due: Due,
}

impl<'a> Player<'a> {
    fn new(plan: &'a Plan, shape: &'a Shape) -> Self {
        let first = Entry { n: 0, at: 0, event: started() };
        let state = RunState::begin(&first).unwrap();
        let (running, waiting, timely) = (Vec::new(), Vec::new(), BTreeSet::new());
        let (stopping, starts, entries) = (BTreeSet::new(), Vec::new(), vec![first]);
        Self { plan, shape, state, entries, running, waiting, timely, stopping, starts, due: Due::all() }
    }

    fn record(&mut self, event: Event) {
        let entry = Entry { n: self.state.next_n, at: self.state.next_n * 100, event };
        self.state.apply(&entry).unwrap();
        self.due.note(&entry.event);
        self.entries.push(entry);
    }

    fn shape_of(&self, step: &str) -> &StepShape {
        &self.shape.steps[step[1..].parse::<usize>().unwrap()]
    }

    /// Plays to the end.
    fn play(&mut self) {
        for round in 0..500 {
            if self.shape.cancel_after == Some(round) {
                self.record(Event::CancelRequested { reason: "test".into(), broken: false });
            }
            let actions = self.next();
            if actions.contains(&Action::End) {
                assert!(self.running.is_empty(), "the run ends while {:?} run", self.running);
                return;
            }
            let mut acted = false;
            for action in actions {
                acted |= self.act(action);
            }
            if !acted {
                self.go_on(round);
            }
        }
        panic!("the run does not end: {:?}", self.entries);
    }

    /// What the latest events ask for is what the whole state asks for.
    fn next(&mut self) -> Vec<Action> {
        let mut all = self.state.next(self.plan, &Due::all());
        all.retain(|action| !self.waits(action));
        let mut due = self.state.next(self.plan, &std::mem::take(&mut self.due));
        due.retain(|action| !self.waits(action));
        if due.is_empty() && self.running.is_empty() {
            return all;
        }
        assert_eq!(due, all);
        due
    }

    /// Whether an action starts an attempt that waits already.
    fn waits(&self, action: &Action) -> bool {
        matches!(action, Action::Start { step, .. } if self.waiting.contains(step))
    }

    fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Start { step, attempt, .. } if attempt > 1 && !self.timely.remove(&step) => {
                self.waiting.push(step);
                return false;
            }
            Action::Start { step, attempt, .. } => self.start(step, attempt),
            Action::Stop { step } => {
                self.stopping.insert(step.clone());
                self.record(Event::StopRequested { step });
            }
            Action::Abort { step, error } => {
                let place = self.running.iter().position(|(running, _)| *running == step);
                let (step, attempt) = self.running.remove(place.expect("only what runs is aborted"));
                self.record(Event::AttemptEnded { step, attempt, outcome: Outcome::Failed { error }, cut: true });
            }
            Action::Skip { step, reason } => self.record(Event::StepSkipped { step, reason }),
            Action::BeginFinally => self.record(Event::FinallyStarted),
            Action::End => return false,
        }
        true
    }

    fn start(&mut self, step: String, attempt: u32) {
        assert!(!self.starts.contains(&(step.clone(), attempt)), "{step} attempt {attempt} starts twice");
        assert!(!self.running.iter().any(|(running, _)| *running == step), "{step} runs twice at the same time");
        for need in &self.plan.step(&step).unwrap().needs {
            let needed = self.state.attempt(need).unwrap_or_else(|| panic!("{step} starts before {need}"));
            match self.shape_of(need).background {
                true => assert!(needed.ready.is_some() && needed.outcome.is_none(), "{step} starts without {need}"),
                false => assert!(matches!(needed.outcome, Some(Outcome::Succeeded { .. })), "{step} before {need}"),
            }
        }
        self.starts.push((step.clone(), attempt));
        self.running.push((step.clone(), attempt));
        self.stopping.remove(&step);
        self.record(Event::AttemptStarted { step: step.clone(), attempt, parameters: json!({}), window: None });
        if self.shape_of(&step).background && matches!(self.shape_of(&step).fate, Fate::Succeeds | Fate::FailsWhenReady)
        {
            self.record(Event::CallAnswered { id: ready(&step, attempt), answer: Ok(Value::Null) });
        }
    }

    /// The moment comes to try a step again, or an attempt ends that can end by itself; which, the shape picks.
    fn go_on(&mut self, round: usize) {
        if !self.waiting.is_empty() && round.is_multiple_of(2) {
            let step = self.waiting.remove(self.shape.order[round % 64].index(self.waiting.len()));
            self.due.step(&step);
            self.timely.insert(step);
            return;
        }
        if self.running.iter().any(|(step, _)| self.ends_by_itself(step)) || self.waiting.is_empty() {
            self.end_one(round);
        }
    }

    /// Ends one attempt that can end by itself, picked by the shape.
    fn end_one(&mut self, round: usize) {
        let able: Vec<usize> =
            (0..self.running.len()).filter(|place| self.ends_by_itself(&self.running[*place].0)).collect();
        assert!(!able.is_empty(), "nothing can go on: {:?}", self.running);
        let (step, attempt) = self.running.remove(*self.shape.order[round % 64].get(&able));
        let outcome = match (self.shape_of(&step).fate, attempt) {
            (Fate::Succeeds, _) | (Fate::FailsOnce, 2..) => Outcome::Succeeded { outputs: json!({}) },
            (Fate::FailsProduct, _) => Outcome::Failed { error: CallError::product("p", "the product failed") },
            _ => Outcome::Failed { error: CallError::infrastructure("i", "a machine is lost") },
        };
        self.record(Event::AttemptEnded { step, attempt, outcome, cut: false });
    }

    fn ends_by_itself(&self, step: &str) -> bool {
        let shape = self.shape_of(step);
        !shape.background || self.stopping.contains(step) || shape.fate != Fate::Succeeds
    }
}

fn ready(step: &str, attempt: u32) -> CallId {
    CallId {
        step: step.into(),
        attempt,
        call: 0,
        name: "step/context.ready".into(),
        class: Class::Observe,
        digest: String::new(),
        arguments: json!({}),
        asked_at: 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every run ends; no step starts before its needs or twice; each step ended or was skipped; `finally` ran.
    #[test]
    fn every_run_ends_in_order(shape in shapes()) {
        let plan = plan(&shape);
        let mut player = Player::new(&plan, &shape);
        player.play();
        for step in &plan.steps {
            let state = player.state.steps.get(&step.id);
            let over = state.is_some_and(|state| {
                state.skipped.is_some() || state.attempts.last().is_some_and(|attempt| attempt.outcome.is_some())
            });
            prop_assert!(over, "{} was forgotten", step.id);
            if step.finally && step.needs.is_empty() {
                prop_assert!(player.state.attempt(&step.id).is_some(), "{} under finally did not run", step.id);
            }
            prop_assert!(state.map_or(0, |state| state.attempts.len()) <= step.retry.attempts as usize);
        }
        let (verdict, reasons) = player.state.judge(&plan, &[]);
        prop_assert_eq!(verdict == Verdict::Pass, reasons.is_empty());
        prop_assert_eq!(verdict == Verdict::Cancelled, player.state.cancelled.is_some());
    }

    /// The state is the fold of the events as they stand in a file.
    #[test]
    fn the_file_holds_the_state(shape in shapes()) {
        let plan = plan(&shape);
        let mut player = Player::new(&plan, &shape);
        player.play();
        let lines: Vec<String> = player.entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
        let read: Vec<Entry> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(RunState::fold(&read).unwrap(), player.state);
    }
}
