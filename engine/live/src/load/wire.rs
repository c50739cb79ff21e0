//! A load thread's own session, with its statements prepared.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::errors::ExecutionError;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::statement::prepared::PreparedStatement;
use wfe_core::CallError;

use crate::control;
use crate::load::row::{Row, Shape};
use crate::load::{Checked, KEYSPACE, Kind, Target, schema};

/// A session that is ready to send.
pub struct Wire {
    session: Session,
    write: PreparedStatement,
    read: PreparedStatement,
    shape: Shape,
}

impl Wire {
    /// Connects to all nodes, makes sure that the table is there and prepares the statements.
    pub async fn connect(target: &Target, spec: &Checked) -> Result<Self, CallError> {
        let connected = tokio::time::timeout(START, connect(target, spec)).await;
        connected.unwrap_or_else(|_| Err(failed("be prepared", "it took longer than two minutes")))
    }

    /// Sends one operation and waits for its answer.
    pub async fn send(&self, kind: Kind, key: i64) -> Result<(), ExecutionError> {
        match kind {
            Kind::Write => self.session.execute_unpaged(&self.write, Row { key, shape: self.shape }).await.map(|_| ()),
            Kind::Read => self.session.execute_unpaged(&self.read, (key,)).await.map(|_| ()),
        }
    }
}

/// The longest that all preparations may take.
const START: Duration = Duration::from_secs(120);

async fn connect(target: &Target, spec: &Checked) -> Result<Wire, CallError> {
    // No deadline and no retry of the driver's own: both would happen unseen.
    let profile = ExecutionProfile::builder()
        .request_timeout(None)
        .consistency(spec.consistency)
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .build();
    let session = control::builder(target.login.as_ref())
        .known_nodes_addr(&target.nodes)
        .pool_size(PoolSize::PerHost(NonZeroUsize::MIN))
        .connection_timeout(Duration::from_secs(10))
        .default_execution_profile_handle(profile.into_handle())
        .build()
        .await
        .map_err(|e| failed("connect to the database", e))?;
    schema::ensure(&session, spec, target.compaction).await?;
    let shape = spec.shape;
    let table = format!("{KEYSPACE}.{}", shape.table());
    let (names, marks) = (shape.list(|n| format!("c{n}")), shape.list(|_| "?".into()));
    let write = format!("INSERT INTO {table} (key, {names}) VALUES (?, {marks})");
    let read = format!("SELECT {names} FROM {table} WHERE key = ?");
    let mut write = session.prepare(write).await.map_err(|e| failed("prepare the write", e))?;
    let mut read = session.prepare(read).await.map_err(|e| failed("prepare the read", e))?;
    write.set_is_idempotent(true);
    read.set_is_idempotent(true);
    Ok(Wire { session, write, read, shape })
}

fn failed(what: &str, why: impl std::fmt::Display) -> CallError {
    CallError::infrastructure("load-not-started", format!("the load could not {what}: {why}"))
}
