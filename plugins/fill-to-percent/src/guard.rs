//! What must not happen during a fill: a writer that died quietly, a lost node, a full disk.

use wfe_sdk::cluster::Node;
use wfe_sdk::loads::Status;
use wfe_sdk::{Duration, Error, Percent, Result};

use crate::parameters::Goal;

/// So long a node may be away, and so long no write may end, in seconds.
const PATIENCE: f64 = 30.0;
/// The pause between two looks while something of that kind goes on, seconds.
const SUSPICION: f64 = 10.0;
/// Fewer writes than this say nothing about their errors.
const ENOUGH: u64 = 100;

/// What is known of the writers and the nodes after some looks.
#[derive(Debug)]
pub struct Guard {
    nodes: usize,
    max_errors: Percent,
    rows: u64,
    operations: u64,
    errors: u64,
    /// For how long no write has ended, as far as it was watched, seconds.
    still: f64,
    looked_at: Option<Duration>,
    /// Since when not all nodes are up.
    away_since: Option<Duration>,
    suspicious: bool,
}

impl Guard {
    /// For a cluster of so many nodes, writers of which so many may fail, and so many numbered rows.
    pub fn new(nodes: usize, max_errors: Percent, rows: u64) -> Self {
        let (looked_at, away_since) = (None, None);
        Self { nodes, max_errors, rows, operations: 0, errors: 0, still: 0.0, looked_at, away_since, suspicious: false }
    }

    /// Takes in a look; fails when the fill cannot go on.
    pub fn look(&mut self, now: Duration, nodes: &[Node], status: &Status) -> Result<()> {
        self.alive(status)?;
        self.errors(status)?;
        self.moving(now, status)?;
        self.all_up(now, nodes)?;
        self.suspicious = self.away_since.is_some() || self.still > 0.0;
        (self.operations, self.errors) = (status.operations, status.errors);
        Ok(())
    }

    /// The pause before the next look: a short one when something seems wrong.
    pub fn patience(&self, wait: f64) -> f64 {
        if self.suspicious { wait.min(SUSPICION) } else { wait }
    }

    fn alive(&self, status: &Status) -> Result<()> {
        if status.state == "running" {
            return Ok(());
        }
        let message = format!("the writers are {}: {}", status.state, detail(status));
        // Writers that end amid failing writes were refused by the database; otherwise they broke themselves.
        if status.errors > self.errors {
            return Err(Error::product("writers-refused", message));
        }
        Err(Error::infrastructure("writers-died", message))
    }

    fn errors(&self, status: &Status) -> Result<()> {
        let operations = status.operations.saturating_sub(self.operations);
        let errors = status.errors.saturating_sub(self.errors);
        let percent = Percent(100.0 * errors as f64 / operations.max(1) as f64);
        if operations < ENOUGH || percent <= self.max_errors {
            return Ok(());
        }
        let message = format!("{percent} of the last {operations} writes failed: {}", detail(status));
        Err(Error::product("too-many-errors", message))
    }

    fn moving(&mut self, now: Duration, status: &Status) -> Result<()> {
        if status.operations >= self.rows {
            let message = format!("{} rows were written, many times what fits on the disks", status.operations);
            return Err(Error::product("disks-do-not-fill", message));
        }
        // A long pause between two looks was no watch: the engine may have been away, and its writers with it.
        let watched = (now.0 - self.looked_at.replace(now).unwrap_or(now).0).min(SUSPICION);
        self.still = if status.operations > self.operations { 0.0 } else { self.still + watched };
        if self.still < PATIENCE {
            return Ok(());
        }
        let message = format!("not one write has ended for {}: {}", Duration(self.still), detail(status));
        Err(Error::product("no-writes", message))
    }

    fn all_up(&mut self, now: Duration, nodes: &[Node]) -> Result<()> {
        let away: Vec<_> = nodes.iter().filter(|node| !node.is_up()).map(|node| node.name.as_str()).collect();
        if away.is_empty() && nodes.len() >= self.nodes {
            self.away_since = None;
            return Ok(());
        }
        let since = *self.away_since.get_or_insert(now);
        if now.0 - since.0 < PATIENCE {
            return Ok(());
        }
        let up = nodes.len() - away.len();
        let names = if away.is_empty() { String::new() } else { format!(", not up: {}", away.join(", ")) };
        Err(Error::infrastructure("node-lost", format!("{up} of {} nodes are up{names}", self.nodes)))
    }
}

fn detail(status: &Status) -> String {
    let detail = if status.detail.is_empty() { String::new() } else { format!(", {}", status.detail) };
    format!("{} writes, {} errors{detail}", status.operations, status.errors)
}

/// The node whose disk is used most.
pub fn fullest(nodes: &[Node]) -> Result<&Node> {
    let none = || Error::infrastructure("no-nodes", "no node of the cluster answers");
    nodes.iter().max_by(|a, b| a.used_percent().total_cmp(&b.used_percent())).ok_or_else(none)
}

/// No disk is fuller than it may ever be.
pub fn below_ceiling(goal: &Goal, nodes: &[Node]) -> Result<()> {
    let node = fullest(nodes)?;
    if node.used_percent() <= goal.ceiling {
        return Ok(());
    }
    let (used, ceiling) = (Percent(node.used_percent()), Percent(goal.ceiling));
    let message = format!("the disk of {} is at {used}, over the ceiling of {ceiling}", node.name);
    Err(Error::product("over-ceiling", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, state: &str, used_bytes: u64) -> Node {
        Node {
            name: name.into(),
            machine: "m".into(),
            machine_type: "t".into(),
            rack: 1,
            state: state.into(),
            used_bytes,
            total_bytes: 1000,
            signals: vec![],
        }
    }

    fn status(state: &str, operations: u64, errors: u64) -> Status {
        let detail = "write timeout".into();
        let (id, state) = ("fill".into(), state.into());
        Status { id, state, operations, errors, rate: 1000.0, asked_rate: None, detail }
    }

    fn guard() -> Guard {
        Guard::new(2, Percent(1.0), 1_000_000)
    }

    fn look(guard: &mut Guard, seconds: f64, status: Status) -> Option<String> {
        let nodes = [node("a", "up", 1), node("b", "up", 2)];
        guard.look(Duration(seconds), &nodes, &status).err().map(|error| format!("{}: {}", error.kind, error.message))
    }

    #[test]
    fn writers_that_do_nothing_are_dead() {
        let mut guard = guard();
        assert_eq!(look(&mut guard, 0.0, status("running", 50, 0)), None);
        assert_eq!(guard.patience(60.0), 60.0);
        assert_eq!(look(&mut guard, 10.0, status("running", 50, 0)), None);
        assert_eq!(guard.patience(60.0), 10.0);
        assert_eq!(look(&mut guard, 20.0, status("running", 50, 0)), None);
        let said = look(&mut guard, 30.0, status("running", 50, 0)).unwrap();
        assert_eq!(said, "product: not one write has ended for 30 s: 50 writes, 0 errors, write timeout");
    }

    #[test]
    fn nobody_wrote_while_the_engine_was_away() {
        let mut guard = guard();
        assert_eq!(look(&mut guard, 0.0, status("running", 50, 0)), None);
        assert_eq!(look(&mut guard, 20_000.0, status("running", 50, 0)), None);
        assert_eq!(look(&mut guard, 20_010.0, status("running", 60, 0)), None);
        assert_eq!(guard.patience(60.0), 60.0);
    }

    #[test]
    fn writers_that_failed_say_whose_turn_it_is() {
        let mut guard = guard();
        assert_eq!(look(&mut guard, 0.0, status("running", 50, 0)), None);
        let said = look(&mut guard, 1.0, status("failed", 60, 0)).unwrap();
        assert_eq!(said, "infrastructure: the writers are failed: 60 writes, 0 errors, write timeout");
        let said = look(&mut guard, 1.0, status("failed", 60, 9)).unwrap();
        assert!(said.starts_with("product: "), "{said}");
    }

    #[test]
    fn errors_count_between_two_looks() {
        let mut guard = guard();
        assert_eq!(look(&mut guard, 0.0, status("running", 100_000, 100)), None);
        let said = look(&mut guard, 60.0, status("running", 101_000, 120)).unwrap();
        assert_eq!(said, "product: 2 % of the last 1000 writes failed: 101000 writes, 120 errors, write timeout");
    }

    #[test]
    fn a_node_may_be_away_for_a_moment_only() {
        let mut guard = guard();
        let mut see = |seconds: f64, nodes: &[Node]| {
            let status = status("running", 1000 + seconds as u64, 0);
            guard.look(Duration(seconds), nodes, &status).err().map(|error| (error.kind, error.message))
        };
        let (up, down) = (node("a", "up", 1), node("b", "down", 1));
        assert_eq!(see(0.0, &[up.clone(), down.clone()]), None);
        assert_eq!(see(20.0, &[up.clone(), node("b", "up", 1)]), None);
        assert_eq!(see(40.0, &[up.clone(), down.clone()]), None);
        let (kind, message) = see(71.0, &[up.clone(), down]).unwrap();
        assert_eq!((kind.as_str(), message.as_str()), ("infrastructure", "1 of 2 nodes are up, not up: b"));
    }

    #[test]
    fn the_ceiling_is_hard() {
        let goal = Goal { soft: None, percent: 90.0, ceiling: 95.0 };
        assert!(below_ceiling(&goal, &[node("a", "up", 950)]).is_ok());
        let error = below_ceiling(&goal, &[node("a", "up", 100), node("b", "up", 962)]).unwrap_err();
        assert_eq!(error.message, "the disk of b is at 96.2 %, over the ceiling of 95 %");
        assert!(below_ceiling(&goal, &[]).is_err());
    }
}
