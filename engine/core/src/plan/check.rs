//! Values that only a plugin can judge. The plan has no plugins at hand, so it asks: a draft of it holds one question for
//! each step, and becomes a plan when whoever has the plugins has answered.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::diagnostic::{Diagnostics, Mistake, Source, Span, plain, quote};
use crate::workflow::tree::{Data, Node};

use super::parameters::{Path, name_of};
use super::{During, Grants, Plan};

/// What a plugin has against a step's parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The value that it is about: a JSON pointer into the parameters, empty for all of them.
    pub path: String,
    /// What is wrong with it, in one sentence.
    pub message: String,
}

impl Problem {
    /// The names and numbers that its path is made of; a pointer that lacks its first `/` is taken as meant.
    pub(super) fn parts(&self) -> Path {
        let part = |part: &str| part.replace("~1", "/").replace("~0", "~");
        let pointer = self.path.strip_prefix('/').or((!self.path.is_empty()).then_some(&*self.path));
        pointer.into_iter().flat_map(|pointer| pointer.split('/')).map(part).collect()
    }

    /// Problems in the words of users, and how many more there are when they are too many for one message.
    pub fn all_words(problems: &[Self], whole: &str) -> String {
        let told = problems.iter().take(MOST_TOLD).map(|problem| problem.words(whole));
        let more = problems.len().saturating_sub(MOST_TOLD);
        let more = (more > 0).then(|| format!("and {more} more"));
        told.chain(more).collect::<Vec<_>>().join("; ")
    }

    /// The problem in the words of users, `whole` standing for all parameters.
    pub fn words(&self, whole: &str) -> String {
        let parts = self.parts();
        let name = if parts.is_empty() { quote(whole) } else { quote(&name_of(&parts)) };
        format!("{name}: {}", plain(&self.message))
    }
}

/// What is asked of the plugin of one step.
#[derive(Debug, Clone)]
pub struct Question {
    /// The kind of step, as the user wrote it: it says which plugin is asked.
    pub uses: String,
    /// The parameters as JSON, without those that are not yet known or that the schema does not take.
    pub parameters: String,
    /// What else the workflow says of the step, as JSON.
    pub about: String,
    pub(super) uses_span: Span,
    pub(super) with: Option<Node>,
    pub(super) unknown: BTreeSet<Path>,
}

impl Question {
    fn mistake(&self, problem: &Problem) -> Mistake {
        let place = self.place(&problem.parts());
        let from = place.and_then(|node| node.origin.as_ref()).map(|origin| format!("its value is {}", quote(origin)));
        Mistake::new(place.map_or(self.uses_span, |node| node.span), problem.words(&self.uses)).help(from)
    }

    /// Whether a problem is about a value that is not there yet.
    fn is_early(&self, problem: &Problem) -> bool {
        let parts = problem.parts();
        self.unknown.iter().any(|unknown| parts.starts_with(unknown))
    }

    /// The value at a path; the nearest one around it, when it was left out.
    fn place(&self, path: &[String]) -> Option<&Node> {
        let mut node = self.with.as_ref()?;
        for name in path {
            match child(node, name) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        Some(node)
    }
}

/// The value under a name, or a number, inside of another.
pub(super) fn child<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match &node.data {
        Data::List(items) => items.get(name.parse::<usize>().ok()?),
        _ => node.get(name),
    }
}

/// A plan whose values have not been judged by its plugins.
pub struct Draft {
    pub(super) source: Source,
    pub(super) plan: Option<Plan>,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) wrong: Diagnostics,
    pub(super) questions: Vec<Question>,
}

/// The most problems of one step that are told, each at its place in the file.
const MOST_PROBLEMS: usize = 100;
/// The most problems that are told in one message.
const MOST_TOLD: usize = 10;

impl Draft {
    /// What the plugins are to be asked, in the order of the file.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Takes a plugin's answer to the question of that number: its problems, or why it gave none.
    pub fn answer(&mut self, number: usize, answer: Result<Vec<Problem>, String>) {
        let Some(question) = self.questions.get(number) else { return };
        match answer {
            Ok(problems) => {
                let mut told = problems.iter().filter(|problem| !question.is_early(problem));
                self.mistakes.extend(told.by_ref().take(MOST_PROBLEMS).map(|problem| question.mistake(problem)));
                let more = told.count();
                if more > 0 {
                    let message = format!("{} has {more} more problems with its parameters", quote(&question.uses));
                    self.mistakes.push(Mistake::new(question.uses_span, message));
                }
            }
            Err(why) => {
                let message = format!("the plugin of {} cannot check its parameters: {why}", quote(&question.uses));
                self.mistakes.push(Mistake::new(question.uses_span, message));
            }
        }
    }

    /// The plan, or all mistakes. What was not asked is taken to be no problem.
    pub fn finish(self) -> Result<Plan, Diagnostics> {
        let mut all = Diagnostics::of(&self.source, self.mistakes);
        all.extend(self.wrong);
        match self.plan {
            Some(plan) if all.is_empty() => Ok(plan),
            _ => Err(all),
        }
    }
}

/// What the workflow says of a step beside its parameters, as the contract's `check` takes it.
#[derive(Serialize)]
struct About<'a> {
    grants: &'a Grants,
    during: Option<&'a During>,
    unknown: Vec<String>,
}

/// What the workflow says of a step beside its parameters, as the JSON that the contract's `check` takes.
pub(super) fn about(grants: &Grants, during: Option<&During>, unknown: &BTreeSet<Path>) -> String {
    let about = About { grants, during, unknown: unknown.iter().map(|path| pointer(path)).collect() };
    serde_json::to_string(&about).expect("plain data is JSON")
}

/// A path as JSON pointer.
pub(super) fn pointer(path: &[String]) -> String {
    path.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect()
}

/// The value without what is not known; a list keeps its length, with null for what is not known in it.
pub(super) fn known<'v>(value: &'v Value, unknown: &BTreeSet<Path>) -> Cow<'v, Value> {
    match unknown.is_empty() {
        true => Cow::Borrowed(value),
        false => Cow::Owned(known_at(value, unknown, &mut vec![])),
    }
}

fn known_at(value: &Value, unknown: &BTreeSet<Path>, path: &mut Path) -> Value {
    let mut inner = |name: String, value: &Value| {
        path.push(name);
        let inner = (!unknown.contains(path)).then(|| known_at(value, unknown, path));
        path.pop();
        inner
    };
    match value {
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(index, item)| inner(index.to_string(), item).unwrap_or(Value::Null)).collect()
        }
        Value::Object(map) => {
            let entries = map.iter().filter_map(|(key, value)| Some((key.clone(), inner(key.clone(), value)?)));
            Value::Object(entries.collect())
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn problem(path: &str) -> Problem {
        Problem { path: path.into(), message: "is wrong".into() }
    }

    #[test]
    fn problems_are_said_in_the_words_of_the_workflow() {
        assert_eq!(problem("/nodes/0/racks").words("provision"), "`nodes[0].racks`: is wrong");
        assert_eq!(problem("").words("provision"), "`provision`: is wrong");
        assert_eq!(problem("percent").words("provision"), "`percent`: is wrong");
        assert_eq!(problem("/a~1b/c~0d").words("x"), "`a/b.c~d`: is wrong");
        let hostile = Problem { path: "/\u{1b}[31m".into(), message: "\u{1b}[2J\nerror: done\u{202e}".into() };
        assert_eq!(hostile.words("x"), "`\\u{1b}[31m`: \\u{1b}[2J\\u{a}error: done\\u{202e}");
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let value = json!({ "a": 1, "b": { "c": 2, "d": 3 }, "e": [4, 5] });
        let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Path>();
        let unknown = BTreeSet::from([path(&["a"]), path(&["b", "c"]), path(&["e", "0"])]);
        assert_eq!(*known(&value, &unknown), json!({ "b": { "d": 3 }, "e": [null, 5] }));
        assert_eq!(*known(&value, &BTreeSet::new()), value);
    }

    proptest! {
        #[test]
        fn a_pointer_leads_where_its_path_does(path in prop::collection::vec("[a~/01]{0,4}", 0..5)) {
            prop_assert_eq!(problem(&pointer(&path)).parts(), path);
        }
    }
}
