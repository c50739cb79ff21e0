//! From YAML text to a tree.
//!
//! Size, depth and the number of values are bounded, with aliases counted as what they stand for, so that no file can
//! take much memory or time.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{self as yaml, Event, Parser, ScalarStyle};

use crate::diagnostic::{Mistake, Source, Span, quote, too_large};

use super::tree::{Data, Key, MOST_DEPTH, MOST_VALUES, Node};

/// Reads the one document of a source. None when its syntax is broken; other mistakes leave a tree to go on with.
pub fn read(source: &Source, mistakes: &mut Vec<Mistake>) -> Option<Node> {
    if source.text.len() > Source::LIMIT {
        mistakes.push(too_large(source.text.len()));
        return None;
    }
    if let Some(mistake) = forbidden_character(&source.text) {
        mistakes.push(mistake);
        return None;
    }
    let options = yaml::options! { disallow_directives: true, emit_comments: false };
    let parser = Parser::new_from_str_with_options(&source.text, options);
    let mut builder =
        Builder { text: &source.text, mistakes, open: vec![], anchors: BTreeMap::new(), values: 0, root: None };
    match parser.into_iter().try_for_each(|event| match event {
        Ok((event, span)) => builder.take(event, place(&source.text, span.start, span.end)),
        Err(error) => Err(syntax_mistake(&source.text, &error)),
    }) {
        Ok(()) => builder.root,
        Err(mistake) => {
            mistakes.push(mistake);
            None
        }
    }
}

/// The first character that no YAML file may have.
fn forbidden_character(text: &str) -> Option<Mistake> {
    let forbidden = |c: char| {
        (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')) || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    let (at, char) = text.char_indices().find(|(_, char)| forbidden(*char))?;
    let name =
        if char == '\0' { "a NUL byte".into() } else { format!("the control character U+{:04X}", u32::from(char)) };
    Some(Mistake::new(Span::new(at, at + char.len_utf8()), format!("the file holds {name}, which no text file has")))
}

fn place(text: &str, start: yaml::Marker, end: yaml::Marker) -> Span {
    let start = start.byte_offset().unwrap_or(0).min(text.len());
    let end = end.byte_offset().unwrap_or(start).clamp(start, text.len());
    Span::new(start, start + text.get(start..end).unwrap_or("").trim_end().len())
}

fn syntax_mistake(text: &str, error: &yaml::ScanError) -> Mistake {
    use yaml::ErrorKind as Kind;
    let mark = error.marker();
    let span = place(text, *mark, *mark);
    if matches!(error.kind(), Kind::RecursionLimitExceeded) {
        return too_deep(span);
    }
    let line_start = text[..span.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = text[line_start..].lines().next().unwrap_or("");
    let help = match error.kind() {
        Kind::TabNotAllowed | Kind::TabInBlockIndentation | Kind::TabInIndentation | Kind::TabInPlainScalar => {
            Some("indent with spaces: YAML does not take tabs")
        }
        Kind::DirectiveDisallowed => Some("a workflow is one plain document: leave the line that begins with `%` out"),
        _ if line.trim_start_matches([' ', '\t']).len() < line.len()
            && line.trim_start_matches(' ').starts_with('\t') =>
        {
            Some("indent with spaces: YAML does not take tabs")
        }
        _ if line.contains(": >") => Some("a value that begins with `>` needs quotes: \">= 99 %\""),
        _ if line.contains(" ${{") && line.contains('{') => {
            Some("an expression needs quotes here: \"${{ inputs.rate }}\"")
        }
        Kind::UnclosedQuotedScalar => Some("the closing quote is missing"),
        _ => None,
    };
    Mistake::new(span, format!("this is not valid YAML: {}", error.info())).help(help.map(str::to_owned))
}

fn too_deep(span: Span) -> Mistake {
    Mistake::new(span, format!("values are nested more than {MOST_DEPTH} deep"))
}

/// A collection whose end has not come yet.
enum Open {
    List(Vec<Node>),
    Map(Vec<(Key, Node)>, Option<Pending>),
}

/// A key that waits for its value; `keep` is false when the pair is wrong and is left out.
struct Pending {
    key: Key,
    keep: bool,
}

struct Builder<'a> {
    text: &'a str,
    mistakes: &'a mut Vec<Mistake>,
    open: Vec<(Open, Span, usize)>,
    anchors: BTreeMap<usize, Node>,
    values: usize,
    root: Option<Node>,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Mistake> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(Mistake::new(span, "a second document begins here, but a workflow file holds one")
                    .help("put the other workflow into a file of its own".to_owned()))
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span)?;
                let plain = style == ScalarStyle::Plain;
                self.put(Node::new(span, Data::Scalar { text: text.into_owned(), plain }), anchor)
            }
            Event::SequenceStart(_, anchor, tag) => self.begin(Open::List(vec![]), span, anchor, tag.is_some()),
            Event::MappingStart(_, anchor, tag) => self.begin(Open::Map(vec![], None), span, anchor, tag.is_some()),
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(id) => self.alias(id, span),
            _ => Ok(()),
        }
    }

    fn refuse_tag(&self, tagged: bool, span: Span) -> Result<(), Mistake> {
        if !tagged {
            return Ok(());
        }
        Err(Mistake::new(span, "this value has a YAML tag (`!…`), which means nothing in a workflow"))
    }

    fn begin(&mut self, open: Open, span: Span, anchor: usize, tagged: bool) -> Result<(), Mistake> {
        self.refuse_tag(tagged, span)?;
        if self.open.len() >= MOST_DEPTH {
            return Err(too_deep(span));
        }
        self.open.push((open, span, anchor));
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), Mistake> {
        let Some((open, begin, anchor)) = self.open.pop() else { return Ok(()) };
        let (data, last) = match open {
            Open::List(items) => {
                let last = items.last().map(|item| item.span);
                (Data::List(items), last)
            }
            Open::Map(mut entries, _) => {
                leave_doubles_out(&mut entries, self.mistakes);
                let last = entries.last().map(|entry| entry.1.span.max(entry.0.span));
                (Data::Map(entries), last)
            }
        };
        let flow = self.text[begin.start..].starts_with(['{', '[']);
        let end = if flow { span.end } else { last.map_or(begin.end, |span| span.end) };
        self.put(Node::new(Span::new(begin.start, end.max(begin.end)), data), anchor)
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Mistake> {
        let Some(node) = self.anchors.get(&id) else {
            return Err(Mistake::new(span, "this alias stands inside the value that it names"));
        };
        let (count, depth) = (node.count(), node.depth());
        if self.open.len() + depth > MOST_DEPTH {
            return Err(too_deep(span));
        }
        self.values += count - 1;
        let node = node.clone();
        self.put(node, 0)
    }

    /// Takes a whole value as the next key, entry or item.
    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Mistake> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(Mistake::new(
                node.span,
                format!("the file has more than {MOST_VALUES} values, aliases written out"),
            ));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some((Open::List(items), ..)) => items.push(node),
            Some((Open::Map(_, pending @ None), ..)) => *pending = Some(key(node, self.mistakes)),
            Some((Open::Map(entries, pending), ..)) => {
                if let Some(Pending { key, keep: true }) = pending.take() {
                    entries.push((key, node));
                }
            }
        }
        Ok(())
    }
}

/// Makes a value a key; a wrong one is reported and its pair is left out.
fn key(node: Node, mistakes: &mut Vec<Mistake>) -> Pending {
    let span = node.span;
    let Data::Scalar { text, .. } = node.data else {
        mistakes.push(Mistake::new(span, format!("a key must be a text, but this is {}", node.kind())));
        return Pending { key: Key { text: String::new(), span }, keep: false };
    };
    Pending { key: Key { text, span }, keep: true }
}

/// Leaves out what stands under a key that stood there before.
fn leave_doubles_out(entries: &mut Vec<(Key, Node)>, mistakes: &mut Vec<Mistake>) {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|place| &entries[*place].0.text);
    let same = |pair: &&[usize]| entries[pair[0]].0.text == entries[pair[1]].0.text;
    let mut doubled = vec![false; entries.len()];
    order.windows(2).filter(same).for_each(|pair| doubled[pair[1]] = true);
    let mut doubled = doubled.into_iter();
    entries.retain(|(Key { text, span }, _)| {
        let double = doubled.next() == Some(true);
        if double {
            mistakes.push(Mistake::new(*span, format!("the key {} stands here for the second time", quote(text))));
        }
        !double
    });
}
