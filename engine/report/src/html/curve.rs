//! The percentile curve of a window: latency against how rare it is.

use std::fmt::Write;

use wfe_core::measure::text::latency;
use wfe_core::measure::{Distribution, ms};

use super::plot::{Dash, Line, Panel, Scale};
use crate::document::Window;

/// Steps for each halving of the distance to 100 %.
const STEPS: u32 = 5;

/// One line: `(nines, milliseconds)`, 99.9 % is 3 nines.
struct Curve {
    name: String,
    colour: usize,
    dash: Dash,
    points: Vec<(f64, f64)>,
}

pub(super) fn draw(page: &mut String, window: &Window) {
    let mut curves: Vec<Curve> = Vec::new();
    for (number, found) in window.distributions.iter().enumerate() {
        let colour = colour(&found.operation, number);
        for (what, dash, service) in [("response", Dash::Solid, false), ("service", Dash::Dotted, true)] {
            let points = points(found, service);
            curves.push(Curve { name: format!("{} {what}", found.operation), colour, dash, points });
        }
    }
    curves.retain(|curve| !curve.points.is_empty());
    if curves.is_empty() {
        return;
    }
    let all = curves.iter().flat_map(|curve| &curve.points);
    let nines = all.clone().map(|(nines, _)| *nines).fold(1.0, f64::max).ceil();
    let scale = Scale::log(all.map(|(_, value)| *value).collect::<Vec<_>>().into_iter());
    let line = |Curve { name, colour, dash, points }| {
        let points: Vec<(f64, f64)> = points;
        let points = points.into_iter().map(|(at, value)| (at / nines, Some(value))).collect();
        Line { name, colour: Some(colour), dash, points }
    };
    let lines: Vec<Line> = curves.into_iter().map(line).collect();
    let tails = window.measurement.operations.iter();
    let tails: Vec<_> =
        tails.map(|found| format!("{} P99 {}", found.operation, latency(found.response_ms.p99))).collect();
    let title = format!("How rare each latency is ({})", window.label);
    page.push_str("<figure class=\"curve\">");
    Panel {
        title: &title,
        unit: "ms",
        scale,
        lines: &lines,
        legend: true,
        behind: &grid(nines as usize),
        size: "tall",
        summary: tails.join(", "),
    }
    .draw(page);
    axis(page, nines as usize);
    page.push_str("</figure>");
}

/// Reads are blue and writes orange in every drawing.
pub(super) fn colour(operation: &str, number: usize) -> usize {
    match operation {
        "read" => 0,
        "write" => 1,
        _ => 2 + number,
    }
}

fn points(found: &Distribution, service: bool) -> Vec<(f64, f64)> {
    let tally = if service { &found.service } else { &found.response };
    let curve = tally.curve(STEPS);
    curve.into_iter().map(|(quantile, ns)| (-(1.0 - quantile).log10(), ms(ns).min(found.max_ms))).collect()
}

fn grid(nines: usize) -> String {
    let lines: String =
        (1..nines).map(|n| format!("<path d=\"M{:.1} 0V100\"/>", n as f64 / nines as f64 * 1e3)).collect();
    format!("<g class=\"grid\">{lines}</g>")
}

fn axis(page: &mut String, nines: usize) {
    page.push_str("<div class=\"row axis\" aria-hidden=\"true\"><div class=\"gutter\"></div><div class=\"plot\">");
    // Long labels have room at every second mark.
    for n in (0..nines).filter(|n| *n < 5 || n.is_multiple_of(2)) {
        let percent = 100.0 - 100.0 * 0.1f64.powi(n as i32);
        let text = format!("{percent:.*} %", n.saturating_sub(2));
        let _ = write!(page, "<span style=\"left:{:.3}%\">{text}</span>", n as f64 / nines as f64 * 100.0);
    }
    page.push_str("</div></div>");
}
