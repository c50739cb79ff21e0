//! `wfe validate`: all mistakes at once, each at its place; no capability is used.

use serde_json::json;

use crate::args::ValidateArgs;
use crate::failure::{Failure, REQUEST};
use crate::runtime;
use crate::workflow::{choice, prepare};

/// Validates workflows; answers 0 when none has a mistake.
pub fn validate(args: ValidateArgs) -> Result<u8, Failure> {
    let mut failures = Vec::new();
    let choice = choice(&args.choice)?;
    for file in &args.files {
        let shown = file.display().to_string();
        let prepared = runtime(false)?.block_on(prepare(file, &shown, &choice));
        match prepared {
            Ok(ready) if !args.json => outln!("{shown}: {} steps, no mistakes", ready.plan.steps.len()),
            Ok(_) => {}
            Err(failure) => failures.push((shown, failure)),
        }
    }
    if args.json {
        let list: Vec<_> = failures
            .iter()
            .map(|(file, failure)| json!({ "file": file, "diagnostics": failure.diagnostics, "message": failure.message }))
            .collect();
        outln!("{}", json!({ "valid": failures.is_empty(), "files": list }));
    } else {
        failures.iter().for_each(|(_, failure)| errln!("{}", failure.message));
    }
    Ok(if failures.is_empty() { 0 } else { REQUEST })
}
