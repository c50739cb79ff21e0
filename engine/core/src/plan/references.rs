//! Expressions in a step's values: inputs are put in, outputs of other steps are checked.

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::diagnostic::{Mistake, Span, quote};
use crate::workflow::expression::{self, Part, Reference};
use crate::workflow::tree::{Data, Node};
use crate::workflow::{Input, InputType, Step, suggest, unknown_input};

use super::choice::{Choice, Values};
use super::order::Graph;
use super::schemas::Schemas;
use super::shape;

/// What expressions can refer to.
pub struct Scope<'a> {
    /// The text of the file.
    pub text: &'a str,
    /// The declared inputs.
    pub inputs: &'a [Input],
    /// Their values; one without a value has been reported.
    pub values: &'a Values,
    /// All steps.
    pub steps: &'a [Step],
    /// What is known of their kinds.
    pub catalog: &'a Catalog,
    /// What the command line chooses.
    pub choice: &'a Choice,
    /// The parameter schemas of the kinds that are used.
    pub schemas: &'a Schemas,
    /// Who needs whom.
    pub graph: &'a Graph,
}

impl Scope<'_> {
    /// A value with the inputs put in. Expressions over outputs stay, and so do wrong ones, which are reported.
    pub fn fill(&self, node: &Node, mistakes: &mut Vec<Mistake>) -> Node {
        let data = match &node.data {
            Data::Scalar { text, .. } if text.contains("${{") => return self.fill_scalar(node, mistakes),
            Data::Scalar { .. } => node.data.clone(),
            Data::List(items) => Data::List(items.iter().map(|item| self.fill(item, mistakes)).collect()),
            Data::Map(entries) => {
                Data::Map(entries.iter().map(|(key, value)| (key.clone(), self.fill(value, mistakes))).collect())
            }
        };
        Node { data, ..node.clone() }
    }

    fn fill_scalar(&self, node: &Node, mistakes: &mut Vec<Mistake>) -> Node {
        let parts = match expression::parse_node(node, self.text) {
            Ok(parts) => parts,
            Err(mistake) => {
                mistakes.push(mistake);
                return node.clone();
            }
        };
        let whole = parts.len() == 1;
        let mut filled = String::new();
        for (part, span) in parts {
            match part {
                Part::Text(text) => filled.push_str(&text),
                Part::Reference(Reference::Output { step, path }) => {
                    filled.push_str(&format!("${{{{ steps.{step}.outputs.{} }}}}", path.join(".")));
                }
                Part::Reference(Reference::Input(name)) => match self.values.get(&name) {
                    Some(value) if whole => {
                        let data = Data::Scalar { text: value.text.clone(), plain: value.kind != InputType::Text };
                        return Node { span: node.span, data, origin: Some(format!("inputs.{name}")) };
                    }
                    Some(value) => filled.push_str(&value.text),
                    None => {
                        self.report_input(&name, span, mistakes);
                        filled.push_str(&format!("${{{{ inputs.{name} }}}}"));
                    }
                },
            }
        }
        Node::new(node.span, Data::Scalar { text: filled, plain: false })
    }

    fn report_input(&self, name: &str, span: Span, mistakes: &mut Vec<Mistake>) {
        if self.inputs.iter().all(|input| input.name.value != name) {
            mistakes.push(unknown_input(name, span, self.inputs));
        }
    }

    /// A value in which no outputs may stand, with the inputs put in; none when an expression is left in it.
    pub fn fill_early(&self, node: &Node, what: &str, mistakes: &mut Vec<Mistake>) -> Option<Node> {
        let filled = self.fill(node, mistakes);
        for (_, _, span) in self.outputs_in(node) {
            let message = format!("an output cannot be used in {what}, which is checked before anything runs");
            mistakes.push(Mistake::new(span, message).help("only inputs can stand here".to_owned()));
        }
        (!expression::has_expression(&filled)).then_some(filled)
    }

    /// Checks every output that a step's parameters refer to.
    pub fn check_outputs(&self, step: usize, with: &Node, mistakes: &mut Vec<Mistake>) {
        for (name, path, span) in self.outputs_in(with) {
            mistakes.extend(self.output_mistake(step, &name, &path, span));
        }
    }

    fn output_mistake(&self, step: usize, name: &str, path: &[String], span: Span) -> Option<Mistake> {
        let Some(other) = self.graph.place(name) else {
            let help = suggest::advice(name, self.steps.iter().map(|step| step.id.value.as_str()), "the steps are");
            return Some(Mistake::new(span, format!("there is no step {}", quote(name))).help(help));
        };
        let (here, shown) = (quote(&self.steps[step].id.value), quote(name));
        if self.steps[step].finally {
            let message = format!("{here} stands under `finally` and can use inputs only: {shown} may never have run");
            return Some(Mistake::new(span, message));
        }
        let never = match () {
            () if other == step => Some(format!("{here} cannot use its own outputs: there are none before it has run")),
            () if self.steps[other].finally => Some(format!("{shown} stands under `finally` and runs after {here}")),
            () if self.graph.needs(other, step) => Some(format!("{shown} needs {here}, so it has no outputs before")),
            () if self.steps[other].background.is_some_and(|background| background.value) => {
                Some(format!("{shown} runs in the background: it has no outputs while {here} runs"))
            }
            () => None,
        };
        if let Some(message) = never {
            return Some(Mistake::new(span, message));
        }
        if !self.graph.needs(step, other) {
            let message = format!("{here} uses an output of {shown} but does not need it");
            return Some(Mistake::new(span, message).help(format!("add {shown} to `needs` of {here}")));
        }
        self.unknown_output(other, path, span)
    }

    fn unknown_output(&self, other: usize, path: &[String], span: Span) -> Option<Mistake> {
        let uses = &self.steps[other].uses.value;
        let (_, kind) = self.catalog.kinds.get(uses)?;
        let mut forms = shape::forms(&kind.outputs, &kind.outputs);
        for name in path {
            let known = shape::properties(&forms);
            let Some(schema) = shape::property(&forms, name) else {
                if known.is_empty() && forms.iter().all(|form| shape::words(&[*form]).is_empty()) {
                    return None;
                }
                let help = suggest::advice(name, known, "its outputs are");
                let message = format!("{} has no output {}", quote(uses), quote(&path.join(".")));
                return Some(Mistake::new(span, message).help(help));
            };
            forms = shape::forms(schema, &kind.outputs);
        }
        None
    }

    /// What an output can be, in words; empty when that is not known.
    pub fn output_words(&self, step: &str, path: &[String]) -> BTreeSet<&'static str> {
        let found = self.graph.place(step).map(|place| &self.steps[place]);
        let Some((_, kind)) = found.and_then(|step| self.catalog.kinds.get(&step.uses.value)) else {
            return BTreeSet::new();
        };
        let mut forms = shape::forms(&kind.outputs, &kind.outputs);
        for name in path {
            let Some(schema) = shape::property(&forms, name) else { return BTreeSet::new() };
            forms = shape::forms(schema, &kind.outputs);
        }
        shape::words(&forms)
    }

    /// All outputs that a value refers to, with their places.
    fn outputs_in(&self, node: &Node) -> Vec<(String, Vec<String>, Span)> {
        match &node.data {
            Data::Scalar { text, .. } if text.contains("${{") => {
                let parts = expression::parse_node(node, self.text).unwrap_or_default();
                let output = |(part, span)| match part {
                    Part::Reference(Reference::Output { step, path }) => Some((step, path, span)),
                    _ => None,
                };
                parts.into_iter().filter_map(output).collect()
            }
            Data::Scalar { .. } => vec![],
            Data::List(items) => items.iter().flat_map(|item| self.outputs_in(item)).collect(),
            Data::Map(entries) => entries.iter().flat_map(|entry| self.outputs_in(&entry.1)).collect(),
        }
    }
}
