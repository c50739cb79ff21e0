//! What the model knows about machines and databases: the data of `calibration.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use wfe_core::CallError;

/// Bytes of a GiB.
pub const GIB: f64 = 1_073_741_824.0;
/// Bytes of a MB.
pub const MB: f64 = 1e6;

/// The calibration that is built in.
pub fn calibration() -> &'static Calibration {
    static DATA: LazyLock<Calibration> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../calibration.json")).expect("a test parses the built-in calibration")
    });
    &DATA
}

/// The data file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Calibration {
    /// Machine types by the provider's name.
    pub machine_types: BTreeMap<String, Hardware>,
    /// Databases by name.
    pub databases: BTreeMap<String, Product>,
    /// Where the values come from, for people.
    #[serde(rename = "origin")]
    _origin: BTreeMap<String, String>,
}

/// Facts of a machine type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Hardware {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory, GiB.
    pub memory_gib: f64,
    /// Local disk, GiB; 0 when there is none.
    pub disk_gib: f64,
    /// Sequential disk reads, MB/s.
    pub read_mb_s: f64,
    /// Sequential disk writes, MB/s.
    pub write_mb_s: f64,
    /// Network, Gbit/s.
    pub network_gbit_s: f64,
    /// Price of an hour, US dollars.
    pub hourly_usd: f64,
    /// From the request until it runs, seconds.
    pub boot_s: f64,
    /// Speed of one vCPU; that of an i4i is 1.
    pub speed: f64,
}

impl Hardware {
    /// Virtual CPUs.
    pub fn cpus(&self) -> f64 {
        f64::from(self.vcpus)
    }

    /// Local disk, bytes.
    pub fn disk_bytes(&self) -> f64 {
        self.disk_gib * GIB
    }

    /// Disk reads, bytes a second.
    pub fn read_bw(&self) -> f64 {
        self.read_mb_s * MB
    }

    /// Disk writes, bytes a second.
    pub fn write_bw(&self) -> f64 {
        self.write_mb_s * MB
    }

    /// Network, bytes a second.
    pub fn network_bw(&self) -> f64 {
        self.network_gbit_s * 1e9 / 8.0
    }
}

/// One database product.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Product {
    /// What differs between its versions.
    pub versions: BTreeMap<String, Version>,
    /// What is the same in all of them.
    pub constants: Constants,
}

/// What differs between versions of a database.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Version {
    /// The most that one vCPU of a sender streams, MB/s; none without a limit.
    pub sending_mb_s_a_vcpu: Option<f64>,
}

/// How replicas are spread over nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// In proportion to the nodes' virtual CPUs.
    PerVcpu,
    /// The same for each node.
    PerNode,
}

/// How the client's driver picks the coordinator among the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// It avoids busy nodes.
    Busy,
    /// Each equally often.
    Even,
}

/// Constants of a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Constants {
    /// Tablets of the table.
    pub tablets: u32,
    /// How replicas are spread.
    pub balance: Balance,
    /// How coordinators are picked.
    pub driver: Driver,
    /// CPU of coordinating an operation, µs.
    pub coordinator_us: f64,
    /// CPU of a write on a replica, µs.
    pub write_us: f64,
    /// CPU of a read on a replica, µs.
    pub read_us: f64,
    /// More CPU of a read that misses the cache, µs.
    pub miss_us: f64,
    /// CPU of compacting a byte, ns.
    pub compaction_ns_a_byte: f64,
    /// How often a byte is compacted.
    pub compaction_passes: f64,
    /// Bytes on disk for a byte of payload.
    pub overhead: f64,
    /// Disk reads of a cache miss, bytes.
    pub read_bytes_a_miss: f64,
    /// Part of the memory that caches rows.
    pub cache_part: f64,
    /// Bytes in the cache for a byte of a row.
    pub cache_expansion: f64,
    /// Time on the way between client and coordinator, ms.
    pub base_ms: f64,
    /// Mean time until a request is scheduled, ms.
    pub scheduling_ms: f64,
    /// Mean time of the commit log, ms.
    pub commit_ms: f64,
    /// Mean time of the disk without its transfer, ms.
    pub disk_ms: f64,
    /// Scheduler shares of requests.
    pub foreground_shares: f64,
    /// Scheduler shares of streaming.
    pub streaming_shares: f64,
    /// Mean scheduler shares of compaction while data stream.
    pub compaction_shares: f64,
    /// Compaction is at double shares for so long, then at none for as long, seconds.
    pub burst_s: u32,
    /// CPU limit of streaming, MB/s of a vCPU.
    pub stream_mb_s_a_vcpu: f64,
    /// Part of the disk's rate that streaming may use.
    pub stream_disk_part: f64,
    /// Part of the network that streaming may use.
    pub stream_network_part: f64,
    /// What streaming reads or writes at once, bytes.
    pub stream_block_bytes: f64,
    /// The most that one stream carries, MB/s; none without a limit.
    pub session_mb_s: Option<f64>,
    /// Chance of a stall in millionths, for each request a second of a vCPU.
    pub stall_us: f64,
    /// Mean length of a stall, ms.
    pub stall_ms: f64,
    /// How the chance scatters between intervals: sigma of a lognormal.
    pub stall_scatter: f64,
    /// Loaders that are late send so much faster.
    pub catch_up: f64,
    /// Time to form a cluster, seconds.
    pub create_s: f64,
    /// Time to become a member, seconds.
    pub join_s: f64,
    /// Part by which joining is slower while requests are late.
    pub join_slow: f64,
    /// How late requests must be for that, seconds.
    pub join_slow_lag_s: f64,
    /// When a join that cannot succeed gives up, seconds.
    pub join_timeout_s: f64,
    /// Overload (seconds × members) from which a join fails.
    pub pressure_limit: f64,
    /// When a client gives up on a request that was sent, seconds.
    pub request_timeout_s: f64,
}

/// One version of a database with all its constants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Database {
    /// Product and version, such as `scylla 2025.2`.
    pub name: String,
    /// What is the same in all versions.
    pub constants: Constants,
    /// What is not.
    pub version: Version,
}

impl Calibration {
    /// The machine type of that name.
    pub fn hardware(&self, name: &str) -> Result<Hardware, CallError> {
        self.machine_types.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = self.machine_types.keys().map(String::as_str).collect();
            let message = format!("the simulator knows no machine type `{name}`; it knows {}", known.join(", "));
            CallError::request("unknown-machine-type", message)
        })
    }

    /// The database of that name, product and version.
    pub fn database(&self, name: &str) -> Result<Database, CallError> {
        let mut words = name.split_whitespace();
        let (product, version) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let found = self.databases.get(product).and_then(|p| p.versions.get(version).map(|v| (p, v)));
        match (found, words.next()) {
            (Some((product_data, &version_data)), None) => Ok(Database {
                name: format!("{product} {version}"),
                constants: product_data.constants.clone(),
                version: version_data,
            }),
            _ => Err(self.unknown_database(name)),
        }
    }

    /// All databases: product and version.
    pub fn database_names(&self) -> Vec<String> {
        self.databases.iter().flat_map(|(p, data)| data.versions.keys().map(move |v| format!("{p} {v}"))).collect()
    }

    fn unknown_database(&self, name: &str) -> CallError {
        let message =
            format!("the simulator knows no database `{name}`; it knows {}", self.database_names().join(", "));
        CallError::request("unknown-database", message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_data_is_plausible() {
        let data = calibration();
        for (name, hardware) in &data.machine_types {
            assert!(hardware.vcpus > 0 && hardware.hourly_usd > 0.0 && hardware.speed > 0.0, "{name}");
        }
        for product in data.databases.values() {
            let c = &product.constants;
            assert!(c.tablets > 0 && c.overhead >= 1.0 && c.burst_s > 0 && c.catch_up >= 1.0);
        }
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let data = calibration();
        assert!(data.hardware("i4i.large").is_ok());
        assert!(data.hardware("i4i.small").expect_err("unknown").message.contains("i4i.2xlarge"));
        assert_eq!(data.database(" scylla  2025.2 ").expect("known").name, "scylla 2025.2");
        for name in ["scylla", "", "scylla 2025.2 x", "oracle 1"] {
            let error = data.database(name).expect_err("unknown");
            insta::allow_duplicates! { assert!(error.message.ends_with("it knows cassandra 5.0, scylla 2025.1, scylla 2025.2, scylla newest"), "{error}"); }
        }
    }
}
