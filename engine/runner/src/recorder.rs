//! Records events: journal first, then the state, then the reporters. Nothing else changes the state of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use wfe_core::backend::Clock;
use wfe_core::state::{Due, FoldError, RunState};
use wfe_core::{Entry, Event, Millis};

use crate::journal::{Journal, JournalError};

/// Turns events into something for an audience.
pub trait Reporter: Send {
    /// An event was recorded; `state` already holds it.
    fn recorded(&mut self, entry: &Entry, state: &RunState);
}

/// An event that could not be recorded; the run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The journal cannot take it.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal's entries make no sense.
    #[error(transparent)]
    Fold(#[from] FoldError),
}

impl RecordError {
    /// Whether the event alone is to blame: nothing was written, and the run can go on with a smaller one.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::Journal(JournalError::TooLarge { .. }))
    }
}

/// The one door through which facts enter a run.
pub struct Recorder {
    journal: Journal,
    clock: Arc<dyn Clock>,
    inner: Mutex<Inner>,
    changed: Notify,
}

struct Inner {
    state: RunState,
    reporters: Vec<Box<dyn Reporter>>,
    due: Due,
}

impl Recorder {
    /// Begins a run: `event` is its first.
    pub fn begin(
        journal: Journal,
        clock: Arc<dyn Clock>,
        event: Event,
        reporters: Vec<Box<dyn Reporter>>,
    ) -> Result<Self, RecordError> {
        let entry = Entry { n: 0, at: clock.now(), event };
        journal.write(&entry)?;
        let recorder = Self::carry_on(journal, clock, RunState::begin(&entry)?, reporters);
        recorder.lock().report(&entry);
        Ok(recorder)
    }

    /// Carries on with a run whose journal gave `state`.
    pub fn carry_on(
        journal: Journal,
        clock: Arc<dyn Clock>,
        state: RunState,
        reporters: Vec<Box<dyn Reporter>>,
    ) -> Self {
        let inner = Inner { state, reporters, due: Due::all() };
        Self { journal, clock, inner: Mutex::new(inner), changed: Notify::new() }
    }

    /// Records an event now.
    pub fn record(&self, event: Event) -> Result<Millis, RecordError> {
        let mut inner = self.lock();
        let entry = Entry { n: inner.state.next_n, at: self.clock.now(), event };
        let was_full = self.is_full();
        self.journal.write(&entry)?;
        inner.state.apply(&entry)?;
        inner.report(&entry);
        inner.due.note(&entry.event);
        if !inner.due.is_nothing() || self.is_full() != was_full {
            self.changed.notify_one();
        }
        Ok(entry.at)
    }

    /// Records an event and answers when it is on the disk.
    pub async fn record_durably(&self, event: Event) -> Result<Millis, RecordError> {
        let at = self.record(event)?;
        self.journal.sync().await?;
        Ok(at)
    }

    /// Whether the journal's disk was full, and only the room reserved for the run's end is left.
    pub fn is_full(&self) -> bool {
        self.journal.is_full()
    }

    /// The run is over: no room has to be reserved for it any more.
    pub fn release(&self) {
        self.journal.release();
    }

    /// Looks at the state.
    pub fn with_state<T>(&self, look: impl FnOnce(&RunState) -> T) -> T {
        look(&self.lock().state)
    }

    /// Something else may be next for a step, although nothing was recorded.
    pub fn make_due(&self, step: &str) {
        self.lock().due.step(step);
    }

    /// The steps for which something else may be next since the last time that this was asked.
    pub fn take_due(&self) -> Due {
        std::mem::take(&mut self.lock().due)
    }

    /// Answers after something was recorded, since the last time it answered, that may change what is next.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn report(&mut self, entry: &Entry) {
        for reporter in &mut self.reporters {
            reporter.recorded(entry, &self.state);
        }
    }
}
