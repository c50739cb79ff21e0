//! What the terminal shows when a run is over.

use std::fmt::Write;

use wfe_core::event::ResourceState;
use wfe_core::ledger::MACHINE;

use crate::document::Document;
use crate::sections::{Table, disk_table, limits_table, measurements_table};

/// What stands at the top and the end of everything that a simulated run says.
pub const SIMULATED: &str = "SIMULATED: all numbers come from a model, nothing ran on real machines";

/// The verdict in one line, `PASS  elasticity on sim, 4:31:07`.
pub(crate) fn verdict_line(document: &Document) -> String {
    let word = if document.partial { "NOT ENDED".into() } else { document.verdict.word().to_uppercase() };
    let length = wfe_core::measure::text::clock(document.duration_ms);
    format!("{word}  {} on {}, {length}", document.started.workflow, document.started.backend)
}

/// Plain text: the verdict, what decided it, limits, measurements, disks, and where the report is.
pub fn summary(document: &Document, report: &str) -> String {
    let mut text = String::new();
    let simulated = |text: &mut String| {
        if document.started.simulated {
            let _ = writeln!(text, "{SIMULATED}");
        }
    };
    simulated(&mut text);
    let _ = writeln!(text, "{}\n{}", plain(&verdict_line(document)), plain(&document.headline));
    if document.reasons.len() > 1 {
        document.reasons.iter().for_each(|reason| {
            let _ = writeln!(text, "  - {}", plain(reason));
        });
    }
    text += &left(document);
    for table in [limits_table(document), measurements_table(document), disk_table(document)] {
        draw(&mut text, &table);
    }
    let _ = writeln!(text, "\nReport: {}", plain(report));
    simulated(&mut text);
    text
}

/// The machines that are still there, and cost money.
fn left(document: &Document) -> String {
    let mut text = String::new();
    for (state, word) in [(ResourceState::Kept, "Kept, as --keep asks"), (ResourceState::Leaked, "NOT GIVEN BACK")] {
        let machines = document.resources.iter().filter(|resource| resource.kind == MACHINE && resource.state == state);
        let hourly: Option<f64> = machines.clone().map(|machine| machine.hourly_usd).sum();
        let cost = hourly.filter(|hourly| *hourly > 0.0);
        let cost = cost.map_or(String::new(), |usd| format!("; {usd:.2} US dollars an hour"));
        let ids: Vec<String> = machines.map(|machine| plain(&machine.id)).collect();
        if !ids.is_empty() {
            let _ = writeln!(text, "{word}: {}{cost}", ids.join(", "));
        }
    }
    text
}

fn draw(text: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let heads: Vec<String> = table.columns.iter().map(|column| plain(&column.title)).collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| plain(&cell.plain())).collect()).collect();
    let all = || std::iter::once(&heads).chain(&rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let _ = writeln!(text, "\n{}", plain(&table.caption));
    for row in all() {
        let mut line = String::from(" ");
        for ((cell, width), column) in row.iter().zip(&widths).zip(&table.columns) {
            let _ = match column.number {
                true => write!(line, " {cell:>width$} "),
                false => write!(line, " {cell:<width$} "),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Text without control characters: nothing that a database or a plugin said may steer the terminal.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}
