//! How often an operation visits each node: as coordinator, as a read, as a write.

use crate::calibration::Driver;
use crate::tablets::{Set, Tablets, members};

/// The least weight of a busy node among its replicas.
const LEAST_WEIGHT: f64 = 0.02;

/// Expected visits of one operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visits {
    /// As coordinator, by node.
    pub coordinator: Vec<f64>,
    /// Of a read, by node.
    pub read: Vec<f64>,
    /// Of a write, by node.
    pub write: Vec<f64>,
    /// Part of the operations for which too few replicas are there.
    pub failed: f64,
    /// Replicas that a write misses.
    pub missed: f64,
}

/// Who answers: how many replicas must, which are there, and how coordinators are picked.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// How many replicas must answer.
    pub quorum: u32,
    /// The nodes that are there.
    pub up: Set,
    /// How coordinators are picked.
    pub driver: Driver,
    /// How busy each node is, from 0 to 1.
    pub busy: &'a [f64],
}

impl Rules<'_> {
    /// The chance of each replica of a set to coordinate.
    fn coordinators(&self, alive: Set) -> impl Iterator<Item = (usize, f64)> {
        let weight = |node: usize| match self.driver {
            Driver::Busy => (1.0 - self.busy[node]).max(LEAST_WEIGHT),
            Driver::Even => 1.0,
        };
        let all: f64 = members(alive).map(weight).sum();
        members(alive).map(move |node| (node, weight(node) / all))
    }

    /// The visits of one operation.
    pub fn visits(&self, tablets: &Tablets) -> Visits {
        let nodes = self.busy.len();
        let zero = || vec![0.0; nodes];
        let mut visits = Visits { coordinator: zero(), read: zero(), write: zero(), failed: 0.0, missed: 0.0 };
        for (&set, &count) in &tablets.sets {
            self.add(&mut visits, set, f64::from(count) / f64::from(tablets.total));
        }
        visits
    }

    fn add(&self, visits: &mut Visits, set: Set, weight: f64) {
        let alive = set & self.up;
        let there = alive.count_ones();
        let answered = there >= self.quorum;
        if !answered {
            visits.failed += weight;
        }
        if there == 0 {
            return;
        }
        let others = if there > 1 { f64::from(self.quorum.saturating_sub(1)) / f64::from(there - 1) } else { 0.0 };
        for (node, chance) in self.coordinators(alive) {
            visits.coordinator[node] += weight * chance;
            if answered {
                visits.read[node] += weight * (chance + (1.0 - chance) * others);
                visits.write[node] += weight;
            }
        }
        if answered {
            visits.missed += weight * f64::from(set.count_ones() - there);
        }
    }

    /// The replica sets that answer writes, with their weights.
    pub fn write_sets(&self, tablets: &Tablets) -> Vec<(Set, f64)> {
        let sets = tablets.sets.iter().map(|(&set, &count)| (set & self.up, f64::from(count)));
        normal(sets.filter(|(alive, _)| alive.count_ones() >= self.quorum).collect())
    }

    /// The groups of replicas that reads ask, with their weights.
    pub fn read_groups(&self, tablets: &Tablets) -> Vec<(Set, f64)> {
        let mut groups: Vec<(Set, f64)> = Vec::new();
        for (set, weight) in self.write_sets(tablets) {
            let coordinators: Vec<(usize, f64)> = self.coordinators(set).collect();
            let choices = binomial(set.count_ones() - 1, self.quorum.saturating_sub(1));
            for group in subsets(set, self.quorum) {
                let chance: f64 = coordinators.iter().filter(|(node, _)| group >> node & 1 == 1).map(|(_, c)| c).sum();
                let part = weight * chance / choices;
                match groups.iter_mut().find(|(known, _)| *known == group) {
                    Some((_, sum)) => *sum += part,
                    None => groups.push((group, part)),
                }
            }
        }
        groups
    }
}

fn normal(mut sets: Vec<(Set, f64)>) -> Vec<(Set, f64)> {
    let all: f64 = sets.iter().map(|(_, weight)| weight).sum();
    sets.iter_mut().for_each(|(_, weight)| *weight /= all);
    sets
}

/// All subsets of a set with so many members.
fn subsets(set: Set, size: u32) -> Vec<Set> {
    let mut found: Vec<Set> = vec![0];
    for node in members(set) {
        let with: Vec<Set> = found.iter().filter(|s| s.count_ones() < size).map(|s| s | 1 << node).collect();
        found.extend(with);
    }
    found.retain(|s| s.count_ones() == size);
    found
}

fn binomial(n: u32, k: u32) -> f64 {
    (0..k).fold(1.0, |product, i| product * f64::from(n - i) / f64::from(i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tablets::Site;

    #[test]
    fn three_equal_nodes_share_evenly() {
        let site = Site { weight: 1.0, rack: 1, room: 1e9 };
        let tablets = Tablets::place(16, 3, &[site; 3], 0).expect("enough nodes");
        let rules = Rules { quorum: 2, up: 0b111, driver: Driver::Busy, busy: &[0.0; 3] };
        let visits = rules.visits(&tablets);
        assert!(visits.read.iter().all(|r| (r - 2.0 / 3.0).abs() < 1e-12), "{visits:?}");
        assert_eq!((visits.write, visits.failed), (vec![1.0; 3], 0.0));
        assert_eq!(rules.read_groups(&tablets).len(), 3);
        let alone = Rules { up: 0b001, ..rules };
        assert_eq!(alone.visits(&tablets).failed, 1.0);
    }

    #[test]
    fn groups_agree_with_visits() {
        let sites: Vec<Site> = (0..6).map(|n| Site { weight: 1.0 + f64::from(n), rack: 1, room: 1e9 }).collect();
        let tablets = Tablets::place(256, 5, &sites, 3).expect("enough nodes");
        let busy = [0.9, 0.1, 0.5, 0.0, 0.99, 0.3];
        let rules = Rules { quorum: 3, up: 0b111111, driver: Driver::Busy, busy: &busy };
        let groups = rules.read_groups(&tablets);
        let visits = rules.visits(&tablets);
        for node in 0..6 {
            let sum: f64 = groups.iter().filter(|(g, _)| g >> node & 1 == 1).map(|(_, w)| w).sum();
            assert!((sum - visits.read[node]).abs() < 1e-9);
        }
    }
}
