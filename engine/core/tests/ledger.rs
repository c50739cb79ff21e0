//! The ledger against a world that loses answers: whatever happens, an audit leaves the truth in it.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;
use wfe_core::backend::Found;
use wfe_core::call::{Class, digest};
use wfe_core::event::{CallId, Outcome, ResourceState};
use wfe_core::ledger::{Ledger, MACHINE};
use wfe_core::{CallError, Event};

const RUN: &str = "run-1";

/// What happens next in the world.
#[derive(Debug, Clone)]
enum Step {
    /// Machines are asked for, so many of them come to be, and the answer arrives or does not. Some are not listed yet.
    Create { asked: u32, made: u32, answer: Answer, listed: u32 },
    /// What was not listed is from now on.
    Appear,
    /// A machine is given back by a plugin.
    Terminate(prop::sample::Index),
    /// A machine is given back, the cloud says so, and the machine stays.
    Pretend(prop::sample::Index),
    /// Somebody makes a machine with the run's tag by hand.
    Foreign,
    /// The engine looks while calls may be on their way.
    Audit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    Good,
    Error,
    Never,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let answer = prop_oneof![2 => Just(Answer::Good), 1 => Just(Answer::Error), 1 => Just(Answer::Never)];
    let create = (1u32..4, 0u32..4, answer, 0u32..4).prop_map(|(asked, made, answer, listed)| match answer {
        Answer::Good => Step::Create { asked, made: asked, answer, listed },
        _ => Step::Create { asked, made: made.min(asked), answer, listed },
    });
    let step = prop_oneof![
        4 => create,
        2 => any::<prop::sample::Index>().prop_map(Step::Terminate),
        1 => any::<prop::sample::Index>().prop_map(Step::Pretend),
        1 => Just(Step::Foreign),
        1 => Just(Step::Appear),
        1 => Just(Step::Audit),
    ];
    prop::collection::vec(step, 0..20)
}

/// The world and the ledger that is told of it.
#[derive(Default)]
struct Told {
    ledger: Ledger,
    /// Id and key of all machines that exist.
    machines: BTreeMap<String, String>,
    /// The ids of those that are not listed yet.
    hidden: BTreeSet<String>,
    /// The ids of those that the cloud said to have taken back.
    pretended: BTreeSet<String>,
    calls: u64,
}

impl Told {
    fn apply(&mut self, event: Event) {
        self.ledger.apply(self.calls, &event);
    }

    fn call(&mut self, name: &str, arguments: serde_json::Value) -> CallId {
        self.calls += 1;
        let digest = digest(name, &arguments);
        let (step, name, class) = ("cluster".to_owned(), name.to_owned(), Class::IdempotentWrite);
        CallId { step, attempt: 1, call: self.calls, name, class, digest, arguments, asked_at: 0 }
    }

    fn play(&mut self, step: &Step) {
        match step {
            Step::Create { asked, made, answer, listed } => self.create(*asked, *made, *answer, *listed),
            Step::Appear => self.hidden.clear(),
            Step::Terminate(_) | Step::Pretend(_) if self.machines.is_empty() => {}
            Step::Terminate(which) => {
                let id = self.terminated(which);
                self.machines.remove(&id);
            }
            Step::Pretend(which) => {
                let id = self.terminated(which);
                self.pretended.insert(id);
            }
            Step::Foreign => drop(self.machines.insert(format!("foreign-{}", self.calls), String::new())),
            Step::Audit => self.audit(),
        }
    }

    /// A machine of which the cloud says that it took it back.
    fn terminated(&mut self, which: &prop::sample::Index) -> String {
        let ids: Vec<String> = self.machines.keys().cloned().collect();
        let id = which.get(&ids).clone();
        let call = self.call("cloud/machines.terminate", json!({ "ids": [id] }));
        self.apply(Event::CallAnswered { id: call, answer: Ok(json!(null)) });
        id
    }

    fn create(&mut self, asked: u32, made: u32, answer: Answer, listed: u32) {
        let request = json!({ "role": "database", "machine-type": "t", "count": asked, "racks": 1 });
        let call = self.call("cloud/machines.create", json!({ "request": request }));
        self.apply(Event::CallIntended(call.clone()));
        let ids: Vec<String> = (0..made).map(|n| format!("m-{}-{n}", self.calls)).collect();
        self.machines.extend(ids.iter().map(|id| (id.clone(), call.key(RUN))));
        self.hidden.extend(ids.iter().skip(listed as usize).cloned());
        let machine = |id: &String| json!({ "id": id, "role": "database", "machine-type": "t", "rack": 1, "state": "pending", "address": "" });
        let answer = match answer {
            Answer::Good => Ok(json!(ids.iter().map(machine).collect::<Vec<_>>())),
            Answer::Error => Err(CallError::infrastructure("lost", "the connection broke")),
            Answer::Never => return,
        };
        self.apply(Event::CallAnswered { id: call, answer });
    }

    fn audit(&mut self) {
        let found = |(id, key): (&String, &String)| {
            let (kind, description) = (MACHINE.to_owned(), "t".to_owned());
            Found { kind, id: id.clone(), description, key: key.clone() }
        };
        let listed = self.machines.iter().filter(|(id, _)| !self.hidden.contains(*id));
        let found = listed.map(found).collect();
        self.apply(Event::Audited { found });
    }

    fn in_ledger(&self, foreign: bool) -> BTreeSet<&str> {
        let state = |state| if foreign { state == ResourceState::Foreign } else { state == ResourceState::Live };
        self.ledger.resources().filter(|r| state(r.state)).map(|r| r.id.as_str()).collect()
    }

    fn in_world(&self, foreign: bool) -> BTreeSet<&str> {
        self.machines.iter().filter(|(_, key)| key.is_empty() == foreign).map(|(id, _)| id.as_str()).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Nothing of the run's own is missed, nothing foreign is taken for its own, and nothing is left in doubt.
    #[test]
    fn an_audit_finds_the_truth(steps in steps()) {
        let mut told = Told { ledger: Ledger::of(RUN), ..Told::default() };
        for step in &steps {
            told.play(step);
            // What exists is announced at least, or it is known that it may yet be found.
            let keys: BTreeSet<&str> = told.ledger.left().map(|r| r.key.as_str()).collect();
            let unknown = told.machines.iter().find(|(id, key)| {
                !key.is_empty() && !keys.contains(key.as_str()) && !told.pretended.contains(*id)
            });
            prop_assert!(unknown.is_none() || told.ledger.in_doubt_since(None).is_some());
        }
        let (step, outcome) = ("cluster".to_owned(), Outcome::Succeeded { outputs: json!({}) });
        told.apply(Event::AttemptEnded { step, attempt: 1, outcome, cut: false });
        told.audit();
        let (known, pretended) = (told.in_ledger(false), &told.pretended);
        let missed = told.in_world(false).into_iter().any(|id| !known.contains(id) && !pretended.contains(id));
        prop_assert!(!missed || told.ledger.in_doubt_since(Some("cluster")).is_some());
        told.hidden.clear();
        told.audit();
        prop_assert_eq!(told.in_ledger(false), told.in_world(false));
        let foreign = told.in_world(true);
        prop_assert!(told.in_ledger(true).is_superset(&foreign));
        prop_assert_eq!(told.ledger.unsettled().filter(|r| foreign.contains(r.id.as_str())).count(), 0);
    }
}
