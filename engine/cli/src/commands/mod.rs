//! One module for each command.

pub mod cancel;
pub mod cleanup;
pub mod logs;
pub mod plan;
pub mod plugin;
pub mod plugin_test;
pub mod replay;
pub mod report;
pub mod resume;
pub mod run;
pub mod runs;
pub mod schema;
pub mod show;
pub mod validate;
