//! What a node says about itself, asked through a session that is pinned to it.

use scylla::client::session::Session;
use scylla::value::{CqlValue, Row};
use wfe_core::CallError;
use wfe_core::capability::cluster::Signal;

/// What a node says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Whether it has its share of the data.
    pub bootstrapped: bool,
    /// Its data centre.
    pub data_center: String,
    /// Its rack.
    pub rack: String,
    /// How many other nodes it knows.
    pub peers: usize,
}

/// Asks who a node is.
pub async fn facts(session: &Session) -> Result<Facts, CallError> {
    let local = rows(session, "SELECT bootstrapped, data_center, rack FROM system.local").await?;
    let peers = rows(session, "SELECT peer FROM system.peers_v2").await?;
    let text = |n: usize| local.first().and_then(|row| row.columns.get(n)?.as_ref()?.as_text().cloned());
    Ok(Facts {
        bootstrapped: text(0).as_deref() == Some("COMPLETED"),
        data_center: text(1).unwrap_or_default(),
        rack: text(2).unwrap_or_default(),
        peers: peers.len(),
    })
}

/// Asks how busy a node is:
/// `compactions` that run, `streams` that run, `hints` (files of them) that wait, `pending-writes`, `pending-reads` and
/// `pending-flushes` that wait for a thread.
pub async fn signals(session: &Session) -> Result<Vec<Signal>, CallError> {
    let tasks = rows(session, "SELECT kind FROM system_views.sstable_tasks").await?;
    let streams = rows(session, "SELECT status FROM system_views.streaming").await?;
    let hints = rows(session, "SELECT files FROM system_views.pending_hints").await?;
    let pools = rows(session, "SELECT name, pending_tasks FROM system_views.thread_pools").await?;
    let running = |row: &&Row| {
        let status = row.columns.first().and_then(|c| c.as_ref()?.as_text().cloned()).unwrap_or_default();
        !matches!(status.to_lowercase().as_str(), "success" | "failure")
    };
    let pending = |pool: &str| -> f64 {
        let named = |row: &&Row| row.columns[0].as_ref().and_then(CqlValue::as_text).is_some_and(|name| name == pool);
        pools.iter().find(named).and_then(|row| number(row, 1)).unwrap_or(0.0)
    };
    let signal = |name: &str, value: f64| Signal { name: name.into(), value };
    Ok(vec![
        signal("compactions", tasks.len() as f64),
        signal("streams", streams.iter().filter(running).count() as f64),
        signal("hints", hints.iter().filter_map(|row| number(row, 0)).fold(0.0, |sum, files| sum + files)),
        signal("pending-writes", pending("MutationStage")),
        signal("pending-reads", pending("ReadStage")),
        signal("pending-flushes", pending("MemtableFlushWriter")),
    ])
}

/// Asks how many bytes all tables of a node take, and how many they may; none when no limit is set.
pub async fn usage(session: &Session) -> Result<(u64, Option<u64>), CallError> {
    let tables = rows(session, "SELECT mebibytes FROM system_views.disk_usage").await?;
    let used: f64 = tables.iter().filter_map(|row| number(row, 0)).sum();
    let limit = "SELECT value FROM system_views.settings WHERE name = 'data_disk_usage_max_disk_size'";
    let limit = rows(session, limit).await?;
    let limit = limit.first().and_then(|row| row.columns.first()?.as_ref()?.as_text().cloned());
    Ok(((used * f64::from(1 << 20)) as u64, limit.as_deref().and_then(bytes)))
}

/// Reads a size as the database writes it, such as `96MiB`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Runs a statement that answers rows.
pub async fn rows(session: &Session, statement: &str) -> Result<Vec<Row>, CallError> {
    let failed = |why: String| {
        CallError::infrastructure("query-failed", format!("the database did not answer `{statement}`: {why}"))
    };
    let result = session.query_unpaged(statement, ()).await.map_err(|e| failed(e.to_string()))?;
    let result = result.into_rows_result().map_err(|e| failed(e.to_string()))?;
    let rows = result.rows::<Row>().map_err(|e| failed(e.to_string()))?;
    rows.collect::<Result<_, _>>().map_err(|e| failed(e.to_string()))
}

/// A column as a number, whatever its type.
pub fn number(row: &Row, column: usize) -> Option<f64> {
    match row.columns.get(column)?.as_ref()? {
        CqlValue::Int(n) => Some(f64::from(*n)),
        CqlValue::BigInt(n) => Some(*n as f64),
        CqlValue::Double(n) => Some(*n),
        CqlValue::Float(n) => Some(f64::from(*n)),
        CqlValue::Varint(n) => {
            Some(n.as_signed_bytes_be_slice().iter().fold(0.0, |sum, byte| sum * 256.0 + f64::from(*byte)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(bytes("96MiB"), Some(96 << 20));
        assert_eq!(bytes("1024"), Some(1024));
        assert_eq!(bytes("null"), None);
        assert_eq!(bytes("3XiB"), None);
        assert_eq!(bytes("99999999999999999999TiB"), None);
    }
}
