//! What a step may do: held against each call, below everything that a plugin controls.

use std::collections::BTreeSet;

use wfe_core::capability::{cloud, cql};
use wfe_core::ledger::{MACHINE, Resource};
use wfe_core::plan::Grants;
use wfe_core::state::RunState;
use wfe_core::{Call, CallError, error};

/// The denial of a call, if its step is not granted it. `key` is the call's own.
pub fn denial(call: &Call, key: &str, step: &str, grants: &Grants, state: &RunState) -> Option<CallError> {
    let refused = |why: String| Some(CallError::new(error::kind::DENIED, "not-granted", why));
    match call {
        Call::MachinesCreate(create) => too_many_machines(&create.request, key, step, grants, state).and_then(refused),
        Call::MachinesTerminate(terminate) => {
            if grants.cloud.is_none() {
                return refused(format!("`{step}` is granted no machines (`grants: cloud:`)"));
            }
            let made = |resource: &&Resource| resource.kind == MACHINE && !resource.key.is_empty();
            let machines = state.ledger.resources().filter(made);
            let own: BTreeSet<&str> = machines.map(|machine| machine.id.as_str()).collect();
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
            let why = || format!("`{step}` is not granted `{capability}` (`grants: {capability}: true`)");
            (!grants.capabilities.contains(capability)).then(why).and_then(refused)
        }
    }
}

fn too_many_machines(
    request: &cloud::Request,
    key: &str,
    step: &str,
    grants: &Grants,
    state: &RunState,
) -> Option<String> {
    let Some(grant) = &grants.cloud else {
        return Some(format!("`{step}` is granted no machines (`grants: cloud:`)"));
    };
    let (there, wanted, most) = (state.ledger.machines_of(step, key), request.count, grant.machines);
    if !grant.types.contains(&request.machine_type) {
        return Some(format!("`{step}` is not granted machines of type `{}`", request.machine_type));
    }
    (there.saturating_add(wanted) > most)
        .then(|| format!("`{step}` is granted {most} machines, has {there} and asks for {wanted} more"))
}

/// Why a statement reaches outside of the granted keyspaces. Only a statement whose one `keyspace.table` can be seen is let
/// through: no quoted names, no comments, no batches.
fn outside(statement: &str, granted: &BTreeSet<String>) -> Option<String> {
    if ["\"", "$$", "--", "//", "/*"].iter().any(|hidden| statement.contains(hidden)) {
        return Some("a statement may hold no quoted names, no `$$` texts and no comments".into());
    }
    // Outside of texts in single quotes; a doubled quote inside of one only ends it and begins the next.
    let code: String = statement.split('\'').step_by(2).collect::<Vec<_>>().join(" '' ");
    let words: Vec<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let named = words.windows(2).filter(|pair| introduces_a_name(pair[0])).map(|pair| pair[1]);
    let names: Vec<&str> = named.filter(|name| !name.eq_ignore_ascii_case("IF")).collect();
    let [name] = names[..] else {
        return Some("a statement must name exactly one `keyspace.table`".into());
    };
    let inside = name.split_once('.').is_some_and(|(keyspace, _)| granted.contains(keyspace));
    let known = granted.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    (!inside).then(|| format!("`{name}` does not lie in a granted keyspace ({known})"))
}

fn introduces_a_name(word: &str) -> bool {
    const WORDS: [&str; 8] = ["FROM", "INTO", "UPDATE", "TABLE", "TRUNCATE", "ON", "EXISTS", "KEYSPACE"];
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn denied(statement: &str) -> bool {
        outside(statement, &BTreeSet::from(["shop".to_owned()])).is_some()
    }

    #[test]
    fn statements_inside_of_the_grant() {
        for statement in [
            "SELECT * FROM shop.carts WHERE id = ?",
            "INSERT INTO shop.carts (id, note) VALUES (1, 'moved from x.y to shop')",
            "UPDATE shop.carts SET note = 'it''s' WHERE id = 1",
            "CREATE TABLE IF NOT EXISTS shop.carts (id int PRIMARY KEY)",
            "DELETE FROM shop.carts WHERE id = 1 IF EXISTS",
        ] {
            assert!(!denied(statement), "{statement}");
        }
    }

    #[test]
    fn statements_outside_of_the_grant() {
        for statement in [
            "SELECT * FROM system_auth.roles",
            "SELECT * FROM carts",
            "SELECT*FROM system_auth.roles",
            "SELECT * FROM\"system_auth\".\"roles\" WHERE role = ' FROM shop.t '",
            "SELECT * FROM system_auth.roles WHERE role = ' FROM shop.t '",
            "BEGIN BATCH INSERT INTO shop.a (k) VALUES (1); INSERT INTO other.b (k) VALUES (1); APPLY BATCH",
            "SELECT * FROM /* shop.t */ system.local",
            "DROP KEYSPACE shop",
            "TRUNCATE other.t",
            "CREATE ROLE x WITH SUPERUSER = true",
            "",
        ] {
            assert!(denied(statement), "{statement}");
        }
    }

    proptest! {
        /// Whatever stands in a text, it neither opens nor hides another keyspace.
        #[test]
        fn texts_hide_nothing(text in "[a-zA-Z .*;()=]{0,40}") {
            let inside = format!("SELECT * FROM shop.t WHERE a = '{text}'");
            let outside = format!("SELECT * FROM other.t WHERE a = '{text}'");
            prop_assert!(!denied(&inside));
            prop_assert!(denied(&outside));
        }
    }
}
