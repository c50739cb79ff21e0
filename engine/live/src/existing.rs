//! The static backend: a cluster that exists already, known by its contact points. It has no machines; its nodes are asked
//! through CQL.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use scylla::client::session::Session;
use scylla::value::CqlValue;
use serde_json::Value;
use wfe_core::backend::{Answered, Backend, Clock, Context, Facts, Found, Offers, Run, answer};
use wfe_core::capability::cloud::Machine;
use wfe_core::capability::cluster::Node;
use wfe_core::error::kind;
use wfe_core::{Call, CallError};

use crate::control::{Control, Login, PATIENCE_MS, WHETHER_THERE, within};
use crate::load::{KEYSPACE, LoadOptions, Loads, Target};
use crate::{cql, nodes};

/// What can be chosen about the static backend.
#[derive(Debug, Clone, Default)]
pub struct StaticOptions {
    /// How loads are made.
    pub load: LoadOptions,
    /// Disk of a node, bytes, where the database does not say it: the guardrail `data_disk_usage_max_disk_size` is asked
    /// first.
    pub disk_bytes: Option<u64>,
    /// Who logs in, where the database asks for it.
    pub login: Option<Login>,
}

/// A cluster that exists already.
pub struct Static {
    contact_points: Vec<String>,
    options: StaticOptions,
    world: OnceLock<World>,
}

struct World {
    run: Run,
    contacts: Vec<SocketAddr>,
    control: Control,
    loads: Loads,
}

impl Static {
    /// A cluster with these contact points: `HOST` or `HOST:PORT`, the port being 9042 when it is not given.
    pub fn new(contact_points: Vec<String>, options: StaticOptions) -> Self {
        Self { contact_points, options, world: OnceLock::new() }
    }

    fn target(&self, contacts: &[SocketAddr]) -> Target {
        Target { nodes: contacts.to_vec(), login: self.options.login.clone(), compaction: None }
    }

    async fn connect(&self, run: Run, history: &[Answered]) -> Result<World, CallError> {
        if self.contact_points.is_empty() {
            let message = "the static backend needs at least one contact point of the cluster";
            return Err(CallError::request("no-contact-points", message));
        }
        let control = Control::new(self.options.login.clone());
        let mut contacts = Vec::new();
        let mut unreachable = None;
        for point in &self.contact_points {
            match reach(&control, run.clock.as_ref(), point).await {
                Ok(address) => contacts.push(address),
                // A run that is resumed may have lost a node meanwhile.
                Err(error) if history.is_empty() => return Err(error),
                Err(error) => unreachable = Some(error),
            }
        }
        if let (true, Some(error)) = (contacts.is_empty(), unreachable) {
            return Err(error);
        }
        let loads = Loads::new(run.clone(), &run.directory, self.options.load.clone());
        loads.revive(history, &self.target(&contacts)).await;
        Ok(World { run, contacts, control, loads })
    }

    async fn answer(&self, context: &Context, call: &Call) -> Result<Value, CallError> {
        let not_open = || CallError::infrastructure("not-open", "the static backend has not been opened");
        let world = self.world.get().ok_or_else(not_open)?;
        match call {
            Call::MachinesList(_) => answer(Vec::<Machine>::new()),
            Call::MachinesTerminate(terminate) if terminate.ids.is_empty() => answer(()),
            Call::MachinesCreate(_)
            | Call::MachinesWaitRunning(_)
            | Call::MachinesTerminate(_)
            | Call::MachinesDescribeType(_)
            | Call::ClusterCreate(_)
            | Call::ClusterJoin(_) => Err(fixed(call.name())),
            Call::OperationsWaitAny(wait) => {
                let none = crate::operations::Operations::default();
                answer(none.wait_any(world.run.clock.as_ref(), context, wait).await?)
            }
            Call::ClusterNodes(_) | Call::ClusterSnapshot(_) => answer(world.nodes(self.options.disk_bytes).await?),
            // CQL has no way to flush: what is in memory is not in the usage until the database writes it by itself.
            Call::ClusterFlush(_) => answer(()),
            Call::CqlQuery(query) => {
                answer(cql::query(&*world.session().await?, &query.statement, &query.values).await?)
            }
            Call::CqlExecute(execute) => {
                answer(cql::execute(&*world.session().await?, &execute.statement, &execute.values).await?)
            }
            Call::LoadStart(start) => {
                let target = self.target(&world.contacts);
                answer(world.loads.start(Loads::parse(&start.spec)?, target).await?)
            }
            Call::LoadSetRate(set) => answer(world.loads.set_rate(&set.load, set.rate)?),
            Call::LoadStatus(asked) => answer(world.loads.status(&asked.load)?),
            Call::LoadStop(stop) => answer(world.loads.stop(&stop.load).await?),
            other => Err(CallError::unsupported(format!("the static backend does not answer `{}`", other.name()))),
        }
    }
}

fn fixed(name: &str) -> CallError {
    CallError::unsupported(format!(
        "`{name}` is not possible on the static backend: its cluster exists already and has no machines of this run; leave \
         out the steps that create or grow it, or take another backend"
    ))
}

/// Connects to a contact point; an error names it.
async fn reach(control: &Control, clock: &dyn Clock, point: &str) -> Result<SocketAddr, CallError> {
    const PORT: u16 = 9042;
    let named = match point.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, PORT).to_string(),
        Err(_) if point.contains(':') => point.to_owned(),
        Err(_) => format!("{point}:{PORT}"),
    };
    let failed = |why: &str| {
        let message = format!("contact point `{point}` cannot be reached: {why}; is the database running there?");
        CallError::infrastructure("unreachable", message)
    };
    let reached = within(clock, PATIENCE_MS - 500, async {
        let found = tokio::net::lookup_host(&named).await.map_err(|e| failed(&e.to_string()))?.next();
        let address = found.ok_or_else(|| failed("its name has no address"))?;
        tokio::net::TcpStream::connect(address).await.map_err(|e| failed(&e.to_string()))?;
        control.session(clock, address).await.map_err(|e| match e.kind.as_str() {
            kind::REQUEST => e,
            _ => failed(e.message.strip_suffix(WHETHER_THERE).unwrap_or(&e.message)),
        })?;
        Ok(address)
    });
    reached.await.unwrap_or_else(|| Err(failed("no answer within 10 s")))
}

impl World {
    /// A session with any contact point that answers.
    async fn session(&self) -> Result<std::sync::Arc<Session>, CallError> {
        let mut last = None;
        for contact in &self.contacts {
            match self.control.session(self.run.clock.as_ref(), *contact).await {
                Ok(session) => return Ok(session),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| CallError::infrastructure("unreachable", "no contact point answers")))
    }

    /// All nodes that the contact points know, each asked itself.
    async fn nodes(&self, disk_bytes: Option<u64>) -> Result<Vec<Node>, CallError> {
        let members = self.members().await?;
        let racks: BTreeSet<&String> = members.values().collect();
        let rack = |name: &String| racks.iter().position(|known| *known == name).map_or(1, |n| n as u32 + 1);
        let asked = members.iter().enumerate().map(|(n, (address, name))| {
            let node = Node {
                name: format!("node-{}", n + 1),
                machine: address.to_string(),
                machine_type: "unknown".into(),
                rack: rack(name),
                state: "down".into(),
                used_bytes: 0,
                total_bytes: disk_bytes.unwrap_or(0),
                signals: Vec::new(),
            };
            self.ask(*address, node, disk_bytes)
        });
        join_all(asked).await.into_iter().collect()
    }

    /// Addresses of all nodes with the names of their racks.
    async fn members(&self) -> Result<BTreeMap<SocketAddr, String>, CallError> {
        let mut members = BTreeMap::new();
        let session = self.session().await?;
        let port = self.contacts.first().map_or(9042, SocketAddr::port);
        for statement in [
            "SELECT rpc_address, rpc_port, rack FROM system.local",
            "SELECT native_address, native_port, rack FROM system.peers_v2",
        ] {
            for row in nodes::rows(&session, statement).await? {
                let Some(address) = row.columns[0].as_ref().and_then(CqlValue::as_inet) else { continue };
                let port = nodes::number(&row, 1).map_or(port, |port| port as u16);
                let rack = row.columns[2].as_ref().and_then(CqlValue::as_text).cloned().unwrap_or_default();
                members.insert(SocketAddr::new(address, port), rack);
            }
        }
        Ok(members)
    }

    async fn ask(&self, address: SocketAddr, mut node: Node, disk_bytes: Option<u64>) -> Result<Node, CallError> {
        let clock = self.run.clock.as_ref();
        let Ok(session) = self.control.session(clock, address).await else { return Ok(node) };
        let Ok(facts) = nodes::facts(&session).await else {
            self.control.forget(address).await;
            return Ok(node);
        };
        node.state = if facts.bootstrapped { "up" } else { "joining" }.into();
        let (used, limit) = nodes::usage(&session).await?;
        node.used_bytes = used;
        node.total_bytes = limit.or(disk_bytes).ok_or_else(|| size_unknown(address))?;
        node.signals = nodes::signals(&session).await?;
        Ok(node)
    }
}

fn size_unknown(node: SocketAddr) -> CallError {
    let message = format!(
        "the size of the disk of {node} is not known: the node sets no `data_disk_usage_max_disk_size`, and CQL cannot tell \
         it; say how large the disk of a node is"
    );
    CallError::unsupported(message)
}

impl Backend for Static {
    fn facts(&self) -> Facts {
        let environment = vec![
            ("contact points".into(), self.contact_points.join(", ")),
            (
                "disk usage".into(),
                "size of all tables on disk as each node reports it; what is in memory is not in it".into(),
            ),
            ("rows".into(), format!("the keyspace `{KEYSPACE}` stays in the cluster after the run")),
            ("flush".into(), "not possible through CQL: disk usage lags by what is in memory".into()),
        ];
        Facts { name: "static".into(), simulated: false, environment }
    }

    fn offers(&self) -> Offers {
        Offers { machine_types: Some(Vec::new()), databases: None }
    }

    fn open<'a>(&'a self, run: Run, history: &'a [Answered]) -> BoxFuture<'a, Result<(), CallError>> {
        async move {
            let world = self.connect(run, history).await?;
            let twice = |_| CallError::request("opened-twice", "the static backend serves one run and is open already");
            self.world.set(world).map_err(twice)
        }
        .boxed()
    }

    fn call<'a>(&'a self, context: &'a Context, call: &'a Call) -> BoxFuture<'a, Result<Value, CallError>> {
        self.answer(context, call).boxed()
    }

    /// The run makes nothing of its own here but rows, which stay.
    fn audit<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Found>, CallError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn keep<'a>(&'a self, _machines: &'a [String], _until: Option<&'a str>) -> BoxFuture<'a, Result<(), CallError>> {
        async { Ok(()) }.boxed()
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
            }
            Ok(())
        }
        .boxed()
    }
}
