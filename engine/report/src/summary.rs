//! What the terminal shows when a run is over.

use std::fmt::Write;

use wfe_core::ledger::Resource;

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

/// Plain text: the verdict, what decided it, limits, measurements, disks, what still exists with the command that gives it
/// back, and where the report is.
pub fn summary(document: &Document, report: &str, give_back: &str) -> String {
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
    for table in [limits_table(document), measurements_table(document), disk_table(document)] {
        draw(&mut text, &table);
    }
    left(&mut text, document, give_back);
    let _ = writeln!(text, "\nReport: {}", plain(report));
    simulated(&mut text);
    text
}

/// What still exists of the run, what it costs and how it is given back.
fn left(text: &mut String, document: &Document, give_back: &str) {
    let left: Vec<&Resource> = document.resources.iter().filter(|resource| resource.may_exist()).collect();
    if left.is_empty() {
        return;
    }
    let prices: Vec<f64> = left.iter().filter_map(|resource| resource.hourly_usd).collect();
    let at_least = if prices.len() == left.len() { "" } else { "at least " };
    let cost = match prices.is_empty() {
        true => ":".to_owned(),
        false => format!(", for {at_least}${:.2} an hour", prices.iter().sum::<f64>()),
    };
    let _ = writeln!(text, "\nStill there{cost}");
    for resource in left {
        let Resource { kind, id, description, .. } = resource;
        let description = if description.is_empty() { String::new() } else { format!(" ({description})") };
        let until = resource.expires.as_ref().map_or(String::new(), |until| format!(" until {until}"));
        let why = resource.reason.as_ref().map_or(String::new(), |why| format!(": {why}"));
        let line = format!("  {kind} {id}{description} {}{until}{why}", resource.state.word());
        let _ = writeln!(text, "{}", plain(&line));
    }
    let _ = writeln!(text, "Give back: {}", plain(give_back));
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
