//! The order of steps, over random graphs.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::catalog::{mistakes, plan};

/// A workflow of `count` steps in a shuffled order, with some of the edges from higher to lower numbers.
fn workflow(order: &[usize], edges: &BTreeSet<(usize, usize)>) -> String {
    let mut text = "name: a\nsteps:\n".to_owned();
    for step in order {
        let needs: Vec<_> = edges.iter().filter(|edge| edge.0 == *step).map(|edge| format!("s{}", edge.1)).collect();
        text.push_str(&format!("  s{step}: {{ uses: report, needs: [{}] }}\n", needs.join(", ")));
    }
    text
}

fn dags() -> impl Strategy<Value = (Vec<usize>, BTreeSet<(usize, usize)>)> {
    (2_usize..15).prop_flat_map(|count| {
        let order = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
        let edge = (1..count).prop_flat_map(|from| (Just(from), 0..from));
        (order, prop::collection::btree_set(edge, 0..30))
    })
}

#[test]
fn the_order_of_the_file_breaks_ties() {
    let plan = plan("name: a\nsteps:\n  c: { uses: report }\n  b: { uses: report, needs: a }\n  a: { uses: report }\nfinally:\n  z: { uses: report }\n").unwrap();
    let order: Vec<_> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(order, ["c", "a", "b", "z"]);
}

proptest! {
    #[test]
    fn every_step_stands_after_those_it_needs((order, edges) in dags()) {
        let plan = plan(&workflow(&order, &edges)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(plan.steps.len(), order.len());
        let place = |number: usize| plan.steps.iter().position(|step| step.id == format!("s{number}"));
        for (from, to) in edges {
            let (need, step) = (place(to), place(from));
            prop_assert!(need < step);
        }
    }

    #[test]
    fn a_closed_circle_is_found((order, mut edges) in dags()) {
        let last = order.len() - 1;
        edges.extend((1..=last).map(|step| (step, step - 1)));
        edges.insert((0, last));
        let wrong = mistakes(&workflow(&order, &edges));
        prop_assert!(wrong.contains("these steps wait for each other: s"), "{}", wrong);
    }
}
