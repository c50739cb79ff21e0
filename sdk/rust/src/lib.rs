//! Write a step for `wfe` workflows: a parameters struct, a function and one macro.
//!
//! # A first step
//!
//! A plugin is a library that is compiled to WebAssembly. Its `Cargo.toml`:
//!
//! ```toml
//! [package]
//! name = "wait-for-space"
//! version = "0.1.0"
//! edition = "2024"
//!
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! serde = { version = "1", features = ["derive"] }
//! schemars = "1"
//! wfe-sdk = { path = "../wfe/sdk/rust" }
//!
//! [profile.release]
//! opt-level = "s"
//! lto = true
//! panic = "abort"
//! strip = true
//! ```
//!
//! And all of its `src/lib.rs`: a step that waits until no disk of the cluster is fuller than it may be.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use wfe_sdk::{Duration, Error, Percent, Result, clock, cluster, step};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Parameters {
//!     /// No disk may be fuller than this.
//!     below: Percent,
//!     /// The longest wait.
//!     timeout: Duration,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Outputs {
//!     /// How long it took.
//!     waited: Duration,
//! }
//!
//! fn wait_for_space(p: Parameters) -> Result<Outputs> {
//!     let start = clock::now();
//!     loop {
//!         let fullest = cluster::nodes()?.iter().map(|node| node.used_percent()).fold(0.0, f64::max);
//!         let waited = Duration(clock::now().0 - start.0);
//!         if fullest <= p.below.0 {
//!             return Ok(Outputs { waited });
//!         }
//!         if waited > p.timeout {
//!             let message = format!("the fullest disk is still at {} after {waited}", Percent(fullest));
//!             return Err(Error::timeout("no-space", message));
//!         }
//!         step::progress(None, format!("the fullest disk is at {}", Percent(fullest)));
//!         clock::sleep(Duration::seconds(10.0));
//!     }
//! }
//!
//! wfe_sdk::plugin! {
//!     "wait-for-space": wait_for_space, "Waits until there is space on every disk."
//! }
//! # fn main() {}
//! ```
//!
//! `cargo xtask plugin ../wait-for-space`, in the folder of `wfe`, builds it into `../wait-for-space/wait-for-space.wasm`.
//! A workflow names that file by its path from the workflow's folder, and grants what the plugin may touch. The parameters are written with their units, and a mistake in
//! them is found before anything runs:
//!
//! ```yaml
//! room:
//!   uses: ./wait-for-space.wasm
//!   with: { below: 80 %, timeout: 10m }
//!   grants: { cluster: true }
//! ```
//!
//! What the types cannot say, a check says: it refuses parameters when the workflow is planned, at their place in the file.
//!
//! ```
//! # use serde::{Deserialize, Serialize};
//! # use schemars::JsonSchema;
//! # use wfe_sdk::{Duration, Percent, Result};
//! # #[derive(Deserialize, JsonSchema)] #[serde(deny_unknown_fields)]
//! # struct Parameters { below: Percent, timeout: Duration }
//! # fn wait_for_space(_: Parameters) -> Result<()> { Ok(()) }
//! use wfe_sdk::check::Check;
//!
//! fn check(p: &Parameters, check: &mut Check) {
//!     if p.below.0 <= 0.0 || p.below.0 > 100.0 {
//!         check.refuse(["/below"], format!("no disk can be kept below {}", p.below));
//!     }
//! }
//!
//! wfe_sdk::plugin! {
//!     "wait-for-space": wait_for_space, "Waits until there is space on every disk.", check: check
//! }
//! # fn main() {}
//! ```
//!
//! Bounds of one number are better said in the schema: `#[schemars(range(min = 1))]`. Checks are for the rest, such as two
//! parameters that contradict each other, or more machines than the step's `grants` allow: [`check`] has both.
//!
//! `wfe plugin test FILE` rehearses a workflow that uses the plugin, kills the rehearsal after every call and resumes it:
//! the step must end in the same way each time. `wfe replay RUN STEP --plugin FILE` runs another build of a plugin against
//! what happened in a run, offline, and says where it asks something else. Both are functions for tests, too: `testing`.
//!
//! # What to know
//!
//! * A step is an ordinary function. It may run for hours: when the engine is killed and resumed, the function runs
//!   again from its beginning and gets the answers that it got before, up to where it was. So it must do the same when
//!   it is answered the same, which it does: the only clock is [`clock`], the only randomness is [`random`].
//! * [`Error`] is a value. A capability answers one, `?` passes it on, and its kind decides the run's verdict. A panic
//!   is a bug of the plugin: it is logged, and the step ends as broken.
//! * A component can ask for just the functions that the plugin calls, and the workflow's `grants` say what is allowed.
//!   Clock, random, log, histograms, reports, observation and the lists of machines come free. A plugin from a file needs
//!   `cluster: true` for [`cluster`], `load: true` for [`loads`], `cloud: { types, machines }` to create or terminate
//!   [`machines`], and `cql: { keyspaces }` for [`cql`].
//! * The `path` of `wfe-sdk` leads to the folder `sdk/rust` of wherever `wfe` was cloned to.
//! * Quantities ([`Duration`], [`Rate`], [`Bytes`], [`Percent`]) are plain numbers with a unit in their schema.
//! * Poll slowly: each call is kept in the run's journal.
//! * Names in the contract are kebab-case; fields of parameters are `snake_case`, as they stand in Rust.

// The macros name this crate from outside and from its own examples alike.
extern crate self as wfe_sdk;

#[doc(hidden)]
pub mod bindings;
pub mod check;
pub mod clock;
pub mod cluster;
pub mod cql;
mod error;
pub mod events;
pub mod histograms;
pub mod loads;
pub mod log;
pub mod machines;
pub mod measurements;
mod obtain;
pub mod operations;
mod plugin;
mod quantity;
pub mod random;
pub mod report;
pub mod step;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use error::{Error, Result, kind};
pub use quantity::{Bytes, Database, Duration, MachineType, Percent, Rate};

/// What [`plugin!`] needs; no part of the API.
#[doc(hidden)]
pub mod __private {
    pub use wit_bindgen::rt;

    pub use crate::bindings::exports::wfe::step::plugin::Guest;
    pub use crate::bindings::wfe::types::types::Error as ContractError;
    #[cfg(target_arch = "wasm32")]
    pub use crate::bindings::{self, export_plugin};
    pub use crate::plugin::{Kind, describe, no_such_kind, prepare, run};
}
