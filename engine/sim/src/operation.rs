//! Long work on the cluster: forming it, and adding members.

use wfe_core::capability::operation::Status;
use wfe_core::{CallError, Millis};

/// One piece of long work.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Such as `join-1`.
    pub id: String,
    /// What it is.
    pub work: Work,
    /// How it ended; none while it goes on.
    pub ended: Option<Result<(), CallError>>,
}

/// What an operation is.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Nodes form a cluster.
    Create {
        /// When they began.
        from: Millis,
        /// When they are ready.
        ready: Millis,
    },
    /// Nodes become members of the cluster.
    Join {
        /// Numbers of the nodes.
        nodes: Vec<usize>,
        /// What is left, seconds of an undisturbed join.
        left_s: f64,
        /// All of it, seconds.
        all_s: f64,
    },
    /// Nodes try to become members until they give up.
    Hopeless {
        /// Numbers of the nodes.
        nodes: Vec<usize>,
        /// When they give up.
        gives_up: Millis,
    },
    /// Data move to new members.
    Balance {
        /// Numbers of the nodes.
        nodes: Vec<usize>,
        /// Replicas that they will have.
        target: f64,
    },
}

impl Operation {
    /// An operation that has just begun.
    pub fn new(id: String, work: Work) -> Self {
        Self { id, work, ended: None }
    }

    /// The numbers of the nodes that it adds.
    pub fn nodes(&self) -> &[usize] {
        match &self.work {
            Work::Create { .. } => &[],
            Work::Join { nodes, .. } | Work::Hopeless { nodes, .. } | Work::Balance { nodes, .. } => nodes,
        }
    }

    /// Its state; `held` says how many replicas each node has.
    pub fn status(&self, now: Millis, held: &[f64]) -> Status {
        let (progress, detail) = match (&self.ended, &self.work) {
            (Some(Ok(())), _) => (Some(1.0), "done"),
            (Some(Err(_)), _) => (None, "failed"),
            (None, Work::Create { from, ready }) => {
                (Some(now.saturating_sub(*from) as f64 / (ready - from).max(1) as f64), "forming the cluster")
            }
            (None, Work::Join { .. } | Work::Hopeless { .. }) => (Some(0.0), "joining"),
            (None, Work::Balance { nodes, target }) => {
                let there: f64 = nodes.iter().filter_map(|&node| held.get(node)).sum();
                (Some(if *target > 0.0 { there / target } else { 1.0 }), "moving data")
            }
        };
        Status {
            id: self.id.clone(),
            done: self.ended.is_some(),
            failure: self.ended.clone().and_then(Result::err),
            progress: progress.map(|part| part.clamp(0.0, 1.0)),
            detail: detail.into(),
        }
    }
}
