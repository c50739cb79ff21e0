//! The database cluster as it sees itself.

use super::record;

record! {
    /// Form a cluster; answers an operation's id.
    Create {
        /// Product and version, such as `cassandra 5.0`.
        database: String,
        /// The machines of its nodes.
        machines: Vec<String>,
    }
    /// A figure that a node reports about itself.
    Signal {
        /// Its name.
        name: String,
        /// Its value.
        value: f64,
    }
    /// One node of the database.
    Node {
        /// Its name, such as `node-1`.
        name: String,
        /// The machine it runs on.
        machine: String,
        /// That machine's type.
        machine_type: String,
        /// Counts from 1.
        rack: u32,
        /// `up`, `joining`, `leaving` or `down`.
        state: String,
        /// Disk used, bytes.
        used_bytes: u64,
        /// Disk there is, bytes.
        total_bytes: u64,
        /// Further figures, such as `compactions` and `streams`.
        signals: Vec<Signal>,
    }
    /// The nodes; answers a list of [`Node`].
    Nodes {}
    /// The nodes, kept as the disk usage of a moment; answers a list of [`Node`].
    Snapshot {
        /// The moment's name.
        moment: String,
    }
    /// Add members, all at the same time; answers an operation's id.
    Join {
        /// The machines of the new nodes.
        machines: Vec<String>,
    }
    /// Write what is only in memory to disk.
    Flush {}
}
