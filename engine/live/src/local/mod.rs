//! The local backend: machines are directories and loopback addresses, nodes are Cassandra processes, the loader is this
//! process.

mod addresses;
mod ask;
mod cluster;
mod config;
mod events;
mod flush;
mod jars;
mod log;
mod machines;
mod process;
mod roles;
mod tokens;
mod types;
mod usage;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use wfe_core::backend::{Answered, Backend, Context, Facts, Found, Offers, Run, answer};
use wfe_core::{Call, CallError};

use crate::cql;
use crate::load::{LoadOptions, Loads};
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
    /// How loads are made.
    pub load: LoadOptions,
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
            load: LoadOptions::default(),
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
        if let Call::MachinesDescribeType(asked) = call {
            return answer(types::describe(&asked.name)?);
        }
        let world = self.world()?;
        let clock = world.run.clock.as_ref();
        match call {
            Call::MachinesCreate(create) => answer(machines::create(world, &context.key, &create.request)?),
            Call::MachinesWaitRunning(wait) => answer(machines::running(world, &wait.ids)?),
            Call::MachinesList(_) => answer(machines::list(world)),
            Call::MachinesTerminate(terminate) => answer(machines::terminate(world, &terminate.ids).await?),
            Call::OperationsWaitAny(wait) => answer(world.operations.wait_any(clock, context, wait).await?),
            Call::ClusterCreate(create) => answer(cluster::create(world, &context.key, create)?),
            Call::ClusterJoin(join) => answer(cluster::join(world, &context.key, join)?),
            Call::ClusterNodes(_) | Call::ClusterSnapshot(_) => answer(ask::nodes(world).await),
            Call::ClusterFlush(_) => answer(flush::flush(world).await?),
            Call::CqlQuery(query) => {
                let session = world.statements.session(clock, world.any_node()?).await?;
                answer(cql::query(&session, &query.statement, &query.values).await?)
            }
            Call::CqlExecute(execute) => {
                let session = world.statements.session(clock, world.any_node()?).await?;
                answer(cql::execute(&session, &execute.statement, &execute.values).await?)
            }
            Call::LoadStart(start) => {
                let spec = Loads::parse(&start.spec)?;
                world.any_node()?;
                answer(world.loads.start(spec, world.target()).await?)
            }
            Call::LoadSetRate(set) => answer(world.loads.set_rate(&set.load, set.rate)?),
            Call::LoadStatus(asked) => answer(world.loads.status(&asked.load)?),
            Call::LoadStop(stop) => answer(world.loads.stop(&stop.load).await?),
            Call::EventsSince(since) => answer(events::since(world, since)?),
            other => Err(CallError::unsupported(format!("the local backend does not answer `{}`", other.name()))),
        }
    }
}

impl Backend for Local {
    fn facts(&self) -> Facts {
        let environment = vec![
            ("database".into(), format!("Apache Cassandra {}", jars::VERSION)),
            ("heap of a node".into(), format!("{} MiB", self.options.heap_mib)),
            (
                "disk usage".into(),
                "bytes of a node's data files, without unfinished compactions, against its guardrail".into(),
            ),
        ];
        Facts { name: "local".into(), simulated: false, environment }
    }

    fn offers(&self) -> Offers {
        let databases = vec![cluster::DATABASE.to_owned()];
        Offers { machine_types: Some(types::names().map(str::to_owned).collect()), databases: Some(databases) }
    }

    fn open<'a>(&'a self, run: Run, history: &'a [Answered]) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            if history.is_empty() {
                jars::check(&self.options.cache)?;
            }
            let world = Arc::new(World::open(self.options.clone(), run)?);
            cluster::adopt(&world)?;
            world.loads.revive(history, &world.target()).await;
            self.world
                .set(world)
                .map_err(|_| CallError::request("opened-twice", "the local backend serves one run and is open already"))
        }
        .boxed()
    }

    fn call<'a>(&'a self, context: &'a Context, call: &'a Call) -> BoxFuture<'a, Result<Value, CallError>> {
        self.answer(context, call).boxed()
    }

    fn audit<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Found>, CallError>> {
        async move { Ok(machines::audit(self.world()?)) }.boxed()
    }

    fn keep<'a>(&'a self, ids: &'a [String], until: Option<&'a str>) -> BoxFuture<'a, Result<(), CallError>> {
        async move { machines::keep(self.world()?, ids, until) }.boxed()
    }

    fn recorded_until<'a>(&'a self, moment: wfe_core::Millis) -> BoxFuture<'a, ()> {
        async move {
            if let Some(world) = self.world.get() {
                world.loads.recorded_until(moment).await;
            }
        }
        .boxed()
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            if let Some(world) = self.world.get() {
                world.loads.close().await;
                world.control.close().await;
                world.statements.close().await;
            }
            Ok(())
        }
        .boxed()
    }
}
