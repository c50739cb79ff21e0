//! Makes a run happen: the plugin host, the journal, the run's clock and the loop that decides, records and acts.
//!
//! ```no_run
//! # async fn example(plan: wfe_core::plan::Plan, plugins: wfe_runner::plugin::Plugins,
//! #     backend: std::sync::Arc<dyn wfe_core::backend::Backend>, options: wfe_runner::run::Options)
//! #     -> Result<(), wfe_runner::run::RunError> {
//! let run = wfe_runner::run::Run::begin(plan, plugins, backend, options, Vec::new()).await?;
//! let finished = run.carry_out(wfe_runner::run::Cancel::never()).await?;
//! println!("{:?}", finished.state.ended);
//! # Ok(())
//! # }
//! ```

pub mod begun;
pub mod clock;
pub mod directory;
pub mod host;
pub mod journal;
pub mod owner;
pub mod plugin;
pub mod recorder;
pub mod recording;
pub mod run;
pub mod telemetry;
