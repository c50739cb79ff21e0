//! The state of the simulated cluster: nodes, the table, and the work that is due.

use wfe_core::Millis;
use wfe_core::capability::observe::DatabaseEvent;

use crate::calibration::{Balance, Database, Hardware};
use crate::tablets::{Site, Tablets};

/// Part of a disk up to which tablets may be moved to it.
const ROOM: f64 = 0.98;

/// The cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// What runs on the nodes.
    pub database: Database,
    /// The nodes in the order in which they came.
    pub nodes: Vec<Node>,
    /// Where the table is; none before the first load.
    pub tablets: Option<Tablets>,
    /// Bytes of one copy of all data on disk.
    pub copy: f64,
    /// Different rows in the table.
    pub rows: f64,
    /// Overload so far, seconds.
    pub pressure: f64,
    /// Writes that nodes missed while they were down.
    pub hints: f64,
    /// What the database said, oldest first.
    pub events: Vec<DatabaseEvent>,
}

/// Whether a node takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    /// It is becoming a member.
    Joining,
    /// It is a member.
    Up,
    /// Its machine is gone, or it gave up.
    Down,
}

/// Why a node goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Its machine is lost.
    Fault,
    /// Its machine was given back.
    Asked,
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Such as `node-1`.
    pub name: String,
    /// The machine it runs on.
    pub machine: String,
    /// That machine's type.
    pub machine_type: String,
    /// Facts of that type.
    pub hardware: Hardware,
    /// Counts from 1.
    pub rack: u32,
    /// Whether it takes part.
    pub state: NodeState,
    /// Compaction that is due, bytes.
    pub debt: f64,
    /// How busy the driver thinks it is, from 0 to 1.
    pub busy: f64,
    /// How many of the disk's marks it has passed.
    pub marks: usize,
}

/// Disk usage, percent, at which a node says something.
const MARKS: [(f64, &str, &str); 3] = [
    (70.0, "warn", "disk usage is above 70 %"),
    (90.0, "error", "disk usage is above 90 %"),
    (100.0, "error", "disk is full: writes are refused"),
];

impl Cluster {
    /// A cluster whose nodes are still starting.
    pub fn new(database: Database, nodes: Vec<Node>) -> Self {
        Self { database, nodes, tablets: None, copy: 0.0, rows: 0.0, pressure: 0.0, hints: 0.0, events: Vec::new() }
    }

    /// Whether any node takes part.
    pub fn alive(&self) -> bool {
        self.nodes.iter().any(|node| node.state == NodeState::Up)
    }

    /// The nodes that take part, one bit for each.
    pub fn up(&self) -> u64 {
        let up = self.nodes.iter().enumerate().filter(|(_, node)| node.state == NodeState::Up);
        up.fold(0, |set, (index, _)| set | 1 << index)
    }

    /// Bytes of one tablet.
    pub fn tablet_bytes(&self) -> f64 {
        self.tablets.as_ref().map_or(0.0, |tablets| self.copy / f64::from(tablets.total))
    }

    /// Part of one copy that each node has.
    pub fn parts(&self) -> Vec<f64> {
        match &self.tablets {
            Some(tablets) => {
                tablets.held(self.nodes.len()).iter().map(|held| held / f64::from(tablets.total)).collect()
            }
            None => vec![0.0; self.nodes.len()],
        }
    }

    /// Bytes used on each node.
    pub fn used(&self) -> Vec<f64> {
        let nodes = self.nodes.iter();
        self.parts().iter().zip(nodes).map(|(part, node)| (part * self.copy).min(node.hardware.disk_bytes())).collect()
    }

    /// Whether a node that takes part has no byte left.
    pub fn full(&self) -> bool {
        let nodes = self.nodes.iter().zip(self.used());
        let mut up = nodes.filter(|(node, _)| node.state == NodeState::Up);
        up.any(|(node, used)| used >= node.hardware.disk_bytes() * (1.0 - 1e-12))
    }

    /// What placement has to know of the nodes.
    pub fn sites(&self) -> Vec<Site> {
        let tablet = self.tablet_bytes();
        let site = |(node, used): (&Node, f64)| Site {
            weight: match (node.state, self.database.constants.balance) {
                (NodeState::Up, Balance::PerVcpu) => node.hardware.cpus(),
                (NodeState::Up, Balance::PerNode) => 1.0,
                _ => 0.0,
            },
            rack: node.rack,
            room: if tablet > 0.0 { (node.hardware.disk_bytes() * ROOM - used) / tablet } else { f64::MAX },
        };
        self.nodes.iter().zip(self.used()).map(site).collect()
    }

    /// Keeps what a node said.
    pub fn say(&mut self, at_ms: Millis, node: &str, severity: &str, message: impl Into<String>) {
        let (node, severity, message) = (node.into(), severity.into(), message.into());
        self.events.push(DatabaseEvent { at_ms, node, severity, message });
    }

    /// Lets nodes say that their disks fill.
    pub fn watch_disks(&mut self, now: Millis) {
        let used = self.used();
        for (index, used) in used.iter().enumerate() {
            let node = &self.nodes[index];
            let percent = used / node.hardware.disk_bytes().max(1.0) * 100.0;
            let passed = MARKS.iter().filter(|(mark, ..)| percent >= *mark * (1.0 - 1e-12)).count();
            for (_, severity, message) in &MARKS[node.marks.min(passed)..passed] {
                let name = self.nodes[index].name.clone();
                self.say(now, &name, severity, *message);
            }
            self.nodes[index].marks = passed;
        }
    }

    /// Takes the node of a machine out; answers whether there was one.
    pub fn lose(&mut self, machine: &str, why: Loss, now: Millis) -> bool {
        let here = |node: &Node| node.machine == machine && node.state != NodeState::Down;
        let Some(index) = self.nodes.iter().position(here) else { return false };
        self.nodes[index].state = NodeState::Down;
        self.nodes[index].debt = 0.0;
        if let Some(tablets) = &mut self.tablets {
            tablets.abandon(index);
        }
        let name = self.nodes[index].name.clone();
        match why {
            Loss::Fault => self.say(now, &name, "error", "node is down"),
            Loss::Asked => self.say(now, &name, "info", "node was given back"),
        }
        true
    }
}
