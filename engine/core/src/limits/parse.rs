//! Limits as users write them: `read.p99: <= 10ms`, `rate: ">= 99 % of asked"`, `any 10m: { rate.drop: <= 5 % }`.

use crate::Millis;
use crate::diagnostic::{Mistake, quote};
use crate::quantity::{self, Kind};
use crate::workflow::fields::{describe, entries};
use crate::workflow::suggest;
use crate::workflow::tree::{Key, Node};

use super::{Comparison, Limit, Metric};

/// The kinds of operation that loads make.
pub const OPERATIONS: [&str; 2] = ["read", "write"];
/// The percentiles that latency has.
pub const PERCENTILES: [&str; 7] = ["p50", "p90", "p95", "p99", "p999", "p9999", "max"];

/// All metrics by name.
pub fn metrics() -> Vec<String> {
    let mut names = vec!["rate".to_owned(), "rate.drop".into(), "errors".into()];
    for operation in OPERATIONS {
        names.extend(PERCENTILES.iter().map(|percentile| format!("{operation}.{percentile}")));
        names.extend(PERCENTILES.iter().map(|percentile| format!("{operation}.service.{percentile}")));
        names.extend([format!("{operation}.rate"), format!("{operation}.errors")]);
    }
    names
}

/// Reads the map under `limits`; mistakes are reported at their places.
pub(crate) fn parse(node: &Node, mistakes: &mut Vec<Mistake>) -> Vec<Limit> {
    let mut limits = vec![];
    for (key, value) in entries(node, "`limits`", mistakes).unwrap_or_default() {
        let Some(stretch) = key.text.strip_prefix("any ").or((key.text == "any").then_some("")) else {
            limits.extend(limit(key, value, None, mistakes));
            continue;
        };
        let any = any_ms(key, stretch, mistakes);
        let rules = entries(value, &quote(&key.text), mistakes);
        if rules.is_some_and(|rules| rules.is_empty()) {
            let help = format!("write `{}: {{ read.p99: <= 10ms }}`", key.text.trim());
            mistakes.push(Mistake::new(value.span, "`any` has no rule").help(help));
        }
        for (key, value) in rules.unwrap_or_default() {
            if key.text.starts_with("any ") {
                mistakes.push(Mistake::new(key.span, "`any` cannot stand inside of `any`"));
                continue;
            }
            limits.extend(limit(key, value, any.map(|ms| (stretch.trim(), ms)), mistakes));
        }
    }
    limits
}

fn any_ms(key: &Key, stretch: &str, mistakes: &mut Vec<Mistake>) -> Option<Millis> {
    match quantity::parse_millis(stretch) {
        Ok(0) => mistakes.push(Mistake::new(key.span, "`any` must name a stretch longer than nothing")),
        Ok(ms) => return Some(ms),
        Err(error) => {
            let help = format!("write `any 10m: {{ … }}`; {}", error.help);
            mistakes.push(Mistake::new(key.span, format!("`any`: {}", error.message)).help(help));
        }
    }
    None
}

fn limit(key: &Key, node: &Node, any: Option<(&str, Millis)>, mistakes: &mut Vec<Mistake>) -> Option<Limit> {
    let metric =
        metric(&key.text).map_err(|(message, help)| mistakes.push(Mistake::new(key.span, message).help(help))).ok()?;
    let read =
        node.text().filter(|_| !node.is_null()).ok_or_else(|| missing_rule(node)).and_then(|text| rule(metric, text));
    let rule = read.map_err(|(message, help)| {
        mistakes.push(Mistake::new(node.span, format!("{}: {message}", quote(&key.text))).help(Some(help)));
    });
    let (metric, comparison, bound, of_asked) = rule.ok()?;
    let text = format!("{} {}", key.text, node.text().unwrap_or_default().trim());
    let rule = any.map_or(text.clone(), |(stretch, _)| format!("any {stretch}: {text}"));
    Some(Limit { rule, metric, comparison, bound, of_asked, any_ms: any.map(|(_, ms)| ms) })
}

fn missing_rule(node: &Node) -> (String, String) {
    (format!("a rule is a text, but this is {}", describe(node)), COMPARISONS.into())
}

/// The metric of a name; otherwise what is wrong and what to do.
fn metric(name: &str) -> Result<Metric, (String, Option<String>)> {
    let (first, rest) = name.split_once('.').map_or((name, ""), |(first, rest)| (first, rest));
    let own = Some(first.to_owned()).filter(|_| OPERATIONS.contains(&first));
    let (operation, what) = if own.is_some() { (own, rest) } else { (None, name) };
    let (service, percentile) = what.strip_prefix("service.").map_or((false, what), |rest| (true, rest));
    match (what, operation) {
        ("rate", operation) => Ok(Metric::Rate { operation }),
        ("rate.drop", None) => Ok(Metric::RateDrop),
        ("errors", operation) => Ok(Metric::Errors { operation, percent: false }),
        (_, Some(operation)) if PERCENTILES.contains(&percentile) => {
            Ok(Metric::Latency { operation, percentile: percentile.into(), service })
        }
        (_, None) if PERCENTILES.contains(&percentile) => {
            let help = format!("say of which operation: `read.{name}` or `write.{name}`");
            Err((format!("there is no metric {}", quote(name)), Some(help)))
        }
        _ => Err(unknown_metric(name)),
    }
}

fn unknown_metric(name: &str) -> (String, Option<String>) {
    let known = metrics();
    let near =
        suggest::nearest(name, known.iter().map(String::as_str)).map(|near| format!("did you mean {}?", quote(near)));
    let all = "metrics are `read.p99` (p50, p90, p95, p99, p999, p9999, max; also `read.service.p99`), `write.p99`, `rate`, \
               `read.rate`, `rate.drop`, `errors` and `read.errors`";
    (format!("there is no metric {}", quote(name)), near.or_else(|| Some(all.into())))
}

const COMPARISONS: &str =
    "a rule begins with `<`, `<=`, `>` or `>=`, such as `<= 10ms`; one with `>` needs quotes in YAML";

type Rule = (Metric, Comparison, f64, bool);

fn rule(metric: Metric, text: &str) -> Result<Rule, (String, String)> {
    let text = text.trim();
    let found =
        [("<=", Comparison::AtMost), (">=", Comparison::AtLeast), ("<", Comparison::Less), (">", Comparison::Greater)]
            .into_iter()
            .find_map(|(sign, comparison)| Some((comparison, text.strip_prefix(sign)?.trim())));
    let Some((comparison, bound)) = found else {
        return Err((format!("{} does not say how to compare", quote(text)), COMPARISONS.into()));
    };
    match metric {
        Metric::Latency { .. } => Ok((metric, comparison, read(Kind::Duration, bound)? * 1e3, false)),
        Metric::RateDrop => Ok((metric, comparison, read(Kind::Percent, bound)?, false)),
        Metric::Rate { .. } => rate(bound).map(|(bound, of_asked)| (metric, comparison, bound, of_asked)),
        Metric::Errors { operation, .. } => {
            errors(bound).map(|(bound, percent)| (Metric::Errors { operation, percent }, comparison, bound, false))
        }
    }
}

fn read(kind: Kind, text: &str) -> Result<f64, (String, String)> {
    kind.parse(text).map_err(|error| (error.message, error.help))
}

/// A bound of a rate, and whether it is a part of the asked one.
fn rate(bound: &str) -> Result<(f64, bool), (String, String)> {
    match bound.strip_suffix("of asked") {
        Some(part) => Ok((read(Kind::Percent, part)?, true)),
        None if bound.ends_with('%') => {
            Err((format!("{} does not say of what", quote(bound)), format!("write `{bound} of asked`")))
        }
        None => Ok((read(Kind::Rate, bound)?, false)),
    }
}

/// A bound of errors, and whether it is a part of all operations.
fn errors(bound: &str) -> Result<(f64, bool), (String, String)> {
    match bound.parse::<u64>() {
        Ok(count) => Ok((count as f64, false)),
        Err(_) if bound.ends_with('%') => Ok((read(Kind::Percent, bound)?, true)),
        Err(_) => {
            let help = "errors are a count, such as `<= 10`, or a part of all operations, such as `<= 0.1 %`";
            Err((format!("{} is no number of errors", quote(bound)), help.into()))
        }
    }
}
