//! What was told during a run and is kept for its readers alone: nothing is decided by it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::capability::load::Spec;
use crate::capability::observe::DatabaseEvent;
use crate::event::CallId;
use crate::{Call, Millis};

/// What was told during a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Told {
    /// What the database said, each event once, in order of time.
    pub database_events: Vec<DatabaseEvent>,
    /// What plugins wrote as warnings and errors, in order.
    pub log_lines: Vec<LogLine>,
    /// The loads that were started, and how many loaders each asked for.
    pub loads: BTreeMap<String, u32>,
}

/// One line that a plugin wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogLine {
    /// When.
    pub at: Millis,
    /// Which step wrote it.
    pub step: String,
    /// `warn` or `error`.
    pub level: String,
    /// The line.
    pub message: String,
}

impl Told {
    /// Takes a call that was answered.
    pub(super) fn answered(&mut self, at: Millis, id: &CallId, answer: &Value) {
        match id.name.as_str() {
            "observe/events.since" => {
                Vec::deserialize(answer).into_iter().flatten().for_each(|event| self.happened(event));
            }
            "log/log.write" => self.wrote(at, id),
            "load/loads.start" => {
                if let Some(Ok(Call::LoadStart(start))) = Call::parse(&id.name, &id.arguments)
                    && let Ok(Spec { name, loaders, .. }) = serde_json::from_str(&start.spec)
                {
                    let known = self.loads.entry(name).or_default();
                    *known = loaders.max(*known);
                }
            }
            _ => {}
        }
    }

    /// Several steps may have asked for the same stretch.
    fn happened(&mut self, event: DatabaseEvent) {
        let key = |event: &DatabaseEvent| (event.at_ms, event.node.clone(), event.message.clone());
        if let Err(place) = self.database_events.binary_search_by_key(&key(&event), key) {
            self.database_events.insert(place, event);
        }
    }

    fn wrote(&mut self, at: Millis, id: &CallId) {
        let text = |key: &str| id.arguments[key].as_str().unwrap_or_default();
        if ["warn", "error"].contains(&text("level")) {
            let (level, message) = (text("level").to_owned(), text("message").to_owned());
            self.log_lines.push(LogLine { at, step: id.step.clone(), level, message });
        }
    }
}
