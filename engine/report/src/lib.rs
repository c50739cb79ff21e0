//! What a run says to its readers.
//!
//! [`Document`] holds every fact of a run once. [`sections`] puts them into words and tables, in the order that the
//! workflow asked for; HTML, Markdown and the terminal draw those. `result.json` and `junit.xml` are for programs and
//! come from the document itself. Nothing here reads a clock; only [`write_all`] and [`load_run`] touch files.

mod bounds;
mod document;
mod files;
mod html;
mod json;
mod junit;
mod markdown;
pub mod sections;
mod story;
mod summary;
mod telemetry;

pub use document::{Document, Step, StepStatus, Window};
pub use files::{LoadedRun, load_run, load_telemetry, write_all};
pub use html::html;
pub use json::{json, result};
pub use junit::junit;
pub use markdown::markdown;
pub use story::{Series, Story};
pub use summary::summary;
pub use telemetry::TelemetrySample;
