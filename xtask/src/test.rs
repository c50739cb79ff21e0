//! Everything that must hold: format, lints, the build, every test, the committed components.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{Result, debian, root};

/// The packages that embed wasmtime. Always tested together: another selection would give their dependencies other
/// features, and compile them again.
pub const ENGINE: [&str; 6] = ["wfe", "wfe-runner", "wfe-sim", "wfe-live", "wfe-report", "wfe-tests"];
/// The packages without it.
const LIGHT: [&str; 2] = ["wfe-core", "xtask"];
/// What the tests on a real Cassandra need, with the Debian packages that have it.
const PROGRAMS: [(&str, &str); 2] = [("java", "openjdk-17-jre-headless"), ("mvn", "maven")];

/// Runs all checks, each even when one before it failed; the error lists what failed.
pub fn test() -> Result {
    install_programs()?;
    let failed: Vec<&str> =
        checks().into_iter().filter(|(name, run)| !report(name, run())).map(|(name, _)| name).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", failed.join(", ")).into()),
    }
}

type Check = (&'static str, fn() -> Result);

fn checks() -> Vec<Check> {
    vec![
        ("format", || cargo(&["fmt", "--all", "--check"])),
        ("format of plugins", || cargo(&["fmt", "--manifest-path", "plugins/Cargo.toml", "--all", "--check"])),
        ("build", || cargo(&["build", "--release"])),
        ("engine and whole product", || packages(&["test", "--release", "--no-fail-fast"], &ENGINE, &[])),
        ("core and tasks", || packages(&["test", "--release", "--no-fail-fast"], &LIGHT, &[])),
        ("plugins", || cargo_elsewhere(&["test", "--manifest-path", "plugins/Cargo.toml", "--workspace", "--locked"])),
        ("lints", lints),
        ("committed components", crate::plugins::check),
    ]
}

/// Lints in the same two selections as the tests, so that features stay the same.
fn lints() -> Result {
    packages(&["clippy", "--release", "--all-targets"], &ENGINE, &["--", "-D", "warnings"])?;
    packages(&["clippy", "--release", "--all-targets"], &LIGHT, &["--", "-D", "warnings"])?;
    let plugins = ["clippy", "--manifest-path", "plugins/Cargo.toml", "--workspace", "--all-targets", "--locked"];
    cargo_elsewhere(&[&plugins[..], &["--", "-D", "warnings"]].concat())
}

/// Runs a task of cargo on these packages.
pub fn packages(task: &[&str], packages: &[&str], rest: &[&str]) -> Result {
    let selection: Vec<&str> = packages.iter().flat_map(|package| ["-p", package]).collect();
    cargo(&[task, &selection[..], &["--locked"], rest].concat())
}

fn cargo(arguments: &[&str]) -> Result {
    run(Command::new(env!("CARGO")).args(arguments))
}

/// With a target folder of its own: the plugins' workspace has other profiles.
fn cargo_elsewhere(arguments: &[&str]) -> Result {
    run(Command::new(env!("CARGO")).args(arguments).env("CARGO_TARGET_DIR", target().join("plugins-host")))
}

/// The target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into)
}

fn run(command: &mut Command) -> Result {
    let status = command.current_dir(root()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

fn report(name: &str, outcome: Result) -> bool {
    match &outcome {
        Ok(()) => eprintln!("--- {name}: ok"),
        Err(error) => eprintln!("--- {name}: FAILED: {error}"),
    }
    outcome.is_ok()
}

/// Installs what is missing where that is possible: as root on Debian.
fn install_programs() -> Result {
    let missing: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !debian::can_install() {
        return Err(format!("the tests on a real Cassandra need {0}: apt-get install {0}", missing.join(" ")).into());
    }
    debian::install(&missing)
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}
