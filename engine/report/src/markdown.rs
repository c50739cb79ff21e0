//! `report.md`: the report where HTML cannot go.

use std::fmt::Write;

use crate::document::Document;
use crate::sections::{Block, Cell, Section, Table, sections};
use crate::summary::{SIMULATED, verdict_line};

/// The text of `report.md`.
pub fn markdown(document: &Document) -> String {
    let mut text = String::new();
    if document.started.simulated {
        let _ = writeln!(text, "> **{SIMULATED}**\n");
    }
    let _ = writeln!(text, "# {}\n", escape(&document.started.workflow));
    let _ = writeln!(text, "**{}**\n\n{}\n", escape(&verdict_line(document)), escape(&document.headline));
    for section in sections(document) {
        draw(&mut text, &section);
    }
    if document.started.simulated {
        let _ = writeln!(text, "> **{SIMULATED}**");
    }
    text
}

fn draw(text: &mut String, section: &Section) {
    let drawn = |block: &Block| !matches!(block, Block::Figure(_));
    if !section.blocks.iter().any(drawn) {
        return;
    }
    if section.id != "verdict" {
        let _ = writeln!(text, "## {}\n", escape(&section.title));
    }
    for block in &section.blocks {
        match block {
            Block::Heading(heading) => writeln!(text, "### {}\n", escape(heading)),
            Block::Text(paragraph) => writeln!(text, "{}\n", escape(paragraph)),
            Block::List(items) => {
                items.iter().try_for_each(|item| writeln!(text, "* {}", escape(item))).and_then(|()| writeln!(text))
            }
            Block::Facts(facts) => facts
                .iter()
                .try_for_each(|(name, value)| writeln!(text, "* **{}**: {}", escape(name), escape(value)))
                .and_then(|()| writeln!(text)),
            Block::Table(table) => self::table(text, table),
            Block::Figure(_) => Ok(()),
        }
        .expect("a string takes every text");
    }
}

fn table(text: &mut String, table: &Table) -> std::fmt::Result {
    if !table.caption.is_empty() {
        writeln!(text, "{}:\n", escape(&table.caption))?;
    }
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    writeln!(text, "{}", row(table.columns.iter().map(|column| escape(&column.title)).collect()))?;
    let rule = |number: bool| if number { "---:" } else { "---" }.to_owned();
    writeln!(text, "{}", row(table.columns.iter().map(|column| rule(column.number)).collect()))?;
    for cells in &table.rows {
        writeln!(text, "{}", row(cells.iter().map(|cell: &Cell| escape(&cell.plain())).collect()))?;
    }
    writeln!(text)
}

/// Text that is no markup: one line, with everything escaped that Markdown or HTML in it would read.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => escaped.extend(['\\', letter]),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}
