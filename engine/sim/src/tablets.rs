//! Where the replicas of the table are, and how they move until the nodes are balanced.
//!
//! Tablets of one replica set are all alike, so they are only counted: a cluster of six nodes in three racks has at most
//! eight sets, whatever the number of tablets.

use std::collections::BTreeMap;

use crate::random;

/// The nodes of a replica set, one bit for each.
pub type Set = u64;

/// The most nodes that a set can name.
pub const MOST_NODES: usize = 64;

/// The nodes of a set in ascending order.
pub fn members(set: Set) -> impl Iterator<Item = usize> {
    let next = |rest: &Set| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
    std::iter::successors(Some(set).filter(|set| *set != 0), next).map(|rest| rest.trailing_zeros() as usize)
}

/// What placement has to know of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// Its part of the data is in proportion to this; 0 when it can neither give nor take.
    pub weight: f64,
    /// Counts from 1.
    pub rack: u32,
    /// How many more replicas its disk has room for.
    pub room: f64,
}

/// The tablets of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Tablets {
    /// How many there are.
    pub total: u32,
    /// Copies of each.
    pub replication: u32,
    /// How many tablets each replica set has.
    pub sets: BTreeMap<Set, u32>,
    /// Replicas on their way.
    pub moves: Vec<Move>,
}

/// One replica on its way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    /// The set that it still belongs to.
    pub set: Set,
    /// The node that sends.
    pub from: usize,
    /// The node that receives.
    pub to: usize,
    /// From 0 to 1.
    pub done: f64,
}

impl Tablets {
    /// Spreads new tablets over the nodes; none when there are fewer nodes than copies.
    pub fn place(total: u32, replication: u32, sites: &[Site], seed: u64) -> Option<Self> {
        let able = sites.iter().filter(|site| site.weight > 0.0).count();
        if replication == 0 || able < replication as usize {
            return None;
        }
        let by_rack = racks(sites) >= replication as usize;
        let mut held = vec![0.0; sites.len()];
        let mut tablets = Self { total, replication, sets: BTreeMap::new(), moves: Vec::new() };
        for number in 0..total {
            let set = pick_set(replication, sites, by_rack, &held, random::mix(seed ^ u64::from(number)));
            members(set).for_each(|node| held[node] += 1.0);
            *tablets.sets.entry(set).or_default() += 1;
        }
        Some(tablets)
    }

    /// How many tablets each of `nodes` nodes has.
    pub fn held(&self, nodes: usize) -> Vec<f64> {
        let mut held = vec![0.0; nodes];
        for (&set, &count) in &self.sets {
            members(set).for_each(|node| held[node] += f64::from(count));
        }
        held
    }

    /// Lets every node that has too much, and does not send yet, begin to send one tablet.
    pub fn start_moves(&mut self, sites: &[Site]) {
        let mut senders: Vec<usize> =
            (0..sites.len()).filter(|&node| !self.moves.iter().any(|m| m.from == node)).collect();
        let held = self.planned(sites.len());
        let load = |node: usize| held[node] / sites[node].weight;
        senders.retain(|&node| sites[node].weight > 0.0);
        senders.sort_by(|&a, &b| load(b).total_cmp(&load(a)).then(a.cmp(&b)));
        for sender in senders {
            if let Some(next) = self.next_move(sender, sites) {
                self.moves.push(next);
            }
        }
    }

    /// Carries every move on by the part of a tablet given for it; a sender that is done begins the next one at once.
    pub fn carry(&mut self, parts: &[f64], sites: &[Site]) {
        let mut moves = std::mem::take(&mut self.moves);
        for (current, part) in moves.iter_mut().zip(parts) {
            current.done += part;
        }
        self.moves = moves;
        while let Some(index) = self.moves.iter().position(|m| m.done >= 1.0) {
            let ended = self.moves.remove(index);
            self.complete(&ended);
            if let Some(next) = self.next_move(ended.from, sites) {
                self.moves.insert(index, Move { done: ended.done - 1.0, ..next });
            }
        }
    }

    /// Forgets the moves from and to a node.
    pub fn abandon(&mut self, node: usize) {
        self.moves.retain(|m| m.from != node && m.to != node);
    }

    /// The tablets once the nodes are balanced.
    pub fn balanced(&self, sites: &[Site]) -> Self {
        let mut tablets = self.clone();
        tablets.start_moves(sites);
        for _ in 0..tablets.total * tablets.replication {
            if tablets.moves.is_empty() {
                break;
            }
            let ends = vec![1.0; tablets.moves.len()];
            tablets.carry(&ends, sites);
            tablets.start_moves(sites);
        }
        tablets
    }

    fn complete(&mut self, ended: &Move) {
        if let Some(count) = self.sets.get_mut(&ended.set) {
            *count -= 1;
            if *count == 0 {
                self.sets.remove(&ended.set);
            }
            *self.sets.entry(ended.set & !(1 << ended.from) | 1 << ended.to).or_default() += 1;
        }
    }

    /// How many tablets each node has once the current moves have ended.
    fn planned(&self, nodes: usize) -> Vec<f64> {
        let mut held = self.held(nodes);
        for current in &self.moves {
            held[current.from] -= 1.0;
            held[current.to] += 1.0;
        }
        held
    }

    /// The next tablet that a node should send: while it stays above the cluster's mean, to the least loaded node that
    /// may have the tablet and stays below it.
    fn next_move(&self, from: usize, sites: &[Site]) -> Option<Move> {
        let held = self.planned(sites.len());
        let able = |node: &usize| sites[*node].weight > 0.0;
        let all = || (0..sites.len()).filter(able);
        let mean = all().map(|n| held[n]).sum::<f64>() / all().map(|n| sites[n].weight).sum::<f64>();
        let after = (held[from] - 1.0) / sites[from].weight;
        if !able(&from) || after < mean {
            return None;
        }
        let load = |node: usize| (held[node] + 1.0) / sites[node].weight;
        let mut receivers: Vec<usize> =
            all().filter(|&n| n != from && load(n) <= after && self.room(n, sites) >= 1.0).collect();
        receivers.sort_by(|&a, &b| load(a).total_cmp(&load(b)).then(a.cmp(&b)));
        receivers.iter().find_map(|&to| self.tablet_for(from, to, sites).map(|set| Move { set, from, to, done: 0.0 }))
    }

    fn room(&self, node: usize, sites: &[Site]) -> f64 {
        sites[node].room - self.moves.iter().filter(|m| m.to == node).count() as f64
    }

    /// The set with most tablets of which one may move.
    fn tablet_for(&self, from: usize, to: usize, sites: &[Site]) -> Option<Set> {
        let by_rack = racks(sites) >= self.replication as usize;
        let mut best: Option<(u32, Set)> = None;
        for (&set, &count) in &self.sets {
            let free = count - self.moves.iter().filter(|m| m.set == set).count().min(count as usize) as u32;
            let fits = set >> from & 1 == 1 && set >> to & 1 == 0 && (!by_rack || rack_allows(set, from, to, sites));
            if fits && free > best.map_or(0, |(most, _)| most) {
                best = Some((free, set));
            }
        }
        best.map(|(_, set)| set)
    }
}

fn racks(sites: &[Site]) -> usize {
    let mut racks: Vec<u32> = sites.iter().filter(|s| s.weight > 0.0).map(|s| s.rack).collect();
    racks.sort_unstable();
    racks.dedup();
    racks.len()
}

/// Whether the set still has no rack twice after the move.
fn rack_allows(set: Set, from: usize, to: usize, sites: &[Site]) -> bool {
    members(set & !(1 << from)).all(|node| sites[node].rack != sites[to].rack)
}

/// The least loaded nodes, in different racks where there are enough; `salt` decides between equal ones.
fn pick_set(replication: u32, sites: &[Site], by_rack: bool, held: &[f64], salt: u64) -> Set {
    let mut order: Vec<usize> = (0..sites.len()).filter(|&node| sites[node].weight > 0.0).collect();
    let load = |node: usize| (held[node] + 1.0) / sites[node].weight;
    order.sort_by(|&a, &b| {
        load(a).total_cmp(&load(b)).then_with(|| random::mix(salt ^ a as u64).cmp(&random::mix(salt ^ b as u64)))
    });
    let mut set: Set = 0;
    for node in order {
        let rack_used = members(set).any(|other| sites[other].rack == sites[node].rack);
        if set.count_ones() < replication && !(by_rack && rack_used) {
            set |= 1 << node;
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn site(weight: f64, rack: u32) -> Site {
        Site { weight, rack, room: 1e9 }
    }

    fn settle(tablets: &mut Tablets, sites: &[Site]) {
        tablets.start_moves(sites);
        for _ in 0..100_000 {
            if tablets.moves.is_empty() {
                return;
            }
            let parts = vec![1.0; tablets.moves.len()];
            tablets.carry(&parts, sites);
            tablets.start_moves(sites);
        }
        panic!("moves never end");
    }

    #[test]
    fn one_bigger_node_ends_with_one_full_copy() {
        let mut sites = vec![site(2.0, 1); 3];
        let mut tablets = Tablets::place(1024, 3, &sites, 1).expect("enough nodes");
        sites.push(site(4.0, 1));
        settle(&mut tablets, &sites);
        let held = tablets.held(4);
        assert_eq!(held[3], 1024.0);
        assert!(held[..3].iter().all(|&h| (h - 682.7).abs() < 2.0), "{held:?}");
    }

    #[test]
    fn three_much_bigger_nodes_get_a_full_copy_each_and_the_last_eight_ninths() {
        let mut sites = vec![site(2.0, 1); 3];
        let mut tablets = Tablets::place(1024, 3, &sites, 1).expect("enough nodes");
        for expected in [1024.0, 1024.0, 910.0] {
            sites.push(site(16.0, 1));
            settle(&mut tablets, &sites);
            let held = tablets.held(sites.len());
            assert!((held[sites.len() - 1] - expected).abs() <= 3.0, "{held:?}");
        }
    }

    #[test]
    fn racks_keep_their_copy() {
        let mut sites: Vec<Site> = (1..=3).map(|rack| site(2.0, rack)).collect();
        let mut tablets = Tablets::place(1024, 3, &sites, 1).expect("enough nodes");
        sites.extend((1..=3).map(|rack| site(16.0, rack)));
        settle(&mut tablets, &sites);
        let held = tablets.held(6);
        assert!((0..3).all(|n| held[n] + held[n + 3] == 1024.0), "{held:?}");
        assert!((0..3).all(|n| (held[n] - 114.0).abs() <= 1.0), "{held:?}");
    }

    proptest! {
        #[test]
        fn no_tablet_is_lost_or_twice_on_a_node(
            weights in prop::collection::vec(1u32..20, 3..9), racks in 1u32..5, more in 1usize..4, seed: u64,
        ) {
            let mut sites: Vec<Site> =
                weights.iter().enumerate().map(|(n, &w)| site(f64::from(w), n as u32 % racks + 1)).collect();
            let mut tablets = Tablets::place(64, 3, &sites, seed).expect("enough nodes");
            for n in 0..more {
                sites.push(site(16.0, n as u32 % racks + 1));
            }
            settle(&mut tablets, &sites);
            prop_assert_eq!(tablets.sets.values().sum::<u32>(), 64);
            prop_assert!(tablets.sets.keys().all(|set| set.count_ones() == 3));
            prop_assert_eq!(tablets.held(sites.len()).iter().sum::<f64>(), 192.0);
            prop_assert_eq!(tablets.balanced(&sites), tablets);
        }
    }
}
