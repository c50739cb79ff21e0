//! The bounds that measured values are coloured against.

use wfe_core::limits::LimitResult;

/// The rule of a step about a latency such as `read.p99` over the whole window: its bound in milliseconds, and whether it
/// holds.
pub fn rule_about(limits: &[(String, LimitResult)], step: &str, metric: &str) -> Option<(f64, Option<bool>)> {
    let mut own = limits.iter().filter(|(limited, _)| limited == step);
    own.find_map(|(_, result)| Some((upper_ms(&result.rule, metric)?, result.holds)))
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
        assert_eq!(rule_about(&limits, "steady", "read.p99"), Some((7.0, None)));
        assert_eq!(rule_about(&limits, "growth", "read.p99"), None);
        assert_eq!(rule_about(&limits, "steady", "read.p50"), None);
    }
}
