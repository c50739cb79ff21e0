//! Step `measure`: measures what all loads did, from now on for some time or while another step ran.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wfe_sdk::check::Check;
use wfe_sdk::measurements::{Measurement, measure};
use wfe_sdk::step::Window;
use wfe_sdk::{Duration, Error, Result, clock, step};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Measure so long from now on. Without it the step needs `during:`, which names the step to be measured.
    #[schemars(range(min = 1, max = 2_592_000))]
    r#for: Option<Duration>,
}

#[derive(Serialize, JsonSchema)]
struct Outputs {
    /// Begin of the measured window, since the run began.
    from: Duration,
    /// Its end.
    to: Duration,
    /// Whether no loader and no second is missing.
    complete: bool,
    /// What was found, by kind of operation.
    operations: BTreeMap<String, Operation>,
}

/// What one kind of operation did.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Operation {
    /// Half of the operations were answered within so many milliseconds.
    p50_ms: Option<f64>,
    /// Nine of ten were.
    p90_ms: Option<f64>,
    /// 99 of 100 were.
    p99_ms: Option<f64>,
    /// Operations a second.
    rate: f64,
}

fn check(p: &Parameters, check: &mut Check) {
    match (p.r#for, &check.during) {
        (None, None) => check.refuse([""], "say what to measure: `with: { for: 30m }` or `during: STEP`"),
        (Some(_), Some(_)) => check.refuse(["/for"], "`during` says what is measured: leave one of them out"),
        _ => {}
    }
}

fn run(p: Parameters) -> Result<Outputs> {
    let window = match (p.r#for, step::window()) {
        (_, Some(window)) if window.from == window.to => {
            let message = format!("what `during` names ended at once, at {}: there is nothing to measure", window.from);
            return Err(Error::incomplete("no-window", message));
        }
        (_, Some(window)) => window,
        (Some(length), None) => pass(length),
        (None, None) => {
            let message = "what `during` names did not come to pass, so there is nothing to measure";
            return Err(Error::incomplete("no-window", message));
        }
    };
    outputs(&measure(window)?)
}

/// Into so many pieces a wait is divided, to say how far it is.
const PIECES: u32 = 10;

/// Lets the time pass; answers the window from now to then.
fn pass(length: Duration) -> Window {
    let from = clock::now();
    for piece in 1..=PIECES {
        let part = f64::from(piece) / f64::from(PIECES);
        clock::sleep(Duration(from.0 + length.0 * part - clock::now().0));
        step::progress(part, format!("measured {} of {length}", Duration(length.0 * part)));
    }
    Window { from, to: Duration(from.0 + length.0) }
}

fn outputs(measurement: &Measurement) -> Result<Outputs> {
    let Window { from, to } = measurement.window();
    if measurement.operations.is_empty() {
        let nothing = || format!("no load recorded anything from {from} to {to} of the run");
        let message = measurement.missing.first().cloned().unwrap_or_else(nothing);
        return Err(Error::incomplete("nothing-recorded", message));
    }
    let operations = measurement.operations.iter().map(|found| {
        let response = found.response_ms;
        let operation =
            Operation { p50_ms: response.p50, p90_ms: response.p90, p99_ms: response.p99, rate: found.rate };
        (found.operation.clone(), operation)
    });
    Ok(Outputs { from, to, complete: measurement.is_complete(), operations: operations.collect() })
}

wfe_sdk::plugin! {
    "measure": run, "Measures the latency and rate of all loads over a window.", check: check
}

#[cfg(test)]
mod tests {
    use wfe_sdk::check::{During, Grants};

    use super::*;

    #[test]
    fn one_window_is_named() {
        let said = |length: Option<f64>, during: Option<&str>| {
            let during = during.map(|step| During { step: step.into(), phase: None });
            let mut found = Check::new(Grants::default(), during);
            check(&Parameters { r#for: length.map(Duration) }, &mut found);
            found.problems().iter().map(|problem| problem.path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(said(None, None), [""]);
        assert_eq!(said(Some(60.0), Some("grow")), ["/for"]);
        assert!(said(Some(60.0), None).is_empty() && said(None, Some("grow")).is_empty());
    }
}
