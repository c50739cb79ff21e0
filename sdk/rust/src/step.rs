//! The step itself: who it is, how far it is, and whether it should end.

use crate::Duration;
use crate::bindings::wfe::step::context;
pub use crate::bindings::wfe::step::context::Attempt;

/// A stretch of the run's time, in time since the run began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Its begin.
    pub from: Duration,
    /// Its end.
    pub to: Duration,
}

/// Which attempt of which step this is.
pub fn info() -> Attempt {
    context::info()
}

/// The window of the step or phase named by `during:`; none when the workflow names none.
pub fn window() -> Option<Window> {
    let context::TimeWindow { from_ms, to_ms } = context::window()?;
    Some(Window { from: Duration::millis(from_ms), to: Duration::millis(to_ms) })
}

/// A new phase of this step begins now; the one before it ends.
pub fn phase(name: &str) {
    context::phase(name);
}

/// Says what the step is doing, and how far it is, from 0 to 1, where that is known.
pub fn progress(fraction: impl Into<Option<f64>>, message: impl AsRef<str>) {
    context::progress(fraction.into().map(|part| part.clamp(0.0, 1.0)), message.as_ref());
}

/// A background step is ready: the steps that need it may start.
pub fn ready() {
    context::ready();
}

/// Waits until the step is asked to stop, at most so long. True when it is asked to stop.
pub fn wait_stop(timeout: Duration) -> bool {
    context::wait_stop(timeout.as_millis())
}
