//! Schemas as plugins give them: real ones made by `schemars`, and hostile ones.

use std::collections::BTreeMap;

use proptest::prelude::*;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use wfe_core::catalog::{Catalog, Plugin, StepKind};
use wfe_core::diagnostic::Source;
use wfe_core::plan::{self, Choice};
use wfe_core::workflow;

/// A duration as a type of its own, so that its schema is referred to.
#[derive(JsonSchema)]
#[schemars(extend("format" = "duration"))]
#[allow(dead_code, reason = "only its schema is used")]
struct Seconds(f64);

/// How to go on.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[allow(dead_code, reason = "only its schema is used")]
enum Mode {
    /// One by one.
    OneByOne,
    /// All together.
    Together,
}

/// Either a fixed pace or as fast as it goes.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
enum Pace {
    Fixed { rate: Rate, ramp: Option<Seconds> },
    Free {},
}

#[derive(JsonSchema)]
#[schemars(extend("format" = "rate"))]
#[allow(dead_code, reason = "only its schema is used")]
struct Rate(f64);

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct Parameters {
    /// How long.
    hold: Seconds,
    #[schemars(extend("format" = "bytes"))]
    size: Option<u64>,
    #[serde(default)]
    pauses: Vec<Seconds>,
    mode: Option<Mode>,
    pace: Option<Pace>,
    weights: Option<BTreeMap<String, f64>>,
}

fn catalog(parameters: Value) -> Catalog {
    let plugin = Plugin { name: "p".into(), digest: String::new(), imports: Default::default(), size: 0 };
    let outputs = parameters.clone();
    let kind =
        StepKind { name: "p".into(), summary: String::new(), parameters, outputs, background: false, phases: vec![] };
    Catalog { kinds: BTreeMap::from([("p".to_owned(), (plugin.into(), kind))]) }
}

fn with(parameters: &str, schema: Value) -> Result<Value, String> {
    let text = format!("name: a\nsteps:\n  a:\n    uses: p\n    with: {parameters}\n");
    let plan = plan::build(&Source::new("w.yaml", text), &catalog(schema), &Choice::default());
    plan.map(|plan| plan.steps[0].parameters.0.clone()).map_err(|wrong| wrong.to_string())
}

fn real() -> Value {
    schema_for!(Parameters).to_value()
}

#[test]
fn quantities_are_found_behind_references_options_and_choices() {
    let all =
        "{ hold: 1m, size: 1KiB, pauses: [1s, 500ms], mode: together, pace: { fixed: { rate: 10/s, ramp: 2s } } }";
    let expected = json!({
        "hold": 60, "size": 1024, "pauses": [1, 0.5], "mode": "together", "pace": {"fixed": {"rate": 10, "ramp": 2}},
    });
    assert_eq!(with(all, real()), Ok(expected));
    assert_eq!(
        with("{ hold: 0s, size: null, pace: null }", real()),
        Ok(json!({"hold": 0, "size": null, "pace": null}))
    );
    let weights = json!({"hold": 0, "weights": {"a": 1.5}});
    assert_eq!(with("{ hold: 0s, weights: { a: 1.5 } }", real()), Ok(weights));
}

/// Something to do, by its kind.
#[derive(JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case")]
#[allow(dead_code, reason = "only its schema is used")]
enum Action {
    Stop { node: u32 },
    Pause { length: Seconds, mode: Mode },
}

#[test]
fn mistakes_in_choices_are_said_at_their_place() {
    let wrong = |text: &str| with(text, real()).unwrap_err();
    insta::assert_snapshot!(wrong("{ hold: 1m, pauses: [1s, 2], mode: togther, pace: { fixed: { rat: 10/s } }, size: 0.5B }"), @r#"
    error: `pauses[1]`: `2` has no unit, but a duration is wanted here
     --> w.yaml:5:36
      |
    5 |     with: { hold: 1m, pauses: [1s, 2], mode: togther, pace: { fixed: { rat: 10/s } }, size: 0.5B }
      |                                    ^
      = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    error: `mode` cannot be `togther`
     --> w.yaml:5:46
      |
    5 |     with: { hold: 1m, pauses: [1s, 2], mode: togther, pace: { fixed: { rat: 10/s } }, size: 0.5B }
      |                                              ^^^^^^^
      = help: did you mean `together`?

    error: `pace.fixed` has no field `rat`
     --> w.yaml:5:72
      |
    5 | …1s, 2], mode: togther, pace: { fixed: { rat: 10/s } }, size: 0.5B }
      |                                          ^^^
      = help: did you mean `rate`?

    error: `size` must be a whole number, but this is `0.5B`
     --> w.yaml:5:93
      |
    5 | …, pace: { fixed: { rat: 10/s } }, size: 0.5B }
      |                                          ^^^^
    "#);
    insta::assert_snapshot!(wrong("{ hold: 1m, pace: { fixd: { rate: 10/s } } }"), @r#"
    error: `pace` has no field `fixd`
     --> w.yaml:5:31
      |
    5 |     with: { hold: 1m, pace: { fixd: { rate: 10/s } } }
      |                               ^^^^
      = help: did you mean `fixed`?
    "#);
    insta::assert_snapshot!(wrong("{ hold: 1m, pace: fast }"), @r#"
    error: `pace` must be a map, but this is `fast`
     --> w.yaml:5:29
      |
    5 |     with: { hold: 1m, pace: fast }
      |                             ^^^^
    "#);
}

#[test]
fn mistakes_in_tagged_choices_are_said_at_their_place() {
    let wrong = |text: &str| with(&format!("{{ do: [{text}] }}"), actions()).unwrap_err();
    insta::assert_snapshot!(wrong("{ kind: pause, length: 3, mode: together }"), @r#"
    error: `do[0].length`: `3` has no unit, but a duration is wanted here
     --> w.yaml:5:41
      |
    5 |     with: { do: [{ kind: pause, length: 3, mode: together }] }
      |                                         ^
      = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`
    "#);
    insta::assert_snapshot!(wrong("{ kind: pause, length: 3s, mode: apart }"), @r#"
    error: `do[0].mode` cannot be `apart`
     --> w.yaml:5:51
      |
    5 |     with: { do: [{ kind: pause, length: 3s, mode: apart }] }
      |                                                   ^^^^^
      = help: it can be `one-by-one`, `together`
    "#);
    insta::assert_snapshot!(wrong("{ kind: stp, node: 1 }"), @r#"
    error: `do[0].kind` cannot be `stp`
     --> w.yaml:5:26
      |
    5 |     with: { do: [{ kind: stp, node: 1 }] }
      |                          ^^^
      = help: did you mean `stop`?
    "#);
    insta::assert_snapshot!(wrong("{ kind: stop }"), @r#"
    error: `do[0]` needs the field `node`
     --> w.yaml:5:18
      |
    5 |     with: { do: [{ kind: stop }] }
      |                  ^^^^^^^^^^^^^^
    "#);
    insta::assert_snapshot!(wrong("{ kind: stop, node: first }"), @r#"
    error: `do[0].node` must be a whole number, but this is `first`
     --> w.yaml:5:38
      |
    5 |     with: { do: [{ kind: stop, node: first }] }
      |                                      ^^^^^
    "#);
}

fn actions() -> Value {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Actions {
        r#do: Vec<Action>,
    }
    schema_for!(Actions).to_value()
}

#[test]
fn broken_schemas_are_the_plugins_fault() {
    let broken = [
        json!({"type": 5}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"$ref": "http://localhost/x"}),
        json!({"properties": {"a": {"pattern": "("}}}),
        json!({"$ref": "#/$defs/none"}),
        json!("text"),
        json!(null),
    ];
    for schema in broken {
        let wrong = with("{ a: b }", schema.clone()).expect_err("the schema is broken");
        assert!(wrong.contains("the plugin of `p` describes its parameters with a broken schema"), "{schema}: {wrong}");
        assert!(!wrong.contains("root:"), "{wrong}");
    }
}

#[test]
fn schemas_that_refer_to_themselves_end() {
    assert!(with("{ a: b }", json!({"$ref": "#"})).is_err());
    assert!(with("{ a: b }", json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})).is_err());
    let list =
        json!({"properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "additionalProperties": false});
    assert!(with("{ next: { next: { next: null } } }", list.clone()).is_ok());
    assert!(with("{ next: { next: { nxt: null } } }", list).is_err());
}

#[test]
fn a_schema_that_doubles_at_each_step_is_refused() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        definitions.insert(format!("a{level}"), json!({"anyOf": [next.clone(), next]}));
    }
    definitions.insert("a40".into(), json!({"type": "null"}));
    let wrong = with("{ a: b }", json!({"$ref": "#/$defs/a0", "$defs": definitions})).unwrap_err();
    insta::assert_snapshot!(wrong, @r#"
    error: the plugin of `p` describes its parameters with a broken schema
     --> w.yaml:4:11
      |
    4 |     uses: p
      |           ^
      = help: it has more than 1000 forms for one value, or refers to itself
    "#);
}

#[test]
fn open_schemas_take_anything() {
    assert_eq!(with("{ a: [1, b, { c: null }] }", json!({})), Ok(json!({"a": [1, "b", {"c": null}]})));
    assert_eq!(with("{ a: 1 }", json!(true)), Ok(json!({"a": 1})));
}

/// Something like a schema.
fn schemas() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "string",
        "number",
        "object",
        "array",
        "null",
        "duration",
        "rate",
        "#",
        "#/$defs/a",
        "a",
        "b",
    ]);
    let leaf =
        prop_oneof![word.prop_map(Value::from), any::<i8>().prop_map(Value::from), any::<bool>().prop_map(Value::from)];
    let key = prop::sample::select(vec![
        "type",
        "format",
        "properties",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "enum",
        "const",
        "required",
        "additionalProperties",
        "minimum",
        "a",
        "b",
        "prefixItems",
        "not",
    ]);
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_panics(schema in schemas()) {
        let _ = with("{ a: 1, b: [2s, { a: null }] }", schema.clone());
        let _ = workflow::schema_with(&catalog(schema));
    }
}
