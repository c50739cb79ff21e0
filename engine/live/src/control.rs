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

/// Who logs in, where the database asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The role.
    pub user: String,
    /// Its password.
    pub password: String,
}

/// The sessions.
pub struct Control {
    login: Option<Login>,
    sessions: Mutex<BTreeMap<SocketAddr, Arc<Session>>>,
}

impl Control {
    /// No session yet.
    pub fn new(login: Option<Login>) -> Self {
        Self { login, sessions: Mutex::default() }
    }

    /// The session of a node; connects when there is none.
    pub async fn session(&self, clock: &dyn Clock, node: SocketAddr) -> Result<Arc<Session>, CallError> {
        if let Some(session) = self.sessions.lock().await.get(&node) {
            return Ok(session.clone());
        }
        // Not under the lock: a node that does not answer must not keep others waiting.
        let connected = within(clock, PATIENCE_MS, connect(node, self.login.as_ref())).await;
        let session = Arc::new(connected.unwrap_or_else(|| Err(unreachable(node, "no answer within 10 s")))?);
        self.sessions.lock().await.insert(node, session.clone());
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

/// What is asked of whoever gave an address at which no database answers.
pub const WHETHER_THERE: &str = "; is it running, and is this its CQL address?";

fn unreachable(node: SocketAddr, why: impl std::fmt::Display) -> CallError {
    let message = format!("cannot reach the database at {node}: {why}{WHETHER_THERE}");
    CallError::infrastructure("unreachable", message)
}

async fn connect(node: SocketAddr, login: Option<&Login>) -> Result<Session, CallError> {
    let only = AllowListHostFilter::new([node]).map_err(|e| unreachable(node, e))?;
    let profile = ExecutionProfile::builder()
        .request_timeout(Some(Duration::from_millis(PATIENCE_MS)))
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .build();
    builder(login)
        .known_node_addr(node)
        .host_filter(Arc::new(only))
        .pool_size(PoolSize::PerHost(NonZeroUsize::MIN))
        .fetch_schema_metadata(false)
        .connection_timeout(Duration::from_millis(PATIENCE_MS))
        .default_execution_profile_handle(profile.into_handle())
        .build()
        .await
        .map_err(|e| refused(&e.to_string(), login).unwrap_or_else(|| unreachable(node, e)))
}

/// The error of a database that is there and wants another login; none when that is not why it cannot be used.
fn refused(said: &str, login: Option<&Login>) -> Option<CallError> {
    let message = match login {
        None if said.contains("Authentication is required") => {
            "the database asks for a login: give --user, and the password in WFE_PASSWORD".to_owned()
        }
        Some(login) if said.contains("Authentication failed") => {
            format!("the database does not take the login of `{}`: user or password is wrong", login.user)
        }
        _ => return None,
    };
    Some(CallError::request("login", message))
}

/// The beginnings of a session for that login.
pub fn builder(login: Option<&Login>) -> SessionBuilder {
    let builder = SessionBuilder::new();
    match login {
        Some(login) => builder.user(&login.user, &login.password),
        None => builder,
    }
}

/// The CQL address of an IP address.
pub fn cql_address(address: impl Into<IpAddr>, port: u16) -> SocketAddr {
    SocketAddr::new(address.into(), port)
}
