//! `report.html`: one file, no request to anywhere, readable without its script.

mod curve;
mod gantt;
mod plot;
mod story;

use std::fmt::{Display, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use wfe_core::measure::text::clock;
use wfe_core::verdict::Verdict;

use crate::document::Document;
use crate::sections::{Block, Cell, Figure, Mark, Section, Table, sections};
use crate::summary::SIMULATED;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The text of `report.html`.
pub fn html(document: &Document) -> String {
    let sections = sections(document);
    let mut page = head(document);
    page.push_str(&banner(document));
    page.push_str("<header>");
    let _ = write!(page, "<p class=\"what\">{} · {}</p>", Text("wfe test report"), Text(&document.started.wall));
    let _ = write!(page, "<h1>{}</h1>", Text(&document.started.workflow));
    page.push_str(&verdict(document));
    page.push_str("<nav aria-label=\"Sections\">");
    for section in sections.iter().filter(|section| section.id != "verdict") {
        let _ = write!(page, "<a href=\"#{}\">{}</a>", Text(&section.id), Text(&section.title));
    }
    page.push_str("</nav></header><main>");
    for section in &sections {
        draw(&mut page, document, section);
    }
    page.push_str("</main>");
    page.push_str(&banner(document));
    let _ = writeln!(page, "<script>{SCRIPT}</script></body></html>");
    page
}

fn head(document: &Document) -> String {
    let digest = STANDARD.encode(Sha256::digest(SCRIPT));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    );
    let title = format!("{} – {}", verdict_word(document), document.started.workflow);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"referrer\" content=\"no-referrer\">\
         <title>{}</title><style>{STYLE}</style></head><body>",
        Text(&title)
    )
}

fn banner(document: &Document) -> String {
    let mut text = String::new();
    if document.started.simulated {
        let _ = write!(text, "<p class=\"simulated\">{}</p>", Text(SIMULATED));
    }
    if document.partial {
        text.push_str("<p class=\"partial\">PARTIAL: the run has not ended, numbers will change</p>");
    }
    text
}

fn verdict_word(document: &Document) -> &'static str {
    match (document.partial, document.verdict) {
        (true, _) => "not ended",
        (false, Verdict::Pass) => "passed",
        (false, Verdict::Fail) => "failed",
        (false, Verdict::Inconclusive) => "inconclusive",
        (false, Verdict::Infrastructure) => "infrastructure failure",
        (false, Verdict::Cancelled) => "cancelled",
    }
}

fn verdict(document: &Document) -> String {
    let mark = match document.verdict {
        _ if document.partial => Mark::Unsure,
        Verdict::Pass => Mark::Good,
        Verdict::Fail => Mark::Bad,
        _ => Mark::Unsure,
    };
    let sign = match document.verdict {
        Verdict::Infrastructure if !document.partial => "!",
        _ => mark.sign(),
    };
    format!(
        "<div class=\"verdict {}\"><p class=\"word\"><span aria-hidden=\"true\">{}</span> {}</p><p>{}</p></div>",
        class(mark),
        sign,
        verdict_word(document),
        Text(&document.headline)
    )
}

fn draw(page: &mut String, document: &Document, section: &Section) {
    let _ = write!(page, "<section id=\"{0}\" aria-labelledby=\"{0}-title\">", Text(&section.id));
    let hidden = if section.id == "verdict" { " class=\"quiet\"" } else { "" };
    let _ = write!(page, "<h2 id=\"{}-title\"{hidden}>{}</h2>", Text(&section.id), Text(&section.title));
    for (place, block) in section.blocks.iter().enumerate() {
        // A curve stands beside the table of its percentiles.
        let beside = |place: usize| matches!(section.blocks.get(place), Some(Block::Figure(Figure::Curve(_))));
        page.push_str(if beside(place) { "<div class=\"beside\">" } else { "" });
        draw_block(page, document, block);
        page.push_str(if place > 0 && beside(place - 1) { "</div>" } else { "" });
    }
    page.push_str("</section>");
}

fn draw_block(page: &mut String, document: &Document, block: &Block) {
    match block {
        Block::Heading(heading) => {
            let _ = write!(page, "<h3>{}</h3>", Text(heading));
        }
        Block::Text(text) => {
            let _ = write!(page, "<p>{}</p>", Text(text));
        }
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>", Text(item))).collect();
            let _ = write!(page, "<ul>{items}</ul>");
        }
        Block::Facts(facts) => {
            let fact = |(name, value): &(String, String)| {
                let wide = if value.len() > WIDE { " class=\"wide\"" } else { "" };
                format!("<div{wide}><dt>{}</dt><dd>{}</dd></div>", Text(name), Text(value))
            };
            let _ = write!(page, "<dl>{}</dl>", facts.iter().map(fact).collect::<String>());
        }
        Block::Table(table) => self::table(page, table),
        Block::Figure(Figure::Story) => story::draw(page, document),
        Block::Figure(Figure::Gantt) => gantt::draw(page, document),
        Block::Figure(Figure::Curve(place)) => {
            document.windows.get(*place).into_iter().for_each(|window| curve::draw(page, window));
        }
    }
}

/// A longer value takes a line of its own.
const WIDE: usize = 60;

/// A cell with more letters is broken into lines.
const LONG_CELL: usize = 40;

/// Tables longer than this are folded.
const LONG: usize = 24;

fn table(page: &mut String, table: &Table) {
    let folded = table.rows.len() > LONG;
    if folded {
        let _ = write!(page, "<details><summary>{} ({} rows)</summary>", Text(&table.caption), table.rows.len());
    }
    page.push_str("<div class=\"scroll\" tabindex=\"0\"><table>");
    if !table.caption.is_empty() {
        let _ = write!(page, "<caption>{}</caption>", Text(&table.caption));
    }
    page.push_str("<thead><tr>");
    for column in &table.columns {
        let number = if column.number { " class=\"n\"" } else { "" };
        let _ = write!(page, "<th scope=\"col\"{number}>{}</th>", Text(&column.title));
    }
    page.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        page.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let number = table.columns.get(place).is_some_and(|column| column.number);
            self::cell(page, cell, place == 0, number);
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
    page.push_str(if folded { "</details>" } else { "" });
}

fn cell(page: &mut String, cell: &Cell, names_row: bool, number: bool) {
    let tag = if names_row { "th scope=\"row\"" } else { "td" };
    let end = if names_row { "th" } else { "td" };
    let mut classes: Vec<&str> = cell.mark.map(class).into_iter().collect();
    classes.extend(number.then_some("n"));
    classes.extend((cell.text.chars().count() > LONG_CELL).then_some("w"));
    let class = if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
    let sign = cell.mark.map_or(String::new(), |mark| format!("<i>{}</i> ", mark.sign()));
    let _ = write!(page, "<{tag}{class}>{sign}{}</{end}>", Text(&cell.text));
}

fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Good => "good",
        Mark::Bad => "bad",
        Mark::Unsure => "unsure",
    }
}

/// Foreign text, escaped for element content and quoted attributes.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\0' => f.write_char('\u{fffd}')?,
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// A part of the run's time as percent of the axis: `left:12.5%;width:3%`.
fn span_style(from: u64, to: u64, end: u64) -> String {
    let percent = |ms: u64| ms.min(end) as f64 / end.max(1) as f64 * 100.0;
    format!("left:{:.3}%;width:{:.3}%", percent(from), percent(to.max(from)) - percent(from))
}

/// The axis of the run's time under a drawing.
fn time_axis(page: &mut String, end: u64) {
    page.push_str("<div class=\"row axis\" aria-hidden=\"true\"><div class=\"gutter\"></div><div class=\"plot\">");
    const STEPS_S: [u64; 14] = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400];
    let step = STEPS_S.map(|seconds| seconds * 1_000).into_iter().find(|step| end / step <= 8).unwrap_or(end / 8 + 1);
    for moment in (0..=end).step_by(step as usize) {
        let _ =
            write!(page, "<span style=\"left:{:.3}%\">{}</span>", moment as f64 / end as f64 * 100.0, clock(moment));
    }
    page.push_str("</div></div>");
}
