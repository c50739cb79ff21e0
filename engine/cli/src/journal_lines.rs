//! One line of text for each event that people care about.

use wfe_core::error::kind;
use wfe_core::event::{ENGINE, Outcome};
use wfe_core::{Entry, Event, Millis};

/// A moment or a stretch of the run's time as `h:mm:ss`.
pub fn time(ms: Millis) -> String {
    let seconds = ms / 1000;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The line of an event; none for what only programs care about.
pub fn line(entry: &Entry) -> Option<String> {
    let text = match &entry.event {
        Event::RunStarted(started) => {
            let note = if started.simulated { " (SIMULATED)" } else { "" };
            format!("run {} begins on {}{note}", started.run, started.backend)
        }
        Event::RunResumed { .. } => "resumed".into(),
        Event::RetryRequested { step } => format!("{step}: to be tried again"),
        Event::CleanUpStarted { .. } => "cleaning up".into(),
        Event::AttemptStarted { step, attempt: 1, .. } => format!("{step}: started"),
        Event::AttemptStarted { step, attempt, .. } => format!("{step}: started, attempt {attempt}"),
        Event::CallAnswered { id, answer } => said(&id.step, &id.name, &id.arguments, answer.as_ref().err())?,
        Event::StopRequested { step } => format!("{step}: asked to stop"),
        Event::AttemptEnded { step, outcome: Outcome::Succeeded { .. }, .. } => format!("{step}: succeeded"),
        Event::AttemptEnded { step, outcome: Outcome::Failed { error }, .. } => {
            format!("{step}: FAILED ({}, {}): {}", error.kind, error.code, error.message)
        }
        Event::LimitChecked { step, result } => {
            let word = match result.holds {
                Some(true) => "holds",
                Some(false) => "BROKEN",
                None => "cannot be said",
            };
            format!("{step}: limit {} {word}: {} ({})", result.rule, result.value, result.place)
        }
        Event::StepSkipped { step, reason } => format!("{step}: skipped: {reason}"),
        Event::CancelRequested { reason, .. } => format!("cancelling: {reason}"),
        Event::FinallyStarted => "finally".into(),
        Event::ResourceSettled { kind, id, state, reason, .. } => {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            format!("{kind} {id} {}{reason}", state.word())
        }
        Event::Noticed { notice } => format!("notice: {notice}"),
        Event::RunEnded { verdict, .. } => format!("verdict: {}", verdict.word()),
        Event::CallIntended(_) | Event::Audited { .. } => return None,
    };
    Some(format!("{:>8}  {text}", time(entry.at)))
}

/// What a call tells people.
fn said(step: &str, name: &str, arguments: &serde_json::Value, error: Option<&wfe_core::CallError>) -> Option<String> {
    if let Some(error) = error {
        // What a backend does not know is no news when the engine itself asked.
        if step == ENGINE && error.kind == kind::UNSUPPORTED {
            return None;
        }
        return Some(format!("{step}: {name} answered ({}, {}): {}", error.kind, error.code, error.message));
    }
    match name {
        "step/context.phase" => Some(format!("{step}: {}", arguments["name"].as_str()?)),
        "step/context.ready" => Some(format!("{step}: ready")),
        "log/log.write" => {
            let level = arguments["level"].as_str().filter(|level| *level != "info").map(|level| format!("{level}: "));
            Some(format!("{step}: {}{}", level.unwrap_or_default(), arguments["message"].as_str()?))
        }
        _ => None,
    }
}
