//! The run's clock: real time on real backends, virtual time in a rehearsal. There is no other one.

use crate::Duration;
use crate::bindings::wfe::clock::clock;

/// The time since the run began.
pub fn now() -> Duration {
    Duration::millis(clock::now())
}

/// Waits. A resumed run waits for what is left.
pub fn sleep(duration: Duration) {
    clock::sleep(duration.as_millis());
}
