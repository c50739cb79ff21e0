//! `junit.xml`: one test case for each step and each limit, as CI servers read them.

use std::fmt::Write;

use wfe_core::Millis;
use wfe_core::error::kind;
use wfe_core::limits::LimitResult;
use wfe_core::verdict::Verdict;

use crate::document::{Document, Step, StepStatus};

/// One test case.
struct Case {
    class: String,
    name: String,
    seconds: f64,
    result: Outcome,
}

/// How it came out: what failed is the product, an error is everything else.
enum Outcome {
    Passed,
    Failed(String),
    Error(String),
    Skipped(String),
}

/// The text of `junit.xml`.
pub fn junit(document: &Document) -> String {
    let steps: Vec<_> = document.steps.iter().map(|step| step_case(step, document.duration_ms)).collect();
    let limits: Vec<_> = document.limits.iter().map(|(step, limit)| limit_case(step, limit)).collect();
    let run: Vec<_> = run_case(document, &steps, &limits).into_iter().collect();
    let all = || steps.iter().chain(&limits).chain(&run);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let totals = totals(all(), document.duration_ms as f64 / 1e3);
    let _ = writeln!(text, "<testsuites name=\"{}\"{totals}>", escape(&document.started.workflow));
    let named = [("steps", &steps), ("limits", &limits), ("run", &run)];
    for (name, cases) in named.into_iter().filter(|(_, cases)| !cases.is_empty()) {
        suite(&mut text, document, name, cases);
    }
    text + "</testsuites>\n"
}

fn suite(text: &mut String, document: &Document, name: &str, cases: &[Case]) {
    let seconds = cases.iter().map(|case| case.seconds).sum();
    let started = escape(&document.started.wall);
    let _ = writeln!(text, "  <testsuite name=\"{name}\" timestamp=\"{started}\"{}>", totals(cases.iter(), seconds));
    if name == "steps" {
        let simulated = document.started.simulated;
        let _ = writeln!(
            text,
            "    <properties><property name=\"run\" value=\"{}\"/><property name=\"simulated\" value=\"{simulated}\"/></properties>",
            escape(&document.started.run)
        );
    }
    for case in cases {
        let (class, name) = (escape(&case.class), escape(&case.name));
        let _ = write!(text, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{:.3}\"", case.seconds);
        let _ = match &case.result {
            Outcome::Passed => writeln!(text, "/>"),
            Outcome::Failed(why) => writeln!(text, "><failure message=\"{}\"/></testcase>", escape(why)),
            Outcome::Error(why) => writeln!(text, "><error message=\"{}\"/></testcase>", escape(why)),
            Outcome::Skipped(why) => writeln!(text, "><skipped message=\"{}\"/></testcase>", escape(why)),
        };
    }
    text.push_str("  </testsuite>\n");
}

fn totals<'a>(cases: impl Iterator<Item = &'a Case>, seconds: f64) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.result {
            Outcome::Passed => {}
            Outcome::Failed(_) => failures += 1,
            Outcome::Error(_) => errors += 1,
            Outcome::Skipped(_) => skipped += 1,
        }
    }
    format!(
        " tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds:.3}\""
    )
}

fn step_case(step: &Step, now: Millis) -> Case {
    let why = step.error().map(|error| error.to_string()).unwrap_or_default();
    let is_product = step.error().is_some_and(|error| error.kind == kind::PRODUCT);
    let result = match step.status {
        StepStatus::Succeeded => Outcome::Passed,
        StepStatus::Failed if is_product => Outcome::Failed(why),
        StepStatus::Failed => Outcome::Error(why),
        StepStatus::Skipped => Outcome::Skipped(step.skipped.clone().unwrap_or_default()),
        StepStatus::Waiting => Outcome::Skipped("it was not started".into()),
        StepStatus::Running => Outcome::Error("it has not ended".into()),
    };
    let seconds = step.duration(now).unwrap_or(0) as f64 / 1e3;
    Case { class: "steps".into(), name: step.facts.id.clone(), seconds, result }
}

fn limit_case(step: &str, limit: &LimitResult) -> Case {
    let why = format!("{}: {}, {}", limit.rule, limit.value, limit.place);
    let result = match limit.holds {
        Some(true) => Outcome::Passed,
        Some(false) => Outcome::Failed(why),
        None => Outcome::Error(why),
    };
    Case { class: format!("limits.{step}"), name: limit.rule.clone(), seconds: 0.0, result }
}

/// A run that did not pass although no step or limit says so has a case of its own, so that no server shows it green.
fn run_case(document: &Document, steps: &[Case], limits: &[Case]) -> Option<Case> {
    let is_bad = |case: &Case| matches!(case.result, Outcome::Failed(_) | Outcome::Error(_));
    if document.verdict == Verdict::Pass || steps.iter().chain(limits).any(is_bad) {
        return None;
    }
    let why = document.reasons.join("; ");
    let result = if document.verdict == Verdict::Fail { Outcome::Failed(why) } else { Outcome::Error(why) };
    Some(Case { class: "run".into(), name: document.verdict.word().into(), seconds: 0.0, result })
}

/// Text as it can stand in an attribute. Characters that XML cannot have become U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' | '\r' | '\t' => {
                let _ = write!(escaped, "&#{};", letter as u32);
            }
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}
