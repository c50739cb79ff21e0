//! The plan as a drawing for Graphviz.

use std::fmt::Write;

use super::{Plan, PlannedStep};

impl Plan {
    /// The graph in the DOT language: solid arrows for `needs`, dashed ones for `during`, dashed frames for background
    /// steps, grey ones for `finally`.
    pub fn graphviz(&self) -> String {
        let mut dot =
            format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n", text(&self.name));
        for step in &self.steps {
            // Writing to a String cannot fail.
            let _ = write_step(&mut dot, step);
        }
        dot.push_str("}\n");
        dot
    }
}

fn write_step(dot: &mut String, step: &PlannedStep) -> std::fmt::Result {
    let style = match (step.background, step.finally) {
        (true, _) => ", style=dashed",
        (_, true) => ", color=grey",
        _ => "",
    };
    writeln!(dot, "  {} [label={}{style}];", text(&step.id), text(&format!("{}\n{}", step.id, step.uses)))?;
    for need in &step.needs {
        writeln!(dot, "  {} -> {};", text(need), text(&step.id))?;
    }
    if let Some(during) = &step.during {
        let label = during.phase.as_ref().map(|phase| format!(", label={}", text(phase))).unwrap_or_default();
        writeln!(dot, "  {} -> {} [style=dashed{label}];", text(&during.step), text(&step.id))?;
    }
    Ok(())
}

/// A quoted text of the DOT language.
fn text(plain: &str) -> String {
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
