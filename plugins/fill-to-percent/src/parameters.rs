//! What a workflow says about a fill, and what follows from it.

use schemars::JsonSchema;
use serde::Deserialize;
use wfe_sdk::check::Check;
use wfe_sdk::cluster::Node;
use wfe_sdk::loads::{Consistency, Keys, Spec};
use wfe_sdk::{Bytes, Percent, Rate};

/// Parameters of the step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The fullest disk is used up to this.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 100))]
    pub percent: Percent,
    /// Asked rate; without it as fast as the database takes it.
    #[schemars(range(max = 100_000_000), extend("exclusiveMinimum" = 0))]
    pub rate: Option<Rate>,
    /// Bytes of one row.
    #[serde(default = "row_bytes")]
    #[schemars(range(min = 1))]
    pub row_bytes: Bytes,
    /// Columns of a row; they share its bytes.
    #[serde(default = "columns")]
    #[schemars(range(min = 1, max = 256))]
    pub columns: u32,
    /// Operations in flight at the same time, over all loaders.
    #[serde(default = "concurrency")]
    #[schemars(range(min = 1, max = 20_000))]
    pub concurrency: u32,
    /// Copies of each row.
    #[serde(default = "replication")]
    #[schemars(range(min = 1, max = 9))]
    pub replication: u32,
    /// How many copies must answer a write.
    #[serde(default)]
    pub consistency: Consistency,
    /// How many loader machines write.
    #[schemars(range(min = 1, max = 256))]
    pub loaders: Option<u32>,
    /// No disk may be fuller than this, whatever happens.
    #[serde(default = "ceiling")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 100))]
    pub ceiling: Percent,
    /// The usage at which the first phase ends, 71 % when it is not given; no such phase when it is not below `percent`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub soft_limit: Option<Percent>,
    /// So many of the writes between two looks may fail.
    #[serde(default = "max_errors")]
    #[schemars(range(min = 0, max = 100))]
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
fn ceiling() -> Percent {
    Percent(95.0)
}
fn max_errors() -> Percent {
    Percent(1.0)
}

/// Usage at which the first phase ends, percent, when the workflow does not say it.
const SOFT_LIMIT: f64 = 71.0;
/// Bytes that a column may have.
const LARGEST_COLUMN: f64 = 1_048_576.0;
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
    /// What its schema cannot say.
    pub fn check(&self, check: &mut Check) {
        if self.percent >= self.ceiling {
            check.refuse(["/percent", "/ceiling"], format!("it must be below `ceiling`, which is {}", self.ceiling));
        }
        if self.soft_limit.is_some_and(|soft| soft >= self.percent) {
            check.refuse(["/soft_limit", "/percent"], format!("it must be below `percent`, which is {}", self.percent));
        }
        if self.column_bytes() > LARGEST_COLUMN {
            let message =
                format!("{} columns of {} each; a column has at most 1 MiB", self.columns, Bytes(self.column_bytes()));
            check.refuse(["/row_bytes", "/columns"], message);
        }
    }

    /// Where the fill goes.
    pub fn goal(&self) -> Goal {
        let soft = self.soft_limit.map_or(SOFT_LIMIT, |soft| soft.0);
        let percent = self.percent.0;
        Goal { soft: (soft < percent).then_some(soft), percent, ceiling: self.ceiling.0 }
    }

    /// Bytes of one column.
    fn column_bytes(&self) -> f64 {
        (self.row_bytes.0 / f64::from(self.columns.max(1))).max(1.0)
    }

    /// The load that writes to these nodes.
    pub fn spec(&self, nodes: &[Node]) -> Spec {
        let rows = SPARE * disks(nodes) / self.stored_bytes();
        Spec {
            rate: self.rate,
            concurrency: self.concurrency,
            columns: self.columns,
            column_bytes: self.column_bytes() as u32,
            consistency: self.consistency,
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
            consistency: Consistency::default(),
            loaders: None,
            ceiling: Percent(ceiling),
            soft_limit: soft_limit.map(Percent),
            max_errors: max_errors(),
        }
    }

    #[test]
    fn the_soft_limit_is_below_the_goal_or_not_there() {
        let goal = |percent, soft| parameters(percent, 95.0, soft).goal();
        assert_eq!(goal(90.0, None), Goal { soft: Some(71.0), percent: 90.0, ceiling: 95.0 });
        assert_eq!(goal(50.0, None), Goal { soft: None, percent: 50.0, ceiling: 95.0 });
        assert_eq!(goal(50.0, Some(30.0)), Goal { soft: Some(30.0), percent: 50.0, ceiling: 95.0 });
    }

    #[test]
    fn goals_must_make_sense() {
        let said = |p: Parameters| {
            let mut found = Check::default();
            p.check(&mut found);
            found.problems().iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect::<Vec<_>>()
        };
        assert!(said(parameters(90.0, 95.0, Some(71.0))).is_empty());
        assert_eq!(said(parameters(95.0, 95.0, None)), ["/percent: it must be below `ceiling`, which is 95 %"]);
        assert_eq!(
            said(parameters(50.0, 95.0, Some(50.0))),
            ["/soft_limit: it must be below `percent`, which is 50 %"]
        );
        assert_eq!(said(parameters(98.0, 95.0, Some(99.0))).len(), 2);
        let large = Parameters { row_bytes: Bytes(16_777_216.0), ..parameters(90.0, 95.0, None) };
        assert_eq!(said(large), ["/row_bytes: 8 columns of 2 MiB each; a column has at most 1 MiB"]);
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
