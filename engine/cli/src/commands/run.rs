//! `wfe run`: validate, plan, run, report.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wfe_core::backend::Backend;
use wfe_core::error::kind;
use wfe_core::state::RunState;
use wfe_core::verdict::Verdict;
use wfe_core::{CallError, quantity};
use wfe_report::Document;
use wfe_runner::run::{Finished, Options, Run};

use crate::args::{RunArgs, runs_option};
use crate::failure::{Failure, INFRASTRUCTURE, REQUEST};
use crate::workflow::{Ready, choice, prepare};
use crate::{backends, progress, runtime, signals};

/// Distance of telemetry samples in real and in virtual time, milliseconds.
pub const TELEMETRY_REAL_MS: u64 = 5_000;
const TELEMETRY_VIRTUAL_MS: u64 = 60_000;

/// The longest time for which machines are kept, milliseconds: a year.
const LONGEST_KEEP_MS: u64 = 366 * 24 * 3_600_000;

/// Runs a workflow; answers the exit code of its verdict.
pub fn run(args: RunArgs) -> Result<u8, Failure> {
    let backend_options = backends::options(args.choice.backend, &args.backend)?;
    let backend = backends::make(args.choice.backend, &backend_options)?;
    let simulated = backend.facts().simulated;
    runtime(simulated)?.block_on(async {
        let shown = args.file.display().to_string();
        let ready = prepare(&args.file, &shown, &choice(&args.choice)?).await?;
        let options = options(&args, &ready, backend_options, simulated)?;
        let finished = begin(ready, backend, options).await?;
        report(&finished, args.json)
    })
}

async fn begin(ready: Ready, backend: Arc<dyn Backend>, options: Options) -> Result<Finished, Failure> {
    let simulated = backend.facts().simulated;
    let left = signals::Left::new(&options.runs, "resume");
    let reporters = vec![progress::reporter(simulated), left.reporter()];
    let run = Run::begin(ready.plan, ready.plugins, backend, options, reporters).await?;
    Ok(run.carry_out(signals::listen(simulated, left, None)).await?)
}

fn options(
    args: &RunArgs,
    ready: &Ready,
    backend_options: BTreeMap<String, String>,
    simulated: bool,
) -> Result<Options, Failure> {
    let deadline = args.deadline.as_deref().map(deadline_ms);
    Ok(Options {
        runs: args.runs.runs_dir.clone(),
        file: args.file.display().to_string(),
        source: ready.bytes.clone(),
        set: args.choice.set.iter().cloned().collect(),
        seed: args.seed,
        keep: args.keep.into(),
        keep_ms: keep_ms(&args.keep_for)?,
        deadline_ms: deadline.transpose()?.or(ready.plan.deadline_ms),
        backend_options,
        command: command(args),
        version: env!("CARGO_PKG_VERSION").into(),
        telemetry_ms: telemetry_ms(simulated),
    })
}

fn deadline_ms(text: &str) -> Result<u64, Failure> {
    let refused = |why: String| Failure::request(format!("--deadline: {why}"));
    match quantity::parse_millis(text).map_err(|e| refused(e.to_string()))? {
        0 => Err(refused(format!("`{text}` is no time at all: it must be at least 1ms"))),
        deadline_ms => Ok(deadline_ms),
    }
}

fn keep_ms(text: &str) -> Result<u64, Failure> {
    let refused = |why: String| Failure::request(format!("--keep-for: {why}"));
    let keep_ms = quantity::parse_millis(text).map_err(|e| refused(e.to_string()))?;
    match keep_ms <= LONGEST_KEEP_MS {
        true => Ok(keep_ms),
        false => Err(refused(format!("`{text}` is longer than a year: machines that nobody wants cost money"))),
    }
}

/// Distance of telemetry samples.
pub fn telemetry_ms(simulated: bool) -> u64 {
    if simulated { TELEMETRY_VIRTUAL_MS } else { TELEMETRY_REAL_MS }
}

/// The command that repeats the run, with everything that decides its numbers.
fn command(args: &RunArgs) -> String {
    let mut words = vec!["wfe".to_owned(), "run".into(), args.file.display().to_string()];
    words.extend(["--backend".into(), args.choice.backend.name().into(), "--seed".into(), args.seed.to_string()]);
    words.extend(args.choice.profile.iter().flat_map(|profile| ["--profile".into(), profile.clone()]));
    words.extend(args.choice.set.iter().flat_map(|(key, value)| ["--set".into(), format!("{key}={value}")]));
    words.extend(args.deadline.iter().flat_map(|deadline| ["--deadline".into(), deadline.clone()]));
    words.extend(args.backend.contact_points.iter().flat_map(|at| ["--contact-point".into(), at.clone()]));
    words.extend(args.backend.user.iter().flat_map(|user| ["--user".into(), user.clone()]));
    words.extend(args.backend.faults.iter().flat_map(|file| ["--faults".into(), file.display().to_string()]));
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=%+,@".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Writes the reports of a finished run and prints its summary or its result; answers the exit code.
pub fn report(finished: &Finished, json: bool) -> Result<u8, Failure> {
    let (telemetry, notices) = wfe_report::load_telemetry(&finished.directory);
    let mut document = Document::new(&finished.state, &finished.recording, &telemetry);
    document.notices.extend(notices);
    let written = write(&document, &finished.directory);
    print(&document, &finished.directory, json);
    match (exit_code(&finished.state), written) {
        // Reports that cannot be written change no verdict but the best.
        (0, Err(failure)) => Err(failure),
        (code, Err(failure)) => {
            errln!("{}", failure.message);
            Ok(code)
        }
        (code, Ok(())) => Ok(code),
    }
}

/// The exit code of a run that is over. Where plugins were only asked for what makes no sense, the request is wrong.
pub fn exit_code(state: &RunState) -> u8 {
    let Some(ended) = &state.ended else { return INFRASTRUCTURE };
    let mut errors = state.steps.values().filter_map(|step| step.attempt()?.error()).peekable();
    let wrong = |error: &CallError| [kind::REQUEST, kind::UNSUPPORTED].contains(&error.kind.as_str());
    match ended.verdict {
        Verdict::Infrastructure if errors.peek().is_some() && errors.all(wrong) => REQUEST,
        verdict => verdict.exit_code(),
    }
}

/// Writes all reports into the run's directory.
pub fn write(document: &Document, directory: &Path) -> Result<(), Failure> {
    wfe_report::write_all(document, directory).map_err(|e| {
        Failure::infrastructure(format!(
            "{e}\nthe run is over; when the cause is gone, `wfe report` makes its reports again"
        ))
    })
}

/// Prints the summary of a run, or its `result.json`.
pub fn print(document: &Document, directory: &Path, json: bool) {
    match json {
        true => outln!("{}", wfe_report::json(document)),
        false => {
            let report = directory.join("report.html").display().to_string();
            let option = directory.parent().map(runs_option).unwrap_or_default();
            let give_back = format!("wfe cleanup {}{option}", document.started.run);
            out!("{}", wfe_report::summary(document, &report, &give_back));
        }
    }
}
