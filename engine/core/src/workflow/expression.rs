//! Expressions: `${{ inputs.NAME }}` and `${{ steps.ID.outputs.NAME }}`, with more names behind for parts of an object.

use crate::diagnostic::{Mistake, Span, quote};

use super::tree::{Data, Node};

/// What an expression refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// An input.
    Input(String),
    /// An output of a step.
    Output {
        /// The step's id.
        step: String,
        /// The output's name, then the names inside of it.
        path: Vec<String>,
    },
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Taken as it is.
    Text(String),
    /// Replaced by a value.
    Reference(Reference),
}

/// A mistake in an expression: the bytes of the text that it is about, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// Bytes of the text.
    pub span: Span,
    /// What is wrong.
    pub message: String,
}

/// The one form that expressions have, for messages.
const FORM: &str = "an expression is `${{ inputs.NAME }}` or `${{ steps.ID.outputs.NAME }}`, nothing else";

/// Takes a text apart, each piece with its bytes. A text that is exactly one expression gives exactly one piece.
pub fn parse(text: &str) -> Result<Vec<(Part, Span)>, ExpressionError> {
    let mut parts = vec![];
    let mut at = 0;
    while let Some(open) = text[at..].find("${{").map(|found| at + found) {
        if open > at {
            parts.push((Part::Text(text[at..open].into()), Span::new(at, open)));
        }
        let inner = open + 3;
        let Some(close) = text[inner..].find("}}").map(|found| inner + found) else {
            let span = Span::new(open, text.len());
            return Err(ExpressionError { span, message: "this expression has no end: `}}` is missing".into() });
        };
        let span = Span::new(open, close + 2);
        let reference = reference(&text[inner..close]).map_err(|message| ExpressionError { span, message })?;
        parts.push((Part::Reference(reference), span));
        at = close + 2;
    }
    if at < text.len() || parts.is_empty() {
        parts.push((Part::Text(text[at..].into()), Span::new(at, text.len())));
    }
    Ok(parts)
}

fn reference(inner: &str) -> Result<Reference, String> {
    let path = inner.trim();
    let names: Vec<_> = path.split('.').collect();
    let is_part =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !names.iter().all(is_part) {
        return Err(format!("{} is no expression", quote(path)));
    }
    match names.as_slice() {
        ["inputs", name] => Ok(Reference::Input((*name).into())),
        ["inputs", name, _, ..] => Err(format!("the input {} has no parts", quote(name))),
        ["steps", step, "outputs", path @ ..] if !path.is_empty() => {
            Ok(Reference::Output { step: (*step).into(), path: path.iter().map(|name| (*name).into()).collect() })
        }
        _ => Err(format!("{} refers to nothing", quote(path))),
    }
}

/// The pieces of a text in the file, each with its place; a mistake when an expression in it is wrong.
pub fn parse_node(node: &Node, source: &str) -> Result<Vec<(Part, Span)>, Mistake> {
    let text = node.text().unwrap_or_default();
    let place = |span: Span| place_in(node, text, span, source);
    match parse(text) {
        Ok(parts) => Ok(parts.into_iter().map(|(part, span)| (part, place(span))).collect()),
        Err(error) => Err(Mistake::new(place(error.span), error.message).help(FORM.to_owned())),
    }
}

/// Where a part of a scalar's text stands in the file; the whole scalar when escapes make that unclear.
fn place_in(node: &Node, text: &str, span: Span, source: &str) -> Span {
    let written = source.get(node.span.start..node.span.end).unwrap_or_default();
    match written.find(text) {
        Some(offset) if !text.is_empty() => {
            let start = node.span.start + offset;
            Span::new(start + span.start, start + span.end)
        }
        _ => node.span,
    }
}

/// Whether a value, or one inside of it, holds an expression.
pub fn has_expression(node: &Node) -> bool {
    match &node.data {
        Data::Scalar { text, .. } => text.contains("${{"),
        Data::List(items) => items.iter().any(has_expression),
        Data::Map(entries) => entries.iter().any(|entry| has_expression(&entry.1)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_taken_apart() {
        let parts = |text: &str| parse(text).unwrap().into_iter().map(|(part, _)| part).collect::<Vec<_>>();
        let input = |name: &str| Part::Reference(Reference::Input(name.into()));
        assert_eq!(parts("${{ inputs.rate }}"), [input("rate")]);
        assert_eq!(parts("a ${{inputs.b}}${{ inputs.c }}"), [Part::Text("a ".into()), input("b"), input("c")]);
        assert_eq!(parts(""), [Part::Text("".into())]);
        assert_eq!(parts("$ {{ x }}"), [Part::Text("$ {{ x }}".into())]);
        let output = Reference::Output { step: "a".into(), path: vec!["b".into(), "c-d".into()] };
        assert_eq!(parts("${{ steps.a.outputs.b.c-d }}"), [Part::Reference(output)]);
    }

    #[test]
    fn wrong_expressions_are_named() {
        let say = |text| parse(text).unwrap_err().message;
        insta::assert_snapshot!(say("${{ inputs.a"), @"this expression has no end: `}}` is missing");
        insta::assert_snapshot!(say("${{ inputs.a + 1 }}"), @"`inputs.a + 1` is no expression");
        insta::assert_snapshot!(say("${{ secrets.token }}"), @"`secrets.token` refers to nothing");
        insta::assert_snapshot!(say("${{ steps.a.outputs }}"), @"`steps.a.outputs` refers to nothing");
        insta::assert_snapshot!(say("${{ inputs.a.b }}"), @"the input `a` has no parts");
        insta::assert_snapshot!(say("${{ }}"), @"`` is no expression");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_none_is_lost(text in "(\\$\\{\\{|\\}\\}|inputs|steps|outputs|[.a é ]){0,8}") {
            if let Ok(parts) = parse(&text) {
                let whole: String = parts.iter().map(|(_, span)| &text[span.start..span.end]).collect();
                prop_assert_eq!(whole, text);
            }
        }
    }
}
