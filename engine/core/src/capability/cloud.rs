//! Machines.

use super::record;

record! {
    /// Ask for machines; answers a list of [`Machine`], pending.
    Create {
        /// What to create.
        request: Request,
    }
    /// Equal machines.
    Request {
        /// What they are for.
        role: String,
        /// The provider's name of the type.
        machine_type: String,
        /// How many.
        count: u32,
        /// Spread over so many racks.
        racks: u32,
    }
    /// One machine.
    Machine {
        /// The provider's id.
        id: String,
        /// What it is for.
        role: String,
        /// The provider's name of its type.
        machine_type: String,
        /// The step that asked for it.
        step: String,
        /// Counts from 1.
        rack: u32,
        /// `pending`, `running`, `terminated` or `lost`.
        state: String,
        /// Empty while pending.
        address: String,
    }
    /// Facts of a machine type.
    MachineType {
        /// The provider's name.
        name: String,
        /// Virtual CPUs.
        vcpus: u32,
        /// Memory, bytes.
        memory_bytes: u64,
        /// Local disk, bytes.
        disk_bytes: u64,
        /// Network, bits a second.
        network_bps: u64,
        /// Price of an hour, US dollars.
        hourly_usd: f64,
    }
    /// Wait until all run; answers a list of [`Machine`].
    WaitRunning {
        /// Which machines.
        ids: Vec<String>,
        /// The longest wait.
        timeout_ms: u64,
    }
    /// This run's machines; answers a list of [`Machine`].
    List {}
    /// Give machines back.
    Terminate {
        /// Which machines.
        ids: Vec<String>,
    }
    /// Facts of a type; answers [`MachineType`].
    DescribeType {
        /// The provider's name.
        name: String,
    }
}
