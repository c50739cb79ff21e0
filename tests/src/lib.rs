//! What the whole-product tests share: workflows rehearsed in this process, and the built `wfe` binary.

pub mod real;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use wfe_core::Millis;
use wfe_core::backend::Backend;
use wfe_core::diagnostic::Source;
use wfe_core::event::Keep;
use wfe_core::plan::{Choice, Plan};
use wfe_core::workflow::Reading;
use wfe_report::Document;
use wfe_runner::journal;
use wfe_runner::plugin::{Plugins, builtin_names};
use wfe_runner::run::{Cancel, Finished, Options, Resumption, Run, Takeover, WORKFLOW};
use wfe_sim::{Faults, Sim};

/// The step `cluster`: three nodes and a loader. For `concat!`.
#[macro_export]
macro_rules! cluster {
    () => {
        "  cluster:
    uses: provision
    with:
      database: scylla 2025.2
      nodes: [{ count: 3, type: i4i.large, racks: 3 }]
      loaders: { count: 1, type: c6i.2xlarge }
    grants: { cloud: { types: [i4i.large, c6i.2xlarge], machines: 4 } }
"
    };
}

/// The top of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Changes the journal of the run in that directory, entry by entry, as somebody does who makes its checksums anew.
pub fn rewrite_journal(run: &Path, change: impl Fn(&str) -> String) {
    let contents = journal::read(run).expect("the journal is whole");
    let line = |entry| journal::sealed(&change(&serde_json::to_string(entry).expect("an entry is JSON")));
    let text: String = contents.entries.iter().map(line).collect();
    std::fs::write(run.join(journal::FILE), text).expect("the journal can be written");
}

/// The `wfe` binary beside the running test. The test command builds it first.
pub fn wfe() -> Command {
    let test = std::env::current_exe().expect("a test knows its own path");
    let built = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps").join("wfe");
    assert!(built.exists(), "{} is not built; `cargo build --release` builds it", built.display());
    let mut command = Command::new(built);
    command.env_remove("WFE_LOG").env("NO_COLOR", "1").env("CI", "true");
    command
}

/// A workflow of the repository, planned, with its plugins.
#[derive(Clone)]
pub struct Planned {
    /// The file's text.
    pub text: String,
    /// What will be run.
    pub plan: Plan,
    /// What runs it.
    pub plugins: Plugins,
}

/// Plans a workflow's text with its inputs set; it uses built-in plugins alone.
pub fn planned(text: &str, set: &[(&str, &str)]) -> Planned {
    planned_with(text, set, &[], Path::new("."))
}

/// Plans a workflow's text with its inputs set; it may use plugin files of a directory, too.
pub fn planned_with(text: &str, set: &[(&str, &str)], files: &[&str], directory: &Path) -> Planned {
    let files = files.iter().map(|file| (*file).to_owned());
    let used: BTreeSet<String> = builtin_names().map(str::to_owned).chain(files).collect();
    let plugins = rehearsal().block_on(Plugins::load(&used, directory)).expect("the plugins load");
    let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let choice = Choice { backend: "sim".into(), set, ..Choice::default() };
    let plan = rehearsal().block_on(plugins.plan(Reading::of(Source::new("test.yaml", text)), &choice));
    let plan = plan.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    Planned { text: text.to_owned(), plan, plugins }
}

/// A runtime in virtual time.
pub fn rehearsal() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime starts")
}

/// What a user chooses who chooses nothing.
pub fn options(planned: &Planned, runs: &Path, seed: u64) -> Options {
    Options {
        runs: runs.into(),
        file: "test.yaml".into(),
        source: planned.text.clone().into_bytes(),
        set: BTreeMap::new(),
        seed,
        keep: Keep::Never,
        keep_ms: 0,
        deadline_ms: None,
        backend_options: BTreeMap::new(),
        command: "wfe run test.yaml".into(),
        version: "0".into(),
        telemetry_ms: 60_000,
    }
}

/// What happens to a rehearsal from outside.
#[derive(Debug, Clone, Default)]
pub struct Trouble {
    /// The faults of its world.
    pub faults: Faults,
    /// When somebody asks it to end, milliseconds of its own time.
    pub cancelled_at: Option<Millis>,
}

impl Trouble {
    /// Somebody asks at that moment; the run is at `now`.
    fn cancel(&self, now: Millis) -> Cancel {
        let Some(at) = self.cancelled_at else { return Cancel::never() };
        let (sender, receiver) = watch::channel(None);
        let ask = move || sender.send_replace(Some("Ctrl-C".to_owned()));
        match at.checked_sub(now) {
            None | Some(0) => drop(ask()),
            Some(later) => drop(tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(later)).await;
                ask();
            })),
        }
        Cancel::new(receiver)
    }
}

/// Rehearses a plan in a new directory under `runs`.
pub fn rehearse(planned: &Planned, runs: &Path, seed: u64) -> Finished {
    rehearse_in(planned, runs, seed, &Trouble::default())
}

/// Rehearses a plan that meets with trouble.
pub fn rehearse_in(planned: &Planned, runs: &Path, seed: u64, trouble: &Trouble) -> Finished {
    let Planned { plan, plugins, .. } = planned.clone();
    let options = options(planned, runs, seed);
    rehearsal().block_on(async {
        let sim = Arc::new(Sim::new(trouble.faults.clone()));
        let run = Run::begin(plan, plugins, sim.clone(), options, Vec::new()).await.expect("the run begins");
        let finished = run.carry_out(trouble.cancel(0)).await.expect("the run ends");
        told_the_truth(&sim, &finished).await;
        finished
    })
}

/// The ledger of a run that is over says all that is left in the world, once everything there is listed.
async fn told_the_truth(sim: &Sim, finished: &Finished) {
    tokio::time::sleep(Duration::from_secs(60)).await;
    let found = sim.audit().await.expect("a rehearsal's world can be looked at");
    let left: BTreeSet<&str> = finished.state.ledger.left().map(|resource| resource.id.as_str()).collect();
    assert_eq!(found.iter().map(|found| found.id.as_str()).collect::<BTreeSet<_>>(), left, "what is left in the world");
}

/// A run's directory as a process leaves it that is killed when its journal holds these bytes.
pub fn killed(directory: &Path, journal: &[u8], planned: &Planned) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(directory.join(name), bytes).expect("a file is written");
    std::fs::create_dir_all(directory).expect("a directory is made");
    write(WORKFLOW, planned.text.as_bytes());
    write(journal::FILE, journal);
}

/// Carries on with the run in a directory, as `wfe resume` does.
pub fn resume(planned: &Planned, directory: &Path) -> Result<Finished, String> {
    resume_in(planned, directory, &Trouble::default())
}

/// Carries on with a run that meets with trouble, the same as before.
pub fn resume_in(planned: &Planned, directory: &Path, trouble: &Trouble) -> Result<Finished, String> {
    let Planned { plan, plugins, .. } = planned.clone();
    let taken = Takeover::of(directory).map_err(|e| e.to_string())?;
    let now = taken.begun.state.now;
    rehearsal().block_on(async {
        let sim = Arc::new(Sim::new(trouble.faults.clone()));
        let resumption = Resumption { telemetry_ms: 60_000, ..Resumption::default() };
        let run = Run::resume(taken, plan, plugins, sim.clone(), resumption).await;
        let finished =
            run.map_err(|e| e.to_string())?.carry_out(trouble.cancel(now)).await.map_err(|e| e.to_string())?;
        told_the_truth(&sim, &finished).await;
        Ok(finished)
    })
}

/// `result.json` of a finished run, without what differs between runs that are the same: the id and wall time.
pub fn result(finished: &Finished) -> Value {
    let document = Document::new(&finished.state, &finished.recording, &[]);
    let mut result = wfe_report::result(&document);
    for key in ["run", "started", "wall_s"] {
        result[key] = Value::Null;
    }
    result
}

/// A small file system of its own, where this process may mount one.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of that size, such as `100k`; none where that is not allowed.
    pub fn mount(path: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(path).expect("a temporary directory takes another one");
        let size = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(path.into()))
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it room.
    pub fn grow(&self) {
        let grown = Command::new("mount").args(["-o", "remount,size=16m"]).arg(&self.0).status();
        assert!(grown.is_ok_and(|status| status.success()), "a file system of this process can grow");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

/// What a user sees of a command that has ended: its exit code, what it printed, what it said on the side.
pub fn seen(command: &mut Command) -> String {
    let output = command.output().expect("wfe starts");
    let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("wfe writes UTF-8");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let section = |name: &str, text: &str| match text {
        "" => String::new(),
        text => format!("--- {name}\n{}\n", text.trim_end()),
    };
    format!("exit code {code}\n{}{}", section("stdout", &stdout), section("stderr", &stderr))
}

/// For as long as the answer lives, snapshots of this thread show names instead of what differs from run to run.
pub fn named() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    for (pattern, name) in NAMES {
        settings.add_filter(pattern, name);
    }
    settings.bind_to_scope()
}

/// What differs from run to run, and the name that stands for it.
const NAMES: [(&str, &str); 8] = [
    (r"process \d+ on [^ ]+, since [^ ]+Z", "process [pid] on [host], since [wall time]"),
    (r"/[^ \n]*/\.tmp[A-Za-z0-9]+", "[directory]"),
    (r"([a-z-]+)-\d{8}-\d{6}-[A-Za-z0-9]{4}", "$1-[stamp]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}Z|Z)?", "[wall time]"),
    (r"[0-9a-f]{64}", "[digest]"),
    (r"(size +)\d+ bytes", "$1[size]"),
    (r", byte \d+:", ", byte [n]:"),
    (r"(?m)[ \t]+$", ""),
];

/// Assembles the guest of that name in `tests/guests`. A file that is no whole module or component stands between what
/// all guests share.
pub fn assemble(name: &str) -> Vec<u8> {
    let guests = repository().join("tests/guests");
    let read = |file: &str| std::fs::read_to_string(guests.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let own = read(&format!("{name}.wat"));
    let whole = own.lines().any(|line| line.starts_with("(component") || line.starts_with("(module"));
    let text = match whole {
        true => own,
        false => {
            let tail = if own.contains("(export \"check\")") { "shared/tail_check.wat" } else { "shared/tail.wat" };
            [read("shared/head.wat"), own, read(tail)].concat()
        }
    };
    wat::parse_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}
