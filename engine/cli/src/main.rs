//! The command line: arguments in, a report or a clear message out, an exit code that says how it went.

#[macro_use]
mod output;

mod args;
mod backends;
mod begun;
mod commands;
mod failure;
mod journal_lines;
mod progress;
mod schema_text;
mod signals;
mod spool;
mod workflow;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Cli, Command, PluginCommand};
use failure::Failure;

const WELCOME: &str = "\
wfe runs tests of distributed databases from YAML files.

  wfe run workflows/elasticity.yaml     rehearse the shipped test: hours pass in a second, nothing is spent
  wfe plan workflows/elasticity.yaml    see its steps, what it would create, how long it takes, what it costs
  wfe run workflows/elasticity.yaml --backend local
                                        run it for real, on Apache Cassandra on this machine
  wfe validate FILE                     find all mistakes of a workflow of your own
  wfe plugin list                       see the kinds of step there are

`wfe --help` lists all commands, `wfe COMMAND --help` explains one.
";

fn main() -> ExitCode {
    init_tracing();
    let code = dispatch(Cli::parse()).unwrap_or_else(|failure| {
        errln!("{}", failure.message);
        failure.code
    });
    match output::finish() {
        Some(error) => {
            errln!("error: stdout cannot be written: {error}");
            ExitCode::from(code.max(failure::INFRASTRUCTURE))
        }
        None => ExitCode::from(code),
    }
}

/// Warnings of the engine itself go to stderr; `WFE_LOG` asks for more.
fn init_tracing() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("WFE_LOG").unwrap_or_else(|_| {
        tracing_subscriber::EnvFilter::new("off,wfe=warn,wfe_runner=warn,wfe_live=warn,wfe_sim=warn")
    });
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| output::Log)
        .without_time()
        .with_target(false)
        .init();
}

fn dispatch(cli: Cli) -> Result<u8, Failure> {
    let Some(command) = cli.command else {
        out!("{WELCOME}");
        return Ok(0);
    };
    match command {
        Command::Run(args) => commands::run::run(args),
        Command::Resume(args) => commands::resume::resume(args),
        Command::Cancel(args) => commands::cancel::cancel(args),
        Command::Cleanup(args) => commands::cleanup::cleanup(args),
        Command::Validate(args) => commands::validate::validate(args),
        Command::Plan(args) => commands::plan::plan(args),
        Command::Runs(args) => commands::runs::runs(args),
        Command::Show(args) => commands::show::show(args),
        Command::Report(args) => commands::report::report(args),
        Command::Logs(args) => commands::logs::logs(args),
        Command::Replay(args) => commands::replay::replay(args),
        Command::Plugin { command: PluginCommand::List } => commands::plugin::list(),
        Command::Plugin { command: PluginCommand::Test(args) } => commands::plugin_test::test(args),
        Command::Plugin { command: PluginCommand::Inspect { plugin, json } } => {
            commands::plugin::inspect(&plugin, json)
        }
        Command::Schema => commands::schema::schema(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "wfe", &mut script);
            out!("{}", String::from_utf8_lossy(&script));
            Ok(0)
        }
    }
}

/// A runtime for everything that this process does. In a rehearsal its clock stands still but for its timers.
fn runtime(simulated: bool) -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(simulated)
        .build()
        .map_err(|e| Failure::infrastructure(format!("the runtime does not start: {e}")))
}
