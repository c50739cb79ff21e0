//! Steps, attempts and phases over the run's time.

use std::fmt::Write;

use wfe_core::measure::text::clock;
use wfe_core::state::Attempt;

use super::{Text, span_style, time_axis};
use crate::document::{Document, Step, StepStatus};

pub(super) fn draw(page: &mut String, document: &Document) {
    let end = document.story.end_ms;
    page.push_str(
        "<figure class=\"gantt\" role=\"img\" aria-label=\"Steps over time; the table below says the same\">",
    );
    for step in &document.steps {
        let kind = match (step.facts.background, step.facts.finally) {
            (true, _) => " (background)",
            (_, true) => " (finally)",
            _ => "",
        };
        let name = format!("{}{kind}", step.facts.id);
        let _ = write!(
            page,
            "<div class=\"row\"><div class=\"gutter\" title=\"{0}\">{0}</div><div class=\"plot\">",
            Text(&name)
        );
        for attempt in &step.attempts {
            draw_attempt(page, step, attempt, end, document.duration_ms);
        }
        if let Some(reason) = &step.skipped {
            let _ = write!(page, "<span class=\"none\">skipped: {}</span>", Text(reason));
        }
        page.push_str("</div></div>");
    }
    time_axis(page, end);
    page.push_str("</figure>");
}

fn draw_attempt(page: &mut String, step: &Step, attempt: &Attempt, end: u64, now: u64) {
    let until = attempt.ended.unwrap_or(now);
    let (class, sign) = match (attempt.error().is_some(), attempt.ended) {
        (true, _) => ("bad", "✗"),
        (false, None) => ("unsure", "?"),
        (false, Some(_)) => ("good", "✓"),
    };
    let background = if step.facts.background { " background" } else { "" };
    let number = if step.attempts.len() > 1 { format!(" attempt {}", attempt.number) } else { String::new() };
    let length = clock(until.saturating_sub(attempt.started));
    let why = attempt.error().map_or(String::new(), |error| format!(": {error}"));
    let title = format!("{}{number}, {length} from {}{why}", step.facts.id, clock(attempt.started));
    let style = span_style(attempt.started, until, end);
    let _ = write!(page, "<div class=\"bar {class}{background}\" style=\"{style}\" title=\"{}\">", Text(&title));
    let whole = until.saturating_sub(attempt.started).max(1);
    for phase in &attempt.phases {
        let (from, to) = (phase.started - attempt.started, phase.ended.unwrap_or(now).saturating_sub(attempt.started));
        let title = format!("{}, {} from {}", phase.name, clock(to.saturating_sub(from)), clock(phase.started));
        let _ = write!(
            page,
            "<i style=\"{}\" title=\"{}\">{}</i>",
            span_style(from, to, whole),
            Text(&title),
            Text(&phase.name)
        );
    }
    page.push_str("</div>");
    // The length stands beside a bar, on whichever side has room.
    let percent = |ms: u64| ms.min(end) as f64 / end.max(1) as f64 * 100.0;
    let side = match percent(until) < 80.0 {
        true => format!("left:{:.3}%", percent(until)),
        false => format!("right:{:.3}%", 100.0 - percent(attempt.started)),
    };
    if step.status != StepStatus::Skipped && (percent(until) < 80.0 || percent(attempt.started) > 20.0) {
        let _ = write!(page, "<span class=\"length\" style=\"{side}\">{sign} {length}</span>");
    }
}
