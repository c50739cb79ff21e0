//! A plugin's own step, the clock, random numbers and the log.

use super::record;
use crate::Millis;

record! {
    /// Which attempt is this; answers [`Attempt`].
    Info {}
    /// The answer to [`Info`].
    Attempt {
        /// Id of the run.
        run: String,
        /// Name of the workflow.
        workflow: String,
        /// Id of the step.
        step: String,
        /// Counts from 1.
        number: u32,
    }
    /// The window named by `during:`; answers an optional [`Window`].
    WindowOf {}
    /// A stretch of the run's time.
    #[derive(Copy, Eq)]
    Window {
        /// Its first millisecond.
        from_ms: Millis,
        /// The millisecond after its last.
        to_ms: Millis,
    }
    /// A new phase begins.
    Phase {
        /// The phase's name.
        name: String,
    }
    /// How far the step is.
    Progress {
        /// From 0 to 1.
        fraction: Option<f64>,
        /// What it is doing.
        message: String,
    }
    /// A background step is ready.
    Ready {}
    /// Wait until asked to stop; answers whether it was.
    WaitStop {
        /// The longest wait.
        timeout_ms: u64,
    }
    /// The time; answers [`Millis`].
    Now {}
    /// Wait.
    Sleep {
        /// How long.
        ms: u64,
    }
    /// The next random number; answers `u64`.
    Random {}
    /// A line for people.
    Log {
        /// `debug`, `info`, `warn` or `error`.
        level: String,
        /// The line.
        message: String,
    }
}
