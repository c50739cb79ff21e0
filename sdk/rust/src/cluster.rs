//! The database cluster of this run, as the database itself sees it.

use crate::bindings::wfe::cluster::cluster;
pub use crate::bindings::wfe::cluster::cluster::{Node, Signal};
use crate::operations::Operation;
use crate::{Duration, Error, Result, clock};

/// Installs the database on running machines and forms one cluster of them.
/// `database` is a product and a version, such as `cassandra 5.0`.
pub fn create(database: &str, machines: &[String]) -> Result<Operation> {
    Ok(Operation(cluster::create(database, machines)?))
}

/// The nodes, each asked itself.
pub fn nodes() -> Result<Vec<Node>> {
    Ok(cluster::nodes()?)
}

/// How long a node may be down before it counts as lost.
pub const LOST_AFTER: Duration = Duration::seconds(10.0);

/// The nodes, unless one of those that concern the caller is lost: down now and still down after [`LOST_AFTER`].
///
/// Errors: infrastructure `node-lost`.
pub fn nodes_unless_lost(concerns: impl Fn(&Node) -> bool) -> Result<Vec<Node>> {
    let before = nodes()?;
    if !before.iter().any(|node| node.is_down() && concerns(node)) {
        return Ok(before);
    }
    clock::sleep(LOST_AFTER);
    let nodes = nodes()?;
    let was_down = |now: &Node| before.iter().any(|node| node.name == now.name && node.is_down());
    match nodes.iter().find(|node| node.is_down() && concerns(node) && was_down(node)) {
        Some(lost) => Err(lost.lost()),
        None => Ok(nodes),
    }
}

/// The nodes, kept with the run as its disk usage at a moment, such as `hard limit` or `final`.
pub fn snapshot(moment: &str) -> Result<Vec<Node>> {
    Ok(cluster::snapshot(moment)?)
}

/// Starts the database on running machines, all at the same time, as new members of the cluster.
/// The operation ends when each of them has its share of the data.
pub fn join(machines: &[String]) -> Result<Operation> {
    Ok(Operation(cluster::join(machines)?))
}

/// Writes what is only in memory to disk, so that disk usage counts it.
pub fn flush() -> Result<()> {
    Ok(cluster::flush()?)
}

impl Node {
    /// Whether it is a working member.
    pub fn is_up(&self) -> bool {
        self.state == "up"
    }

    /// Whether it does not answer.
    pub fn is_down(&self) -> bool {
        self.state == "down"
    }

    /// The error of a step that cannot do without it.
    pub fn lost(&self) -> Error {
        Error::infrastructure("node-lost", format!("{} on {} is {}", self.name, self.machine, self.state))
    }

    /// The used part of its disk, percent; 0 when it does not know its disk.
    pub fn used_percent(&self) -> f64 {
        if self.total_bytes == 0 { 0.0 } else { 100.0 * self.used_bytes as f64 / self.total_bytes as f64 }
    }

    /// A figure that the node reports about itself, such as `compactions`; none when it does not report it.
    pub fn signal(&self, name: &str) -> Option<f64> {
        self.signals.iter().find(|signal| signal.name == name).map(|signal| signal.value)
    }
}
