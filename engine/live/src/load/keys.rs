//! Which operation comes next, and on which key: pure functions of a seed and the operation's number.

use std::f64::consts::TAU;

use wfe_core::capability::load::Keys;

/// A well-mixed number made of another one.
pub fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The random numbers of one operation, one after another.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// Those of operation `number` of a load with that seed.
    pub fn new(seed: u64, number: u64) -> Self {
        Self(mix(seed ^ mix(number)))
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 to below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

/// Draws a key from 0 to below `rows`; `position` is what sequential keys count.
pub fn key(keys: Keys, rows: u64, draw: &mut Draw, position: impl FnOnce() -> u64) -> u64 {
    match keys {
        Keys::Sequential => position() % rows,
        Keys::Uniform => draw.below(rows),
        Keys::Gaussian => gaussian(rows, draw),
    }
}

/// Bell-shaped around the middle, a sixth of the range as standard deviation; what falls outside is drawn again.
fn gaussian(rows: u64, draw: &mut Draw) -> u64 {
    let (middle, deviation) = (rows as f64 / 2.0, rows as f64 / 6.0);
    loop {
        let radius = (-2.0 * (1.0 - draw.unit()).ln()).sqrt();
        let value = middle + deviation * radius * (TAU * draw.unit()).cos();
        if value >= 0.0 && value < rows as f64 {
            return value as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROWS: u64 = 1_000;

    fn histogram(keys: Keys) -> Vec<u32> {
        let mut counts = vec![0; 10];
        for number in 0..20_000 {
            let key = key(keys, ROWS, &mut Draw::new(3, number), || number);
            counts[(key * 10 / ROWS) as usize] += 1;
        }
        counts
    }

    #[test]
    fn uniform_keys_are_spread_evenly() {
        assert!(histogram(Keys::Uniform).iter().all(|count| (1_850..2_150).contains(count)));
    }

    #[test]
    fn two_thirds_of_gaussian_keys_are_within_a_deviation() {
        let mut inside = 0;
        for number in 0..20_000 {
            let key = key(Keys::Gaussian, 6_000, &mut Draw::new(3, number), || 0);
            inside += u32::from((2_000..4_000).contains(&key));
        }
        let part = f64::from(inside) / 20_000.0;
        assert!((0.66..0.71).contains(&part), "{part}");
        let counts = histogram(Keys::Gaussian);
        assert!(counts[0] < 250 && counts[9] < 250 && counts[4] > 4_000 && counts[5] > 4_000, "{counts:?}");
    }

    #[test]
    fn sequential_keys_wrap_around() {
        let drawn: Vec<u64> = (3..8).map(|p| key(Keys::Sequential, 5, &mut Draw::new(0, 0), || p)).collect();
        assert_eq!(drawn, [3, 4, 0, 1, 2]);
    }

    proptest! {
        #[test]
        fn a_key_is_below_the_number_of_rows_and_the_same_again(rows in 1u64.., seed: u64, number: u64, position: u64) {
            for keys in [Keys::Sequential, Keys::Uniform, Keys::Gaussian] {
                let drawn = key(keys, rows, &mut Draw::new(seed, number), || position);
                prop_assert!(drawn < rows);
                prop_assert_eq!(drawn, key(keys, rows, &mut Draw::new(seed, number), || position));
            }
        }
    }
}
