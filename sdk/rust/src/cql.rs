//! CQL statements on the run's cluster: capability `cql`, granted with keyspaces.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::bindings::wfe::cql::session;

/// Runs a statement that only reads, with values for its markers; answers each row as `T`.
pub fn query<T: DeserializeOwned>(statement: &str, values: impl Serialize) -> Result<Vec<T>> {
    let rows = session::query(statement, &serde_json::to_string(&values)?)?;
    Ok(serde_json::from_str(&rows)?)
}

/// Runs a statement that changes something, with values for its markers.
pub fn execute(statement: &str, values: impl Serialize) -> Result<()> {
    Ok(session::execute(statement, &serde_json::to_string(&values)?)?)
}
