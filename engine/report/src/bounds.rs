//! The bounds that measured values are coloured against.

use wfe_core::limits::LimitResult;

/// Bounds in milliseconds where the workflow gives none: those of the published elasticity reports.
const DEFAULTS: [(&str, f64); 2] = [("p90", 5.0), ("p99", 10.0)];

/// The bound for a latency of a step, milliseconds: the step's own rule, or the usual bound for that percentile where
/// the step has no rule about latencies of that operation.
pub fn bound(limits: &[(String, LimitResult)], step: &str, operation: &str, percentile: &str) -> Option<f64> {
    let name = format!("{operation}.{percentile}");
    let own =
        limits.iter().filter(|(limited, _)| limited == step).find_map(|(_, result)| upper_ms(&result.rule, &name));
    let ruled = |(limited, result): &(String, LimitResult)| {
        limited == step && result.rule.starts_with(&format!("{operation}.p"))
    };
    if own.is_some() || limits.iter().any(ruled) {
        return own;
    }
    DEFAULTS.iter().find(|(known, _)| *known == percentile).map(|(_, bound)| *bound)
}

/// The different bounds that rules set to a P99 over a whole window, milliseconds, in the rules' order.
pub fn p99_bounds(limits: &[(String, LimitResult)]) -> Vec<f64> {
    let bound = |(_, result): &(String, LimitResult)| {
        let (operation, _) = result.rule.split_once(".p99")?;
        // `any 10m: read.p99` is about stretches.
        operation.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_').then_some(())?;
        upper_ms(&result.rule, &format!("{operation}.p99"))
    };
    let mut bounds: Vec<f64> = limits.iter().filter_map(bound).collect();
    bounds.dedup();
    bounds
}

/// The bound of a rule such as `read.p99 <= 10ms`, if it is about this metric over the whole window.
fn upper_ms(rule: &str, metric: &str) -> Option<f64> {
    let rest = rule.trim().strip_prefix(metric)?.trim_start_matches([':', ' ', '"']);
    let rest = rest.strip_prefix('<')?.trim_start_matches(['=', ' ']);
    let number = rest.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: f64 = number.trim().parse().ok()?;
    match rest[rest.rfind(|c: char| c.is_ascii_digit())? + 1..].trim().trim_end_matches('"') {
        "us" | "µs" => Some(number / 1e3),
        "ms" => Some(number),
        "s" => Some(number * 1e3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_give_bounds() {
        assert_eq!(upper_ms("read.p99 <= 10ms", "read.p99"), Some(10.0));
        assert_eq!(upper_ms("read.p99: < 1.5 s", "read.p99"), Some(1500.0));
        assert_eq!(upper_ms("read.p999 <= 10ms", "read.p99"), None);
        assert_eq!(upper_ms("any 10m: read.p99 <= 15ms", "read.p99"), None);
        assert_eq!(upper_ms("read.p99 <= ", "read.p99"), None);
        let rule =
            LimitResult { rule: "read.p99 <= 7ms".into(), value: String::new(), holds: None, place: String::new() };
        let limits = [("steady".to_owned(), rule)];
        assert_eq!(p99_bounds(&limits), [7.0]);
        assert_eq!(bound(&limits, "steady", "read", "p99"), Some(7.0));
        assert_eq!(bound(&limits, "growth", "read", "p99"), Some(10.0));
        assert_eq!(bound(&limits, "steady", "read", "p50"), None);
    }
}
