//! Limits, measurements and disk usage.

use wfe_core::measure::text::{self, clock, whole};
use wfe_core::measure::{IntervalSummary, OperationMeasurement};
use wfe_core::state::DiskUsage;

use super::{Block, Cell, Figure, Mark, Table};
use crate::bounds::rule_about;
use crate::document::{Document, Window};

const GIB: f64 = (1u64 << 30) as f64;

pub(super) fn limits(document: &Document) -> Vec<Block> {
    limits_table(document).block().into_iter().collect()
}

/// Every rule with what came out.
pub(crate) fn limits_table(document: &Document) -> Table {
    let mut table = Table::new("What the workflow asks for", &["Step", "Rule", "Result", "#Value", "Where"]);
    for (step, limit) in &document.limits {
        let (word, mark) = match limit.holds {
            Some(true) => ("holds", Mark::Good),
            Some(false) => ("broken", Mark::Bad),
            None => ("undecided", Mark::Unsure),
        };
        let texts = [step, &limit.rule, word, &limit.value, &limit.place].map(|text: &str| Cell::new(text));
        let [step, rule, _, value, place] = texts;
        table.rows.push(vec![step, rule, Cell::marked(word, mark), value, place]);
    }
    table
}

pub(super) fn measurements(document: &Document) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !document.windows.is_empty() {
        blocks.push(Block::Table(measurements_table(document)));
        blocks.push(Block::Text(
            "Response times in milliseconds, counted from the intended start of each operation. P90 and P99 are marked \
             where a limit of the step is about them."
                .into(),
        ));
    }
    for (place, window) in document.windows.iter().enumerate() {
        blocks.extend(window_blocks(place, window));
    }
    if let Some(table) = disk_table(document).block() {
        blocks.extend([Block::Heading("Disk usage".into()), table]);
    }
    blocks
}

/// One row for each measured window: percentiles and rates by kind of operation, duration, start.
pub(crate) fn measurements_table(document: &Document) -> Table {
    let operations = document.operations();
    let mut titles = vec!["Window".to_owned()];
    for what in ["P90", "P99", "max", "op/s"] {
        titles.extend(operations.iter().map(|name| format!("#{what} {name}")));
    }
    titles.extend(["#asked op/s", "#duration", "#start", "complete"].map(str::to_owned));
    let mut table = Table::new("Measured windows, times in ms", &titles.iter().map(String::as_str).collect::<Vec<_>>());
    for window in &document.windows {
        table.rows.push(window_row(document, window, &operations));
    }
    table
}

fn window_row(document: &Document, window: &Window, operations: &[&str]) -> Vec<Cell> {
    let measured = &window.measurement;
    let each = |cell: &dyn Fn(&OperationMeasurement) -> Cell| -> Vec<Cell> {
        let found = operations.iter().map(|name| measured.operation(name));
        found.map(|found| found.map_or_else(|| Cell::new("–"), cell)).collect()
    };
    let tail = |name: &'static str| {
        move |found: &OperationMeasurement| {
            let rule = rule_about(&document.limits, &window.step, &format!("{}.{name}", found.operation));
            against(found.response_ms.named(name), rule)
        }
    };
    let mut row = vec![Cell::new(&window.label)];
    row.extend(each(&tail("p90")));
    row.extend(each(&tail("p99")));
    row.extend(each(&|found| Cell::new(ms(found.response_ms.max))));
    row.extend(each(&|found| Cell::new(text::number(found.rate))));
    row.push(Cell::new(measured.asked_rate().map_or("–".into(), text::number)));
    row.push(Cell::new(clock(measured.to_ms - measured.from_ms)));
    row.push(Cell::new(clock(measured.from_ms)));
    row.push(match measured.complete {
        true => Cell::marked("yes", Mark::Good),
        false => Cell::marked("no", Mark::Unsure),
    });
    row
}

fn ms(value: Option<f64>) -> String {
    value.map_or(text::NONE.into(), text::number)
}

/// A value with what the rule about it says; a rule that decided nothing marks nothing as good.
fn against(value: Option<f64>, rule: Option<(f64, Option<bool>)>) -> Cell {
    let mark = match (value, rule) {
        (Some(_), None) => None,
        (None, _) | (_, Some((_, None))) => Some(Mark::Unsure),
        (Some(value), Some((bound, _))) => Some(if value <= bound { Mark::Good } else { Mark::Bad }),
    };
    Cell { text: ms(value), mark }
}

fn window_blocks(place: usize, window: &Window) -> Vec<Block> {
    let measured = &window.measurement;
    let length = clock(measured.to_ms - measured.from_ms);
    let mut blocks = vec![Block::Heading(format!("{}: {length} from {}", window.label, clock(measured.from_ms)))];
    blocks.extend((!measured.missing.is_empty()).then(|| Block::List(measured.missing.clone())));
    if measured.operations.is_empty() {
        return blocks;
    }
    blocks.push(Block::Figure(Figure::Curve(place)));
    blocks.push(Block::Table(percentile_table(window)));
    blocks.extend(pieces_table(window).block());
    blocks
}

fn percentile_table(window: &Window) -> Table {
    let titles = ["Times in ms", "#P50", "#P90", "#P95", "#P99", "#P99.9", "#P99.99", "#max", "#count", "#failed"];
    let mut table = Table::new("Percentiles of the whole window", &titles);
    for found in &window.measurement.operations {
        for (what, times) in [("response", &found.response_ms), ("service", &found.service_ms)] {
            let values = [times.p50, times.p90, times.p95, times.p99, times.p999, times.p9999, times.max];
            let mut row = vec![Cell::new(format!("{} {what}", found.operation))];
            row.extend(values.map(|value| Cell::new(ms(value))));
            row.push(Cell::new(whole(found.count)));
            row.push(failed(found));
            table.rows.push(row);
        }
    }
    table
}

fn failed(found: &OperationMeasurement) -> Cell {
    let classes: Vec<_> = found.errors.iter().filter(|(_, count)| **count > 0).collect();
    let total: u64 = classes.iter().map(|(_, count)| **count).sum();
    match classes.as_slice() {
        [] => Cell::new("0"),
        classes => {
            let named: Vec<_> = classes.iter().map(|(class, count)| format!("{class} {}", whole(**count))).collect();
            Cell::marked(format!("{} ({})", whole(total), named.join(", ")), Mark::Unsure)
        }
    }
}

fn pieces_table(window: &Window) -> Table {
    let titles = ["From", "to", "Operation", "#P50", "#P90", "#P99", "#max", "#op/s", "#failed"];
    let mut table = Table::new("Intervals inside the window", &titles);
    let operations = &window.measurement.operations;
    let count = operations.iter().map(|found| found.intervals.len()).max().unwrap_or(0);
    if count < 2 {
        return table;
    }
    for place in 0..count {
        for (found, piece) in operations.iter().filter_map(|found| Some((found, found.intervals.get(place)?))) {
            table.rows.push(piece_row(&found.operation, piece));
        }
    }
    table
}

fn piece_row(operation: &str, piece: &IntervalSummary) -> Vec<Cell> {
    let times = &piece.response_ms;
    let moment = |seconds: f64| clock((seconds * 1e3) as u64);
    let mut row = vec![Cell::new(moment(piece.from_s)), Cell::new(moment(piece.to_s)), Cell::new(operation)];
    row.extend([times.p50, times.p90, times.p99, times.max].map(|value| Cell::new(ms(value))));
    row.push(Cell::new(piece.rate.map_or("–".into(), text::number)));
    row.push(match piece.errors {
        0 if piece.rate.is_none() => Cell::new("–"),
        0 => Cell::new("0"),
        errors => Cell::marked(whole(errors), Mark::Unsure),
    });
    row
}

/// Disk usage of each node and of the cluster at each named moment.
pub(crate) fn disk_table(document: &Document) -> Table {
    let titles = ["Moment", "Time", "Node", "#used GiB", "#available GiB", "#total GiB", "#used %"];
    let mut table = Table::new("Disk usage at named moments", &titles);
    for usage in &document.disk {
        let used: u64 = usage.nodes.iter().map(|node| node.used_bytes).sum();
        let total: u64 = usage.nodes.iter().map(|node| node.total_bytes).sum();
        for node in &usage.nodes {
            table.row(disk_row(
                usage,
                &format!("{} ({})", node.name, node.machine_type),
                node.used_bytes,
                node.total_bytes,
            ));
        }
        table.row(disk_row(usage, "cluster", used, total));
    }
    table
}

fn disk_row(usage: &DiskUsage, node: &str, used: u64, total: u64) -> [String; 7] {
    let gib = |bytes: u64| text::number(bytes as f64 / GIB);
    let percent = if total == 0 { text::NONE.into() } else { format!("{:.1} %", used as f64 / total as f64 * 1e2) };
    let available = total.saturating_sub(used);
    [usage.moment.clone(), clock(usage.at), node.into(), gib(used), gib(available), gib(total), percent]
}
