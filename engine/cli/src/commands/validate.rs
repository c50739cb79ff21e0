//! `wfe validate`: all mistakes at once, each at its place; no capability is used.

use serde_json::{Value, json};

use crate::args::ValidateArgs;
use crate::failure::{Failure, REQUEST};
use crate::runtime;
use crate::workflow::{choice, prepare};

/// Validates workflows; answers 0 when none has a mistake.
pub fn validate(args: ValidateArgs) -> Result<u8, Failure> {
    let mut checked = Vec::new();
    let choice = choice(&args.choice)?;
    for file in &args.files {
        let shown = file.display().to_string();
        let prepared = runtime(false)?.block_on(prepare(file, &shown, &choice));
        checked.push((shown, prepared.map(|ready| ready.plan.steps.len())));
    }
    let valid = checked.iter().all(|(_, outcome)| outcome.is_ok());
    if args.json {
        let files: Vec<_> = checked.iter().map(|(file, outcome)| as_json(file, outcome)).collect();
        outln!("{}", json!({ "valid": valid, "files": files }));
    } else {
        checked.iter().for_each(|(file, outcome)| match outcome {
            Ok(steps) => outln!("{file}: {steps} steps, no mistakes"),
            Err(failure) => errln!("{}", failure.message),
        });
    }
    Ok(if valid { 0 } else { REQUEST })
}

fn as_json(file: &str, outcome: &Result<usize, Failure>) -> Value {
    match outcome {
        Ok(steps) => json!({ "file": file, "ok": true, "steps": steps, "diagnostics": [] }),
        Err(failure) => {
            json!({ "file": file, "ok": false, "diagnostics": failure.diagnostics, "message": failure.message })
        }
    }
}
