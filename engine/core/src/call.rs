//! Every function a plugin can call, in one table: its name in the contract, its class, its arguments and its answer.
//!
//! The table is held against `sdk/wit` by a test, so a function of the contract cannot be without a row here.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::capability::{cloud, cluster, cql, histogram, load, observe, operation, report, step};

/// What kind of effect a call has: it decides what the journal keeps and what happens when a crash interrupts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Arithmetic: not journaled, computed again.
    Pure,
    /// A value of the run itself, such as the time.
    Local,
    /// Said by the plugin, answered by nothing.
    Observe,
    /// Asks the world; asked again when a crash came before the answer.
    Read,
    /// Changes the world, and can be repeated with the same key.
    IdempotentWrite,
    /// Changes the world and must not be repeated.
    WriteOnce,
}

impl Class {
    /// Whether the call is announced durably before it is made.
    pub fn has_intent(self) -> bool {
        matches!(self, Self::IdempotentWrite | Self::WriteOnce)
    }
}

macro_rules! calls {
    ($( $name:literal $variant:ident($request:ty) $class:ident; )*) => {
        /// One call of a capability, with its arguments.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Call {
            $( #[doc = concat!("`", $name, "`")] $variant($request), )*
        }

        /// The names of all calls, `package/interface.function`, without versions.
        pub const NAMES: &[&str] = &[$($name),*];

        impl Call {
            /// Reads a call from its name and its arguments by name; none when there is no such function.
            pub fn parse(name: &str, arguments: &Value) -> Option<Result<Self, serde_json::Error>> {
                match name {
                    $( $name => Some(<$request>::deserialize(arguments).map(Self::$variant)), )*
                    _ => None,
                }
            }

            /// The name in the contract, `package/interface.function`.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $name, )* }
            }

            /// The arguments by name.
            pub fn arguments(&self) -> Value {
                match self { $( Self::$variant(request) => serde_json::to_value(request).unwrap_or(Value::Null), )* }
            }
        }

        /// The class of a function; none when there is no such function.
        pub fn class_of(name: &str) -> Option<Class> {
            match name { $( $name => Some(Class::$class), )* _ => None }
        }
    };
}

calls! {
    "step/context.info"              StepInfo(step::Info) Local;
    "step/context.window"            StepWindow(step::WindowOf) Local;
    "step/context.phase"             StepPhase(step::Phase) Observe;
    "step/context.progress"          StepProgress(step::Progress) Observe;
    "step/context.ready"             StepReady(step::Ready) Observe;
    "step/context.wait-stop"         StepWaitStop(step::WaitStop) Local;
    "clock/clock.now"                ClockNow(step::Now) Local;
    "clock/clock.sleep"              ClockSleep(step::Sleep) Local;
    "random/random.next"             RandomNext(step::Random) Local;
    "log/log.write"                  LogWrite(step::Log) Observe;
    "cloud/machines.create"          MachinesCreate(cloud::Create) IdempotentWrite;
    "cloud/machines.wait-running"    MachinesWaitRunning(cloud::WaitRunning) Read;
    "cloud/machines.list"            MachinesList(cloud::List) Read;
    "cloud/machines.terminate"       MachinesTerminate(cloud::Terminate) IdempotentWrite;
    "cloud/machines.describe-type"   MachinesDescribeType(cloud::DescribeType) Read;
    "operation/operations.wait-any"  OperationsWaitAny(operation::WaitAny) Read;
    "cluster/cluster.create"         ClusterCreate(cluster::Create) IdempotentWrite;
    "cluster/cluster.nodes"          ClusterNodes(cluster::Nodes) Read;
    "cluster/cluster.snapshot"       ClusterSnapshot(cluster::Snapshot) Read;
    "cluster/cluster.join"           ClusterJoin(cluster::Join) IdempotentWrite;
    "cluster/cluster.flush"          ClusterFlush(cluster::Flush) IdempotentWrite;
    "cql/session.query"              CqlQuery(cql::Query) Read;
    "cql/session.execute"            CqlExecute(cql::Execute) WriteOnce;
    "load/loads.start"               LoadStart(load::Start) IdempotentWrite;
    "load/loads.set-rate"            LoadSetRate(load::SetRate) IdempotentWrite;
    "load/loads.status"              LoadStatus(load::StatusOf) Read;
    "load/loads.stop"                LoadStop(load::Stop) IdempotentWrite;
    "histogram/histograms.encode"    HistogramEncode(histogram::Encode) Pure;
    "histogram/histograms.merge"     HistogramMerge(histogram::Merge) Pure;
    "histogram/histograms.quantiles" HistogramQuantiles(histogram::Quantiles) Pure;
    "histogram/measurements.measure" Measure(histogram::Measure) Read;
    "observe/events.since"           EventsSince(observe::Since) Read;
    "report/report.publish"          ReportPublish(report::Publish) Observe;
}

impl Call {
    /// The class that the table gives.
    pub fn class(&self) -> Class {
        class_of(self.name()).expect("the table names every call")
    }
}

/// The digest of what was asked: the call's name and its arguments, as 16 hexadecimal digits.
pub fn digest(name: &str, arguments: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update(name);
    hash.update([0]);
    hash.update(arguments.to_string());
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
