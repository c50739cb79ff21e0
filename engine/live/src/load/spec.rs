//! A load's description, checked.

use std::collections::BTreeMap;

use scylla::frame::types::Consistency;
use wfe_core::CallError;
use wfe_core::capability::load::{Keys, Spec};

use crate::load::row::Shape;

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads one row by its key.
    Read,
    /// Writes one row.
    Write,
}

impl Kind {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A description that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The load's name.
    pub name: String,
    /// Kinds with their part of all operations; the parts add up to 1.
    pub mix: Vec<(Kind, f64)>,
    /// Operations a second; none for a closed loop.
    pub rate: Option<f64>,
    /// Operations in flight.
    pub concurrency: usize,
    /// How keys are drawn.
    pub keys: Keys,
    /// How many keys there are.
    pub rows: u64,
    /// What rows look like.
    pub shape: Shape,
    /// How many copies must answer.
    pub consistency: Consistency,
    /// Copies of each row.
    pub replication: u32,
}

impl Checked {
    /// The kind, as an index, of an operation that drew that number from 0 to 1.
    pub fn kind(&self, drawn: f64) -> usize {
        let mut below = 0.0;
        let found = self.mix.iter().position(|(_, share)| {
            below += share;
            drawn < below
        });
        found.unwrap_or(self.mix.len() - 1)
    }
}

/// Checks a description.
pub fn check(spec: &Spec) -> Result<Checked, CallError> {
    within("concurrency", u64::from(spec.concurrency), 1, 20_000)?;
    within("rows", spec.rows, 1, i64::MAX as u64)?;
    within("columns", u64::from(spec.columns), 1, 256)?;
    within("column_bytes", u64::from(spec.column_bytes), 1, 1 << 20)?;
    within("replication", u64::from(spec.replication), 1, 100)?;
    if spec.name.is_empty() {
        return Err(wrong("a load needs a `name`"));
    }
    if let Some(rate) = spec.rate {
        check_rate(rate)?;
    }
    Ok(Checked {
        name: spec.name.clone(),
        mix: mix(&spec.mix)?,
        rate: spec.rate,
        concurrency: spec.concurrency as usize,
        keys: spec.keys,
        rows: spec.rows,
        shape: Shape { columns: spec.columns, column_bytes: spec.column_bytes },
        consistency: consistency(&spec.consistency)?,
        replication: spec.replication,
    })
}

/// Checks a rate: operations a second.
pub fn check_rate(rate: f64) -> Result<(), CallError> {
    if rate.is_finite() && (0.0..=1e8).contains(&rate) {
        return Ok(());
    }
    Err(wrong(format!("a rate is from 0 to 100,000,000 operations a second, not {rate}")))
}

fn wrong(message: impl Into<String>) -> CallError {
    CallError::request("load-spec", message)
}

fn within(name: &str, value: u64, least: u64, most: u64) -> Result<(), CallError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(wrong(format!("`{name}` of a load is from {least} to {most}, not {value}")))
}

fn mix(weights: &BTreeMap<String, f64>) -> Result<Vec<(Kind, f64)>, CallError> {
    let mut mix = Vec::new();
    for (name, weight) in weights {
        let kind = match name.as_str() {
            "read" => Kind::Read,
            "write" => Kind::Write,
            _ => return Err(wrong(format!("a load's `mix` has `read` and `write`, not `{name}`"))),
        };
        if !weight.is_finite() || *weight < 0.0 {
            return Err(wrong(format!("the weight of `{name}` in a load's `mix` is a number from 0 up, not {weight}")));
        }
        if *weight > 0.0 {
            mix.push((kind, *weight));
        }
    }
    let sum: f64 = mix.iter().map(|(_, weight)| weight).sum();
    if mix.is_empty() || !sum.is_finite() {
        return Err(wrong("a load's `mix` needs a weight over 0 for `read` or `write`"));
    }
    mix.iter_mut().for_each(|(_, weight)| *weight /= sum);
    Ok(mix)
}

fn consistency(name: &str) -> Result<Consistency, CallError> {
    match name.to_uppercase().replace('-', "_").as_str() {
        "ANY" => Ok(Consistency::Any),
        "ONE" => Ok(Consistency::One),
        "TWO" => Ok(Consistency::Two),
        "THREE" => Ok(Consistency::Three),
        "QUORUM" => Ok(Consistency::Quorum),
        "ALL" => Ok(Consistency::All),
        "LOCAL_QUORUM" => Ok(Consistency::LocalQuorum),
        "EACH_QUORUM" => Ok(Consistency::EachQuorum),
        "LOCAL_ONE" => Ok(Consistency::LocalOne),
        _ => Err(wrong(format!("there is no consistency level `{name}`; take ONE, QUORUM or ALL, for instance"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(changes: &str) -> Result<Checked, CallError> {
        let mut spec = serde_json::json!({
            "name": "traffic", "mix": {"write": 3, "read": 1}, "rate": 300, "concurrency": 8, "keys": "uniform", "rows": 10
        });
        let changes: serde_json::Value = serde_json::from_str(changes).unwrap();
        for (name, value) in changes.as_object().unwrap() {
            spec[name] = value.clone();
        }
        check(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn a_mix_has_its_parts() {
        let checked = spec("{}").unwrap();
        assert_eq!(checked.mix, [(Kind::Read, 0.25), (Kind::Write, 0.75)]);
        assert_eq!([0.0, 0.24, 0.25, 0.999, 1.0].map(|drawn| checked.kind(drawn)), [0, 0, 1, 1, 1]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_name() {
        let said = |changes| spec(changes).unwrap_err().message;
        assert_eq!(said(r#"{"concurrency": 0}"#), "`concurrency` of a load is from 1 to 20000, not 0");
        assert_eq!(said(r#"{"rate": -1}"#), "a rate is from 0 to 100,000,000 operations a second, not -1");
        assert_eq!(said(r#"{"mix": {"raed": 1}}"#), "a load's `mix` has `read` and `write`, not `raed`");
        assert_eq!(said(r#"{"mix": {"read": 0}}"#), "a load's `mix` needs a weight over 0 for `read` or `write`");
        assert!(said(r#"{"consistency": "MOST"}"#).starts_with("there is no consistency level `MOST`"));
        assert!(said(r#"{"rows": 0}"#).contains("`rows`"));
    }
}
