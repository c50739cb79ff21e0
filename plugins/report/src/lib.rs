//! Step `report`: says what the report of the run shows, and in which order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wfe_sdk::check::Check;
use wfe_sdk::report::{EngineSection, Section, publish};
use wfe_sdk::{Result, cluster, log};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The engine's sections in the order in which they are shown; all of them when none are given.
    #[schemars(length(min = 1))]
    sections: Option<Vec<EngineSection>>,
    /// Heading of a section at the top, for `text`.
    title: Option<String>,
    /// What readers should know before anything else.
    text: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Outputs {
    /// How many sections the report has.
    sections: usize,
}

fn check(p: &Parameters, check: &mut Check) {
    if p.title.is_some() && p.text.is_none() {
        check.refuse(["/title", "/text"], "it is the heading of `text`, and there is none");
    }
}

fn report(p: Parameters) -> Result<Outputs> {
    // A cluster that never came to be, or is gone, is no reason to have no report.
    if let Err(error) = cluster::snapshot("final") {
        log::info(format!("the report shows no final disk usage: {}", error.message));
    }
    let sections = sections(p);
    publish(&sections)?;
    Ok(Outputs { sections: sections.len() })
}

/// The plugin's own section, when there is something to say, and then those of the engine.
fn sections(p: Parameters) -> Vec<Section> {
    let own = (p.title.is_some() || p.text.is_some())
        .then(|| Section::Text { title: p.title.unwrap_or_else(|| "Notes".into()), text: p.text.unwrap_or_default() });
    own.into_iter().chain(p.sections.unwrap_or_else(all).into_iter().map(Section::from)).collect()
}

/// What matters first stands first.
fn all() -> Vec<EngineSection> {
    use EngineSection::{Completeness, Events, Limits, Measurements, Resources, Steps, Story, Verdict};
    vec![Verdict, Limits, Story, Measurements, Steps, Events, Completeness, Resources]
}

wfe_sdk::plugin! {
    "report": report, "Chooses what the report of the run shows, and in which order.", check: check
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(p: Parameters) -> String {
        wfe_sdk::report::to_json(&sections(p)).unwrap()
    }

    #[test]
    fn without_parameters_everything_is_shown() {
        let shown = json(Parameters { sections: None, title: None, text: None });
        assert_eq!(
            shown,
            r#"[{"section":"verdict"},{"section":"limits"},{"section":"story"},{"section":"measurements"},{"section":"steps"},{"section":"events"},{"section":"completeness"},{"section":"resources"}]"#
        );
    }

    #[test]
    fn a_heading_needs_a_text() {
        let said = |title: Option<&str>, text: Option<&str>| {
            let mut found = Check::default();
            check(&Parameters { sections: None, title: title.map(Into::into), text: text.map(Into::into) }, &mut found);
            found.problems().iter().map(|problem| problem.path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(said(Some("Notes"), None), ["/title"]);
        assert!(said(Some("Notes"), Some("x")).is_empty() && said(None, Some("x")).is_empty());
    }

    #[test]
    fn a_note_stands_at_the_top() {
        let shown = json(Parameters {
            sections: Some(vec![EngineSection::Steps]),
            title: None,
            text: Some("Disks were swapped.".into()),
        });
        assert_eq!(shown, r#"[{"title":"Notes","text":"Disks were swapped."},{"section":"steps"}]"#);
    }
}
