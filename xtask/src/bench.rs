//! Measures what must be fast. Figures, not assertions: machines differ and are noisy.

use std::process::Command;

use crate::test::{ENGINE, packages, target};
use crate::{Result, root};

/// Builds the measurements with the packages of the tests, so that nothing is compiled twice, and runs them.
pub fn bench() -> Result {
    packages(&["build", "--release"], &ENGINE, &["--bin", "wfe", "--example", "bench"])?;
    let status = Command::new(target().join("release/examples/bench")).current_dir(root()).status()?;
    if status.success() { Ok(()) } else { Err(format!("the measurements ended with {status}").into()) }
}
