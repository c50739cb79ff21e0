//! The document in words and tables, section by section: what HTML, Markdown and the terminal draw.

mod numbers;
mod run;

use serde_json::Value;

use crate::document::Document;

pub(crate) use numbers::{disk_table, limits_table, measurements_table};

/// One part of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its name in a link: one of [`NAMES`], or `own-1` for the first of the plugin's own.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// One piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading inside the section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Short statements.
    List(Vec<String>),
    /// Names with values.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// A drawing; where nothing can be drawn the tables beside it say the same.
    Figure(Figure),
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Everything over time.
    Story,
    /// The percentile curve of a measured window, by its place in [`Document::windows`].
    Curve(usize),
    /// Steps, attempts and phases over time.
    Gantt,
}

/// A table with one heading for each column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows; the first cell of each names it.
    pub rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Whether it holds numbers.
    pub number: bool,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// What stands in it.
    pub text: String,
    /// What is to be thought of it.
    pub mark: Option<Mark>,
}

/// What is to be thought of a value: a colour, and always a sign as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Nobody can say, or noteworthy.
    Unsure,
}

impl Mark {
    /// The sign beside the colour.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Bad => "✗",
            Self::Unsure => "?",
        }
    }
}

impl Cell {
    /// A cell without a mark.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), mark: None }
    }

    /// A marked cell.
    pub fn marked(text: impl Into<String>, mark: Mark) -> Self {
        Self { text: text.into(), mark: Some(mark) }
    }

    /// Its sign and its text.
    pub fn plain(&self) -> String {
        self.mark.map_or(self.text.clone(), |mark| format!("{} {}", mark.sign(), self.text))
    }
}

impl Table {
    /// A table of these columns; a title that begins with `#` heads numbers.
    pub fn new(caption: &str, columns: &[&str]) -> Self {
        let column = |title: &&str| match title.strip_prefix('#') {
            Some(title) => Column { title: title.to_owned(), number: true },
            None => Column { title: (*title).to_owned(), number: false },
        };
        Self { caption: caption.into(), columns: columns.iter().map(column).collect(), rows: Vec::new() }
    }

    /// Adds a row of plain texts.
    pub fn row<const N: usize>(&mut self, texts: [String; N]) {
        self.rows.push(texts.into_iter().map(Cell::new).collect());
    }

    /// The table as a block, or nothing when it has no rows.
    fn block(self) -> Option<Block> {
        (!self.rows.is_empty()).then_some(Block::Table(self))
    }
}

/// The engine's own sections in their usual order.
pub const NAMES: [&str; 8] =
    ["verdict", "limits", "story", "measurements", "steps", "events", "completeness", "resources"];

/// The sections in the order that the run asked for, or in the usual one. Sections without content are left out; the
/// verdict is always there and comes first when nobody placed it.
pub fn sections(document: &Document) -> Vec<Section> {
    let asked = document.sections.as_ref().and_then(Value::as_array).filter(|asked| !asked.is_empty());
    let mut sections: Vec<Section> = match asked {
        None => NAMES.iter().filter_map(|name| own_section(document, name)).collect(),
        Some(asked) => {
            let placed = asked.iter().enumerate();
            placed.filter_map(|(number, asked)| asked_section(document, number, asked)).collect()
        }
    };
    if sections.iter().all(|section| section.id != "verdict") {
        sections.splice(0..0, own_section(document, "verdict"));
    }
    let filled = |section: &Section| section.id == "verdict" || !section.blocks.is_empty();
    sections.retain(filled);
    sections
}

fn own_section(document: &Document, name: &str) -> Option<Section> {
    let (title, blocks) = match name {
        "verdict" => ("Verdict", run::verdict(document)),
        "limits" => ("Limits", numbers::limits(document)),
        "story" => ("The run over time", vec![Block::Figure(Figure::Story)]),
        "measurements" => ("Measurements", numbers::measurements(document)),
        "steps" => ("Steps", run::steps(document)),
        "events" => ("Findings and events", run::events(document)),
        "completeness" => ("Completeness", run::completeness(document)),
        "resources" => ("Resources and environment", run::resources(document)),
        _ => return None,
    };
    Some(Section { id: name.to_owned(), title: title.to_owned(), blocks })
}

/// A section as the `report` plugin described it; none when the description makes no sense.
fn asked_section(document: &Document, number: usize, asked: &Value) -> Option<Section> {
    if let Some(name) = asked["section"].as_str() {
        return own_section(document, name);
    }
    let mut blocks = Vec::new();
    blocks.extend(asked["text"].as_str().map(|text| Block::Text(text.to_owned())));
    blocks.extend(plugin_table(&asked["table"]));
    let title = asked["title"].as_str().unwrap_or("Note").to_owned();
    (!blocks.is_empty()).then(|| Section { id: format!("own-{}", number + 1), title, blocks })
}

fn plugin_table(table: &Value) -> Option<Block> {
    let columns: Vec<String> = table["columns"].as_array()?.iter().map(text).collect();
    let mut drawn = Table::new("", &columns.iter().map(String::as_str).collect::<Vec<_>>());
    for row in table["rows"].as_array().into_iter().flatten().filter_map(Value::as_array) {
        let mut cells: Vec<Cell> = row.iter().map(|value| Cell::new(text(value))).collect();
        cells.resize(columns.len(), Cell::default());
        drawn.rows.push(cells);
    }
    Some(Block::Table(drawn))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
