//! What a workflow says about a fill, and what follows from it.

use schemars::JsonSchema;
use serde::Deserialize;
use wfe_sdk::cluster::Node;
use wfe_sdk::loads::{Keys, Spec};
use wfe_sdk::{Bytes, Error, Percent, Rate, Result};

/// Parameters of the step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The fullest disk is used up to this.
    pub percent: Percent,
    /// Asked rate; without it as fast as the database takes it.
    pub rate: Option<Rate>,
    /// Bytes of one row.
    #[serde(default = "row_bytes")]
    pub row_bytes: Bytes,
    /// Columns of a row; they share its bytes.
    #[serde(default = "columns")]
    #[schemars(range(min = 1))]
    pub columns: u32,
    /// Operations in flight at the same time, over all loaders.
    #[serde(default = "concurrency")]
    #[schemars(range(min = 1))]
    pub concurrency: u32,
    /// Copies of each row.
    #[serde(default = "replication")]
    #[schemars(range(min = 1))]
    pub replication: u32,
    /// Consistency level: `ONE`, `QUORUM`, `ALL`.
    #[serde(default = "consistency")]
    pub consistency: String,
    /// How many loader machines write.
    #[schemars(range(min = 1))]
    pub loaders: Option<u32>,
    /// No disk may be fuller than this, whatever happens.
    #[serde(default = "ceiling")]
    pub ceiling: Percent,
    /// The usage at which the first phase ends, 71 % when it is not given; no such phase when it is not below `percent`.
    pub soft_limit: Option<Percent>,
    /// So many of the writes between two looks may fail.
    #[serde(default = "max_errors")]
    pub max_errors: Percent,
}

fn row_bytes() -> Bytes {
    Bytes(1024.0)
}
fn columns() -> u32 {
    8
}
fn concurrency() -> u32 {
    450
}
fn replication() -> u32 {
    3
}
fn consistency() -> String {
    "QUORUM".into()
}
fn ceiling() -> Percent {
    Percent(95.0)
}
fn max_errors() -> Percent {
    Percent(1.0)
}

/// Usage at which the first phase ends, percent, when the workflow does not say it.
const SOFT_LIMIT: f64 = 71.0;
/// So many times the rows that fit on the disks are numbered: a row is never written twice, even if it takes less disk
/// than its payload.
const SPARE: f64 = 10.0;

/// Where the fill goes, all in percent of a disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// The first phase ends here.
    pub soft: Option<f64>,
    /// The fill ends here.
    pub percent: f64,
    /// It must never come here.
    pub ceiling: f64,
}

impl Parameters {
    /// The goal, when it makes sense.
    pub fn goal(&self) -> Result<Goal> {
        let (percent, ceiling) = (self.percent.0, self.ceiling.0);
        if percent <= 0.0 || percent >= ceiling || ceiling >= 100.0 {
            let message = format!(
                "the goal ({}) must be above 0 % and below the ceiling ({}), and the ceiling below 100 %",
                self.percent, self.ceiling
            );
            return Err(Error::request("ceiling", message));
        }
        if let Some(soft) = self.soft_limit.filter(|soft| soft.0 >= percent) {
            let message = format!("the soft limit ({soft}) must be below the goal ({})", self.percent);
            return Err(Error::request("soft-limit", message));
        }
        let soft = self.soft_limit.map_or(SOFT_LIMIT, |soft| soft.0);
        Ok(Goal { soft: (soft < percent).then_some(soft), percent, ceiling })
    }

    /// The load that writes to these nodes.
    pub fn spec(&self, nodes: &[Node]) -> Spec {
        let rows = SPARE * disks(nodes) / self.stored_bytes();
        Spec {
            rate: self.rate,
            concurrency: self.concurrency,
            columns: self.columns,
            column_bytes: (self.row_bytes.0 / f64::from(self.columns.max(1))).max(1.0) as u32,
            consistency: self.consistency.clone(),
            replication: self.replication,
            loaders: self.loaders,
            ..Spec::new("fill", crate::writes(), Keys::Sequential, (rows as u64).max(1))
        }
    }

    /// By how much of a disk one write should fill each of these nodes, percent.
    pub fn growth(&self, nodes: &[Node]) -> f64 {
        100.0 * self.stored_bytes() / disks(nodes).max(1.0)
    }

    /// Payload of all copies of a row, bytes.
    fn stored_bytes(&self) -> f64 {
        self.row_bytes.0.max(1.0) * f64::from(self.replication.max(1))
    }
}

/// Size of all disks, bytes.
fn disks(nodes: &[Node]) -> f64 {
    nodes.iter().map(|node| node.total_bytes as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(percent: f64, ceiling: f64, soft_limit: Option<f64>) -> Parameters {
        Parameters {
            percent: Percent(percent),
            rate: None,
            row_bytes: row_bytes(),
            columns: columns(),
            concurrency: concurrency(),
            replication: replication(),
            consistency: consistency(),
            loaders: None,
            ceiling: Percent(ceiling),
            soft_limit: soft_limit.map(Percent),
            max_errors: max_errors(),
        }
    }

    #[test]
    fn goals_must_make_sense() {
        let goal = |percent, ceiling, soft| parameters(percent, ceiling, soft).goal().map_err(|error| error.message);
        assert_eq!(goal(90.0, 95.0, None), Ok(Goal { soft: Some(71.0), percent: 90.0, ceiling: 95.0 }));
        assert_eq!(goal(50.0, 95.0, None), Ok(Goal { soft: None, percent: 50.0, ceiling: 95.0 }));
        assert_eq!(goal(50.0, 95.0, Some(30.0)), Ok(Goal { soft: Some(30.0), percent: 50.0, ceiling: 95.0 }));
        assert_eq!(goal(50.0, 95.0, Some(50.0)), Err("the soft limit (50 %) must be below the goal (50 %)".into()));
        for (percent, ceiling) in [(95.0, 95.0), (98.0, 95.0), (90.0, 100.0), (0.0, 95.0), (-1.0, 95.0)] {
            assert!(goal(percent, ceiling, None).is_err(), "{percent} {ceiling}");
        }
    }

    #[test]
    fn no_row_is_written_twice() {
        let node = Node {
            name: "a".into(),
            machine: "m".into(),
            machine_type: "t".into(),
            rack: 1,
            state: "up".into(),
            used_bytes: 0,
            total_bytes: 3 * 1024 * 1000,
            signals: vec![],
        };
        let p = parameters(90.0, 95.0, None);
        let spec = p.spec(std::slice::from_ref(&node));
        assert_eq!((spec.rows, spec.columns, spec.column_bytes), (10_000, 8, 128));
        assert_eq!(p.growth(&[node]), 0.1);
    }
}
