//! Step `wait-stable`: waits until nothing has been going on in the cluster for some time.

mod watch;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wfe_sdk::check::Check;
use wfe_sdk::{Duration, Error, Percent, Result, clock, cluster, log, step};

use watch::Watch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// So long nothing may go on.
    #[schemars(range(max = 2_592_000), extend("exclusiveMinimum" = 0))]
    hold: Duration,
    /// The longest wait; without it, until the step's own timeout.
    #[schemars(range(max = 2_592_000), extend("exclusiveMinimum" = 0))]
    timeout: Option<Duration>,
    /// By so much of the disk the usage of a node may change during the hold time.
    #[serde(default = "steady")]
    #[schemars(range(min = 0, max = 100))]
    steady: Percent,
    /// Wait on although a node is down: for tests that stop or replace nodes.
    #[serde(default)]
    tolerate_lost_nodes: bool,
}

#[derive(Serialize, JsonSchema)]
struct Outputs {
    /// How long it took, the hold time included.
    waited: Duration,
    /// The signals that were watched.
    signals: Vec<String>,
    /// What was the last to break the quiet, and where.
    last_broken_by: Option<String>,
    /// How often each signal began to break the quiet.
    broken: BTreeMap<String, u32>,
}

fn steady() -> Percent {
    Percent(0.5)
}

/// The longest time between two looks at the cluster, seconds.
const LONGEST_POLL: f64 = 30.0;

fn check(p: &Parameters, check: &mut Check) {
    if let Some(timeout) = p.timeout.filter(|timeout| *timeout < p.hold) {
        let message = format!("nothing can be quiet for {} within {timeout}", p.hold);
        check.refuse(["/timeout", "/hold"], message);
    }
}

fn wait_stable(p: Parameters) -> Result<Outputs> {
    let start = clock::now();
    let mut watch = Watch::new(p.hold, p.steady);
    loop {
        let nodes = cluster::nodes_unless_lost(|_| !p.tolerate_lost_nodes)?;
        let now = clock::now();
        let quiet = watch.look(now, &nodes);
        let waited = Duration(now.0 - start.0);
        if quiet >= p.hold {
            log::info(format!("quiet for {} after {waited}", p.hold));
            let Watch { signals, broken, last, .. } = watch;
            let signals = signals.into_iter().collect();
            return Ok(Outputs { waited, signals, last_broken_by: last.map(|last| last.to_string()), broken });
        }
        if let Some(timeout) = p.timeout.filter(|timeout| waited >= *timeout) {
            return Err(Error::timeout("not-stable", not_stable(timeout, &watch)));
        }
        step::progress(quiet.0 / p.hold.0, watch.to_string());
        clock::sleep(pause(&p, quiet, waited));
    }
}

/// Often enough to see what happens in the hold time, and at its end.
fn pause(p: &Parameters, quiet: Duration, waited: Duration) -> Duration {
    let left = p.timeout.map_or(f64::INFINITY, |timeout| timeout.0 - waited.0);
    let pause = (p.hold.0 / 4.0).min(LONGEST_POLL).min(p.hold.0 - quiet.0).min(left);
    // Less than a millisecond would be no pause at all.
    Duration(pause.max(0.001))
}

fn not_stable(timeout: Duration, watch: &Watch) -> String {
    let broken: Vec<_> = watch.broken.iter().map(|(signal, times)| format!("{signal} {times} x")).collect();
    format!("the cluster did not become quiet in {timeout}: {watch}; broken by {}", broken.join(", "))
}

wfe_sdk::plugin! {
    "wait-stable": wait_stable, "Waits until nothing has been going on in the cluster for some time.", check: check
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parameters(hold: Duration, timeout: Duration) -> Parameters {
        Parameters { hold, timeout: Some(timeout), steady: steady(), tolerate_lost_nodes: false }
    }

    #[test]
    fn a_timeout_leaves_time_to_be_quiet() {
        let said = |timeout| {
            let p = parameters(Duration::seconds(120.0), Duration(timeout));
            let mut found = Check::default();
            check(&p, &mut found);
            found.problems().iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect::<Vec<_>>()
        };
        assert_eq!(said(60.0), ["/timeout: nothing can be quiet for 2 m within 1 m"]);
        assert!(said(120.0).is_empty());
    }

    proptest! {
        /// The step looks at least four times in the hold time, and never sleeps past the end of it or of the timeout.
        #[test]
        fn pauses_fit(hold in 0.1f64..10_000.0, quiet in 0f64..1.0, waited in 0f64..1.0, timeout in 1f64..100_000.0) {
            let (quiet, waited) = (Duration(quiet * hold), Duration(waited * timeout));
            let p = parameters(Duration(hold), Duration(timeout));
            let pause = pause(&p, quiet, waited).0;
            prop_assert!(pause >= 0.001 && pause <= (hold / 4.0).min(LONGEST_POLL));
            prop_assert!(pause <= 0.001 || pause <= hold - quiet.0);
            prop_assert!(pause <= 0.001 || pause <= timeout - waited.0);
        }
    }
}
