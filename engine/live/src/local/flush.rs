//! Flushing, through Cassandra's own tool.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures_util::future::try_join_all;
use wfe_core::CallError;

use crate::local::config::JAVA_OPENINGS;
use crate::local::world::World;
use crate::local::{cluster, jars};

/// Writes the memtables of all nodes that are up to disk.
pub async fn flush(world: &Arc<World>) -> Result<(), CallError> {
    let java = jars::program("java", env::var_os("PATH").as_deref())?;
    let cache = world.options.cache.clone();
    let jars = cluster::blocking(move || jars::resolve(&cache)).await?;
    let mut all = Vec::new();
    for member in cluster::members_up(world) {
        let record = world.machine(&member.machine)?;
        let (tmp, java, jars) = (world.directory(&member.machine).join("tmp"), java.clone(), jars.clone());
        all.push(cluster::blocking(move || run(&java, &jars, &tmp, record.jmx_port, &member.name)));
    }
    try_join_all(all).await.map(|_| ())
}

fn run(java: &Path, jars: &Path, tmp: &Path, port: u16, node: &str) -> Result<(), CallError> {
    let failed = |why: String| CallError::infrastructure("flush-failed", format!("{node} could not be flushed: {why}"));
    let mut command = Command::new(java);
    command.args(JAVA_OPENINGS).args(["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]);
    // The tool keeps a history in the home directory: not in the user's.
    command.arg(format!("-Duser.home={}", tmp.display())).arg("-cp").arg(format!("{}/*", jars.display()));
    command.args(["org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1", "-p", &port.to_string(), "flush"]);
    let output = command.stdin(Stdio::null()).output().map_err(|e| failed(e.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(failed(String::from_utf8_lossy(&said).trim().chars().take(400).collect()))
}
