//! Random numbers that depend on what they are for and on nothing else: never on the order of calls.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The random numbers of one purpose; `index` tells its occasions apart.
pub fn stream(seed: u64, purpose: &str, index: u64) -> ChaCha8Rng {
    let named = purpose.bytes().fold(seed, |hash, byte| mix(hash ^ u64::from(byte)));
    ChaCha8Rng::seed_from_u64(mix(named ^ mix(index)))
}

/// A number between 0 and 1, both excluded.
pub fn uniform(random: &mut ChaCha8Rng) -> f64 {
    random.random::<f64>().clamp(1e-12, 1.0 - 1e-12)
}

/// A factor with median 1 and that sigma.
pub fn lognormal(random: &mut ChaCha8Rng, sigma: f64) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    let angle = std::f64::consts::TAU * uniform(random);
    (sigma * radius * angle.cos()).exp()
}

/// Spreads every bit over all bits (the finaliser of SplitMix64).
pub fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
