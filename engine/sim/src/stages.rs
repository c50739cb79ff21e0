//! The stages of operations: a cluster has formed, nodes have joined, data have arrived, or something went wrong.

use wfe_core::{CallError, Millis};

use crate::cluster::{Cluster, Node, NodeState};
use crate::fleet::lost;
use crate::operation::Work;
use crate::world::World;

impl World {
    /// Comes to the next stage of an operation when its time has come.
    pub(crate) fn finish_operation(&mut self, index: usize) {
        if let Some(error) = self.orphaned(index) {
            self.operations[index].ended = Some(Err(error));
            return;
        }
        match self.operations[index].work.clone() {
            Work::Create { ready, .. } if self.now >= ready => self.formed(index),
            Work::Join { nodes, left_s, .. } if left_s <= 1e-6 => self.joined(index, nodes),
            Work::Hopeless { nodes, gives_up } if self.now >= gives_up => self.gave_up(index, &nodes),
            Work::Balance { .. } => self.keep_moving(index),
            _ => {}
        }
    }

    /// The error of an operation whose new nodes are gone.
    fn orphaned(&self, index: usize) -> Option<CallError> {
        let cluster = self.cluster.as_ref()?;
        let operation = &self.operations[index];
        let gone = |node: &&Node| node.state == NodeState::Down;
        let node = match &operation.work {
            Work::Create { .. } => cluster.nodes.iter().find(gone),
            _ => operation.nodes().iter().filter_map(|&node| cluster.nodes.get(node)).find(gone),
        };
        node.map(|node| lost(&node.machine))
    }

    /// Ends the operations whose new nodes are gone.
    pub(crate) fn fail_orphans(&mut self) {
        for index in 0..self.operations.len() {
            if let (None, Some(error)) = (&self.operations[index].ended, self.orphaned(index)) {
                self.operations[index].ended = Some(Err(error));
            }
        }
    }

    fn formed(&mut self, index: usize) {
        let now = self.now;
        if let Some(cluster) = &mut self.cluster {
            for node in 0..cluster.nodes.len() {
                cluster.enter(node, now);
            }
        }
        self.operations[index].ended = Some(Ok(()));
    }

    fn joined(&mut self, index: usize, nodes: Vec<usize>) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        nodes.iter().for_each(|&node| cluster.enter(node, now));
        let sites = cluster.sites();
        let target = cluster.tablets.as_ref().map_or(0.0, |tablets| {
            let held = tablets.balanced(&sites).held(sites.len());
            nodes.iter().map(|&node| held[node]).sum()
        });
        self.operations[index].work = Work::Balance { nodes, target };
        self.keep_moving(index);
    }

    fn keep_moving(&mut self, index: usize) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        let sites = cluster.sites();
        let moving = cluster.tablets.as_mut().is_some_and(|tablets| {
            tablets.start_moves(&sites);
            !tablets.moves.is_empty()
        });
        if !moving {
            for &node in self.operations[index].nodes() {
                let name = cluster.nodes[node].name.clone();
                cluster.say(now, &name, "info", "all tablets have arrived");
            }
            self.operations[index].ended = Some(Ok(()));
        }
    }

    fn gave_up(&mut self, index: usize, nodes: &[usize]) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        let names: Vec<String> = nodes.iter().map(|&node| cluster.nodes[node].name.clone()).collect();
        for (&node, name) in nodes.iter().zip(&names) {
            cluster.nodes[node].state = NodeState::Down;
            cluster.say(now, name, "error", "raft operation [read_barrier] timed out");
        }
        if let Some(leader) =
            cluster.nodes.iter().find(|node| node.state == NodeState::Up).map(|node| node.name.clone())
        {
            cluster.say(now, &leader, "error", format!("Transferring snapshot to {} failed", names.join(", ")));
        }
        let message = format!("{} could not join: raft operation [read_barrier] timed out", names.join(", "));
        self.operations[index].ended = Some(Err(CallError::product("join-failed", message)));
    }
}

impl Cluster {
    /// Makes a node a member.
    fn enter(&mut self, index: usize, now: Millis) {
        self.nodes[index].state = NodeState::Up;
        let name = self.nodes[index].name.clone();
        self.say(now, &name, "info", "node is up");
    }
}
