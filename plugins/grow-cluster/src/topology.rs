//! What the topology says about nodes that should have joined. A client's word is not enough: a join may be reported
//! as failed and have succeeded, and the other way round.

use wfe_sdk::cluster::Node;

/// Whether machines are members now.
#[derive(Debug, PartialEq, Eq)]
pub enum Joined {
    /// Each is a node that is up.
    All,
    /// At least one is not; says which, for people.
    Not(String),
}

/// Whether each machine is a node that is up.
pub fn joined(machines: &[String], nodes: &[Node]) -> Joined {
    let missing: Vec<_> = machines
        .iter()
        .filter_map(|machine| match nodes.iter().find(|node| node.machine == *machine) {
            Some(node) if node.is_up() => None,
            Some(node) => Some(format!("{} on {machine} is {}", node.name, node.state)),
            None => Some(format!("{machine} is no member")),
        })
        .collect();
    if missing.is_empty() { Joined::All } else { Joined::Not(missing.join(", ")) }
}

/// Whether one of the machines is still on its way in.
pub fn joining(machines: &[String], nodes: &[Node]) -> bool {
    nodes.iter().any(|node| node.state == "joining" && machines.contains(&node.machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(machine: &str, state: &str) -> Node {
        Node {
            name: format!("node-{machine}"),
            machine: machine.into(),
            machine_type: "t".into(),
            rack: 1,
            state: state.into(),
            used_bytes: 0,
            total_bytes: 1,
            signals: vec![],
        }
    }

    #[test]
    fn only_nodes_that_are_up_have_joined() {
        let asked = ["c".to_owned(), "d".to_owned()];
        let says = |nodes: &[Node]| joined(&asked, nodes);
        assert_eq!(says(&[node("a", "down"), node("c", "up"), node("d", "up")]), Joined::All);
        assert_eq!(says(&[node("c", "up")]), Joined::Not("d is no member".into()));
        assert_eq!(
            says(&[node("c", "joining"), node("d", "down")]),
            Joined::Not("node-c on c is joining, node-d on d is down".into())
        );
    }

    #[test]
    fn foreign_joins_are_not_waited_for() {
        let asked = ["c".to_owned()];
        assert!(joining(&asked, &[node("c", "joining")]));
        assert!(!joining(&asked, &[node("c", "up"), node("x", "joining")]));
    }
}
