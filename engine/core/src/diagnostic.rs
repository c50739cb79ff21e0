//! Mistakes in a file, shown at their place: all of them at once, each with its line and a suggestion.

use std::fmt;

use serde::Serialize;
use unicode_width::UnicodeWidthChar;

/// A part of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// A text with the name that users know it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file as the user named it.
    pub name: String,
    /// What it holds.
    pub text: String,
}

impl Source {
    /// The most bytes that a workflow file may have.
    pub const LIMIT: usize = 1 << 20;

    /// A text that is already known to be one.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// The text of a file: UTF-8 of at most [`Source::LIMIT`] bytes.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, Diagnostics> {
        if bytes.len() > Self::LIMIT {
            let source = Self::new(name, "");
            return Err(Diagnostics::of(&source, [too_large(bytes.len())]));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(name, text)),
            Err(wrong) => {
                let start = wrong.valid_up_to();
                let source = Self::new(name, String::from_utf8_lossy(bytes));
                let message = format!("the file is not UTF-8 text: byte {start} belongs to no character");
                Err(Diagnostics::of(&source, [Mistake::new(Span::new(start, start + 1), message)]))
            }
        }
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    pub fn position(&self, at: usize) -> (usize, usize) {
        let (line, start) = self.line_of(at);
        (line, self.text[start..self.floor(at)].chars().count() + 1)
    }

    /// Number (from 1) and first byte of the line that a byte stands in.
    fn line_of(&self, at: usize) -> (usize, usize) {
        let (mut line, mut start) = (1, 0);
        let bytes = self.text.as_bytes();
        for (index, byte) in bytes.iter().enumerate().take(at) {
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(index + 1) != Some(&b'\n'));
            if ends {
                (line, start) = (line + 1, index + 1);
            }
        }
        (line, start)
    }

    /// The nearest beginning of a character, not after `at`.
    fn floor(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        (0..=at).rev().find(|index| self.text.is_char_boundary(*index)).unwrap_or(0)
    }
}

/// The mistake of a file that is larger than [`Source::LIMIT`].
pub(crate) fn too_large(bytes: usize) -> Mistake {
    let message = format!("the file has {bytes} bytes; a workflow may have {}", Source::LIMIT);
    Mistake::new(Span::default(), message)
}

/// A mistake before it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it is.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Mistake {
    /// A mistake without advice.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None }
    }

    /// The same with advice, if there is some.
    pub fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }
}

/// A mistake with all that is needed to show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The bytes of the file that it is about.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line itself, fit to be printed: cut when it is long, control characters escaped.
    pub source_line: String,
    /// The first printed column to underline, from 0, and how many.
    pub underline: (usize, usize),
}

impl Diagnostic {
    /// Looks a mistake up in its source.
    pub fn of(source: &Source, mistake: Mistake) -> Self {
        let span = mistake.span;
        let (line, line_start) = source.line_of(span.start.min(source.text.len()));
        let (_, column) = source.position(span.start);
        let (source_line, underline) = excerpt(&source.text[line_start..], line_start, span);
        let Mistake { message, help, .. } = mistake;
        Self { file: source.name.clone(), line, column, span, message, help, source_line, underline }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let margin = " ".repeat(self.line.to_string().len());
        writeln!(f, "error: {}", self.message)?;
        let file: String = self.file.chars().map(printable).collect();
        writeln!(f, "{margin}--> {file}:{}:{}", self.line, self.column)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{}", format!("{} | {}", self.line, self.source_line).trim_end())?;
        writeln!(f, "{margin} | {}{}", " ".repeat(self.underline.0), "^".repeat(self.underline.1))?;
        if let Some(help) = &self.help {
            let indent = format!("\n{margin}         ");
            writeln!(f, "{margin} = help: {}", help.replace('\n', &indent))?;
        }
        Ok(())
    }
}

/// All mistakes that were found, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Diagnostics {
    /// Each mistake; never empty inside an `Err`.
    pub list: Vec<Diagnostic>,
    /// How many more there are than are listed.
    pub omitted: usize,
}

impl Diagnostics {
    /// The most mistakes that are shown.
    pub const MOST: usize = 100;

    /// Looks mistakes up in their source.
    pub fn of(source: &Source, mistakes: impl IntoIterator<Item = Mistake>) -> Self {
        let mut mistakes: Vec<_> = mistakes.into_iter().collect();
        mistakes.sort_by(|a, b| (a.span, &a.message).cmp(&(b.span, &b.message)));
        mistakes.dedup();
        let omitted = mistakes.len().saturating_sub(Self::MOST);
        mistakes.truncate(Self::MOST);
        Self { list: mistakes.into_iter().map(|mistake| Diagnostic::of(source, mistake)).collect(), omitted }
    }

    /// Adds the mistakes of another text.
    pub fn extend(&mut self, other: Self) {
        self.list.extend(other.list);
        self.omitted += other.omitted;
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.list.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        if self.omitted > 0 {
            writeln!(f, "\nerror: and {} more mistakes", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Printed columns of a line that are shown at most.
const WIDTH: usize = 110;
/// Printed columns before the mistake that are kept when a line is cut.
const BEFORE: usize = 40;

/// The printable part of the line around a span, and what of it to underline. `rest` begins with the line, which has
/// its first byte at `offset`.
fn excerpt(rest: &str, offset: usize, span: Span) -> (String, (usize, usize)) {
    let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    let at = span.start.saturating_sub(offset).min(line.len());
    let first = cut_before(line, at);
    let mut shown = if first > 0 { "…".to_owned() } else { String::new() };
    let mut width = shown.chars().count();
    let mut underline = (None, 0);
    for (index, char) in line[first..].char_indices().map(|(index, char)| (first + index, char)) {
        if width >= WIDTH {
            shown.push('…');
            break;
        }
        let cell = printable(char);
        let cells = cell.chars().map(|char| char.width().unwrap_or(0)).sum::<usize>();
        if index + char.len_utf8() > at && (index < span.end.saturating_sub(offset) || index <= at) {
            underline = (underline.0.or(Some(width)), underline.1 + cells);
        }
        shown.push_str(&cell);
        width += cells;
    }
    (shown, (underline.0.unwrap_or(width), underline.1.max(1)))
}

/// Where to begin a line so that the mistake at byte `at` is well inside what is shown.
fn cut_before(line: &str, at: usize) -> usize {
    let before = line.char_indices().take_while(|(index, _)| *index < at).count();
    if before + BEFORE <= WIDTH {
        return 0;
    }
    line.char_indices().nth(before - BEFORE).map_or(0, |(index, _)| index)
}

/// A character as it can be printed in a terminal without moving anything.
fn printable(char: char) -> String {
    match char {
        '\t' => "    ".into(),
        _ if char.is_control() || is_invisible(char) => format!("\\u{{{:x}}}", u32::from(char)),
        _ => char.to_string(),
    }
}

/// Characters that change the direction of text, or cannot be seen.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{2028}' | '\u{2029}')
}

/// A foreign sentence inside a message: cut when long, control characters escaped.
pub fn plain(text: &str) -> String {
    const MOST: usize = 1_000;
    text.chars().take(MOST).map(printable).collect()
}

/// A user's text inside a message: in backticks, cut when long, control characters escaped.
pub fn quote(text: &str) -> String {
    const MOST: usize = 60;
    let mut shown: String =
        text.chars().take(MOST).map(|char| if char == '\t' { "\\t".into() } else { printable(char) }).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(text: &str, start: usize, end: usize) -> String {
        let mistake = Mistake::new(Span::new(start, end), "wrong").help("one\ntwo".to_owned());
        Diagnostic::of(&Source::new("a.yaml", text), mistake).to_string()
    }

    #[test]
    fn a_mistake_is_shown_under_its_line() {
        insta::assert_snapshot!(show("a: 1\r\nbé: two\r\n", 11, 14), @r"
        error: wrong
         --> a.yaml:2:5
          |
        2 | bé: two
          |     ^^^
          = help: one
                  two
        ");
    }

    #[test]
    fn tabs_wide_and_control_characters_keep_the_underline_in_place() {
        insta::assert_snapshot!(show("\t漢字\u{1}: x", 10, 11), @r"
        error: wrong
         --> a.yaml:1:7
          |
        1 |     漢字\u{1}: x
          |                ^
          = help: one
                  two
        ");
    }

    #[test]
    fn a_long_line_is_cut_around_the_mistake() {
        let text = format!("{}HERE{}", "a".repeat(5_000), "b".repeat(5_000));
        let diagnostic = Diagnostic::of(&Source::new("a.yaml", text), Mistake::new(Span::new(5_000, 5_004), "wrong"));
        assert!(diagnostic.source_line.chars().count() < 120);
        let (start, count) = diagnostic.underline;
        let underlined: String = diagnostic.source_line.chars().skip(start).take(count).collect();
        assert_eq!(underlined, "HERE");
    }

    #[test]
    fn bytes_that_are_no_text_are_named() {
        let wrong = Source::from_bytes("a.yaml", b"a: \xff\n").unwrap_err();
        assert_eq!((wrong.list[0].line, wrong.list[0].column), (1, 4));
        assert!(Source::from_bytes("a.yaml", &vec![b'a'; 10_000_000]).unwrap_err().to_string().contains("1048576"));
    }

    proptest! {
        #[test]
        fn any_text_and_span_can_be_shown(text in "(?s).{0,300}", start in 0_usize..400, length in 0_usize..400) {
            let shown = show(&text, start, start + length);
            prop_assert!(shown.contains('^'));
            let moves = shown.contains(['\0', '\u{202e}']);
            prop_assert!(!moves);
        }
    }
}
