//! The keyspace and the table of a load.

use scylla::client::session::Session;
use wfe_core::CallError;

use crate::load::row::Shape;
use crate::load::{Checked, KEYSPACE};
use crate::nodes;

/// Creates what is missing; refuses a keyspace with another number of copies.
pub async fn ensure(session: &Session, spec: &Checked, compaction: Option<&str>) -> Result<(), CallError> {
    let center = nodes::facts(session).await?.data_center;
    let keyspace = format!(
        "CREATE KEYSPACE IF NOT EXISTS {KEYSPACE} WITH replication = \
         {{'class': 'NetworkTopologyStrategy', '{center}': {}}}",
        spec.replication
    );
    change(session, &keyspace).await?;
    check_copies(session, &center, spec.replication).await?;
    let table = table(spec.shape);
    let compaction = compaction.map(|text| format!(" AND compaction = {text}")).unwrap_or_default();
    // Cassandra's way to say it, then ScyllaDB's.
    let off = change(session, &format!("{table} WITH compression = {{'enabled': 'false'}}{compaction}")).await;
    match off {
        Ok(()) => Ok(()),
        Err(error) => {
            let other =
                change(session, &format!("{table} WITH compression = {{'sstable_compression': ''}}{compaction}")).await;
            other.map_err(|_| error)
        }
    }
}

fn table(shape: Shape) -> String {
    let columns = shape.list(|n| format!("c{n} blob"));
    format!("CREATE TABLE IF NOT EXISTS {KEYSPACE}.{} (key bigint PRIMARY KEY, {columns})", shape.table())
}

async fn change(session: &Session, statement: &str) -> Result<(), CallError> {
    session
        .query_unpaged(statement, ())
        .await
        .map(|_| ())
        .map_err(|e| CallError::infrastructure("schema", format!("the database refused `{statement}`: {e}")))
}

async fn check_copies(session: &Session, center: &str, wanted: u32) -> Result<(), CallError> {
    let statement =
        format!("SELECT replication['{center}'] FROM system_schema.keyspaces WHERE keyspace_name = '{KEYSPACE}'");
    let rows = nodes::rows(session, &statement).await?;
    let copies = rows.first().and_then(|row| row.columns.first()?.as_ref()?.as_text().cloned());
    match copies {
        Some(copies) if copies != wanted.to_string() => {
            let message = format!(
                "keyspace {KEYSPACE} has {copies} copies of each row and this load asks for {wanted}: all loads of a run \
                 share the keyspace, give them the same `replication`"
            );
            Err(CallError::request("other-replication", message))
        }
        _ => Ok(()),
    }
}
