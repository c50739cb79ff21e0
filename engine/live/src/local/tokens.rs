//! Which parts of the ring a node owns. Chosen here and not by the nodes: nodes that start together cannot see each other's
//! choice, and a small cluster with random tokens is lopsided.

/// Tokens that each node has.
pub const TOKENS: usize = 16;

/// The tokens of a new node in a rack whose nodes have `taken`: each halves the largest gap that is left. `rack` counts
/// from 1 and moves the first node's tokens, so that racks do not share one.
pub fn choose(taken: &[i64], rack: u32) -> Vec<i64> {
    if taken.is_empty() {
        return first(rack);
    }
    let mut ring = taken.to_vec();
    ring.sort_unstable();
    let mut chosen = Vec::with_capacity(TOKENS);
    while chosen.len() < TOKENS {
        let (at, gap) = largest_gap(&ring);
        let token = ring[at].wrapping_add((gap / 2) as i64);
        chosen.push(token);
        let place = ring.partition_point(|other| *other < token);
        ring.insert(place, token);
    }
    chosen
}

fn first(rack: u32) -> Vec<i64> {
    let step = u64::MAX / TOKENS as u64;
    // An odd number of a prime's size: no two racks meet, whatever is halved later.
    let shift = u64::from(rack).wrapping_mul(1_000_000_007 * 65_537);
    (0..TOKENS as u64).map(|n| i64::MIN.wrapping_add((shift % step + n * step) as i64)).collect()
}

/// Where the largest gap begins, and its length; the first one when several are equal.
fn largest_gap(ring: &[i64]) -> (usize, u64) {
    let gap = |at: usize| {
        let next = ring[(at + 1) % ring.len()];
        if ring.len() == 1 { u64::MAX } else { next.wrapping_sub(ring[at]) as u64 }
    };
    let mut best = (0, gap(0));
    for at in 1..ring.len() {
        if gap(at) > best.1 {
            best = (at, gap(at));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn owned(ring: &[(i64, usize)], node: usize) -> f64 {
        let mut sorted = ring.to_vec();
        sorted.sort_unstable();
        let mut sum = 0.0;
        for at in 0..sorted.len() {
            let before = sorted[(at + sorted.len() - 1) % sorted.len()].0;
            if sorted[at].1 == node {
                sum += sorted[at].0.wrapping_sub(before) as u64 as f64;
            }
        }
        sum / u64::MAX as f64
    }

    proptest! {
        #[test]
        fn no_token_is_given_twice(racks in prop::collection::vec(1u32..=6, 1..20)) {
            let mut all = BTreeSet::new();
            let mut by_rack = vec![Vec::new(); 7];
            for rack in racks {
                let tokens = choose(&by_rack[rack as usize], rack);
                prop_assert_eq!(tokens.len(), TOKENS);
                for token in &tokens {
                    prop_assert!(all.insert(*token), "token {} is there twice", token);
                }
                by_rack[rack as usize].extend(tokens);
            }
        }
    }

    #[test]
    fn a_second_node_of_a_rack_takes_half() {
        let first = choose(&[], 2);
        let second = choose(&first, 2);
        let ring: Vec<_> = first.iter().map(|t| (*t, 0)).chain(second.iter().map(|t| (*t, 1))).collect();
        assert!((owned(&ring, 0) - 0.5).abs() < 0.01, "{}", owned(&ring, 0));
        assert!((owned(&ring, 1) - 0.5).abs() < 0.01, "{}", owned(&ring, 1));
    }
}
