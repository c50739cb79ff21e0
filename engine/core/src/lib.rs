//! What a run *is*: its workflow, its plan, its events, its state and its verdict.
//!
//! Nothing here does I/O, knows a runtime or reads a clock: time comes in as [`Millis`] of the run's clock, the world
//! answers through [`backend::Backend`], and everything else is a pure function, so that it can be tested as one.

pub mod backend;
pub mod call;
pub mod capability;
pub mod catalog;
pub mod diagnostic;
pub mod error;
pub mod event;
pub mod hlog;
pub mod ledger;
pub mod limits;
pub mod measure;
pub mod plan;
pub mod quantity;
pub mod state;
pub mod verdict;
pub mod workflow;

pub use call::Call;
pub use error::CallError;
pub use event::{Entry, Event};

/// Milliseconds since the run began, on the run's clock.
pub type Millis = u64;
