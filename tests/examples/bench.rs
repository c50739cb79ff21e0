//! What a rehearsal, a step and a journaled call cost on this machine, and what memory a long run takes: `cargo xtask bench`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wfe_runner::journal::FILE;
use wfe_runner::run::{Cancel, Run, WORKFLOW};
use wfe_tests::real::Real;
use wfe_tests::{Planned, assemble, options, planned, planned_with, rehearse, repository, resume, wfe};

/// Calls that the guest `asks` makes.
const CALLS: u32 = 100_000;
/// Steps of a large workflow.
const STEPS: u32 = 10_000;
/// Steps that are recorded durably, at most so many at the same time.
const DURABLE: (u32, u32) = (1_000, 50);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    rehearsals()?;
    memory()?;
    calls()?;
    steps()?;
    durable_steps()?;
    Ok(())
}

fn tell(what: &str, cost: f64, unit: &str) {
    println!("{what:56}{cost:10.2} {unit}");
}

fn rehearsals() -> Result<(), Box<dyn std::error::Error>> {
    let workflow = repository().join("workflows/elasticity.yaml");
    let plan = planned(&fs::read_to_string(&workflow)?, &[]);
    let runs = tempfile::tempdir()?;
    let mut entries = 0;
    let rehearsal = median(5, || entries = rehearse(&plan, runs.path(), 1).state.next_n);
    tell(&format!("rehearsal of elasticity, {entries} journal entries"), millis(rehearsal), "ms");
    let resume = median(5, || resume_half(&plan, runs.path()));
    tell("a resume of it, killed half way", millis(resume), "ms");
    let process = median(5, || whole_process(&["run", &workflow.to_string_lossy()], runs.path()));
    tell("the same as a process, with its reports", millis(process), "ms");
    Ok(())
}

/// The most memory that a process takes for runs of a day and of five.
fn memory() -> Result<(), Box<dyn std::error::Error>> {
    let workflow = repository().join("workflows/elasticity.yaml");
    let runs = tempfile::tempdir()?;
    for hours in [24, 120] {
        let steady = format!("steady={hours}h");
        let mut long = wfe();
        long.args(["run", &workflow.to_string_lossy(), "--set", &steady]).current_dir(runs.path());
        let mut process = long.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let status = format!("/proc/{}/status", process.id());
        let mut most = 0.0;
        while process.try_wait()?.is_none() {
            most = f64::max(most, peak_mib(&fs::read_to_string(&status).unwrap_or_default()));
            std::thread::yield_now();
        }
        tell(&format!("memory of a rehearsal of elasticity with {hours} h"), most, "MiB");
    }
    Ok(())
}

/// The peak of a process's memory in what Linux says of it.
fn peak_mib(status: &str) -> f64 {
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|kib| kib.trim().trim_end_matches(" kB").parse().ok()).map_or(0.0, |kib: f64| kib / 1024.0)
}

/// A journaled call, and the resume of a run that made many.
fn calls() -> Result<(), Box<dyn std::error::Error>> {
    let place = place_with("asks")?;
    fs::write(place.path().join("calls.yaml"), "name: calls\nsteps:\n  step:\n    uses: ./asks.wasm\n")?;
    let calls = median(3, || whole_process(&["run", "calls.yaml"], place.path()));
    tell("a journaled call that does nothing", micros(calls) / f64::from(CALLS), "µs");
    let runs = place.path().join(".wfe/runs");
    let run = fs::read_dir(&runs)?.next().ok_or("a run was rehearsed")??.path();
    let whole = fs::read(run.join(FILE))?;
    let resume = median(3, || {
        fs::write(run.join(FILE), without_its_end(&whole)).expect("it can be written");
        let id = run.file_name().unwrap_or_default().to_string_lossy();
        whole_process(&["resume", &id], place.path());
    });
    tell(&format!("a resume after {CALLS} calls, as a process"), millis(resume), "ms");
    Ok(())
}

/// A journal whose process died when the last attempt was about to end.
fn without_its_end(journal: &[u8]) -> Vec<u8> {
    let lines = journal.split_inclusive(|byte| *byte == b'\n');
    let before = |line: &&[u8]| !line.windows(15).any(|part| part == b"\"attempt-ended\"");
    lines.take_while(before).collect::<Vec<_>>().concat()
}

/// Validation and rehearsal of a large workflow.
fn steps() -> Result<(), Box<dyn std::error::Error>> {
    let place = place_with("ends")?;
    let chain = |n: u32| match n {
        0 => "  s0: { uses: ./ends.wasm }\n".to_owned(),
        n => format!("  s{n}: {{ needs: [s{}], uses: ./ends.wasm }}\n", n - 1),
    };
    let text: String = (0..STEPS).map(chain).collect();
    fs::write(place.path().join("steps.yaml"), format!("name: steps\nsteps:\n{text}"))?;
    let validate = median(5, || whole_process(&["validate", "steps.yaml"], place.path()));
    tell(&format!("validation of {STEPS} steps, as a process"), millis(validate), "ms");
    let run = median(1, || whole_process(&["run", "steps.yaml"], place.path()));
    tell("their rehearsal one after another, as a process", millis(run), "ms");
    Ok(())
}

/// What a step costs whose beginning and end are on the disk before anything follows from them.
fn durable_steps() -> Result<(), Box<dyn std::error::Error>> {
    let place = place_with("ends")?;
    let (steps, together) = DURABLE;
    let step = |n: u32| match n.checked_sub(together) {
        None => format!("  s{n}: {{ uses: ./ends.wasm }}\n"),
        Some(before) => format!("  s{n}: {{ needs: [s{before}], uses: ./ends.wasm }}\n"),
    };
    let text: String = (0..steps).map(step).collect();
    let text = format!("name: steps\nsteps:\n{text}");
    let planned = planned_with(&text, &[], &["./ends.wasm"], place.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let taken = median(3, || {
        let Planned { plan, plugins, .. } = planned.clone();
        let options = options(&planned, place.path(), 1);
        runtime.block_on(async {
            let run = Run::begin(plan, plugins, Arc::new(Real::default()), options, Vec::new()).await;
            run.expect("the run begins").carry_out(Cancel::never()).await.expect("the run ends");
        });
    });
    tell(&format!("a durable step, {together} at the same time"), millis(taken) / f64::from(steps), "ms");
    Ok(())
}

/// A directory with a guest in it.
fn place_with(guest: &str) -> std::io::Result<tempfile::TempDir> {
    let place = tempfile::tempdir()?;
    fs::write(place.path().join(format!("{guest}.wasm")), assemble(guest))?;
    Ok(place)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
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
