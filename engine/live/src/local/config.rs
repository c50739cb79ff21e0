//! What a node is started with: its configuration files and its command line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use wfe_core::CallError;

use crate::files;
use crate::local::addresses::{CQL_PORT, STORAGE_PORT};

/// The data centre that all nodes are in.
pub const DATA_CENTER: &str = "dc1";

/// Options that open the Java runtime to Cassandra, as its own start script has them; its tools need them too.
pub const JAVA_OPENINGS: &[&str] = &[
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED",
    "--add-exports=java.sql/java.sql=ALL-UNNAMED",
    "--add-exports=java.base/java.lang.ref=ALL-UNNAMED",
    "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.module=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.loader=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.math=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.module=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.util.jar=ALL-UNNAMED",
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "-Djdk.attach.allowAttachSelf=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
];

const OPTIONS: &[&str] = &[
    "-Xss384k",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
    "-Dcassandra-foreground=yes",
    "-Dcassandra.ring_delay_ms=4000",
    "-Dcassandra.gossip_settle_min_wait_ms=500",
    "-Dcassandra.gossip_settle_interval_ms=200",
    "-Dcassandra.superuser_setup_delay_ms=300",
    // The cheapest hash of a password that there is: logins are part of no measurement.
    "-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4",
    "-Dcassandra.disk_usage.monitor_interval_ms=500",
    // Several nodes may join at the same time.
    "-Dcassandra.consistent.rangemovement=false",
];

/// One node to be.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// The run's id.
    pub run: String,
    /// The machine's id.
    pub machine: String,
    /// The machine's directory, absolute.
    pub directory: PathBuf,
    /// Where the jars are.
    pub jars: PathBuf,
    /// Its address.
    pub address: Ipv4Addr,
    /// Addresses of the nodes that it asks for the others.
    pub seeds: Vec<Ipv4Addr>,
    /// Port of its management interface on 127.0.0.1.
    pub jmx_port: u16,
    /// Its rack, from 1.
    pub rack: u32,
    /// Size of its disk, bytes.
    pub disk_bytes: u64,
    /// Its tokens.
    pub tokens: Vec<i64>,
    /// Whether it fetches its share of the data before it is ready.
    pub bootstrap: bool,
    /// Copies of the roles: no more than there are first nodes.
    pub role_copies: usize,
    /// Java heap, MiB.
    pub heap_mib: u32,
    /// Lines of `cassandra.yaml` that replace or extend the ones here, by name.
    pub settings: BTreeMap<String, String>,
}

impl NodeConfig {
    /// Writes the configuration files.
    pub fn write(&self) -> Result<(), CallError> {
        for name in ["conf", "logs", "tmp"] {
            files::create_dir(&self.directory.join(name))?;
        }
        let conf = self.directory.join("conf");
        files::write(&conf.join("cassandra.yaml"), &self.cassandra_yaml())?;
        let rack = format!("dc={DATA_CENTER}\nrack=rack{}\n", self.rack);
        files::write(&conf.join("cassandra-rackdc.properties"), &rack)?;
        files::write(&conf.join("logback.xml"), LOGBACK)
    }

    /// The arguments of `java`.
    pub fn arguments(&self) -> Vec<String> {
        let directory = self.directory.display();
        let uri = file_uri(&self.directory);
        let mut all: Vec<String> = JAVA_OPENINGS.iter().chain(OPTIONS).map(|&option| option.to_owned()).collect();
        all.extend([
            format!("-Dwfe.run={}", self.run),
            format!("-Dwfe.machine={}", self.machine),
            format!("-javaagent:{}/jamm-0.4.0.jar", self.jars.display()),
            format!("-Xms{0}m", self.heap_mib),
            format!("-Xmx{0}m", self.heap_mib),
            format!("-Djava.io.tmpdir={directory}/tmp"),
            format!("-Dcassandra.config={uri}/conf/cassandra.yaml"),
            format!("-Dcassandra-rackdc.properties={uri}/conf/cassandra-rackdc.properties"),
            format!("-Dlogback.configurationFile={directory}/conf/logback.xml"),
            format!("-Dcassandra.storagedir={directory}"),
            format!("-Dcassandra.logdir={directory}/logs"),
            format!("-Dcassandra.system_auth.default_rf={}", self.role_copies),
            format!("-Dcassandra.jmx.local.port={}", self.jmx_port),
            "-cp".into(),
            format!("{directory}/conf:{}/*", self.jars.display()),
            "org.apache.cassandra.service.CassandraDaemon".into(),
        ]);
        all
    }

    fn cassandra_yaml(&self) -> String {
        let mut all = self.own_settings();
        all.extend(self.settings.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let mut text = String::new();
        for (name, value) in all {
            let _ = writeln!(text, "{name}: {value}");
        }
        text
    }

    fn own_settings(&self) -> BTreeMap<&str, String> {
        let seeds: Vec<String> = self.seeds.iter().map(|seed| format!("{seed}:{STORAGE_PORT}")).collect();
        let tokens: Vec<String> = self.tokens.iter().map(i64::to_string).collect();
        let seed_class = "org.apache.cassandra.locator.SimpleSeedProvider";
        let mut all: BTreeMap<&str, String> = FIXED.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        all.extend([
            ("cluster_name", format!("'wfe {}'", self.run)),
            ("num_tokens", self.tokens.len().to_string()),
            ("initial_token", format!("'{}'", tokens.join(","))),
            ("auto_bootstrap", self.bootstrap.to_string()),
            ("listen_address", self.address.to_string()),
            ("rpc_address", self.address.to_string()),
            ("storage_port", STORAGE_PORT.to_string()),
            ("native_transport_port", CQL_PORT.to_string()),
            ("data_disk_usage_max_disk_size", format!("{}MiB", self.disk_bytes >> 20)),
            (
                "seed_provider",
                format!("[ {{ class_name: {seed_class}, parameters: [ {{ seeds: '{}' }} ] }} ]", seeds.join(",")),
            ),
        ]);
        all
    }
}

/// Settings that every node has: small buffers, a disk that can be full, and patience with a busy machine.
const FIXED: &[(&str, &str)] = &[
    ("partitioner", "org.apache.cassandra.dht.Murmur3Partitioner"),
    ("endpoint_snitch", "GossipingPropertyFileSnitch"),
    ("commitlog_sync", "periodic"),
    ("commitlog_sync_period", "10000ms"),
    ("commitlog_segment_size", "4MiB"),
    ("commitlog_total_space", "64MiB"),
    // Small, so that what is written is soon on disk and in the usage.
    ("memtable_heap_space", "16MiB"),
    ("memtable_offheap_space", "16MiB"),
    ("file_cache_size", "32MiB"),
    ("key_cache_size", "8MiB"),
    ("authenticator", "PasswordAuthenticator"),
    ("authorizer", "AllowAllAuthorizer"),
    ("role_manager", "CassandraRoleManager"),
    ("roles_validity", "60000ms"),
    ("credentials_validity", "60000ms"),
    ("auto_snapshot", "false"),
    ("concurrent_compactors", "1"),
    ("read_request_timeout", "8000ms"),
    ("write_request_timeout", "8000ms"),
    ("range_request_timeout", "10000ms"),
    ("request_timeout", "10000ms"),
    ("phi_convict_threshold", "12"),
    // A test may fill disks to 90 % and go on from there: full is what comes after.
    ("data_disk_usage_percentage_warn_threshold", "70"),
    ("data_disk_usage_percentage_fail_threshold", "99"),
];

/// One line for each event, with UTC time; nothing else is read by a program.
const LOGBACK: &str = r#"<configuration>
  <shutdownHook class="ch.qos.logback.core.hook.DefaultShutdownHook"/>
  <appender name="FILE" class="ch.qos.logback.core.FileAppender">
    <file>${cassandra.logdir}/system.log</file>
    <encoder><pattern>%-5level [%thread] %date{"yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", UTC} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="FILE"/></root>
</configuration>
"#;

fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(byte as char),
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> NodeConfig {
        NodeConfig {
            run: "r1".into(),
            machine: "database-2".into(),
            directory: "/runs/r 1/machines/database-2".into(),
            jars: "/cache/jars".into(),
            address: Ipv4Addr::new(127, 20, 3, 2),
            seeds: vec![Ipv4Addr::new(127, 20, 3, 1)],
            jmx_port: 7_199,
            rack: 2,
            disk_bytes: 96 << 20,
            tokens: vec![-5, 7],
            bootstrap: true,
            role_copies: 3,
            heap_mib: 384,
            settings: BTreeMap::from([("phi_convict_threshold".into(), "8".into())]),
        }
    }

    #[test]
    fn the_yaml_says_where_the_node_is_and_how_large_its_disk() {
        let yaml = config().cassandra_yaml();
        let chosen: Vec<&str> = yaml
            .lines()
            .filter(|line| ["disk_size", "listen", "seed", "token", "phi", "boot"].iter().any(|w| line.contains(w)))
            .collect();
        insta::assert_snapshot!(chosen.join("\n"), @r"
        auto_bootstrap: true
        data_disk_usage_max_disk_size: 96MiB
        initial_token: '-5,7'
        listen_address: 127.20.3.2
        num_tokens: 2
        phi_convict_threshold: 8
        seed_provider: [ { class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [ { seeds: '127.20.3.1:7000' } ] } ]
        ");
    }

    #[test]
    fn the_command_line_carries_the_run_and_the_machine() {
        let arguments = config().arguments();
        assert!(arguments.contains(&"-Dwfe.run=r1".to_owned()));
        assert!(arguments.contains(&"-Dwfe.machine=database-2".to_owned()));
        let uri = "-Dcassandra.config=file:///runs/r%201/machines/database-2/conf/cassandra.yaml";
        assert!(arguments.contains(&uri.to_owned()));
    }
}
