//! Everything over time: panels on one axis, with steps and phases as bands behind them.

use std::fmt::Write;

use serde_json::{Value, json};
use wfe_core::Millis;
use wfe_core::measure::text::{clock, latency, whole};

use super::curve::colour;
use super::plot::{COLOURS, Dash, Line, Panel, Scale};
use super::{Text, span_style, time_axis};
use crate::bounds::p99_bounds;
use crate::document::{Document, Step};
use crate::story::{Series, Story};

pub(super) fn draw(page: &mut String, document: &Document) {
    let story = &document.story;
    page.push_str("<figure class=\"story\" tabindex=\"0\">");
    bands(page, document);
    marks(page, document);
    let behind = shading(document);
    let mut data = Vec::new();
    let mut panel = |page: &mut String, title: &str, unit: &str, scale, series: &[Series], lines: Vec<Line>, size| {
        let peak = series.iter().filter_map(Series::max).reduce(f64::max);
        let summary = peak.map_or("Nothing was recorded".into(), |peak| format!("Highest value {peak:.2} {unit}"));
        // The nodes' names stand over the disk panel; the low ones below it share its colours.
        let legend = size != "low" || story.disk.is_empty();
        Panel { title, unit, scale, lines: &lines, legend, behind: &behind, size, summary }.draw(page);
        data.push(values(title, unit, series));
    };
    if !story.throughput.is_empty() {
        let top = story.throughput.iter().filter_map(Series::max).fold(0.0, f64::max);
        let lines = operation_lines(story, &story.throughput);
        panel(page, "Operations a second", "", Scale::linear(top), &story.throughput, lines, "mid");
    }
    if story.latency.iter().any(|series| series.max().is_some()) {
        let all: Vec<f64> = story.latency.iter().flat_map(|series| series.values.iter().flatten().copied()).collect();
        let mut lines = operation_lines(story, &story.latency);
        lines.extend(limit_lines(document));
        let title = "Response time, logarithmic";
        panel(page, title, "ms", Scale::log(all.into_iter()), &story.latency, lines, "tall");
    }
    if !story.disk.is_empty() {
        let lines = node_lines(story, &story.disk);
        panel(page, "Disk used by node, percent of its capacity", "%", Scale::Linear(100.0), &story.disk, lines, "mid");
    }
    for (name, series) in story.signals.iter().filter(|(_, series)| !series.is_empty()) {
        let top = series.iter().filter_map(Series::max).fold(0.0, f64::max);
        let lines = node_lines(story, series);
        panel(page, &name.replace(['_', '-'], " "), "", Scale::linear(top), series, lines, "low");
    }
    time_axis(page, story.end_ms);
    if !story.not_drawn.is_empty() {
        let _ = write!(page, "<p>Not drawn: {}.</p>", Text(&story.not_drawn.join(", ")));
    }
    page.push_str("</figure>");
    let data = json!({ "end": story.end_ms, "at": story.at_ms, "panels": data }).to_string().replace('<', "\\u003c");
    let _ = write!(page, "<script type=\"application/json\" id=\"story-data\">{data}</script>");
}

/// The values of a panel for the script, with four digits.
fn values(title: &str, unit: &str, series: &[Series]) -> Value {
    let digits = |value: &Option<f64>| match value {
        Some(value) if *value != 0.0 => {
            let parts = 10f64.powi(3 - value.abs().log10().floor() as i32);
            let value = (value * parts).round() / parts;
            if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
        }
        Some(_) => json!(0),
        None => Value::Null,
    };
    let series: Vec<Value> = series
        .iter()
        .map(|series| json!({ "name": series.name, "values": series.values.iter().map(digits).collect::<Vec<_>>() }))
        .collect();
    json!({ "title": title, "unit": unit, "series": series })
}

fn points(story: &Story, series: &Series) -> Vec<(f64, Option<f64>)> {
    let place = |at: &Millis| *at as f64 / story.end_ms as f64;
    story.at_ms.iter().map(place).zip(series.values.iter().copied()).collect()
}

fn operation_lines(story: &Story, series: &[Series]) -> Vec<Line> {
    let line = |(number, series): (usize, &Series)| {
        let dash = match series.name.rsplit(' ').next() {
            Some("asked") => Dash::Dashed,
            Some("P50") => Dash::Dotted,
            Some("max") => Dash::Thin,
            _ => Dash::Solid,
        };
        let colour = (series.subject != "all").then(|| colour(&series.subject, number));
        Line { name: series.name.clone(), colour, dash, points: points(story, series) }
    };
    series.iter().enumerate().map(line).collect()
}

/// The bounds that the workflow sets to P99, as level lines.
fn limit_lines(document: &Document) -> Vec<Line> {
    let mut bounds = p99_bounds(&document.limits);
    bounds.truncate(2);
    let line = |bound: f64| Line {
        name: format!("P99 limit {}", latency(Some(bound))),
        colour: None,
        dash: Dash::Alternating,
        points: vec![(0.0, Some(bound)), (1.0, Some(bound))],
    };
    bounds.into_iter().map(line).collect()
}

fn node_lines(story: &Story, series: &[Series]) -> Vec<Line> {
    let nodes: Vec<&str> = story.disk.iter().map(|series| series.subject.as_str()).collect();
    let line = |series: &Series| {
        let number = nodes.iter().position(|name| *name == series.subject).unwrap_or(0);
        let points = points(story, series);
        Line { name: series.name.clone(), colour: Some(number % COLOURS), dash: Dash::nth(number), points }
    };
    series.iter().map(line).collect()
}

/// The attempts of a step as spans with titles.
fn spans(step: &Step, now: Millis) -> Vec<(Millis, Millis, String)> {
    let span =
        |attempt: &wfe_core::state::Attempt| (attempt.started, attempt.ended.unwrap_or(now), step.facts.id.clone());
    step.attempts.iter().map(span).collect()
}

/// The steps that tell the story: those that take time and stand for themselves.
fn leading(document: &Document) -> impl Iterator<Item = &Step> {
    document.steps.iter().filter(|step| !step.facts.background && !step.facts.finally)
}

fn bands(page: &mut String, document: &Document) {
    let now = document.duration_ms;
    let background = document.steps.iter().filter(|step| step.facts.background).flat_map(|step| spans(step, now));
    lane(page, "Steps", leading(document).flat_map(|step| spans(step, now)).collect(), document.story.end_ms);
    let attempts = leading(document).flat_map(|step| &step.attempts);
    let phases = attempts.flat_map(|attempt| &attempt.phases);
    let phases = phases.map(|phase| (phase.started, phase.ended.unwrap_or(now), phase.name.clone())).collect();
    lane(page, "Phases", phases, document.story.end_ms);
    lane(page, "Load", background.collect(), document.story.end_ms);
}

/// One lane of named bands; overlapping ones go into rows of their own.
fn lane(page: &mut String, name: &str, mut spans: Vec<(Millis, Millis, String)>, end: Millis) {
    spans.sort();
    spans.retain(|(from, to, _)| to > from);
    let mut rows: Vec<Vec<(Millis, Millis, String)>> = Vec::new();
    for span in spans {
        match rows.iter_mut().find(|row| row.last().is_none_or(|last| last.1 <= span.0)) {
            Some(row) => row.push(span),
            None => rows.push(vec![span]),
        }
    }
    for (number, row) in rows.into_iter().enumerate() {
        let name = if number == 0 { name } else { "" };
        let _ = write!(page, "<div class=\"row lane\"><div class=\"gutter\">{name}</div><div class=\"plot\">");
        for (place, (from, to, name)) in row.into_iter().enumerate() {
            let title = format!("{name}, {} from {}", clock(to - from), clock(from));
            let odd = if place % 2 == 1 { " odd" } else { "" };
            let style = span_style(from, to, end);
            let _ = write!(
                page,
                "<span class=\"band{odd}\" style=\"{style}\" title=\"{}\">{}</span>",
                Text(&title),
                Text(&name)
            );
        }
        page.push_str("</div></div>");
    }
}

/// The leading steps behind every panel.
fn shading(document: &Document) -> String {
    let end = document.story.end_ms.max(1) as f64 / 1e3;
    let mut svg = String::from("<g class=\"shade\">");
    let mut steps: Vec<_> = leading(document).flat_map(|step| spans(step, document.duration_ms)).collect();
    steps.sort();
    for (place, (from, to, _)) in steps.iter().filter(|(from, to, _)| to > from).enumerate() {
        let (left, right) = (*from as f64 / end, *to as f64 / end);
        if place % 2 == 1 {
            let _ = write!(svg, "<rect x=\"{left:.1}\" y=\"0\" width=\"{:.1}\" height=\"100\"/>", right - left);
        }
        let _ = write!(svg, "<path d=\"M{left:.1} 0V100\"/>");
    }
    svg + "</g>"
}

/// Errors, failed attempts and what the database complained about, as signs over the panels.
fn marks(page: &mut String, document: &Document) {
    let story = &document.story;
    let mut marks: Vec<(Millis, &str, String)> = Vec::new();
    let failed = story.at_ms.iter().zip(&story.failed.values).filter_map(|(at, count)| Some((*at, (*count)?)));
    marks.extend(
        failed
            .filter(|(_, count)| *count > 0.0)
            .map(|(at, count)| (at, "e", format!("{} failed operations", whole(count as u64)))),
    );
    for step in &document.steps {
        let ends = step.attempts.iter().filter_map(|attempt| Some((attempt.ended?, attempt.error()?)));
        marks.extend(ends.map(|(at, error)| (at, "✗", format!("{} failed: {error}", step.facts.id))));
    }
    let notable = document.database_events.iter().filter(|event| event.severity != "info");
    marks.extend(notable.map(|event| (event.at_ms, "!", format!("{}: {}", event.node, event.message))));
    let notable = document.log_lines.iter().map(|line| (line.at, "!", format!("{}: {}", line.step, line.message)));
    marks.extend(notable);
    if marks.is_empty() {
        return;
    }
    marks.sort();
    page.push_str("<div class=\"row lane\"><div class=\"gutter\">Marks</div><div class=\"plot\">");
    for (at, sign, text) in marks.iter().take(300) {
        let left = (*at).min(story.end_ms) as f64 / story.end_ms as f64 * 100.0;
        let title = format!("{}: {text}", clock(*at));
        let _ = write!(page, "<span class=\"mark\" style=\"left:{left:.3}%\" title=\"{}\">{sign}</span>", Text(&title));
    }
    page.push_str("</div></div><p class=\"key-marks\">Marks: <b>e</b> failed operations, <b>!</b> a complaint of the database or a plugin, <b>✗</b> a failed attempt.</p>");
}
