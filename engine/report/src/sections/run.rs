//! The verdict, the steps, what happened, what is covered, and what was used.

use std::collections::BTreeSet;

use serde_json::Value;
use wfe_core::capability::observe::DatabaseEvent;
use wfe_core::catalog::Plugin;
use wfe_core::event::{Keep, ResourceState};
use wfe_core::measure::text::{self, clock};
use wfe_core::plan::{FREE, Grants};

use super::{Block, Cell, Figure, Mark, Table};
use crate::document::{Document, Step, StepStatus};

/// Events and log lines that are shown; the rest is counted.
const SHOWN: usize = 200;

pub(super) fn verdict(document: &Document) -> Vec<Block> {
    let started = &document.started;
    let mut facts = vec![
        ("Workflow".into(), started.workflow.clone()),
        ("Run".into(), started.run.clone()),
        ("Started".into(), started.wall.clone()),
        ("Where".into(), place(document)),
        ("How long".into(), lasted(document)),
        ("Cost".into(), cost(document)),
        ("Command".into(), started.command.clone()),
    ];
    if !started.description.is_empty() {
        facts.insert(1, ("What for".into(), started.description.clone()));
    }
    let mut blocks = vec![];
    if document.reasons.len() > 1 {
        blocks.push(Block::List(document.reasons.clone()));
    }
    blocks.push(Block::Facts(facts));
    blocks
}

fn place(document: &Document) -> String {
    let started = &document.started;
    let profile = started.profile.as_ref().map_or(String::new(), |profile| format!(", profile {profile}"));
    let simulated = if started.simulated { " (simulated: all numbers come from a model)" } else { "" };
    format!("backend {}{profile}{simulated}", started.backend)
}

fn lasted(document: &Document) -> String {
    let wall = document.wall_s.map_or(String::new(), |wall| match document.started.simulated {
        true => format!(" of simulated time, rehearsed in {} s", text::number(wall)),
        false => format!(" ({} s of wall time)", text::number(wall)),
    });
    let resumed = match document.resumed {
        0 => String::new(),
        1 => ", resumed once".into(),
        times => format!(", resumed {times} times"),
    };
    format!("{}{wall}{resumed}", clock(document.duration_ms))
}

fn cost(document: &Document) -> String {
    let hours = format!("{} machine hours", text::number(document.machine_hours));
    let would = if document.started.simulated { "would have cost " } else { "" };
    match document.cost_usd {
        Some(usd) if document.machine_hours > 0.0 => format!("{would}{usd:.2} US dollars, {hours}"),
        _ => hours,
    }
}

pub(super) fn steps(document: &Document) -> Vec<Block> {
    let titles = ["Step", "Uses", "Result", "#attempts", "#start", "#duration", "What came out"];
    let mut table = Table::new("Steps", &titles);
    for step in &document.steps {
        table.rows.push(step_row(step, document));
    }
    let mut blocks = vec![Block::Figure(Figure::Gantt)];
    blocks.extend(table.block());
    blocks.extend(phases_table(document).block());
    if document.steps.is_empty() { Vec::new() } else { blocks }
}

fn step_row(step: &Step, document: &Document) -> Vec<Cell> {
    let mark = match step.status {
        StepStatus::Succeeded => Some(Mark::Good),
        StepStatus::Failed => Some(Mark::Bad),
        StepStatus::Skipped | StepStatus::Running => Some(Mark::Unsure),
        StepStatus::Waiting => None,
    };
    let detail = match (step.error(), &step.skipped) {
        (Some(error), _) => error.to_string(),
        (None, Some(reason)) => reason.clone(),
        (None, None) => outputs(step),
    };
    let time = |ms: Option<u64>| Cell::new(ms.map_or("–".into(), clock));
    vec![
        Cell::new(&step.facts.id),
        Cell::new(&step.facts.uses),
        Cell { text: step.status.word().into(), mark },
        Cell::new(step.attempts.len().to_string()),
        time(step.started()),
        time(step.duration(document.duration_ms)),
        Cell::new(detail),
    ]
}

/// The simple outputs of a step, as far as they fit into a cell.
fn outputs(step: &Step) -> String {
    let simple = step.outputs().and_then(Value::as_object).into_iter().flatten();
    let simple = simple.filter(|(_, value)| !value.is_object() && !value.is_array());
    let shown: Vec<_> = simple.take(4).map(|(name, value)| format!("{name} {}", super::text(value))).collect();
    let shown = shown.join(", ");
    match shown.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

fn phases_table(document: &Document) -> Table {
    let mut table = Table::new("Attempts and phases", &["Step", "#attempt", "Phase", "#start", "#duration"]);
    for step in &document.steps {
        for attempt in step.attempts.iter().filter(|_| step.attempts.len() > 1 || !step.attempts[0].phases.is_empty()) {
            let mut row = |name: &str, from: u64, to: Option<u64>| {
                let length = to.unwrap_or(document.duration_ms).saturating_sub(from);
                let number = attempt.number.to_string();
                table.row([step.facts.id.clone(), number, name.into(), clock(from), clock(length)]);
            };
            if step.attempts.len() > 1 {
                row("(whole attempt)", attempt.started, attempt.ended);
            }
            attempt.phases.iter().for_each(|phase| row(&phase.name, phase.started, phase.ended));
        }
    }
    table
}

pub(super) fn events(document: &Document) -> Vec<Block> {
    let mut table = Table::new("What was noticed, newest first", &["Time", "From", "Severity", "Message"]);
    let from_steps = document.log_lines.iter().map(|line| (line.at, &line.step, &line.level, &line.message));
    let from_nodes = document
        .database_events
        .iter()
        .map(|DatabaseEvent { at_ms, node, severity, message }| (*at_ms, node, severity, message));
    let mut all: Vec<_> = from_steps.chain(from_nodes).collect();
    all.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    for (at, from, severity, message) in all.iter().take(SHOWN) {
        let mark = match severity.as_str() {
            "error" => Some(Mark::Bad),
            "warn" => Some(Mark::Unsure),
            _ => None,
        };
        let severity = Cell { text: (*severity).clone(), mark };
        table.rows.push(vec![Cell::new(clock(*at)), Cell::new(*from), severity, Cell::new(*message)]);
    }
    let mut blocks: Vec<Block> = table.block().into_iter().collect();
    if all.len() > SHOWN {
        blocks.push(Block::Text(format!("{} older ones are not shown.", all.len() - SHOWN)));
    }
    blocks
}

pub(super) fn completeness(document: &Document) -> Vec<Block> {
    let titles = ["Window", "Complete", "Loaders", "Counted", "Missing", "Left out by rule"];
    let mut table = Table::new("What each measurement covers", &titles);
    for window in &document.windows {
        let measured = &window.measurement;
        let complete = match measured.complete {
            true => Cell::marked("yes", Mark::Good),
            false => Cell::marked("no", Mark::Bad),
        };
        let counted = match (measured.covered_from_ms, measured.covered_to_ms) {
            (Some(from), Some(to)) => format!("{} to {}", clock(from), clock(to)),
            _ => "nothing".into(),
        };
        let texts = [measured.loaders.join(", "), counted, measured.missing.join("; "), measured.notes.join("; ")];
        let mut row = vec![Cell::new(&window.label), complete];
        row.extend(texts.map(|text| Cell::new(if text.is_empty() { "–".into() } else { text })));
        table.rows.push(row);
    }
    let mut blocks: Vec<Block> = table.block().into_iter().collect();
    if !document.notices.is_empty() {
        blocks.push(Block::List(document.notices.clone()));
    }
    blocks
}

pub(super) fn resources(document: &Document) -> Vec<Block> {
    let tables = [resources_table(document), plugins_table(document), grants_table(document)];
    let mut blocks: Vec<Block> = tables.into_iter().filter_map(Table::block).collect();
    blocks.push(Block::Facts(environment(document)));
    blocks
}

fn resources_table(document: &Document) -> Table {
    let titles = ["Kind", "Id", "Type", "Made by", "#from", "#until", "State", "Why"];
    let mut table = Table::new("What the run made, and what became of it", &titles);
    for resource in &document.resources {
        let mark = match resource.state {
            ResourceState::Deleted => Mark::Good,
            ResourceState::Leaked => Mark::Bad,
            ResourceState::Announced | ResourceState::Live | ResourceState::Kept | ResourceState::Foreign => {
                Mark::Unsure
            }
        };
        let until = resource.ended.map_or("–".into(), clock);
        let texts = [&resource.kind, &resource.id, &resource.description, &resource.step].map(Cell::new);
        let mut row = Vec::from(texts);
        row.extend([Cell::new(clock(resource.created)), Cell::new(until)]);
        row.push(Cell::marked(resource.state.word(), mark));
        row.push(Cell::new(resource.reason.as_deref().unwrap_or("–")));
        table.rows.push(row);
    }
    table
}

fn plugins_table(document: &Document) -> Table {
    let mut table = Table::new("Plugins", &["Plugin", "SHA-256 of its component", "#KiB", "Can ask for"]);
    for plugin in &document.started.plugins {
        let capabilities: Vec<&str> = plugin.capabilities().into_iter().collect();
        let size = text::whole(plugin.size.div_ceil(1_024));
        table.row([plugin.name.clone(), plugin.digest.clone(), size, capabilities.join(", ")]);
    }
    table
}

/// What each step was allowed beyond reading, as far as its plugin can ask for it.
fn grants_table(document: &Document) -> Table {
    let mut table = Table::new("What each step was allowed to do", &["Step", "Plugin", "Granted"]);
    for Step { facts, .. } in &document.steps {
        let plugin = document.started.plugins.iter().find(|plugin| plugin.name == facts.plugin);
        let granted = granted(&facts.grants, &plugin.map(Plugin::capabilities).unwrap_or_default());
        let granted = if granted.is_empty() { "only to read".into() } else { granted };
        table.row([facts.id.clone(), facts.plugin.clone(), granted]);
    }
    table
}

fn granted(grants: &Grants, askable: &BTreeSet<&str>) -> String {
    let own =
        grants.capabilities.iter().filter(|name| askable.contains(name.as_str()) && !FREE.contains(&name.as_str()));
    let mut all: Vec<String> = own.cloned().collect();
    all.extend(grants.cloud.as_ref().map(|cloud| {
        let types: Vec<&str> = cloud.types.iter().map(String::as_str).collect();
        format!("cloud: {} machines of {}", cloud.machines, types.join(", "))
    }));
    all.extend(grants.keyspaces.as_ref().map(|keyspaces| {
        let names: Vec<&str> = keyspaces.iter().map(String::as_str).collect();
        format!("keyspaces: {}", names.join(", "))
    }));
    all.join("; ")
}

fn environment(document: &Document) -> Vec<(String, String)> {
    let started = &document.started;
    let keep = match started.keep {
        Keep::Never => "never",
        Keep::OnFailure => "on failure",
        Keep::Always => "always",
    };
    let mut facts = vec![
        ("wfe".into(), started.wfe.clone()),
        ("Workflow file".into(), format!("{} (SHA-256 {})", started.file, started.workflow_digest)),
        ("Seed".into(), started.seed.to_string()),
        ("Keep machines".into(), keep.into()),
    ];
    facts.extend(started.deadline_ms.map(|ms| ("Deadline".into(), clock(ms))));
    facts.extend(started.environment.iter().cloned());
    facts.extend(started.backend_options.iter().map(|(name, value)| (format!("Backend's {name}"), value.clone())));
    let input = |(name, value): (&String, &serde_json::Value)| {
        let set = if started.set.contains_key(name) { " (set on the command line)" } else { "" };
        (format!("Input {name}"), format!("{}{set}", super::text(value)))
    };
    facts.extend(started.inputs.iter().map(input));
    facts
}
