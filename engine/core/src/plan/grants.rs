//! What a step's plugin may do, decided from what it imports and what the workflow grants.
//!
//! * `step`, `clock`, `random`, `log`, `histogram`, `report`, `observe` and `operation` touch nothing and are always
//!   allowed.
//! * Functions of `cloud` that only read come free; `create` and `terminate` need `cloud: { types, machines }`.
//! * Everything in `cql` needs `cql: { keyspaces }`.
//! * `cluster` and `load` act on the run's own cluster: built-in kinds of step have them, a plugin from a file needs
//!   `cluster: true` and `load: true`.

use std::collections::BTreeSet;

use crate::catalog::Plugin;
use crate::diagnostic::{Mistake, quote};
use crate::workflow::fields::{self, Fields};
use crate::workflow::tree::Node;
use crate::workflow::{At, is_plugin_file, suggest};

use super::parameters::Parameters;
use super::{CloudGrant, Grants};

/// The capabilities that every plugin has: they touch nothing. Of `cloud` that is reading; [`Grants::cloud`] bounds the rest.
pub const FREE: [&str; 9] = ["step", "clock", "random", "log", "histogram", "report", "observe", "operation", "cloud"];
/// The keys of `grants`.
pub const GRANT_KEYS: [&str; 4] = ["cloud", "cql", "cluster", "load"];
/// The most machines that can be granted.
const MOST_MACHINES: u32 = 10_000;

/// Reads the map under `grants`, which may be missing, and decides. Answers the granted machine types with their places too.
pub fn read(node: Option<&Node>, uses: &str, mistakes: &mut Vec<Mistake>) -> (Grants, Vec<At<String>>) {
    let mut grants = Grants { capabilities: FREE.iter().map(|name| (*name).into()).collect(), ..Grants::default() };
    let mut types = vec![];
    let mut own = [("cluster", !is_plugin_file(uses)), ("load", !is_plugin_file(uses))];
    if let Some(node) = node
        && let Some(mut map) = Fields::of(node, "`grants`", &GRANT_KEYS, mistakes)
    {
        for (name, allowed) in &mut own {
            *allowed = map.boolean(name).map_or(*allowed, |granted| granted.value);
        }
        let (cloud, cql) = (map.take("cloud"), map.take("cql"));
        grants.cloud = cloud.and_then(|node| read_cloud(node, &mut types, mistakes));
        grants.keyspaces = cql.and_then(|node| read_cql(node, mistakes));
    }
    grants.capabilities.extend(own.iter().filter(|(_, allowed)| *allowed).map(|(name, _)| (*name).into()));
    grants.capabilities.extend(grants.keyspaces.is_some().then(|| "cql".into()));
    (grants, types)
}

fn read_cloud(node: &Node, named: &mut Vec<At<String>>, mistakes: &mut Vec<Mistake>) -> Option<CloudGrant> {
    let map = Fields::of(node, "`cloud`", &["types", "machines"], mistakes)?;
    let (types, machines) = (map.take("types"), map.take("machines"));
    for (name, given) in [("types", types), ("machines", machines)] {
        if given.is_none() {
            let help = "write `cloud: { types: [i4i.large], machines: 3 }`".to_owned();
            mistakes.push(Mistake::new(node.span, format!("the grant `cloud` lacks `{name}`")).help(help));
        }
    }
    *named = fields::texts(types?, "a machine type", mistakes);
    let types = named.iter().map(|at| at.value.clone()).collect();
    let machines = fields::count(machines?, "`machines`", MOST_MACHINES, mistakes)?;
    Some(CloudGrant { types, machines })
}

fn read_cql(node: &Node, mistakes: &mut Vec<Mistake>) -> Option<BTreeSet<String>> {
    let map = Fields::of(node, "`cql`", &["keyspaces"], mistakes)?;
    let Some(keyspaces) = map.take("keyspaces") else {
        let help = "write `cql: { keyspaces: [shop] }`".to_owned();
        mistakes.push(Mistake::new(node.span, "the grant `cql` lacks `keyspaces`").help(help));
        return None;
    };
    Some(fields::texts(keyspaces, "a keyspace", mistakes).into_iter().map(|at| at.value).collect())
}

/// What the plugin imports and the step does not grant, and machine types that are named and not granted. `broken` says
/// that the grants have been reported already.
pub fn check(
    uses: &At<String>,
    plugin: &Plugin,
    grants: &Grants,
    parameters: &Parameters,
    broken: bool,
    mistakes: &mut Vec<Mistake>,
) {
    let missing = if broken { vec![] } else { missing(plugin, grants, parameters) };
    for (act, line) in missing {
        let message = format!("the plugin of {} can {act}, which this step does not grant", quote(&uses.value));
        let help = format!("if it may, add to the step:\ngrants:\n  {line}");
        mistakes.push(Mistake::new(uses.span, message).help(help));
    }
    if let Some(cloud) = &grants.cloud {
        mistakes.extend(parameters.machine_types.iter().filter_map(|named| ungranted_type(named, cloud)));
    }
}

/// What the plugin can do and may not, in words, with the grant that would allow it.
fn missing(plugin: &Plugin, grants: &Grants, parameters: &Parameters) -> Vec<(&'static str, String)> {
    let creating = ["cloud/machines.create", "cloud/machines.terminate"];
    let creates = creating.iter().any(|name| plugin.imports.contains(*name));
    let capabilities = plugin.capabilities();
    let mut missing = vec![];
    if creates && grants.cloud.is_none() {
        let grant = format!("cloud: {{ types: [{}], machines: 3 }}", type_list(parameters));
        missing.push(("create or terminate machines", grant));
    }
    if capabilities.contains("cql") && grants.keyspaces.is_none() {
        missing.push(("run CQL statements", "cql: { keyspaces: [NAME] }".into()));
    }
    for (name, act) in [("cluster", "act on the cluster"), ("load", "start loads")] {
        if capabilities.contains(name) && !grants.capabilities.contains(name) {
            missing.push((act, format!("{name}: true")));
        }
    }
    missing
}

fn ungranted_type(named: &At<String>, cloud: &CloudGrant) -> Option<Mistake> {
    let name = &named.value;
    if cloud.types.contains(name) {
        return None;
    }
    let help = suggest::advice(name, cloud.types.iter().map(String::as_str), "the granted types are");
    let help = help.map(|help| format!("{help}\nIf it is right, add it to `cloud.types` of the step's `grants`."));
    Some(Mistake::new(named.span, format!("the machine type {} is not granted to this step", quote(name))).help(help))
}

/// The machine types that the parameters name, for the text to add.
fn type_list(parameters: &Parameters) -> String {
    let named: BTreeSet<_> = parameters.machine_types.iter().map(|named| named.value.as_str()).collect();
    match named.is_empty() {
        true => "TYPE".into(),
        false => named.into_iter().collect::<Vec<_>>().join(", "),
    }
}
