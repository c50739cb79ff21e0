//! Random numbers that are the same for the same seed, step and attempt.

use crate::bindings::wfe::random::random;

/// A uniformly distributed number.
pub fn next() -> u64 {
    random::next()
}

/// A uniformly distributed number from 0 up to, and without, 1.
pub fn unit() -> f64 {
    (random::next() >> 11) as f64 / (1u64 << 53) as f64
}
