//! One module for each command.

pub mod logs;
pub mod plan;
pub mod plugin;
pub mod report;
pub mod resume;
pub mod run;
pub mod runs;
pub mod schema;
pub mod show;
pub mod validate;
