//! Recorded load as HDR log files, format 1.3: one file for each load and loader.
//!
//! Any HdrHistogram tool reads them. Each interval is one line for each kind of operation and time (`read.rt` response,
//! `read.st` service, `read.err.timeout` failed ones by class), empty histograms too, all in nanoseconds; the column of
//! the maximum is in milliseconds and exact. What the format has no place for stands in comments: the load's and the
//! loader's name in the header, and after each interval one `#[Interval: …]` line with the rest. That line also closes
//! the interval: without it the interval was torn by a crash.

mod encode;
mod logs;
mod read;

pub use encode::Writer;
pub use logs::Logs;
pub use read::{Damage, Line, Log, decode_v2, read};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::measure::{HIGHEST_NS, Interval};

/// What stands at the top of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The load's name.
    pub load: String,
    /// The loader's name.
    pub loader: String,
    /// Wall time of the run's beginning, seconds since 1970; 0 when it is not known.
    pub base_s: f64,
}

impl Header {
    /// The header's lines.
    pub fn lines(&self) -> String {
        format!(
            "#[Histogram log format version 1.3]\n#[Load: {}]\n#[Loader: {}]\n\
             #[BaseTime: {base:.3} (seconds since epoch)]\n#[StartTime: {base:.3} (seconds since epoch)]\n\
             # Histograms in nanoseconds, bound {HIGHEST_NS}; Interval_Max in milliseconds; start and length in seconds.\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
            one_line(&self.load),
            one_line(&self.loader),
            base = self.base_s,
        )
    }
}

/// The name of a loader's file in the run directory's `hdr` folder.
pub fn file_name(load: &str, loader: &str) -> String {
    let safe = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
    match (safe(load), safe(loader)) {
        (safe_load, safe_loader) if safe_load == load && safe_loader == loader => format!("{load}.{loader}.hlog"),
        // Two names may become the same when letters are replaced: the digest tells them apart.
        (safe_load, safe_loader) => {
            format!("{safe_load}.{safe_loader}.{}.hlog", crate::call::digest(load, &loader.into()))
        }
    }
}

/// What an interval's closing comment holds, as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Closing {
    from_ms: Millis,
    to_ms: Millis,
    warm_up: bool,
    asked_rate: Option<f64>,
    /// How many histogram lines the interval has.
    lines: usize,
    operations: BTreeMap<String, ClosingCounts>,
}

/// What it holds for one kind of operation.
#[derive(Debug, Serialize, Deserialize)]
struct ClosingCounts {
    share: f64,
    clamped: u64,
    errors: Vec<String>,
}

/// How the closing comment begins; a `]` ends it.
const CLOSING: &str = "#[Interval: ";

/// The lines of one interval. [`Writer`] does the same for many with less work.
pub fn lines(interval: &Interval) -> String {
    Writer::default().lines(interval)
}

/// A name as it can stand in a comment or a tag: a line break, a bracket or a comma in it would end it.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == ']' || c == ',', "_")
}
