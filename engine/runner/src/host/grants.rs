//! What a step may do: held against each call, below everything that a plugin controls.

use std::collections::BTreeSet;

use wfe_core::capability::{cloud, cql};
use wfe_core::plan::Grants;
use wfe_core::state::RunState;
use wfe_core::{Call, CallError, error};

/// The denial of a call, if its step is not granted it.
pub fn denial(call: &Call, step: &str, grants: &Grants, state: &RunState) -> Option<CallError> {
    let refused = |why: String| Some(CallError::new(error::kind::DENIED, "not-granted", why));
    match call {
        Call::MachinesCreate(create) => too_many_machines(&create.request, step, grants, state).and_then(refused),
        Call::MachinesTerminate(terminate) => {
            let own: BTreeSet<&str> = state.ledger.resources().map(|resource| resource.id.as_str()).collect();
            let foreign = terminate.ids.iter().find(|id| !own.contains(id.as_str()))?;
            refused(format!("machine `{foreign}` was not made by this run"))
        }
        Call::MachinesList(_) | Call::MachinesWaitRunning(_) | Call::MachinesDescribeType(_) => None,
        Call::CqlQuery(cql::Query { statement, .. }) | Call::CqlExecute(cql::Execute { statement, .. }) => {
            match &grants.keyspaces {
                Some(granted) => outside(statement, granted).and_then(refused),
                None => refused(format!("`{step}` is granted no keyspaces (`grants: cql:`)")),
            }
        }
        other => {
            let capability = other.name().split('/').next().unwrap_or_default();
            let granted = HARMLESS.contains(&capability) || grants.capabilities.contains(capability);
            let why = || format!("`{step}` is not granted `{capability}` (`grants: {capability}: true`)");
            (!granted).then(why).and_then(refused)
        }
    }
}

/// Capabilities that touch nothing but the run itself.
const HARMLESS: [&str; 8] = ["step", "clock", "random", "log", "histogram", "report", "observe", "operation"];

fn too_many_machines(request: &cloud::Request, step: &str, grants: &Grants, state: &RunState) -> Option<String> {
    let Some(grant) = &grants.cloud else {
        return Some(format!("`{step}` is granted no machines (`grants: cloud:`)"));
    };
    let (there, wanted, most) = (state.ledger.machines_of(step), request.count, grant.machines);
    if !grant.types.contains(&request.machine_type) {
        return Some(format!("`{step}` is not granted machines of type `{}`", request.machine_type));
    }
    (there + wanted as usize > most as usize)
        .then(|| format!("`{step}` is granted {most} machines, has made {there} and asks for {wanted} more"))
}

/// Why a statement reaches outside of the granted keyspaces. Only statements whose keyspace can be seen are let through.
fn outside(statement: &str, granted: &BTreeSet<String>) -> Option<String> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let names = words.windows(2).filter(|pair| introduces_a_name(pair[0])).map(|pair| pair[1]);
    let names: Vec<&str> = names.filter(|name| !name.eq_ignore_ascii_case("IF")).collect();
    let [name] = names[..] else {
        return Some("a statement must name exactly one `keyspace.table`".into());
    };
    let keyspace = name.split(['.', '(', ';']).next().unwrap_or(name).trim_matches('"');
    if statement.contains("--") || statement.contains("/*") || statement.contains("//") {
        return Some("a statement may not hold comments".into());
    }
    (!name.contains('.') || !granted.contains(keyspace))
        .then(|| format!("`{name}` does not lie in a granted keyspace ({})", list(granted)))
}

fn introduces_a_name(word: &str) -> bool {
    ["FROM", "INTO", "UPDATE", "TABLE", "TRUNCATE", "ON", "EXISTS"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
