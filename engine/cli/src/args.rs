//! The command line as the user typed it.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use wfe_core::event::Keep;

/// Runs tests of distributed databases from YAML files: rehearsed in a second, resumed after a crash.
#[derive(Debug, Parser)]
#[command(name = "wfe", version, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

const EXIT_CODES: &str = "Exit codes: 0 passed, 1 failed, 2 the request is wrong, 3 inconclusive (numbers are missing), \
                          4 infrastructure, 130 cancelled.";

/// The commands.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub enum Command {
    /// Validate, plan, run and report a workflow.
    Run(RunArgs),
    /// Find all mistakes of workflows, without using any capability.
    Validate(ValidateArgs),
    /// Show the steps of a workflow in order, what it would create, how long it takes and what it costs.
    Plan(PlanArgs),
    /// Carry on with a run whose process is gone.
    Resume(ResumeArgs),
    /// End a run in order: `finally` runs, machines are given back. Carries on with a run whose process is gone for that.
    Cancel(CancelArgs),
    /// Give back what runs left behind: kept machines, leaked ones, everything of a run whose process is gone.
    Cleanup(CleanupArgs),
    /// List the runs.
    Runs(RunsArgs),
    /// Show the state of a run.
    Show(ShowArgs),
    /// Show what a run said.
    Logs(LogsArgs),
    /// Make the report of a run again, from its journal and logs alone.
    Report(ShowArgs),
    /// Run a step's plugin again, offline, against the calls that the journal holds.
    Replay(ReplayArgs),
    /// Look at plugins.
    Plugin {
        /// What to do with them.
        #[command(subcommand)]
        command: PluginCommand,
    },
    /// Print the JSON Schema of workflow files, for editors.
    Schema,
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Where runs are kept when nobody says where.
pub const RUNS: &str = ".wfe/runs";

/// Where runs are kept.
#[derive(Debug, Clone, Args)]
pub struct RunsDir {
    /// The directory of runs.
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs_dir: PathBuf,
}

/// What a command has to be told besides a run's name to find it in that directory of runs; begins with a space.
pub fn runs_option(runs: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    match absolute(runs) == absolute(Path::new(RUNS)) {
        true => String::new(),
        false => format!(" --runs-dir {}", runs.display()),
    }
}

/// What decides the values of a workflow.
#[derive(Debug, Clone, Args)]
pub struct ChoiceArgs {
    /// What answers the plugins' calls.
    #[arg(long, value_enum, default_value_t = BackendName::Sim)]
    pub backend: BackendName,
    /// Values for one place, from the workflow's `profiles`. Without it, the profile with the backend's name.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Sets an input.
    #[arg(long, value_name = "INPUT=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
}

/// The backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// A simulated cloud and cluster in virtual time. Nothing is spent.
    Sim,
    /// Apache Cassandra on this machine.
    Local,
    /// An existing cluster, by `--contact-point`.
    Static,
}

impl BackendName {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Local => "local",
            Self::Static => "static",
        }
    }
}

/// How a backend is reached.
#[derive(Debug, Clone, Args)]
pub struct BackendArgs {
    /// An address of the existing cluster, with `--backend static`; may be repeated.
    #[arg(long = "contact-point", value_name = "HOST[:PORT]")]
    pub contact_points: Vec<String>,
    /// Who logs in, with `--backend static`; the password is taken from the environment variable WFE_PASSWORD.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Faults that the simulated world has, as a YAML file; `--help` shows them.
    #[arg(long, value_name = "FILE", long_help = faults_help())]
    pub faults: Option<PathBuf>,
}

fn faults_help() -> String {
    let example: String = wfe_sim::FAULTS_EXAMPLE.lines().map(|line| format!("\n  {line}")).collect();
    format!(
        "Faults that the simulated world has, as a YAML file with a list. Times are seconds since the run began; machines \
         count from i-0001, joins, loaders and calls from 1. The run and its report say which never struck:\n{example}"
    )
}

/// `wfe run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The workflow.
    pub file: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub backend: BackendArgs,
    /// The seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What happens to machines at the end.
    #[arg(long, value_enum, default_value_t = KeepName::Never)]
    pub keep: KeepName,
    /// How long kept machines are wanted; the moment is written on them.
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    pub keep_for: String,
    /// The longest the run may take, such as `8h`; `finally` comes after it.
    #[arg(long, value_name = "DURATION")]
    pub deadline: Option<String>,
    /// Print `result.json` instead of the summary.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub runs: RunsDir,
}

/// The values of `--keep`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum KeepName {
    /// Give them back.
    Never,
    /// Keep them when the verdict is not pass.
    OnFailure,
    /// Keep them.
    Always,
}

impl From<KeepName> for Keep {
    fn from(name: KeepName) -> Self {
        match name {
            KeepName::Never => Self::Never,
            KeepName::OnFailure => Self::OnFailure,
            KeepName::Always => Self::Always,
        }
    }
}

/// `wfe validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The workflows.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub choice: ChoiceArgs,
    /// Print the mistakes as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `wfe plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The workflow.
    pub file: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub choice: ChoiceArgs,
    /// Print the graph for Graphviz.
    #[arg(long)]
    pub dot: bool,
    /// The seed of the rehearsal that durations and costs come from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// `wfe cancel`.
#[derive(Debug, Args)]
pub struct CancelArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub run: RunName,
    /// Print `result.json` instead of the summary, when the run is ended here.
    #[arg(long)]
    pub json: bool,
}

/// `wfe resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub run: RunName,
    /// Try this step of an ended run again, with what depends on it; other steps keep their outputs. The run's machines
    /// must still be there (`--keep on-failure`).
    #[arg(long, value_name = "STEP")]
    pub retry: Option<String>,
    /// Print `result.json` instead of the summary.
    #[arg(long)]
    pub json: bool,
}

/// `wfe cleanup`.
#[derive(Debug, Args)]
pub struct CleanupArgs {
    /// An id, a unique prefix of one, or `last`.
    #[arg(required_unless_present = "expired")]
    pub run: Option<String>,
    /// All runs whose kept machines are past the time of `--keep-for`.
    #[arg(long, conflicts_with = "run")]
    pub expired: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub runs: RunsDir,
}

/// `wfe replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub run: RunName,
    /// The step.
    pub step: String,
    /// Which attempt, from 1; without it, the last one.
    #[arg(long)]
    pub attempt: Option<u32>,
    /// Another build of the plugin.
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Print what came of it as JSON, without the calls.
    #[arg(long)]
    pub json: bool,
}

/// Which run.
#[derive(Debug, Args)]
pub struct RunName {
    /// An id, a unique prefix of one, or `last`.
    #[arg(default_value = "last")]
    pub run: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub runs: RunsDir,
}

/// `wfe runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub runs: RunsDir,
    /// Print a JSON array.
    #[arg(long)]
    pub json: bool,
}

/// `wfe show` and `wfe report`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub run: RunName,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `wfe logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented where it is declared")]
    pub run: RunName,
    /// Only this step's lines.
    pub step: Option<String>,
    /// Go on with new lines until the run is over.
    #[arg(long, short)]
    pub follow: bool,
}

/// `wfe plugin`.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// List the built-in plugins.
    List,
    /// Rehearse a workflow that uses a plugin, kill the rehearsal after every journal entry and resume it: each step must
    /// end in the same way every time. Fails where a plugin depends on anything but its parameters and its answers.
    Test(PluginTestArgs),
    /// Show what a plugin takes, gives and can ask for.
    Inspect {
        /// The name of a built-in plugin, or a component's file.
        plugin: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// `wfe plugin test`.
#[derive(Debug, Args)]
pub struct PluginTestArgs {
    /// A workflow that uses the plugin; a small one, because it is rehearsed once for each of its journal's entries.
    pub file: PathBuf,
    /// Values for one place, from the workflow's `profiles`.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Sets an input.
    #[arg(long, value_name = "INPUT=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// The seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write INPUT=VALUE")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}
