//! `result.json`: the run for programs. Its keys are a promise; times in seconds, latencies in milliseconds, rates per
//! second.

use serde_json::{Map, Value, json as value};
use wfe_core::Millis;
use wfe_core::measure::{IntervalSummary, OperationMeasurement, Percentiles};
use wfe_core::state::{Attempt, PhaseState};

use crate::document::{Document, Step, Window};

/// The text of `result.json`.
pub fn json(document: &Document) -> String {
    let text = serde_json::to_string_pretty(&result(document)).expect("texts and finite numbers can be encoded");
    text + "\n"
}

/// The object of `result.json`.
pub fn result(document: &Document) -> Value {
    let started = &document.started;
    value!({
        "run": started.run,
        "workflow": started.workflow,
        "backend": started.backend,
        "simulated": started.simulated,
        "partial": document.partial,
        "verdict": document.verdict.word(),
        "reasons": document.reasons,
        "started": started.wall,
        "duration_s": seconds(document.duration_ms),
        "wall_s": document.wall_s.map(|wall| rounded(wall, 1e3)),
        "steps": document.steps.iter().map(|step| self::step(step, document.duration_ms)).collect::<Vec<_>>(),
        "measurements": document.windows.iter().flat_map(measurements).collect::<Vec<_>>(),
        "disk": disk(document),
        "limits": limits(document),
        "resources": resources(document),
        "cost": {
            "usd": document.cost_usd.map(|usd| rounded(usd, 1e2)),
            "machine_hours": rounded(document.machine_hours, 1e3),
        },
    })
}

/// A number with so many parts; JSON has no others than finite ones.
fn rounded(number: f64, parts: f64) -> Value {
    let number = (number * parts).round() / parts;
    match number.fract() == 0.0 && number.abs() < 1e15 {
        true => value!(number as i64),
        false => value!(number),
    }
}

fn seconds(ms: Millis) -> Value {
    rounded(ms as f64 / 1e3, 1e3)
}

fn step(step: &Step, now: Millis) -> Value {
    let last = step.attempts.last();
    let outputs = step.outputs().cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let error = step.error().map(|e| value!({ "kind": e.kind, "code": e.code, "message": e.message }));
    value!({
        "id": step.facts.id,
        "uses": step.facts.uses,
        "plugin_digest": step.facts.plugin_digest,
        "status": step.status.word(),
        "attempts": step.attempts.len(),
        "started_s": step.started().map(seconds),
        "duration_s": step.duration(now).map(seconds),
        "phases": last.map(|attempt| phases(attempt, now)).unwrap_or_default(),
        "outputs": outputs,
        "error": error,
        "skipped": step.skipped,
    })
}

fn phases(attempt: &Attempt, now: Millis) -> Vec<Value> {
    let phase = |phase: &PhaseState| {
        let duration = phase.ended.unwrap_or(now).saturating_sub(phase.started);
        value!({ "name": phase.name, "started_s": seconds(phase.started), "duration_s": seconds(duration) })
    };
    attempt.phases.iter().map(phase).collect()
}

fn measurements(window: &Window) -> Vec<Value> {
    let measured = &window.measurement;
    let span = value!({ "from_s": seconds(measured.from_ms), "to_s": seconds(measured.to_ms) });
    if measured.operations.is_empty() {
        return vec![value!({
            "step": window.step, "window": span, "operation": null, "response_ms": null, "service_ms": null,
            "count": 0, "rate": null, "asked_rate": null, "errors": {}, "complete": false,
            "missing": measured.missing, "intervals": [],
        })];
    }
    measured.operations.iter().map(|operation| measurement(window, operation, &span)).collect()
}

fn measurement(window: &Window, operation: &OperationMeasurement, span: &Value) -> Value {
    value!({
        "step": window.step,
        "window": span,
        "operation": operation.operation,
        "response_ms": percentiles(&operation.response_ms),
        "service_ms": percentiles(&operation.service_ms),
        "count": operation.count,
        "rate": rounded(operation.rate, 1e3),
        "asked_rate": operation.asked_rate.map(|rate| rounded(rate, 1e3)),
        "errors": operation.errors,
        "complete": operation.complete,
        "missing": operation.missing,
        "intervals": operation.intervals.iter().map(interval).collect::<Vec<_>>(),
    })
}

fn interval(piece: &IntervalSummary) -> Value {
    value!({
        "from_s": rounded(piece.from_s, 1e3),
        "to_s": rounded(piece.to_s, 1e3),
        "count": piece.count,
        "rate": piece.rate.map(|rate| rounded(rate, 1e3)),
        "asked_rate": piece.asked_rate.map(|rate| rounded(rate, 1e3)),
        "errors": piece.errors,
        "response_ms": percentiles(&piece.response_ms),
    })
}

fn percentiles(found: &Percentiles) -> Value {
    let ms = |ms: Option<f64>| ms.map(|ms| rounded(ms, 1e6));
    value!({
        "p50": ms(found.p50), "p90": ms(found.p90), "p95": ms(found.p95), "p99": ms(found.p99),
        "p999": ms(found.p999), "p9999": ms(found.p9999), "max": ms(found.max),
    })
}

fn disk(document: &Document) -> Vec<Value> {
    let rows = document.disk.iter().flat_map(|usage| usage.nodes.iter().map(move |node| (usage, node)));
    rows.map(|(usage, node)| {
        value!({
            "moment": usage.moment, "at_s": seconds(usage.at), "node": node.name,
            "used_bytes": node.used_bytes, "total_bytes": node.total_bytes,
        })
    })
    .collect()
}

fn limits(document: &Document) -> Vec<Value> {
    let limit = |(step, result): &(String, wfe_core::limits::LimitResult)| {
        value!({
            "step": step, "rule": result.rule, "value": result.value, "holds": result.holds, "where": result.place,
        })
    };
    document.limits.iter().map(limit).collect()
}

fn resources(document: &Document) -> Vec<Value> {
    let resource = |resource: &wfe_core::ledger::Resource| value!({ "kind": resource.kind, "id": resource.id, "state": resource.state.word() });
    document.resources.iter().map(resource).collect()
}
