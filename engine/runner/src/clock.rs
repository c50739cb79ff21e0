//! The run's clock: the one place where time comes from.
//!
//! Everything that waits, waits on tokio's timers. In a rehearsal tokio's clock is paused and jumps to the next timer as
//! soon as nothing is left to do, so hours pass in milliseconds and always in the same order.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use wfe_core::Millis;
use wfe_core::backend::Clock;

/// The clock of one life of a run.
#[derive(Debug)]
pub struct RunClock {
    begin: Instant,
    offset: Millis,
}

impl RunClock {
    /// A clock that shows `offset` now.
    pub fn starting_at(offset: Millis) -> Arc<Self> {
        Arc::new(Self { begin: Instant::now(), offset })
    }
}

impl Clock for RunClock {
    fn now(&self) -> Millis {
        self.offset + self.begin.elapsed().as_millis() as Millis
    }

    fn sleep_until(&self, moment: Millis) -> BoxFuture<'static, ()> {
        let until = self.begin + Duration::from_millis(moment.saturating_sub(self.offset));
        tokio::time::sleep_until(until).boxed()
    }
}

/// Wall time, for people and for the age of a run; nothing waits on it.
#[allow(clippy::disallowed_methods, reason = "the one place that asks for wall time")]
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// Wall time as RFC 3339 has it, in whole seconds.
pub fn wall_seconds() -> String {
    humantime::format_rfc3339_seconds(wall()).to_string()
}

/// Wall time as RFC 3339 has it, in milliseconds.
pub fn wall_millis() -> String {
    humantime::format_rfc3339_millis(wall()).to_string()
}
