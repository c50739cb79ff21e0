//! The steps of a plan, and which of them an event at one of them concerns.

use std::collections::HashMap;
use std::ops::Deref;

use super::PlannedStep;

/// All steps of a plan in an order in which each stands after the ones it waits for; those of `finally` last.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    all: Vec<PlannedStep>,
    places: HashMap<String, usize>,
    /// For each step, in order, those that need it or measure it.
    waiters: Vec<Vec<usize>>,
}

impl From<Vec<PlannedStep>> for Steps {
    fn from(all: Vec<PlannedStep>) -> Self {
        let places: HashMap<String, usize> =
            all.iter().enumerate().map(|(place, step)| (step.id.clone(), place)).collect();
        let mut waiters = vec![Vec::new(); all.len()];
        for (place, step) in all.iter().enumerate() {
            let needs = step.needs.iter().filter_map(|need| places.get(need));
            let during = step.during.as_ref().and_then(|during| places.get(&during.step));
            needs.chain(during).for_each(|other| waiters[*other].push(place));
        }
        Self { all, places, waiters }
    }
}

impl FromIterator<PlannedStep> for Steps {
    fn from_iter<I: IntoIterator<Item = PlannedStep>>(steps: I) -> Self {
        Vec::from_iter(steps).into()
    }
}

impl Deref for Steps {
    type Target = [PlannedStep];

    fn deref(&self) -> &[PlannedStep] {
        &self.all
    }
}

impl<'a> IntoIterator for &'a Steps {
    type Item = &'a PlannedStep;
    type IntoIter = std::slice::Iter<'a, PlannedStep>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl Steps {
    /// The place of the step with an id.
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// The step with an id.
    pub fn by_id(&self, id: &str) -> Option<&PlannedStep> {
        Some(&self.all[*self.places.get(id)?])
    }

    /// The steps that need a step or measure it, in order.
    pub(crate) fn waiters(&self, id: &str) -> impl DoubleEndedIterator<Item = &PlannedStep> {
        let waiters = self.places.get(id).map(|place| &self.waiters[*place]);
        waiters.into_iter().flatten().map(|place| &self.all[*place])
    }

    /// The places of the steps for which something else may be next when something happened to a step: itself, those that
    /// wait for it, and the background steps that may not be needed any more.
    pub(crate) fn concerned_by(&self, id: &str) -> impl Iterator<Item = usize> {
        let place = self.places.get(id).copied();
        let of = move |place: usize| {
            let accompanied = self.all[place].needs.iter().filter_map(|need| self.places.get(need));
            let background = accompanied.filter(|place| self.all[**place].background);
            std::iter::once(place).chain(self.waiters[place].iter().chain(background).copied())
        };
        place.into_iter().flat_map(of)
    }
}
