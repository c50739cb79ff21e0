//! Everything that must hold: format, lints, the build, every test, the committed components.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{Result, debian, root};

/// The packages that embed wasmtime. Always tested together: another selection would give their dependencies other
/// features, and compile them again.
pub const ENGINE: [&str; 6] = ["wfe", "wfe-runner", "wfe-sim", "wfe-live", "wfe-report", "wfe-tests"];
/// The packages without it.
const LIGHT: [&str; 2] = ["wfe-core", "xtask"];
/// What the tests need beside Rust: a real Cassandra needs Java and Maven, the report a browser. Each with the argument
/// for which it says its version, and the Debian package that has it.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("java", "-version", "openjdk-17-jre-headless"),
    ("mvn", "--version", "maven"),
    ("chromium", "--version", "chromium"),
];

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
        ("plugins", plugins),
        ("lints", lints),
        ("committed components", crate::plugins::check),
    ]
}

/// Tests of the plugins' logic on this machine, and of what the SDK has for tests, which runs the `wfe` built before.
fn plugins() -> Result {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--manifest-path", "plugins/Cargo.toml", "--workspace", "--locked"]);
    run(cargo.env("CARGO_TARGET_DIR", elsewhere()).env("WFE", std::path::absolute(target().join("release/wfe"))?))
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
    run(Command::new(env!("CARGO")).args(arguments).env("CARGO_TARGET_DIR", elsewhere()))
}

fn elsewhere() -> PathBuf {
    target().join("plugins-host")
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
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    if !debian::can_install() {
        return Err(format!("the tests need {0}: apt-get install {0}", missing.join(" ")).into());
    }
    debian::install(&missing)?;
    let left = self::missing();
    match left.is_empty() {
        true => Ok(()),
        false => Err(format!("{} is installed, but another one is first on the path", left.join(" ")).into()),
    }
}

/// The packages of the programs that are not there.
fn missing() -> Vec<&'static str> {
    let lacking = PROGRAMS.iter().filter(|(program, argument, _)| !is_there(program, argument));
    lacking.map(|(_, _, package)| *package).collect()
}

fn is_there(program: &str, argument: &str) -> bool {
    let said = said_by(program, argument);
    if program == "java" { is_java(&said) } else { !said.is_empty() }
}

/// What a program says of itself; nothing when it does not start.
fn said_by(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).stdin(Stdio::null()).output();
    output
        .map_or(String::new(), |output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// Whether that is said by a Java on which the tests' Cassandra runs.
fn is_java(said: &str) -> bool {
    let version = said.split_once(" version \"").and_then(|(_, rest)| rest.split(['.', '-', '"']).next());
    version == Some("17")
}

#[cfg(test)]
mod tests {
    use super::is_java;

    #[test]
    fn java_of_another_version_is_not_taken() {
        assert!(is_java("Picked up X\nopenjdk version \"17.0.15\" 2025-04-15\n"));
        assert!(is_java("openjdk version \"17\" 2021-09-14"));
        for other in ["", "java version \"1.8.0_402\"", "openjdk version \"11.0.2\"", "openjdk version \"21-ea\" 2023"]
        {
            assert!(!is_java(other), "{other}");
        }
    }
}
