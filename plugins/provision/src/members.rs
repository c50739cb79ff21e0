//! Whether the cluster that was formed is the one that was asked for.

use wfe_sdk::cluster::Node;
use wfe_sdk::machines::Machine;
use wfe_sdk::{Error, Result};

/// Each machine is a node that is up and stands in the machine's rack, and there are no other nodes.
pub fn check(machines: &[Machine], nodes: &[Node]) -> Result<()> {
    for machine in machines {
        let missing = || Error::product("node-missing", format!("the cluster has no node on machine {}", machine.id));
        let node = nodes.iter().find(|node| node.machine == machine.id).ok_or_else(missing)?;
        if !node.is_up() {
            return Err(Error::product("node-not-up", format!("{} on {} is {}", node.name, node.machine, node.state)));
        }
        if node.rack != machine.rack {
            let message = format!("{} is in rack {}, its machine in rack {}", node.name, node.rack, machine.rack);
            return Err(Error::product("wrong-rack", message));
        }
    }
    match nodes.iter().find(|node| machines.iter().all(|machine| machine.id != node.machine)) {
        Some(foreign) => {
            let message = format!("{} on {} is a member that nobody asked for", foreign.name, foreign.machine);
            Err(Error::product("foreign-node", message))
        }
        None => Ok(()),
    }
}

/// Whether the nodes are those of these machines and of no others, and one of them at least is not down.
pub fn are(machines: &[String], nodes: &[Node]) -> bool {
    let of = |machine: &String| nodes.iter().any(|node| node.machine == *machine);
    nodes.len() == machines.len() && machines.iter().all(of) && nodes.iter().any(|node| !node.is_down())
}

/// Whether a node is still on its way into the cluster, and none is down.
pub fn forming(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| node.state == "joining") && nodes.iter().all(|node| !node.is_down())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(id: &str, rack: u32) -> Machine {
        let [role, machine_type, step, state, address] =
            ["database", "i4i.large", "cluster", "running", ""].map(String::from);
        Machine { id: id.into(), role, machine_type, step, rack, state, address }
    }

    fn node(machine: &str, rack: u32, state: &str) -> Node {
        Node {
            name: format!("node on {machine}"),
            machine: machine.into(),
            machine_type: "i4i.large".into(),
            rack,
            state: state.into(),
            used_bytes: 0,
            total_bytes: 1,
            signals: vec![],
        }
    }

    #[test]
    fn what_an_earlier_attempt_began_is_known_by_its_machines() {
        let machines = ["a".to_owned(), "b".to_owned()];
        let (up, joining, down) = (node("a", 1, "up"), node("b", 2, "joining"), node("b", 2, "down"));
        assert!(are(&machines, &[joining.clone(), up.clone()]) && forming(&[joining.clone(), up.clone()]));
        assert!(are(&machines, &[up.clone(), down.clone()]) && !forming(&[up.clone(), down.clone()]));
        assert!(!are(&machines, std::slice::from_ref(&up)) && !are(&machines, &[up.clone(), node("c", 3, "up")]));
        assert!(!are(&machines, &[node("a", 1, "down"), down]), "a cluster that is down is formed anew");
        assert!(!forming(&[up]));
    }

    #[test]
    fn the_cluster_is_exactly_what_was_asked_for() {
        let machines = [machine("a", 1), machine("b", 2)];
        let code = |nodes: &[Node]| check(&machines, nodes).err().map(|error| error.code);
        assert_eq!(code(&[node("b", 2, "up"), node("a", 1, "up")]), None);
        assert_eq!(code(&[node("a", 1, "up")]).as_deref(), Some("node-missing"));
        assert_eq!(code(&[node("a", 1, "up"), node("b", 2, "joining")]).as_deref(), Some("node-not-up"));
        assert_eq!(code(&[node("a", 1, "up"), node("b", 1, "up")]).as_deref(), Some("wrong-rack"));
        let three = [node("a", 1, "up"), node("b", 2, "up"), node("c", 3, "up")];
        assert_eq!(code(&three).as_deref(), Some("foreign-node"));
    }
}
