//! Holding limits against what was measured.

use super::{Comparison, Limit, LimitResult, Metric};
use crate::Millis;
use crate::measure::text::{self, clock};
use crate::measure::{Measurement, Percentiles, Recording, Stretch, Stretches};
use crate::quantity;

/// The rule that is added when a rate was asked for and no rule is about the rate.
const DEFAULT_RATE: &str = "rate >= 99 % of asked (default)";
/// The rule that is added when operations failed and no rule is about errors.
const DEFAULT_ERRORS: &str = "errors <= 1 % (default)";

/// Holds every limit against a measurement. Where a rate was asked for and no rule looks at the rate, the rule
/// `rate >= 99 % of asked` is added; where operations failed and no rule looks at errors, `errors <= 1 %`: response times
/// of the few that were answered say nothing.
///
/// A rule that the numbers break is broken, even when some are missing. A rule that holds on incomplete numbers, or on too
/// few for its percentile, is undecided.
pub fn evaluate(limits: &[Limit], recording: &Recording, measurement: &Measurement) -> Vec<LimitResult> {
    let about_rate = |limit: &Limit| matches!(limit.metric, Metric::Rate { .. } | Metric::RateDrop);
    let about_errors = |limit: &Limit| matches!(limit.metric, Metric::Errors { .. });
    let failed = measurement.operations.iter().any(|operation| !operation.errors.is_empty());
    let rate = (measurement.asked_rate().is_some() && !limits.iter().any(about_rate)).then(default_rate);
    let errors = (failed && !limits.iter().any(about_errors)).then(default_errors);
    limits.iter().chain(&rate).chain(&errors).map(|limit| hold(limit, recording, measurement)).collect()
}

fn default_rate() -> Limit {
    let metric = Metric::Rate { operation: None };
    let (rule, comparison) = (DEFAULT_RATE.into(), Comparison::AtLeast);
    Limit { rule, metric, comparison, bound: REACHED, of_asked: true, any_ms: None }
}

fn default_errors() -> Limit {
    let metric = Metric::Errors { operation: None, percent: true };
    let (rule, comparison) = (DEFAULT_ERRORS.into(), Comparison::AtMost);
    Limit { rule, metric, comparison, bound: 1.0, of_asked: false, any_ms: None }
}

/// The numbers of a window or a stretch that rules look at.
struct Facts {
    latency: Percentiles,
    count: u64,
    failed: u64,
    rate: f64,
    asked_rate: Option<f64>,
}

/// A value that a rule looked at.
struct Found {
    /// In the bound's unit.
    value: f64,
    /// What it is compared with.
    bound: f64,
    /// For people.
    text: String,
}

impl Found {
    fn holds(&self, comparison: Comparison) -> bool {
        match comparison {
            Comparison::Less => self.value < self.bound,
            Comparison::AtMost => self.value <= self.bound,
            Comparison::Greater => self.value > self.bound,
            Comparison::AtLeast => self.value >= self.bound,
        }
    }

    /// How far it is on the wrong side; the worst stretch has the most.
    fn excess(&self, comparison: Comparison) -> f64 {
        match comparison {
            Comparison::Less | Comparison::AtMost => self.value - self.bound,
            Comparison::Greater | Comparison::AtLeast => self.bound - self.value,
        }
    }
}

fn hold(limit: &Limit, recording: &Recording, measurement: &Measurement) -> LimitResult {
    let rule = limit.rule.clone();
    let undecided =
        |place: String| LimitResult { rule: limit.rule.clone(), value: text::NONE.into(), holds: None, place };
    let found = match limit.any_ms {
        None => facts(limit, measurement).and_then(|facts| find(limit, &facts)).map(|found| {
            let place = format!("whole window{}", worst_piece(limit, measurement));
            (found, place)
        }),
        Some(length_ms) => match worst_stretch(limit, recording, measurement, length_ms) {
            Ok(found) => found,
            Err(unread) => return undecided(unread),
        },
    };
    let Some((found, place)) = found else { return undecided(reason(limit, measurement)) };
    let holds = found.holds(limit.comparison);
    if let Some(why) = too_few(limit, measurement).filter(|_| holds) {
        return LimitResult { rule, value: found.text, holds: None, place: why };
    }
    match holds && !measurement.complete {
        true => {
            let value = format!("{} where it was recorded", found.text);
            LimitResult { rule, value, holds: None, place: reason(limit, measurement) }
        }
        false => {
            let place = if holds { place } else { place + explanation(limit, found.value) };
            LimitResult { rule, value: found.text, holds: Some(holds), place }
        }
    }
}

/// Why a percentile of the window says nothing: fewer operations were answered than it takes to have one above it.
fn too_few(limit: &Limit, measurement: &Measurement) -> Option<String> {
    let Metric::Latency { operation, percentile, .. } = &limit.metric else { return None };
    let wanted: u64 = match percentile.as_str() {
        "p90" => 10,
        "p95" => 20,
        "p99" => 100,
        "p999" => 1_000,
        "p9999" => 10_000,
        _ => 1,
    };
    let found = measurement.operation(operation)?;
    let answered = found.count.saturating_sub(found.errors.values().sum());
    let counted = format!("{} {operation} operations were answered", text::whole(answered));
    (answered < wanted).then(|| format!("{counted}: {percentile} needs {}", text::whole(wanted)))
}

/// What a reader should know of a rule that is broken by a value.
fn explanation(limit: &Limit, percent: f64) -> &'static str {
    match limit.metric {
        Metric::RateDrop if percent > 100.0 - REACHED => SATURATED,
        Metric::Rate { .. } if limit.of_asked && percent < REACHED => SATURATED,
        _ => "",
    }
}

/// A rate counts as reached from so many percent of the asked one on.
const REACHED: f64 = 99.0;

const SATURATED: &str = "; saturated: operations queued, and response times, which count from the intended start, grew with \
                         the queue";

/// Why a rule cannot be decided.
fn reason(limit: &Limit, measurement: &Measurement) -> String {
    let named = match &limit.metric {
        Metric::Latency { operation, .. } => Some(operation),
        Metric::Rate { operation } | Metric::Errors { operation, .. } => operation.as_ref(),
        Metric::RateDrop => None,
    };
    if !measurement.missing.is_empty() {
        return measurement.missing.join("; ");
    }
    match named.filter(|name| measurement.operation(name).is_none()) {
        Some(name) => format!("no {name} operations were recorded in the window"),
        None if measurement.asked_rate().is_none() => "the load had no asked rate".into(),
        None => "nothing was counted".into(),
    }
}

/// The facts of the whole window.
fn facts(limit: &Limit, measurement: &Measurement) -> Option<Facts> {
    let wanted = operation(limit);
    let mut facts = Facts { latency: Percentiles::default(), count: 0, failed: 0, rate: 0.0, asked_rate: None };
    let found = measurement.operations.iter().filter(|found| wanted.is_none_or(|name| name == found.operation));
    let found: Vec<_> = found.collect();
    found.first()?;
    for operation in &found {
        facts.latency = if is_service(limit) { operation.service_ms } else { operation.response_ms };
        facts.count += operation.count;
        facts.failed += operation.errors.values().sum::<u64>();
        facts.rate += operation.rate;
    }
    facts.asked_rate = found.iter().map(|operation| operation.asked_rate).sum();
    Some(facts)
}

fn find(limit: &Limit, facts: &Facts) -> Option<Found> {
    let bound = limit.bound;
    match &limit.metric {
        Metric::Latency { percentile, .. } => {
            let value = facts.latency.named(percentile)?;
            Some(Found { value, bound, text: text::latency(Some(value)) })
        }
        Metric::Rate { .. } if limit.of_asked => {
            let asked = facts.asked_rate.filter(|asked| *asked > 0.0)?;
            let value = facts.rate / asked * 100.0;
            let text = format!("{} of {} asked ({value:.2} %)", text::rate(facts.rate), text::rate(asked));
            Some(Found { value, bound, text })
        }
        Metric::Rate { .. } => Some(Found { value: facts.rate, bound, text: text::rate(facts.rate) }),
        Metric::RateDrop => {
            let asked = facts.asked_rate.filter(|asked| *asked > 0.0)?;
            let value = ((asked - facts.rate) / asked * 100.0).max(0.0);
            Some(Found { value, bound, text: format!("{value:.2} %") })
        }
        Metric::Errors { percent: true, .. } => {
            let value = (facts.count > 0).then(|| facts.failed as f64 / facts.count as f64 * 100.0)?;
            Some(Found { value, bound, text: format!("{value:.3} % ({} operations)", text::whole(facts.failed)) })
        }
        Metric::Errors { .. } => Some(Found { value: facts.failed as f64, bound, text: text::whole(facts.failed) }),
    }
}

/// The stretch of the window in which the rule is furthest from holding. The error says what cannot be read.
fn worst_stretch(
    limit: &Limit,
    recording: &Recording,
    measurement: &Measurement,
    length_ms: u64,
) -> Result<Option<(Found, String)>, String> {
    let latency = matches!(limit.metric, Metric::Latency { .. });
    let wanted = Stretches {
        from_ms: measurement.from_ms,
        to_ms: measurement.to_ms,
        length_ms,
        operation: operation(limit),
        service: latency.then(|| is_service(limit)),
    };
    let mut worst: Option<(Found, Stretch)> = None;
    recording.stretches(&wanted, |stretch| {
        let Some(found) = find(limit, &(&stretch).into()) else { return };
        let excess = found.excess(limit.comparison);
        // The earliest of equals.
        if worst.as_ref().is_none_or(|(worst, _)| excess.total_cmp(&worst.excess(limit.comparison)).is_gt()) {
            worst = Some((found, stretch));
        }
    })?;
    Ok(worst.map(|(found, stretch)| {
        let place = format!("worst from {} to {}", clock(stretch.from_ms), clock(stretch.to_ms));
        (found, place + &other_length(length_ms, stretch.to_ms - stretch.from_ms))
    }))
}

/// What is to be said when the stretches are not as long as the rule wants them.
fn other_length(wanted_ms: Millis, judged_ms: Millis) -> String {
    let judged = quantity::Kind::Duration.format(judged_ms as f64 / 1e3);
    match judged_ms.cmp(&wanted_ms) {
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Less => "; the window is shorter than the rule's stretch".into(),
        std::cmp::Ordering::Greater => format!("; in stretches of {judged}, the shortest that were recorded"),
    }
}

impl From<&Stretch> for Facts {
    fn from(stretch: &Stretch) -> Self {
        Self {
            latency: stretch.latency,
            count: stretch.count,
            failed: stretch.failed,
            rate: stretch.rate,
            asked_rate: stretch.asked_rate,
        }
    }
}

/// For a rule about response times of the whole window: the piece in which they were worst.
fn worst_piece(limit: &Limit, measurement: &Measurement) -> String {
    let Metric::Latency { operation, percentile, service: false } = &limit.metric else { return String::new() };
    let pieces = measurement.operation(operation).map(|found| found.intervals.as_slice()).unwrap_or_default();
    let values = pieces.iter().filter_map(|piece| Some((piece, piece.response_ms.named(percentile)?)));
    match values.max_by(|one, two| one.1.total_cmp(&two.1)) {
        Some((piece, value)) if pieces.len() > 1 => {
            let [from, to] = [piece.from_s, piece.to_s].map(|s| clock((s * 1e3) as u64));
            format!("; worst from {from} to {to}: {}", text::latency(Some(value)))
        }
        _ => String::new(),
    }
}

fn operation(limit: &Limit) -> Option<&str> {
    match &limit.metric {
        Metric::Latency { operation, .. } => Some(operation),
        Metric::Rate { operation } | Metric::Errors { operation, .. } => operation.as_deref(),
        Metric::RateDrop => None,
    }
}

fn is_service(limit: &Limit) -> bool {
    matches!(limit.metric, Metric::Latency { service: true, .. })
}
