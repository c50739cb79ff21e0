//! How many rows a cluster holds, when the workflow does not say it.

use wfe_sdk::cluster::Node;
use wfe_sdk::{Result, cluster, log};

/// The part of used disk that is payload; the rest is keys, indexes and what compaction has not yet removed.
const PAYLOAD: f64 = 0.9;
/// Rows of a load on an empty cluster.
const EMPTY: u64 = 100_000;

/// About as many rows of a size in bytes as the cluster holds.
pub fn estimate(row_bytes: f64, replication: u32) -> Result<u64> {
    let rows = held(&cluster::nodes()?, row_bytes, replication);
    log::info(format!("no rows given: the load uses {rows} keys, judged by the used disk"));
    Ok(rows)
}

fn held(nodes: &[Node], row_bytes: f64, replication: u32) -> u64 {
    let used: u64 = nodes.iter().map(|node| node.used_bytes).sum();
    let rows = PAYLOAD * used as f64 / (row_bytes.max(1.0) * f64::from(replication.max(1)));
    (rows as u64).max(EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_the_used_disk() {
        let node = |used_bytes| Node {
            name: "n".into(),
            machine: "m".into(),
            machine_type: "t".into(),
            rack: 1,
            state: "up".into(),
            used_bytes,
            total_bytes: 468_000_000_000,
            signals: vec![],
        };
        let nodes = [node(405_000_000_000), node(405_000_000_000), node(405_000_000_000)];
        let rows = held(&nodes, 1024.0, 3);
        assert!((350_000_000..360_000_000).contains(&rows), "{rows}");
        assert_eq!(held(&[node(0)], 1024.0, 3), EMPTY);
        assert_eq!(held(&[], 0.0, 0), EMPTY);
    }
}
