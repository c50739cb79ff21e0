//! The local backend: machines are directories and loopback addresses, nodes are Cassandra processes, the loader is this
//! process.

mod addresses;
mod cluster;
mod config;
mod flush;
mod jars;
mod log;
mod machines;
mod process;
mod tokens;
mod types;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use wfe_core::backend::{Answered, Backend, Context, Facts, Run, answer};
use wfe_core::{Call, CallError};

use world::World;

/// What can be chosen about the local backend.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// The first three numbers of the nodes' addresses; none to let the run's id choose.
    pub block: Option<[u8; 3]>,
    /// Where Cassandra's jars are kept.
    pub cache: PathBuf,
    /// Java heap of a node, MiB.
    pub heap_mib: u32,
    /// Settings of `cassandra.yaml` that replace or extend the backend's own, by name.
    pub settings: BTreeMap<String, String>,
    /// The longest that one node may take to start or to join, milliseconds.
    pub start_timeout_ms: u64,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self {
            block: None,
            cache: jars::default_cache(),
            heap_mib: 384,
            settings: BTreeMap::new(),
            start_timeout_ms: 600_000,
        }
    }
}

/// Cassandra on this machine.
pub struct Local {
    options: LocalOptions,
    world: OnceLock<Arc<World>>,
}

impl Local {
    /// A backend that has not done anything yet.
    pub fn new(options: LocalOptions) -> Self {
        Self { options, world: OnceLock::new() }
    }

    fn world(&self) -> Result<&Arc<World>, CallError> {
        self.world.get().ok_or_else(|| CallError::infrastructure("not-open", "the local backend has not been opened"))
    }

    async fn answer(&self, context: &Context, call: &Call) -> Result<Value, CallError> {
        let world = self.world()?;
        match call {
            Call::MachinesCreate(create) => answer(machines::create(world, &context.key, &create.request)?),
            Call::MachinesWaitRunning(wait) => answer(machines::running(world, &wait.ids)?),
            Call::MachinesList(_) => answer(machines::list(world)),
            Call::MachinesTerminate(terminate) => answer(machines::terminate(world, &terminate.ids).await?),
            Call::MachinesDescribeType(asked) => answer(types::describe(&asked.name)?),
            Call::OperationsWaitAny(wait) => {
                answer(world.operations.wait_any(world.run.clock.as_ref(), context, wait).await?)
            }
            Call::ClusterCreate(create) => answer(cluster::create(world, &context.key, create)?),
            Call::ClusterJoin(join) => answer(cluster::join(world, &context.key, join)?),
            Call::ClusterNodes(_) | Call::ClusterSnapshot(_) => answer(cluster::nodes(world).await),
            Call::ClusterFlush(_) => answer(flush::flush(world).await?),
            other => Err(CallError::unsupported(format!("the local backend does not answer `{}`", other.name()))),
        }
    }
}

impl Backend for Local {
    fn facts(&self) -> Facts {
        let environment = vec![
            ("database".into(), format!("Apache Cassandra {}", jars::VERSION)),
            ("heap of a node".into(), format!("{} MiB", self.options.heap_mib)),
            ("disk usage".into(), "bytes of the files in a node's data directory, against its guardrail".into()),
        ];
        Facts { name: "local".into(), simulated: false, environment }
    }

    fn open<'a>(&'a self, run: Run, _history: &'a [Answered]) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            let world = Arc::new(World::open(self.options.clone(), run)?);
            cluster::adopt(&world)?;
            self.world
                .set(world)
                .map_err(|_| CallError::request("opened-twice", "the local backend serves one run and is open already"))
        }
        .boxed()
    }

    fn call<'a>(&'a self, context: &'a Context, call: &'a Call) -> BoxFuture<'a, Result<Value, CallError>> {
        self.answer(context, call).boxed()
    }

    fn recorded_until<'a>(&'a self, _moment: wfe_core::Millis) -> BoxFuture<'a, ()> {
        async move {}.boxed()
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            if let Some(world) = self.world.get() {
                world.control.close().await;
            }
            Ok(())
        }
        .boxed()
    }
}
