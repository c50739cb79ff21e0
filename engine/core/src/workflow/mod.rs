//! The YAML file as typed data; every value the user wrote keeps its place in the file.
//!
//! Values that may hold expressions (`with`, `timeout`, `retry`, `limits`, `grants`) stay as written until
//! [`crate::plan::build`] knows the inputs.

pub mod expression;
pub(crate) mod fields;
mod inputs;
mod reader;
mod reading;
mod schema;
mod steps;
pub(crate) mod suggest;
pub mod tree;

pub(crate) use fields::describe;
pub use inputs::INPUT_KEYS;
pub(crate) use inputs::unknown_input;
pub use inputs::{Input, InputType, InputValue, Profile};
pub use reader::read as read_yaml;
pub use reading::Reading;
pub use schema::{schema, schema_with};
pub use steps::{DuringName, STEP_KEYS, Step};

use crate::diagnostic::{Mistake, Source, Span, plain, quote};
use fields::Fields;
use tree::{Data, Node};

/// A value with its place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it is written.
    pub span: Span,
}

/// A workflow as its file says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// Its name.
    pub name: String,
    /// What it is for, empty when it does not say.
    pub description: String,
    /// What can be set from outside, in the order of the file.
    pub inputs: Vec<Input>,
    /// Other values of the inputs, by place.
    pub profiles: Vec<Profile>,
    /// The steps in the order of the file, those of `finally` last.
    pub steps: Vec<Step>,
    /// The longest that the run may take; a duration, perhaps as an expression over inputs.
    pub deadline: Option<Node>,
}

/// The keys of a workflow.
pub const KEYS: [&str; 7] = ["name", "description", "inputs", "profiles", "steps", "finally", "deadline"];

impl Workflow {
    /// Reads as much as is right: syntax, keys, types, inputs and profiles. What needs the plugins is checked by
    /// [`crate::plan::build`]. None, with at least one mistake, when the file is no YAML map.
    fn read(source: &Source, mistakes: &mut Vec<Mistake>) -> Option<Self> {
        let start = Span::default();
        let Some(root) = reader::read(source, mistakes) else {
            if mistakes.is_empty() {
                mistakes.push(Mistake::new(start, "the file is empty").help(EXAMPLE.to_owned()));
            }
            return None;
        };
        if root.is_null() {
            mistakes.push(Mistake::new(start, "the file is empty").help(EXAMPLE.to_owned()));
            return None;
        }
        let mut fields = Fields::of(&root, "a workflow", &KEYS, mistakes)?;
        let name = fields.text("name");
        let description = fields.text("description");
        let deadline = fields.take("deadline").cloned();
        let (input_nodes, profile_nodes) = (fields.take("inputs"), fields.take("profiles"));
        let (step_nodes, finally_nodes) = (fields.take("steps"), fields.take("finally"));
        if name.is_none() && !fields.has("name") {
            mistakes.push(Mistake::new(start, "the workflow has no `name`").help("begin with `name: …`".to_owned()));
        }
        mistakes.extend(name.as_ref().and_then(unreadable));
        let inputs = inputs::read_inputs(input_nodes, mistakes);
        let profiles = inputs::read_profiles(profile_nodes, &inputs, mistakes);
        let empty = |node: &Node| matches!(&node.data, Data::Map(entries) if entries.is_empty()) && mistakes.is_empty();
        if step_nodes.is_none_or(|node| node.is_null() || empty(node)) {
            mistakes.push(Mistake::new(start, "the workflow has no `steps`").help(EXAMPLE.to_owned()));
        }
        let steps = steps::read(step_nodes, finally_nodes, mistakes);
        let text = |field: Option<At<String>>| field.map(|at| at.value).unwrap_or_default();
        Some(Self { name: text(name), description: text(description), inputs, profiles, steps, deadline })
    }
}

/// What is wrong with a name that stands in reports and on terminals.
fn unreadable(name: &At<String>) -> Option<Mistake> {
    const MOST: usize = 200;
    let message = match &name.value {
        text if text.trim().is_empty() => "`name` is empty".to_owned(),
        text if text.chars().count() > MOST => format!("`name` has more than {MOST} characters"),
        text if plain(text) != **text => format!("`name` has characters that cannot be seen: {}", quote(text)),
        _ => return None,
    };
    Some(Mistake::new(name.span, message))
}

/// Whether the text after `uses:` names a file and not a built-in kind of step.
pub fn is_plugin_file(uses: &str) -> bool {
    uses.contains(['/', '\\']) || uses.split('#').next().is_some_and(|path| path.ends_with(".wasm"))
}

const EXAMPLE: &str = "a workflow has a `name` and `steps`, each with what it `uses`:\nname: example\nsteps:\n  cluster: { uses: provision }";
