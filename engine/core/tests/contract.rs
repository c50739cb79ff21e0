//! Holds the table of calls and the request and answer types against `sdk/wit`: names and shapes must be the same.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use wfe_core::capability::{cloud, cluster, load, observe, operation, step};
use wfe_core::{Call, CallError, call};
use wit_parser::{Function, Resolve, Type, TypeDefKind, WorldItem};

/// Whether samples have their optional parts.
#[derive(Clone, Copy)]
enum Options {
    Present,
    Absent,
}

struct Contract {
    resolve: Resolve,
    /// Each function that a plugin can import, by its name in the table.
    functions: BTreeMap<String, Function>,
}

impl Contract {
    fn read() -> Self {
        let mut resolve = Resolve::new();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/wit");
        let (package, _) = resolve.push_dir(folder).expect("sdk/wit is well-formed");
        let world = resolve.select_world(&[package], Some("plugin")).expect("sdk/wit has a world `plugin`");
        let mut functions = BTreeMap::new();
        for (key, item) in &resolve.worlds[world].imports {
            let WorldItem::Interface { id, .. } = item else { panic!("the world imports interfaces alone") };
            let name = resolve.name_world_key(key);
            let name =
                name.strip_prefix("wfe:").and_then(|name| name.split('@').next()).expect("all packages are wfe's");
            let of_interface = &resolve.interfaces[*id].functions;
            functions.extend(of_interface.iter().map(|(key, function)| (format!("{name}.{key}"), function.clone())));
        }
        Self { resolve, functions }
    }

    /// The arguments of a function, by name.
    fn arguments(&self, function: &Function, options: Options) -> Value {
        let arguments = function.params.iter().map(|p| (p.name.clone(), self.sample(&p.ty, options)));
        Value::Object(arguments.collect())
    }

    /// What a function answers when it succeeds; null when that is nothing.
    fn answer(&self, function: &Function, options: Options) -> Value {
        match &function.result {
            Some(Type::Id(id)) => match &self.resolve.types[*id].kind {
                TypeDefKind::Result(result) => result.ok.map_or(Value::Null, |ok| self.sample(&ok, options)),
                _ => self.sample(&Type::Id(*id), options),
            },
            Some(other) => self.sample(other, options),
            None => Value::Null,
        }
    }

    /// A value of a type, as JSON.
    fn sample(&self, ty: &Type, options: Options) -> Value {
        match ty {
            Type::Bool => json!(true),
            Type::U8 => json!(7),
            Type::U32 => json!(u32::MAX),
            Type::U64 => json!(u64::MAX),
            Type::F64 => json!(0.5),
            Type::String => json!("text"),
            Type::Id(id) => match &self.resolve.types[*id].kind {
                TypeDefKind::Type(aliased) => self.sample(aliased, options),
                TypeDefKind::List(item) => json!([self.sample(item, options), self.sample(item, options)]),
                TypeDefKind::Option(inner) => match options {
                    Options::Present => self.sample(inner, options),
                    Options::Absent => Value::Null,
                },
                TypeDefKind::Record(record) => {
                    let fields = record.fields.iter().map(|f| (f.name.clone(), self.sample(&f.ty, options)));
                    Value::Object(fields.collect::<Map<_, _>>())
                }
                other => panic!("the contract has no {} so far", other.as_str()),
            },
            other => panic!("the contract has no {other:?} so far"),
        }
    }
}

#[test]
fn the_table_names_exactly_the_functions_of_the_contract() {
    let contract: BTreeSet<_> = Contract::read().functions.into_keys().collect();
    let table: BTreeSet<_> = call::NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(table, contract);
    assert_eq!(table.len(), call::NAMES.len(), "a name stands twice in the table");
}

#[test]
fn arguments_have_the_shape_of_the_contract() {
    let contract = Contract::read();
    for (name, function) in &contract.functions {
        for options in [Options::Present, Options::Absent] {
            let arguments = contract.arguments(function, options);
            let call =
                Call::parse(name, &arguments).expect("the table has it").unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(call.name(), name);
            assert_eq!(call.arguments(), arguments, "{name}");
        }
    }
}

#[test]
fn arguments_that_lack_a_field_are_refused() {
    let contract = Contract::read();
    for (name, function) in &contract.functions {
        let full = contract.arguments(function, Options::Present);
        for param in function.params.iter().filter(|param| !contract.is_optional(&param.ty)) {
            let mut arguments = full.clone();
            arguments.as_object_mut().unwrap().remove(&param.name);
            assert!(Call::parse(name, &arguments).unwrap().is_err(), "{name} without {}", param.name);
        }
    }
}

impl Contract {
    fn is_optional(&self, ty: &Type) -> bool {
        matches!(ty, Type::Id(id) if matches!(self.resolve.types[*id].kind, TypeDefKind::Option(_)))
    }
}

/// Reads an answer as the type that the engine has for it, and writes it again.
type Reread = fn(&Value) -> Result<Value, serde_json::Error>;

fn reread<T: DeserializeOwned + Serialize>(answer: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(T::deserialize(answer)?)
}

/// The type of each answer.
const ANSWERS: &[(&str, Reread)] = &[
    ("step/context.info", reread::<step::Attempt>),
    ("step/context.window", reread::<Option<step::Window>>),
    ("step/context.phase", reread::<()>),
    ("step/context.progress", reread::<()>),
    ("step/context.ready", reread::<()>),
    ("step/context.wait-stop", reread::<bool>),
    ("clock/clock.now", reread::<wfe_core::Millis>),
    ("clock/clock.sleep", reread::<()>),
    ("random/random.next", reread::<u64>),
    ("log/log.write", reread::<()>),
    ("cloud/machines.create", reread::<Vec<cloud::Machine>>),
    ("cloud/machines.wait-running", reread::<Vec<cloud::Machine>>),
    ("cloud/machines.list", reread::<Vec<cloud::Machine>>),
    ("cloud/machines.terminate", reread::<()>),
    ("cloud/machines.describe-type", reread::<cloud::MachineType>),
    ("operation/operations.wait-any", reread::<Vec<operation::Status>>),
    ("cluster/cluster.create", reread::<String>),
    ("cluster/cluster.nodes", reread::<Vec<cluster::Node>>),
    ("cluster/cluster.snapshot", reread::<Vec<cluster::Node>>),
    ("cluster/cluster.join", reread::<String>),
    ("cluster/cluster.flush", reread::<()>),
    ("cql/session.query", reread::<String>),
    ("cql/session.execute", reread::<()>),
    ("load/loads.start", reread::<String>),
    ("load/loads.set-rate", reread::<()>),
    ("load/loads.status", reread::<load::Status>),
    ("load/loads.stop", reread::<load::Status>),
    ("histogram/histograms.encode", reread::<Vec<u8>>),
    ("histogram/histograms.merge", reread::<Vec<u8>>),
    ("histogram/histograms.quantiles", reread::<Vec<u64>>),
    ("histogram/measurements.measure", reread::<String>),
    ("observe/events.since", reread::<Vec<observe::DatabaseEvent>>),
    ("report/report.publish", reread::<()>),
];

#[test]
fn answers_have_the_shape_of_the_contract() {
    let contract = Contract::read();
    let answers: BTreeMap<_, _> = ANSWERS.iter().copied().collect();
    assert!(answers.keys().eq(contract.functions.keys()), "each function has one answer type here");
    for (name, function) in &contract.functions {
        for options in [Options::Present, Options::Absent] {
            let answer = contract.answer(function, options);
            let reread = answers[name.as_str()](&answer).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(reread, answer, "{name}");
        }
    }
}

#[test]
fn errors_have_the_shape_of_the_contract() {
    let contract = Contract::read();
    let mut seen = 0;
    for (name, function) in &contract.functions {
        let Some(Type::Id(id)) = function.result else { continue };
        let TypeDefKind::Result(result) = &contract.resolve.types[id].kind else { continue };
        seen += 1;
        let error = result.err.unwrap_or_else(|| panic!("{name} fails without saying why"));
        for options in [Options::Present, Options::Absent] {
            let error = contract.sample(&error, options);
            assert_eq!(reread::<CallError>(&error).unwrap_or_else(|e| panic!("{name}: {e}")), error);
        }
    }
    assert!(seen > 20, "most functions can fail");
}
