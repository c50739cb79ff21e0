//! Repository tasks: `cargo xtask TASK`.

mod bench;
mod debian;
mod plugins;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

/// What a task answers; its error is a sentence for people.
type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
Usage: cargo xtask TASK

Tasks:
  test              Check everything: format, lints, all tests, a real Cassandra's too, the committed components
  bench             Measure what a rehearsal and a journaled call cost
  plugin FOLDER     Build the plugin in a folder into a component beside its Cargo.toml
  plugins           Build the built-in plugins into plugins/components
  plugins --check   Build them elsewhere and compare: fails when the committed ones are not what the sources give";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = match &arguments[..] {
        ["test"] => test::test(),
        ["bench"] => bench::bench(),
        ["plugin", folder] => plugins::one::build(folder.as_ref()),
        ["plugins"] => plugins::build(),
        ["plugins", "--check"] => plugins::check(),
        [] | ["-h" | "--help" | "help"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("there is no task `{}`\n\n{USAGE}", arguments.join(" ")).into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's folder.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository").to_owned()
}
