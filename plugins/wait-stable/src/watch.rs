//! The decision when a cluster is quiet: several signals, all of them for the whole hold time.
//!
//! One signal is not enough: no compaction may run for a minute and then the next wave of them begins.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use wfe_sdk::cluster::Node;
use wfe_sdk::{Duration, Percent};

/// Figures of a node that are zero when it does nothing of its own accord.
const SIGNALS: [&str; 4] = ["compactions", "streams", "hints", "pending-writes"];
/// The signal of a node that is no working member, or not yet.
const STATE: &str = "state";
/// The signal of a disk usage that changes.
const DISK: &str = "disk";

/// What is known after some looks at the cluster.
pub struct Watch {
    hold: Duration,
    /// The most that disk usage may change in the hold time, percent of the disk.
    steady: Percent,
    /// The begin of the quiet, and the disk usage of each node then.
    quiet_since: Option<(Duration, BTreeMap<String, f64>)>,
    /// What breaks the quiet at this moment.
    now: BTreeSet<Cause>,
    /// The signals that were watched.
    pub signals: BTreeSet<String>,
    /// How often each signal began to break the quiet.
    pub broken: BTreeMap<String, u32>,
    /// What was the last to break it.
    pub last: Option<Cause>,
}

/// What breaks the quiet, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    signal: &'static str,
    node: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.signal, self.node)
    }
}

impl Watch {
    /// Nothing is known yet.
    pub fn new(hold: Duration, steady: Percent) -> Self {
        let (signals, broken) = (BTreeSet::from([STATE.to_owned(), DISK.to_owned()]), BTreeMap::new());
        Self { hold, steady, quiet_since: None, now: BTreeSet::new(), signals, broken, last: None }
    }

    /// Takes in a look at the cluster; answers for how long it has been quiet.
    pub fn look(&mut self, now: Duration, nodes: &[Node]) -> Duration {
        let usage: BTreeMap<_, _> = nodes.iter().map(|node| (node.name.clone(), node.used_percent())).collect();
        let mut causes: BTreeSet<_> = nodes.iter().flat_map(busy).collect();
        let reported = nodes.iter().flat_map(|node| &node.signals).map(|signal| signal.name.as_str());
        self.signals.extend(reported.filter(|name| SIGNALS.contains(name)).map(str::to_owned));
        causes.extend(self.moved(&usage));
        self.count(causes);
        if self.now.is_empty() && !nodes.is_empty() {
            let (since, _) = self.quiet_since.get_or_insert((now, usage));
            return Duration(now.0 - since.0);
        }
        // Only the disk moved: the quiet may begin anew with this look.
        let only_disk = !nodes.is_empty() && self.now.iter().all(|cause| cause.signal == DISK);
        self.quiet_since = only_disk.then_some((now, usage));
        Duration::default()
    }

    /// The nodes whose disk usage has moved since the quiet began, nodes that came or went included.
    fn moved(&self, usage: &BTreeMap<String, f64>) -> Vec<Cause> {
        let Some((_, before)) = &self.quiet_since else { return Vec::new() };
        let names: BTreeSet<_> = before.keys().chain(usage.keys()).collect();
        let differs = |name: &&&String| match (before.get(**name), usage.get(**name)) {
            (Some(before), Some(now)) => (before - now).abs() > self.steady.0,
            _ => true,
        };
        names.iter().filter(differs).map(|name| Cause { signal: DISK, node: (*name).clone() }).collect()
    }

    /// A signal counts once when it begins, not at every look.
    fn count(&mut self, causes: BTreeSet<Cause>) {
        let active: BTreeSet<_> = self.now.iter().map(|cause| cause.signal).collect();
        let begun: BTreeSet<_> =
            causes.iter().map(|cause| cause.signal).filter(|name| !active.contains(name)).collect();
        for signal in begun {
            *self.broken.entry(signal.to_owned()).or_insert(0) += 1;
        }
        if let Some(cause) = causes.first() {
            self.last = Some(cause.clone());
        }
        self.now = causes;
    }
}

/// What a node is busy with.
fn busy(node: &Node) -> Vec<Cause> {
    let cause = |signal| Cause { signal, node: node.name.clone() };
    let state = (!node.is_up()).then(|| cause(STATE));
    let signals = SIGNALS.into_iter().filter(|name| node.signal(name).is_some_and(|value| value > 0.0)).map(cause);
    state.into_iter().chain(signals).collect()
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes: Vec<_> = self.now.iter().map(Cause::to_string).collect();
        match &self.quiet_since {
            None if causes.is_empty() => f.write_str("no node answers"),
            _ if !causes.is_empty() => write!(f, "not quiet: {}", causes.join(", ")),
            _ => write!(f, "quiet, to be held for {}", self.hold),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wfe_sdk::cluster::Signal;

    use super::*;

    fn node(state: &str, used: u64, compactions: f64) -> Node {
        Node {
            name: "node-1".into(),
            machine: "m".into(),
            machine_type: "t".into(),
            rack: 1,
            state: state.into(),
            used_bytes: used,
            total_bytes: 1000,
            signals: vec![
                Signal { name: "compactions".into(), value: compactions },
                Signal { name: "cpu".into(), value: 50.0 },
            ],
        }
    }

    fn watch() -> Watch {
        Watch::new(Duration(120.0), Percent(0.5))
    }

    fn look(watch: &mut Watch, seconds: f64, node: Node) -> f64 {
        watch.look(Duration(seconds), &[node]).0
    }

    #[test]
    fn a_signal_that_comes_back_begins_the_hold_anew() {
        let mut watch = watch();
        assert_eq!(look(&mut watch, 0.0, node("up", 500, 0.0)), 0.0);
        assert_eq!(look(&mut watch, 60.0, node("up", 500, 0.0)), 60.0);
        assert_eq!(look(&mut watch, 90.0, node("up", 500, 2.0)), 0.0);
        assert_eq!(look(&mut watch, 100.0, node("up", 500, 1.0)), 0.0);
        assert_eq!(look(&mut watch, 110.0, node("up", 500, 0.0)), 0.0);
        assert_eq!(look(&mut watch, 230.0, node("up", 500, 0.0)), 120.0);
        assert_eq!(watch.broken, BTreeMap::from([("compactions".to_owned(), 1)]));
        assert_eq!(watch.last.unwrap().to_string(), "compactions on node-1");
        assert_eq!(watch.signals.iter().map(String::as_str).collect::<Vec<_>>(), ["compactions", "disk", "state"]);
    }

    #[test]
    fn a_slowly_growing_disk_is_not_quiet() {
        let mut watch = watch();
        let quiet: Vec<_> = (0..40).map(|n| look(&mut watch, 30.0 * n as f64, node("up", 500 + 2 * n, 0.0))).collect();
        assert!(quiet.iter().all(|seconds| *seconds < 120.0), "{quiet:?}");
        assert!(watch.broken["disk"] > 5);
    }

    #[test]
    fn a_joining_node_and_an_empty_cluster_are_not_quiet() {
        let mut watch = watch();
        look(&mut watch, 0.0, node("joining", 0, 0.0));
        assert_eq!(look(&mut watch, 300.0, node("joining", 0, 0.0)), 0.0);
        assert_eq!(watch.to_string(), "not quiet: state on node-1");
        assert_eq!(watch.look(Duration(600.0), &[]), Duration(0.0));
        assert_eq!(watch.look(Duration(900.0), &[]), Duration(0.0));
    }

    proptest! {
        /// The time answered is never longer than the time since the last look that was not quiet.
        #[test]
        fn quiet_never_reaches_back_over_a_disturbance(looks in prop::collection::vec((1f64..100.0, any::<bool>()), 1..60)) {
            let (mut watch, mut now, mut disturbed) = (watch(), 0.0, 0.0);
            for (pause, busy) in looks {
                now += pause;
                let quiet = look(&mut watch, now, node("up", 500, f64::from(u8::from(busy))));
                if busy {
                    disturbed = now;
                }
                prop_assert!(quiet <= now - disturbed);
                prop_assert!(!busy || quiet == 0.0);
            }
        }
    }
}
