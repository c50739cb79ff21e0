//! The nodes, each asked itself.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::join_all;
use wfe_core::capability::cluster::Node;

use crate::control::{PATIENCE_MS, within};
use crate::local::cluster::blocking;
use crate::local::world::{Member, World};
use crate::local::{types, usage};
use crate::{lock, nodes};

/// Asks a node who it is; none when it does not answer.
pub async fn ask(world: &World, address: SocketAddr) -> Option<nodes::Facts> {
    let clock = world.run.clock.as_ref();
    // A closed port is known at once, a session is patient.
    within(clock, PATIENCE_MS, tokio::net::TcpStream::connect(address)).await?.ok()?;
    let session = world.control.session(clock, address).await.ok()?;
    match nodes::facts(&session).await {
        Ok(facts) => Some(facts),
        Err(_) => {
            world.control.forget(address).await;
            None
        }
    }
}

/// The nodes, each asked itself.
pub async fn nodes(world: &Arc<World>) -> Vec<Node> {
    let members = lock(&world.cluster).members.clone();
    join_all(members.iter().map(|member| node(world, member))).await.into_iter().flatten().collect()
}

/// One node. Its disk usage is what its data directory holds right now: the guardrail counts the same and the
/// memtables. It is none when its machine is unknown.
async fn node(world: &World, member: &Member) -> Option<Node> {
    let machine = world.machine(&member.machine).ok()?.machine;
    let total_bytes = types::describe(&machine.machine_type).map(|known| known.disk_bytes).unwrap_or(0);
    let data = world.directory(&member.machine).join("data");
    let used_bytes = blocking(move || Ok(usage::used_bytes(&data))).await.unwrap_or(0);
    let mut node = Node {
        name: member.name.clone(),
        machine: machine.id,
        machine_type: machine.machine_type,
        rack: machine.rack,
        state: "down".into(),
        used_bytes,
        total_bytes,
        signals: Vec::new(),
    };
    if !world.is_running(member) {
        return Some(node);
    }
    let address = world.cql_address(member).ok()?;
    // A session that broke is made anew once; a node that is frozen costs no more than one wait.
    let asked = async {
        match ask(world, address).await {
            None if member.ready => ask(world, address).await,
            facts => facts,
        }
    };
    let facts = within(world.run.clock.as_ref(), PATIENCE_MS, asked).await.flatten();
    node.state = match facts {
        Some(facts) if facts.bootstrapped => "up".into(),
        None if member.ready => "down".into(),
        _ => "joining".into(),
    };
    if node.state == "up"
        && let Ok(session) = world.control.session(world.run.clock.as_ref(), address).await
    {
        node.signals = nodes::signals(&session).await.unwrap_or_default();
    }
    Some(node)
}
