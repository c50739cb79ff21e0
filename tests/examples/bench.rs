//! What a rehearsal and a journaled call cost on this machine: `cargo xtask bench`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use wfe_runner::journal::FILE;
use wfe_runner::run::WORKFLOW;
use wfe_tests::{Planned, assemble, planned, rehearse, repository, resume, wfe};

/// Calls that the guest `limits_calls` makes before it is ended.
const CALLS: u32 = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workflow = repository().join("workflows/elasticity.yaml");
    let plan = planned(&fs::read_to_string(&workflow)?, &[]);
    let runs = tempfile::tempdir()?;
    let mut entries = 0;
    let rehearsal = median(5, || entries = rehearse(&plan, runs.path(), 1).state.next_n);
    println!("rehearsal of elasticity, {entries} journal entries  {:8.0} ms", rehearsal.as_secs_f64() * 1e3);

    let resume = median(5, || resume_half(&plan, runs.path()));
    println!("a resume of it, killed half way                  {:8.0} ms", resume.as_secs_f64() * 1e3);

    let process = median(5, || whole_process(&["run", &workflow.to_string_lossy()], runs.path()));
    println!("the same as a process, with its reports          {:8.0} ms", process.as_secs_f64() * 1e3);

    let guest = runs.path().join("guest");
    fs::create_dir(&guest)?;
    fs::write(guest.join("guest.wasm"), assemble("limits_calls"))?;
    fs::write(guest.join("guest.yaml"), "name: calls\nsteps:\n  step:\n    uses: ./guest.wasm\n")?;
    let calls = median(3, || whole_process(&["run", "guest.yaml"], &guest));
    println!(
        "a journaled call that does nothing                {:8.2} µs",
        calls.as_secs_f64() * 1e6 / f64::from(CALLS)
    );
    Ok(())
}

/// Resumes the first run in a directory as if its process had died half way.
fn resume_half(plan: &Planned, runs: &Path) {
    let whole = fs::read_dir(runs).ok().and_then(|mut found| found.next()?.ok()).expect("a run was rehearsed").path();
    let journal = fs::read(whole.join(FILE)).expect("it has a journal");
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let killed = tempfile::tempdir().expect("a directory");
    fs::write(killed.path().join(WORKFLOW), &plan.text).expect("it can be written");
    fs::write(killed.path().join(FILE), lines[..lines.len() / 2].concat()).expect("it can be written");
    resume(plan, killed.path()).expect("it can be resumed");
}

fn whole_process(arguments: &[&str], directory: &Path) {
    let status = wfe().args(arguments).current_dir(directory).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.code().is_some()), "wfe {arguments:?} does not end");
}

/// The median of several times, after one that is not counted.
fn median(times: usize, mut work: impl FnMut()) -> Duration {
    work();
    let mut taken: Vec<Duration> = (0..times)
        .map(|_| {
            #[allow(clippy::disallowed_methods, reason = "a measurement is about real time")]
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    taken.sort();
    taken[times / 2]
}
