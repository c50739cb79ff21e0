//! The two clocks of the machine that this crate needs: the only place that reads them.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock in nanoseconds that never goes back, for load threads: the run's clock counts milliseconds and is behind a
/// trait object, too coarse and too slow to time single requests.
#[derive(Debug, Clone, Copy)]
pub struct Monotonic {
    zero: Instant,
}

impl Monotonic {
    /// A clock that shows 0 now.
    #[allow(clippy::disallowed_methods, reason = "a load thread times requests in nanoseconds")]
    pub fn start() -> Self {
        Self { zero: Instant::now() }
    }

    /// Nanoseconds since it was started.
    #[allow(clippy::disallowed_methods, reason = "a load thread times requests in nanoseconds")]
    pub fn now_ns(&self) -> u64 {
        u64::try_from(Instant::now().duration_since(self.zero).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Milliseconds since 1970 in UTC, for one thing alone: to place a database's log lines on the run's clock.
#[allow(clippy::disallowed_methods, reason = "a database's log carries wall time")]
pub fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
