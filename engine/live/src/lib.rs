//! What touches a real database: Cassandra on this machine ([`Local`]), an existing cluster ([`Static`]), and the load
//! generator that both share.
//!
//! This crate knows nothing of workflows, plugins or journals: it answers capability calls.

mod control;
mod files;
mod local;
mod monotonic;
mod nodes;
mod operations;

pub use local::{Local, LocalOptions};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a panicked thread left behind is taken as it is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
