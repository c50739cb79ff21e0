//! Roles. A node holds its limits against ordinary users alone: without a login everybody is an administrator, and a full
//! disk would refuse nothing. Passwords protect nothing here, addresses of this machine do.

use std::sync::Arc;

use scylla::client::session::Session;
use wfe_core::CallError;

use crate::control::Login;

/// The role that the database makes itself: asks for the backend.
pub fn administrator() -> Login {
    Login { user: "cassandra".into(), password: "cassandra".into() }
}

/// The role of loads and of the statements of plugins.
pub fn user() -> Login {
    Login { user: "wfe".into(), password: "wfe".into() }
}

/// Creates the loads' role when it is missing.
pub async fn ensure(session: &Arc<Session>) -> Result<(), CallError> {
    let Login { user, password } = user();
    let statement = format!("CREATE ROLE IF NOT EXISTS {user} WITH PASSWORD = '{password}' AND LOGIN = true");
    let failed = |e| CallError::infrastructure("role", format!("the role of the loads could not be created: {e}"));
    session.query_unpaged(statement, ()).await.map(|_| ()).map_err(failed)
}
