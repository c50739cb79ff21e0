//! Sessions for asking and telling, one for each node and pinned to it: what a node says about itself must come from that
//! node.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::host_filter::AllowListHostFilter;
use scylla::policies::retry::FallthroughRetryPolicy;
use tokio::sync::Mutex;
use wfe_core::CallError;
use wfe_core::backend::Clock;

/// How long a node may take to accept a connection, or to answer a question, milliseconds.
pub const PATIENCE_MS: u64 = 10_000;

/// The sessions.
#[derive(Default)]
pub struct Control {
    sessions: Mutex<BTreeMap<SocketAddr, Arc<Session>>>,
}

impl Control {
    /// The session of a node; connects when there is none.
    pub async fn session(&self, clock: &dyn Clock, node: SocketAddr) -> Result<Arc<Session>, CallError> {
        let mut sessions = self.sessions.lock().await;
        if let Some(session) = sessions.get(&node) {
            return Ok(session.clone());
        }
        let connected = within(clock, PATIENCE_MS, connect(node)).await;
        let session = Arc::new(connected.unwrap_or_else(|| Err(unreachable(node, "no answer within 10 s")))?);
        sessions.insert(node, session.clone());
        Ok(session)
    }

    /// Forgets the session of a node that is gone, or does not answer.
    pub async fn forget(&self, node: SocketAddr) {
        self.sessions.lock().await.remove(&node);
    }

    /// Closes all sessions.
    pub async fn close(&self) {
        self.sessions.lock().await.clear();
    }
}

/// Waits for an answer, but only so long.
pub async fn within<T>(clock: &dyn Clock, ms: u64, answer: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        () = clock.sleep_until(clock.now().saturating_add(ms)) => None,
    }
}

fn unreachable(node: SocketAddr, why: impl std::fmt::Display) -> CallError {
    let message = format!("cannot reach the database at {node}: {why}; is it running, and is this its CQL address?");
    CallError::infrastructure("unreachable", message)
}

async fn connect(node: SocketAddr) -> Result<Session, CallError> {
    let only = AllowListHostFilter::new([node]).map_err(|e| unreachable(node, e))?;
    let profile = ExecutionProfile::builder()
        .request_timeout(Some(Duration::from_millis(PATIENCE_MS)))
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .build();
    SessionBuilder::new()
        .known_node_addr(node)
        .host_filter(Arc::new(only))
        .pool_size(PoolSize::PerHost(NonZeroUsize::MIN))
        .fetch_schema_metadata(false)
        .connection_timeout(Duration::from_millis(PATIENCE_MS))
        .default_execution_profile_handle(profile.into_handle())
        .build()
        .await
        .map_err(|e| unreachable(node, e))
}

/// The CQL address of an IP address.
pub fn cql_address(address: impl Into<IpAddr>, port: u16) -> SocketAddr {
    SocketAddr::new(address.into(), port)
}
