//! Where a value counts in the array of a recorded histogram.

use super::{HIGHEST_NS, LOWEST_NS};

/// Values below `SUB_BUCKETS << UNIT` are told apart in steps of `1 << UNIT` nanoseconds; each doubling after that has
/// `HALF` steps, twice as wide as those before.
const UNIT: u32 = LOWEST_NS.ilog2();
const SUB_BUCKETS: usize = 2_048;
const HALF: usize = SUB_BUCKETS / 2;

/// Places of the array: twice `HALF` for the values below the first doubling, `HALF` for each one after it.
pub(super) const PLACES: usize = ((HIGHEST_NS >> UNIT).ilog2() - SUB_BUCKETS.ilog2() + 3) as usize * HALF;

/// The place at which a value counts, nanoseconds; values over the bound count at it.
pub(super) fn place_of(ns: u64) -> usize {
    let ns = ns.min(HIGHEST_NS);
    let bucket = (ns >> UNIT).max(1).ilog2().saturating_sub(HALF.ilog2());
    bucket as usize * HALF + (ns >> (UNIT + bucket)) as usize
}

/// The greatest value that counts at a place.
pub(super) fn highest_at(place: usize) -> u64 {
    let bucket = (place / HALF).saturating_sub(1) as u32;
    let step = place - bucket as usize * HALF;
    ((step as u64 + 1) << (UNIT + bucket)) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::histogram;

    #[test]
    fn places_are_those_of_the_recorded_histograms() {
        assert_eq!(PLACES, histogram().distinct_values());
        assert!(place_of(u64::MAX) < PLACES);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_place(ns in prop_oneof![0u64..2_000_000, 0..=HIGHEST_NS]) {
            let place = place_of(ns);
            prop_assert_eq!(highest_at(place), histogram().highest_equivalent(ns));
            prop_assert!(place == 0 || highest_at(place - 1) < ns);
        }
    }
}
