//! Everything that the local backend knows of its run; what must survive the runner is in files of the run's directory.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{self, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use wfe_core::CallError;
use wfe_core::backend::Run;
use wfe_core::capability::cloud::Machine;

use crate::control::{Control, cql_address};
use crate::load::{Loads, Target};
use crate::local::LocalOptions;
use crate::local::addresses::{self, CQL_PORT};
use crate::local::process::Process;
use crate::local::roles;
use crate::operations::Operations;
use crate::{files, lock, monotonic};

/// Compaction in small pieces: a small disk has no room for a second copy of half of its data, and the guardrail counts
/// what a finished compaction has not deleted yet.
const COMPACTION: &str = "{'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'T4', 'base_shard_count': '8', \
                          'target_sstable_size': '4MiB', 'min_sstable_size': '1MiB'}";

/// A machine as its `machine.json` has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MachineRecord {
    /// The key of the call that created it.
    pub key: String,
    /// What the contract knows of it.
    pub machine: Machine,
    /// Port of its node's management interface; 0 for a loader.
    pub jmx_port: u16,
    /// When it is not wanted any more, RFC 3339, if it stays after its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

impl MachineRecord {
    /// The same machine in another state.
    pub fn in_state(&self, state: &str) -> Self {
        let machine = Machine { state: state.into(), ..self.machine.clone() };
        Self { machine, ..self.clone() }
    }
}

/// A member of the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, such as `node-1`.
    pub name: String,
    /// The machine it runs on.
    pub machine: String,
    /// Its tokens.
    pub tokens: Vec<i64>,
    /// Whether it belongs to the first members, which have nothing to fetch.
    pub founder: bool,
    /// Whether it has been ready once.
    pub ready: bool,
}

/// The cluster as `cluster.json` has it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cluster {
    /// Members in the order in which they were added.
    pub members: Vec<Member>,
    /// Operations by id, with the names of the members that they bring up.
    pub operations: BTreeMap<String, Vec<String>>,
}

/// The state of one run.
pub struct World {
    /// What was chosen.
    pub options: LocalOptions,
    /// The run.
    pub run: Run,
    /// The run's directory, absolute.
    pub root: PathBuf,
    /// All machines, terminated ones too.
    pub machines: Mutex<BTreeMap<String, MachineRecord>>,
    /// The cluster.
    pub cluster: Mutex<Cluster>,
    /// The nodes' processes, by machine.
    pub processes: Mutex<BTreeMap<String, Process>>,
    /// Starts and joins.
    pub operations: Operations,
    /// Sessions for the backend's own questions, as the administrator.
    pub control: Control,
    /// Sessions for the statements of plugins, as an ordinary user: whom the disk limit holds, and who can make no roles.
    pub statements: Control,
    /// The loads.
    pub loads: Loads,
    /// Wall time at the run's millisecond 0, milliseconds since 1970.
    pub wall_zero: u64,
}

impl World {
    /// Reads what an earlier life of the run left behind.
    pub fn open(options: LocalOptions, run: Run) -> Result<Self, CallError> {
        let root = path::absolute(&run.directory).map_err(|e| files::error("find", &run.directory, e))?;
        let directory = root.join("machines");
        let cluster = files::read_json(&directory.join(CLUSTER_FILE))?.unwrap_or_default();
        let mut machines = BTreeMap::new();
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let record: Option<MachineRecord> = files::read_json(&entry.path().join(MACHINE_FILE))
                .or_else(|error| if entry.path().is_dir() { Err(error) } else { Ok(None) })?;
            machines.extend(record.map(|record| (record.machine.id.clone(), record)));
        }
        let loads = Loads::new(run.clone(), &root, options.load.clone());
        let wall_zero = monotonic::wall_ms().saturating_sub(run.clock.now());
        Ok(Self {
            options,
            run,
            root,
            loads,
            wall_zero,
            machines: Mutex::new(machines),
            cluster: Mutex::new(cluster),
            processes: Mutex::default(),
            operations: Operations::default(),
            control: Control::new(Some(roles::administrator())),
            statements: Control::new(Some(roles::user())),
        })
    }

    /// A machine's directory.
    pub fn directory(&self, machine: &str) -> PathBuf {
        self.root.join("machines").join(machine)
    }

    /// Where a machine's logs are once it is gone.
    pub fn kept_logs(&self, machine: &str) -> PathBuf {
        self.root.join("artifacts").join(machine)
    }

    /// The first three numbers of the nodes' addresses.
    pub fn block(&self) -> [u8; 3] {
        self.options.block.unwrap_or_else(|| addresses::block_of(&self.run.id))
    }

    /// A machine; a request error when there is none of that id.
    pub fn machine(&self, id: &str) -> Result<MachineRecord, CallError> {
        let found = lock(&self.machines).get(id).cloned();
        found.ok_or_else(|| CallError::request("unknown-machine", format!("this run has no machine `{id}`")))
    }

    /// The CQL address of a member.
    pub fn cql_address(&self, member: &Member) -> Result<SocketAddr, CallError> {
        Ok(cql_address(ip_of(&self.machine(&member.machine)?.machine)?, CQL_PORT))
    }

    /// The members that were ready once and whose processes run.
    pub fn members_up(&self) -> Vec<Member> {
        let members = lock(&self.cluster).members.clone();
        members.into_iter().filter(|member| member.ready && self.is_running(member)).collect()
    }

    /// Whether a member's process runs.
    pub fn is_running(&self, member: &Member) -> bool {
        lock(&self.processes).get_mut(&member.machine).is_some_and(|process| process.ended().is_none())
    }

    /// The nodes that a load can be sent to.
    pub fn target(&self) -> Target {
        let nodes = self.members_up().iter().filter_map(|member| self.cql_address(member).ok()).collect();
        Target { nodes, login: Some(roles::user()), compaction: Some(COMPACTION) }
    }

    /// A node that is up.
    pub fn any_node(&self) -> Result<SocketAddr, CallError> {
        let none = || CallError::infrastructure("no-cluster", "no node of this run's cluster is up");
        self.target().nodes.first().copied().ok_or_else(none)
    }

    /// Keeps a machine, in memory and on disk.
    pub fn keep_machine(&self, record: MachineRecord) -> Result<(), CallError> {
        let directory = self.directory(&record.machine.id);
        files::create_dir(&directory)?;
        files::write_json(&directory.join(MACHINE_FILE), &record)?;
        lock(&self.machines).insert(record.machine.id.clone(), record);
        Ok(())
    }

    /// Changes the cluster, in memory and on disk.
    pub fn change_cluster<T>(&self, change: impl FnOnce(&mut Cluster) -> T) -> Result<T, CallError> {
        let mut cluster = lock(&self.cluster);
        let changed = change(&mut cluster);
        let directory = self.root.join("machines");
        files::create_dir(&directory)?;
        files::write_json(&directory.join(CLUSTER_FILE), &*cluster)?;
        Ok(changed)
    }

    /// Waits on the run's clock.
    pub async fn pause(&self, ms: u64) {
        self.run.clock.sleep_until(self.run.clock.now().saturating_add(ms)).await;
    }
}

const MACHINE_FILE: &str = "machine.json";
const CLUSTER_FILE: &str = "cluster.json";

/// A machine's address as a number.
pub fn ip_of(machine: &Machine) -> Result<Ipv4Addr, CallError> {
    let wrong = |e| CallError::infrastructure("address", format!("the address of {} is no address: {e}", machine.id));
    machine.address.parse().map_err(wrong)
}
