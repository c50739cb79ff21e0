//! What plugins have against parameters, and what a backend does not have: mistakes like all others, at their place.

use serde_json::{Value, json};
use wfe_core::backend::Offers;
use wfe_core::diagnostic::Source;
use wfe_core::plan::{self, Choice, Problem, Question};
use wfe_core::workflow::Reading;

use crate::catalog::catalog;

type Answer = Result<Vec<Problem>, String>;

fn problem(path: &str, message: &str) -> Problem {
    Problem { path: path.into(), message: message.into() }
}

fn choice(types: &[&str]) -> Choice {
    let list = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let offers = Offers { machine_types: list(types), databases: list(&["cassandra 5.0", "scylla 2025.2"]) };
    Choice { backend: "sim".into(), offers, ..Choice::default() }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("questions are JSON")
}

/// The mistakes of a text whose plugins answer so.
fn mistakes(text: &str, choice: &Choice, plugin: impl Fn(&Question) -> Answer) -> String {
    let mut draft = plan::draft(Reading::of(Source::new("w.yaml", text)), &catalog(), choice);
    for number in 0..draft.questions().len() {
        let answer = plugin(&draft.questions()[number]);
        draft.answer(number, answer);
    }
    draft.finish().map_or_else(|wrong| wrong.to_string(), |_| "none".into())
}

/// What the plugins of a text are asked.
fn questions(text: &str) -> Vec<Question> {
    plan::draft(Reading::of(Source::new("w.yaml", text)), &catalog(), &Choice::default()).questions().to_vec()
}

const WORKFLOW: &str = r#"name: a
inputs: { hold: { type: duration, default: 0s } }
steps:
  cluster:
    uses: provision
    with: { database: scylla 2025.2, nodes: [{ count: 3, type: i4i.large }] }
    grants: { cloud: { types: [i4i.large], machines: 3 } }
  fill: { needs: [cluster], uses: fill-to-percent, with: { percent: 90 %, rate: "${{ steps.cluster.outputs.throughput }}" } }
  quiet: { needs: [fill], uses: wait-stable, with: { hold: "${{ inputs.hold }}" } }
  after: { uses: measure, during: quiet }
"#;

#[test]
fn problems_stand_at_their_values_among_the_other_mistakes() {
    let text = format!("{WORKFLOW}  other: {{ uses: mesure, needs: [quite] }}\n");
    let plugin = |question: &Question| match question.uses.as_str() {
        "provision" => Ok(vec![
            problem("/nodes/0/racks", "one rack is not enough"),
            problem("/nodes", "too many"),
            problem("/loaders/count", "there must be some"),
        ]),
        "wait-stable" => Ok(vec![problem("/hold", "it must be longer than nothing")]),
        "measure" => Ok(vec![problem("", "say what to measure")]),
        _ => Ok(vec![]),
    };
    insta::assert_snapshot!(mistakes(&text, &Choice::default(), plugin), @r#"
    error: `loaders.count`: there must be some
     --> w.yaml:6:11
      |
    6 |     with: { database: scylla 2025.2, nodes: [{ count: 3, type: i4i.large }] }
      |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: `nodes`: too many
     --> w.yaml:6:45
      |
    6 |     with: { database: scylla 2025.2, nodes: [{ count: 3, type: i4i.large }] }
      |                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: `nodes[0].racks`: one rack is not enough
     --> w.yaml:6:46
      |
    6 |     with: { database: scylla 2025.2, nodes: [{ count: 3, type: i4i.large }] }
      |                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: `hold`: it must be longer than nothing
     --> w.yaml:9:60
      |
    9 |   quiet: { needs: [fill], uses: wait-stable, with: { hold: "${{ inputs.hold }}" } }
      |                                                            ^^^^^^^^^^^^^^^^^^^^
      = help: its value is `inputs.hold`

    error: `measure`: say what to measure
      --> w.yaml:10:18
       |
    10 |   after: { uses: measure, during: quiet }
       |                  ^^^^^^^

    error: there is no step kind `mesure`
      --> w.yaml:11:18
       |
    11 |   other: { uses: mesure, needs: [quite] }
       |                  ^^^^^^
       = help: did you mean `measure`?

    error: there is no step `quite`
      --> w.yaml:11:34
       |
    11 |   other: { uses: mesure, needs: [quite] }
       |                                  ^^^^^
       = help: did you mean `quiet`?
    "#);
}

#[test]
fn a_plugin_that_gives_no_answer_is_named() {
    let broken = |question: &Question| match question.uses.as_str() {
        "wait-stable" => Err("it panicked".into()),
        _ => Ok(vec![]),
    };
    insta::assert_snapshot!(mistakes(WORKFLOW, &Choice::default(), broken), @r#"
    error: the plugin of `wait-stable` cannot check its parameters: it panicked
     --> w.yaml:9:33
      |
    9 |   quiet: { needs: [fill], uses: wait-stable, with: { hold: "${{ inputs.hold }}" } }
      |                                 ^^^^^^^^^^^
    "#);
}

#[test]
fn what_a_plugin_says_cannot_move_the_terminal_nor_flood_it() {
    let hostile = |question: &Question| match question.uses.as_str() {
        "wait-stable" => Ok(vec![problem("/\u{1b}[2J/x", "\u{202e}\u{7}\nerror: all is well"); 200]),
        "measure" => Ok((0..1_000).map(|n| problem("", &format!("{n}{}", "x".repeat(100_000)))).collect()),
        _ => Ok(vec![]),
    };
    let shown = mistakes(WORKFLOW, &Choice::default(), hostile);
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{shown}");
    assert!(shown.contains("error: `\\u{1b}[2J.x`: \\u{202e}\\u{7}\\u{a}error: all is well\n"), "{shown}");
    assert!(shown.len() < 200_000, "{}", shown.len());
}

#[test]
fn plugins_are_asked_for_values_as_run_gets_them() {
    let asked = questions(WORKFLOW);
    let uses: Vec<_> = asked.iter().map(|question| question.uses.as_str()).collect();
    assert_eq!(uses, ["provision", "fill-to-percent", "wait-stable", "measure"]);
    assert_eq!(parsed(&asked[2].parameters), json!({ "hold": 0 }));
    assert_eq!(parsed(&asked[0].about)["grants"]["cloud"], json!({ "types": ["i4i.large"], "machines": 3 }));
    assert_eq!(parsed(&asked[0].about)["during"], json!(null));
    assert_eq!(parsed(&asked[3].about)["during"], json!({ "step": "quiet", "phase": null }));
    assert_eq!(parsed(&asked[3].about)["grants"]["cloud"], json!(null));
}

#[test]
fn values_that_are_not_known_are_left_out_and_not_judged() {
    let asked = &questions(WORKFLOW)[1];
    assert_eq!(parsed(&asked.parameters), json!({ "percent": 90 }));
    assert_eq!(parsed(&asked.about)["unknown"], json!(["/rate"]));
    let plugin = |question: &Question| match question.uses.as_str() {
        "fill-to-percent" => Ok(vec![problem("/rate", "there is none"), problem("/rate/x", "nor this")]),
        _ => Ok(vec![]),
    };
    assert_eq!(mistakes(WORKFLOW, &Choice::default(), plugin), "none");
}

#[test]
fn a_plugin_is_asked_only_for_what_its_schema_takes() {
    let asked = |with: &str| {
        let text = format!("name: a\nsteps:\n  q: {{ uses: wait-stable, with: {with} }}\n");
        questions(&text)
            .into_iter()
            .map(|question| (parsed(&question.parameters), parsed(&question.about)["unknown"].clone()))
            .next()
    };
    // Wrong by its unit, by its type, by its name, or missing.
    assert_eq!(asked("{ hold: 2, note: a }"), Some((json!({ "note": "a" }), json!(["/hold"]))));
    assert_eq!(asked("{ hold: 2m, note: [1] }"), Some((json!({ "hold": 120 }), json!(["/note"]))));
    assert_eq!(asked("{ hold: 2m, node: a }"), Some((json!({ "hold": 120 }), json!(["/node"]))));
    assert_eq!(asked("{ note: a }"), Some((json!({ "note": "a" }), json!(["/hold"]))));
}

#[test]
fn a_step_says_whether_its_values_are_all_known() {
    let plan = plan::build(&Source::new("w.yaml", WORKFLOW), &catalog(), &Choice::default()).unwrap();
    let open: Vec<_> = plan.steps.iter().filter(|step| step.parameters.is_open()).map(|step| &step.id).collect();
    assert_eq!(open, ["fill"]);
    assert_eq!(parsed(&plan.step("fill").unwrap().about())["unknown"], json!([]));
}

#[test]
fn late_values_are_held_against_the_schema() {
    let (_, kind) = &catalog().kinds["fill-to-percent"];
    let misfits = |parameters| plan::misfits(&kind.parameters, &parameters);
    assert_eq!(misfits(json!({ "percent": 90, "rate": 5 })), []);
    assert_eq!(misfits(json!({ "percent": 99 })), [problem("/percent", "must be at most 95")]);
    assert_eq!(misfits(json!({ "percent": 90, "rate": "fast" })), [problem("/rate", "must be a number")]);
    let (_, kind) = &catalog().kinds["load"];
    let keys = json!({ "mix": {}, "keys": "sorted" });
    let words = "must be one of `gaussian`, `sequential`, `uniform`";
    assert_eq!(plan::misfits(&kind.parameters, &keys), [problem("/keys", words)]);
}

#[test]
fn the_backend_must_have_the_granted_types_and_the_database() {
    let text = WORKFLOW.replace("[i4i.large]", "[i4i.large, i4i.lage, m5]").replace("scylla 2025.2", "scylla  2025.3");
    let shown = mistakes(&text, &choice(&["i4i.large", "c6i.large"]), |_| Ok(vec![]));
    insta::assert_snapshot!(shown, @r#"
    error: the backend `sim` has no database `scylla  2025.3`
     --> w.yaml:6:23
      |
    6 |     with: { database: scylla  2025.3, nodes: [{ count: 3, type: i4i.large }] }
      |                       ^^^^^^^^^^^^^^
      = help: did you mean `scylla 2025.2`?

    error: the backend `sim` has no machine type `i4i.lage`
     --> w.yaml:7:43
      |
    7 |     grants: { cloud: { types: [i4i.large, i4i.lage, m5], machines: 3 } }
      |                                           ^^^^^^^^
      = help: did you mean `i4i.large`?

    error: the backend `sim` has no machine type `m5`
     --> w.yaml:7:53
      |
    7 |     grants: { cloud: { types: [i4i.large, i4i.lage, m5], machines: 3 } }
      |                                                     ^^
      = help: it has `i4i.large`, `c6i.large`
    "#);
}

#[test]
fn spaces_in_a_database_do_not_matter() {
    let text = WORKFLOW.replace("scylla 2025.2", "\"  scylla   2025.2 \"");
    assert_eq!(mistakes(&text, &choice(&["i4i.large"]), |_| Ok(vec![])), "none");
}

#[test]
fn a_backend_without_machines_refuses_the_step() {
    let shown = mistakes(WORKFLOW, &Choice { backend: "static".into(), ..choice(&[]) }, |_| Ok(vec![]));
    insta::assert_snapshot!(shown, @r#"
    error: the backend `static` creates no machines, which `provision` asks for
     --> w.yaml:5:11
      |
    5 |     uses: provision
      |           ^^^^^^^^^
      = help: leave this step out, or take another backend
    "#);
}
