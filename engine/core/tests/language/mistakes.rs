//! Mistakes as users see them.

use wfe_core::diagnostic::Source;
use wfe_core::plan::{self, Choice};

use crate::catalog::{catalog, mistakes};

#[test]
fn syntax_of_a_rule_with_a_greater_sign() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  m:
    uses: measure
    limits:
      rate: >= 99 % of asked
"#), @r#"
    error: this is not valid YAML: while scanning a block scalar, did not find expected comment or line break
     --> w.yaml:6:13
      |
    6 |       rate: >= 99 % of asked
      |             ^
      = help: a value that begins with `>` needs quotes: ">= 99 %"
    "#);
}

#[test]
fn an_expression_without_quotes_inside_braces() {
    insta::assert_snapshot!(mistakes(r#"name: a
inputs: { rate: { type: rate, default: 1/s } }
steps:
  f: { uses: fill-to-percent, with: { percent: 50 %, rate: ${{ inputs.rate }} } }
"#), @r#"
    error: this is not valid YAML: while parsing a flow mapping, did not find expected ',' or '}'
     --> w.yaml:4:61
      |
    4 |   f: { uses: fill-to-percent, with: { percent: 50 %, rate: ${{ inputs.rate }} } }
      |                                                             ^
      = help: an expression needs quotes here: "${{ inputs.rate }}"
    "#);
}

#[test]
fn tabs_as_indentation() {
    insta::assert_snapshot!(mistakes("name: a\nsteps:\n\tf: { uses: report }\n"), @r#"
    error: this is not valid YAML: tabs disallowed within this context (block indentation)
     --> w.yaml:3:2
      |
    3 |     f: { uses: report }
      |     ^
      = help: indent with spaces: YAML does not take tabs
    "#);
}

#[test]
fn a_key_twice() {
    insta::assert_snapshot!(mistakes(r#"name: a
name: b
steps:
  f: { uses: report }
  f: { uses: report }
"#), @r#"
    error: the key `name` stands here for the second time
     --> w.yaml:2:1
      |
    2 | name: b
      | ^^^^

    error: the key `f` stands here for the second time
     --> w.yaml:5:3
      |
    5 |   f: { uses: report }
      |   ^
    "#);
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(mistakes(r#"name: a
step:
  f: { uses: report }
steps:
  f: { uses: report, need: [], matrix: 3 }
"#), @r#"
    error: a workflow has no key `step`
     --> w.yaml:2:1
      |
    2 | step:
      | ^^^^
      = help: did you mean `steps`?

    error: a step has no key `need`
     --> w.yaml:5:22
      |
    5 |   f: { uses: report, need: [], matrix: 3 }
      |                      ^^^^
      = help: did you mean `needs`?

    error: a step has no key `matrix`
     --> w.yaml:5:32
      |
    5 |   f: { uses: report, need: [], matrix: 3 }
      |                                ^^^^^^
      = help: its keys are `uses`, `with`, `needs`, `background`, `during`, `timeout`, `retry`, `limits`, `grants`
    "#);
}

#[test]
fn nothing_at_all() {
    insta::assert_snapshot!(mistakes("# only a comment\n"), @r#"
    error: the file is empty
     --> w.yaml:1:1
      |
    1 | # only a comment
      | ^
      = help: a workflow has a `name` and `steps`, each with what it `uses`:
              name: example
              steps:
                cluster: { uses: provision }
    "#);
}

#[test]
fn a_list_instead_of_a_map() {
    insta::assert_snapshot!(mistakes(r#"- a
- b
"#), @r#"
    error: a workflow is a map of keys and values, but this is a list
     --> w.yaml:1:1
      |
    1 | - a
      | ^^^
    "#);
}

#[test]
fn missing_name_and_steps() {
    insta::assert_snapshot!(mistakes("description: a\n"), @r#"
    error: the workflow has no `name`
     --> w.yaml:1:1
      |
    1 | description: a
      | ^
      = help: begin with `name: …`

    error: the workflow has no `steps`
     --> w.yaml:1:1
      |
    1 | description: a
      | ^
      = help: a workflow has a `name` and `steps`, each with what it `uses`:
              name: example
              steps:
                cluster: { uses: provision }
    "#);
}

#[test]
fn two_documents() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  f: { uses: report }
---
name: b
"#), @r#"
    error: a second document begins here, but a workflow file holds one
     --> w.yaml:4:1
      |
    4 | ---
      | ^^^
      = help: put the other workflow into a file of its own
    "#);
}

#[test]
fn a_yaml_tag() {
    insta::assert_snapshot!(mistakes(r#"name: !!binary aGk=
steps:
  f: { uses: report }
"#), @r#"
    error: this value has a YAML tag (`!…`), which means nothing in a workflow
     --> w.yaml:1:16
      |
    1 | name: !!binary aGk=
      |                ^^^^
    "#);
}

#[test]
fn a_key_that_is_no_text() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  [a, b]: { uses: report }
"#), @r#"
    error: a key must be a text, but this is a list
     --> w.yaml:3:3
      |
    3 |   [a, b]: { uses: report }
      |   ^^^^^^
    "#);
}

#[test]
fn names_that_cannot_be() {
    insta::assert_snapshot!(mistakes(r#"name: a
inputs:
  1st: { type: string, default: x }
steps:
  engine: { uses: report }
  a b: { uses: report }
"#), @r#"
    error: `1st` cannot be the name of an input
     --> w.yaml:3:3
      |
    3 |   1st: { type: string, default: x }
      |   ^^^
      = help: a name begins with a letter and has at most 64 letters, digits, `-` and `_`

    error: a step cannot have the name `engine`
     --> w.yaml:5:3
      |
    5 |   engine: { uses: report }
      |   ^^^^^^
      = help: `engine` is the name of what the engine does itself

    error: `a b` cannot be the name of a step
     --> w.yaml:6:3
      |
    6 |   a b: { uses: report }
      |   ^^^
      = help: a name begins with a letter and has at most 64 letters, digits, `-` and `_`
    "#);
}

#[test]
fn wrong_types_of_keys() {
    insta::assert_snapshot!(mistakes(r#"name: [a]
steps:
  f:
    uses: report
    background: yes
    needs: { a: 1 }
    retry: { attempts: 0, backoff: 3 }
    timeout: 0s
"#), @r#"
    error: `name` must be a text, but this is a list
     --> w.yaml:1:7
      |
    1 | name: [a]
      |       ^^^

    error: `background` must be `true` or `false`, but this is `yes`
     --> w.yaml:5:17
      |
    5 |     background: yes
      |                 ^^^

    error: `needs` must be a list of texts, but this is a map
     --> w.yaml:6:12
      |
    6 |     needs: { a: 1 }
      |            ^^^^^^^^

    error: `attempts` must be a whole number from 1 to 100, but this is `0`
     --> w.yaml:7:24
      |
    7 |     retry: { attempts: 0, backoff: 3 }
      |                        ^

    error: `backoff`: `3` has no unit, but a duration is wanted here
     --> w.yaml:7:36
      |
    7 |     retry: { attempts: 0, backoff: 3 }
      |                                    ^
      = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    error: `timeout` must be longer than nothing
     --> w.yaml:8:14
      |
    8 |     timeout: 0s
      |              ^^
    "#);
}

#[test]
fn inputs_of_unknown_and_missing_type() {
    insta::assert_snapshot!(mistakes(r#"name: a
inputs:
  one: { type: sting, default: x }
  two: { default: x }
  three: { type: text, default: x }
steps:
  f: { uses: report }
"#), @r#"
    error: there is no type `sting`
     --> w.yaml:3:16
      |
    3 |   one: { type: sting, default: x }
      |                ^^^^^
      = help: did you mean `string`?

    error: the input `two` has no type
     --> w.yaml:4:3
      |
    4 |   two: { default: x }
      |   ^^^
      = help: add `type:` with one of `string`, `integer`, `number`, `boolean`, `duration`, `rate`, `bytes`, `percent`

    error: there is no type `text`
     --> w.yaml:5:18
      |
    5 |   three: { type: text, default: x }
      |                  ^^^^
      = help: the types are `string`, `integer`, `number`, `boolean`, `duration`, `rate`, `bytes`, `percent`
    "#);
}

#[test]
fn inputs_with_wrong_values() {
    insta::assert_snapshot!(mistakes(r#"name: a
inputs:
  one: { type: duration, default: 30 }
  two: { type: integer, default: 2.5 }
  three: { type: boolean, default: yes }
profiles:
  local: { one: 5/s, tow: 3 }
steps:
  f: { uses: report }
"#), @r#"
    error: the default of `one`: `30` has no unit, but a duration is wanted here
     --> w.yaml:3:35
      |
    3 |   one: { type: duration, default: 30 }
      |                                   ^^
      = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    error: the default of `two` must be a whole number, but this is `2.5`
     --> w.yaml:4:34
      |
    4 |   two: { type: integer, default: 2.5 }
      |                                  ^^^

    error: the default of `three` must be a boolean, but this is `yes`
     --> w.yaml:5:36
      |
    5 |   three: { type: boolean, default: yes }
      |                                    ^^^
      = help: write `true` or `false`

    error: `one` of the profile `local`: `5/s` is a rate, but a duration is wanted here
     --> w.yaml:7:17
      |
    7 |   local: { one: 5/s, tow: 3 }
      |                 ^^^
      = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    error: there is no input `tow`
     --> w.yaml:7:22
      |
    7 |   local: { one: 5/s, tow: 3 }
      |                      ^^^
      = help: did you mean `two`?
    "#);
}

#[test]
fn an_input_without_a_value() {
    insta::assert_snapshot!(mistakes(r#"name: a
inputs:
  rate: { type: rate }
steps:
  f: { uses: fill-to-percent, with: { percent: 50 %, rate: "${{ inputs.rate }}" } }
"#), @r#"
    error: the input `rate` has no value
     --> w.yaml:3:3
      |
    3 |   rate: { type: rate }
      |   ^^^^
      = help: give it a `default`, set it in a profile, or on the command line: --set rate=…
    "#);
}

#[test]
fn an_unknown_input() {
    insta::assert_snapshot!(mistakes(r#"name: a
inputs: { hold: { type: duration, default: 1m } }
steps:
  f: { uses: wait-stable, with: { hold: "${{ inputs.hodl }}" } }
"#), @r#"
    error: there is no input `hodl`
     --> w.yaml:4:42
      |
    4 |   f: { uses: wait-stable, with: { hold: "${{ inputs.hodl }}" } }
      |                                          ^^^^^^^^^^^^^^^^^^
      = help: did you mean `hold`?
    "#);
}

#[test]
fn malformed_expressions() {
    insta::assert_snapshot!(mistakes(r#"name: a
inputs: { hold: { type: duration, default: 1m } }
steps:
  f: { uses: wait-stable, with: { hold: "${{ inputs.hold", note: "é ${{ inputs.hold * 2 }}" } }
"#), @r#"
    error: this expression has no end: `}}` is missing
     --> w.yaml:4:42
      |
    4 |   f: { uses: wait-stable, with: { hold: "${{ inputs.hold", note: "é ${{ inputs.hold * 2 }}" } }
      |                                          ^^^^^^^^^^^^^^^
      = help: an expression is `${{ inputs.NAME }}` or `${{ steps.ID.outputs.NAME }}`, nothing else

    error: `inputs.hold * 2` is no expression
     --> w.yaml:4:69
      |
    4 |   f: { uses: wait-stable, with: { hold: "${{ inputs.hold", note: "é ${{ inputs.hold * 2 }}" } }
      |                                                                     ^^^^^^^^^^^^^^^^^^^^^^
      = help: an expression is `${{ inputs.NAME }}` or `${{ steps.ID.outputs.NAME }}`, nothing else
    "#);
}

#[test]
fn an_input_of_another_unit() {
    insta::assert_snapshot!(mistakes(r#"name: a
inputs: { speed: { type: rate, default: 5/s } }
steps:
  f: { uses: wait-stable, with: { hold: "${{ inputs.speed }}" } }
"#), @r#"
    error: `hold`: `5/s` is a rate, but a duration is wanted here (from `inputs.speed`)
     --> w.yaml:4:41
      |
    4 |   f: { uses: wait-stable, with: { hold: "${{ inputs.speed }}" } }
      |                                         ^^^^^^^^^^^^^^^^^^^^^
      = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`
    "#);
}

#[test]
fn an_unknown_kind() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  f: { uses: wait-stabel, with: { hold: 1m } }
  g: { uses: deploy }
  h: { uses: "./extra.wasm#lod" }
"#), @r#"
    error: there is no step kind `wait-stabel`
     --> w.yaml:3:14
      |
    3 |   f: { uses: wait-stabel, with: { hold: 1m } }
      |              ^^^^^^^^^^^
      = help: did you mean `wait-stable`?

    error: there is no step kind `deploy`
     --> w.yaml:4:14
      |
    4 |   g: { uses: deploy }
      |              ^^^^^^
      = help: the kinds are `fill-to-percent`, `grow-cluster`, `load`, `measure`, `provision`, `query`, `report`, `wait-stable`

    error: there is no step kind `./extra.wasm#lod`
     --> w.yaml:5:14
      |
    5 |   h: { uses: "./extra.wasm#lod" }
      |              ^^^^^^^^^^^^^^^^^^
      = help: did you mean `./extra.wasm#load`?
    "#);
}

#[test]
fn no_kind() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  f: { with: { hold: 1m } }
"#), @r#"
    error: the step `f` does not say what it `uses`
     --> w.yaml:3:3
      |
    3 |   f: { with: { hold: 1m } }
      |   ^
      = help: add `uses:` with a kind of step
    "#);
}

#[test]
fn an_unknown_parameter_and_a_missing_one() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  f:
    uses: wait-stable
    with: { hodl: 1m }
  g: { uses: fill-to-percent }
"#), @r#"
    error: `wait-stable` has no parameter `hodl`
     --> w.yaml:5:13
      |
    5 |     with: { hodl: 1m }
      |             ^^^^
      = help: did you mean `hold`?

    error: `fill-to-percent` needs the parameter `percent`
     --> w.yaml:6:14
      |
    6 |   g: { uses: fill-to-percent }
      |              ^^^^^^^^^^^^^^^
      = help: `percent`: How full.
    "#);
}

#[test]
fn a_bare_number_where_a_unit_belongs() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  f:
    uses: fill-to-percent
    with: { percent: 90, rate: 300s, row: 1kb }
"#), @r#"
    error: `percent`: `90` has no unit, but a percentage is wanted here
     --> w.yaml:5:22
      |
    5 |     with: { percent: 90, rate: 300s, row: 1kb }
      |                      ^^
      = help: a percentage has the unit %, such as `90 %`

    error: `rate`: `300s` is a duration, but a rate is wanted here
     --> w.yaml:5:32
      |
    5 |     with: { percent: 90, rate: 300s, row: 1kb }
      |                                ^^^^
      = help: a rate has a unit: /s, /m or /h, such as `300/s` or `10k/s`

    error: `row`: `1kb` has the unknown unit `kb`: it is written `kB`
     --> w.yaml:5:43
      |
    5 |     with: { percent: 90, rate: 300s, row: 1kb }
      |                                           ^^^
      = help: a size has a unit: B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as `96MiB`
    "#);
}

#[test]
fn values_out_of_bounds() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  f: { uses: fill-to-percent, with: { percent: 99 % } }
  g:
    uses: provision
    with: { database: 5.0, nodes: [{ count: 0, type: x, rak: 1 }], loaders: 3 }
    grants: { cloud: { types: [x], machines: 1 } }
"#), @r#"
    error: `percent` must be at most 95 %, but this is `99 %`
     --> w.yaml:3:48
      |
    3 |   f: { uses: fill-to-percent, with: { percent: 99 % } }
      |                                                ^^^^

    error: `database` must be a text, but this is `5.0`
     --> w.yaml:6:23
      |
    6 |     with: { database: 5.0, nodes: [{ count: 0, type: x, rak: 1 }], loaders: 3 }
      |                       ^^^
      = help: put it in quotes: "5.0"

    error: `nodes[0].count` must be at least 1, but this is `0`
     --> w.yaml:6:45
      |
    6 |     with: { database: 5.0, nodes: [{ count: 0, type: x, rak: 1 }], loaders: 3 }
      |                                             ^

    error: `nodes[0]` has no field `rak`
     --> w.yaml:6:57
      |
    6 |     with: { database: 5.0, nodes: [{ count: 0, type: x, rak: 1 }], loaders: 3 }
      |                                                         ^^^
      = help: did you mean `racks`?

    error: `loaders` must be a map, but this is `3`
     --> w.yaml:6:77
      |
    6 | … count: 0, type: x, rak: 1 }], loaders: 3 }
      |                                          ^
    "#);
}

#[test]
fn a_word_that_is_not_among_the_choices() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  f: { uses: load, background: true, with: { mix: { read: one }, keys: gausian } }
  g: { uses: measure, needs: f }
"#), @r#"
    error: `mix.read` must be a number, but this is `one`
     --> w.yaml:3:59
      |
    3 |   f: { uses: load, background: true, with: { mix: { read: one }, keys: gausian } }
      |                                                           ^^^

    error: `keys` cannot be `gausian`
     --> w.yaml:3:72
      |
    3 | …true, with: { mix: { read: one }, keys: gausian } }
      |                                          ^^^^^^^
      = help: did you mean `gaussian`?
    "#);
}

#[test]
fn unknown_steps() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  cluster: { uses: report }
  f: { uses: report, needs: [clutser] }
  g: { uses: measure, during: clustr }
"#), @r#"
    error: there is no step `clutser`
     --> w.yaml:4:30
      |
    4 |   f: { uses: report, needs: [clutser] }
      |                              ^^^^^^^
      = help: did you mean `cluster`?

    error: there is no step `clustr`
     --> w.yaml:5:31
      |
    5 |   g: { uses: measure, during: clustr }
      |                               ^^^^^^
      = help: did you mean `cluster`?
    "#);
}

#[test]
fn a_cycle() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a: { uses: report, needs: [c] }
  b: { uses: report, needs: [a] }
  c: { uses: report, needs: [b] }
  d: { uses: report, needs: [d] }
"#), @r#"
    error: these steps wait for each other: a → c → b → a
     --> w.yaml:3:30
      |
    3 |   a: { uses: report, needs: [c] }
      |                              ^
      = help: take one of these dependencies out

    error: these steps wait for each other: d → d
     --> w.yaml:6:30
      |
    6 |   d: { uses: report, needs: [d] }
      |                              ^
      = help: take one of these dependencies out
    "#);
}

#[test]
fn a_cycle_over_during() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a: { uses: measure, during: b }
  b: { uses: report, needs: [a] }
"#), @r#"
    error: these steps wait for each other: a → b → a
     --> w.yaml:3:31
      |
    3 |   a: { uses: measure, during: b }
      |                               ^
      = help: take one of these dependencies out
    "#);
}

#[test]
fn the_border_of_finally() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a: { uses: report, needs: [z] }
  b: { uses: report, needs: [a, a] }
finally:
  y: { uses: report, needs: [a] }
  z: { uses: report }
"#), @r#"
    error: `a` cannot need `z`, which stands under `finally`
     --> w.yaml:3:30
      |
    3 |   a: { uses: report, needs: [z] }
      |                              ^
      = help: a step under `finally` runs however the other steps ended; it can only wait for steps beside it

    error: `a` is needed here already
     --> w.yaml:4:33
      |
    4 |   b: { uses: report, needs: [a, a] }
      |                                 ^

    error: `y` stands under `finally` and cannot need `a`, which does not
     --> w.yaml:6:30
      |
    6 |   y: { uses: report, needs: [a] }
      |                              ^
      = help: a step under `finally` runs however the other steps ended; it can only wait for steps beside it
    "#);
}

#[test]
fn background_and_kinds() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a: { uses: load, with: { mix: {} } }
  b: { uses: report, background: true }
  c: { uses: load, background: true, with: { mix: {} } }
  d: { uses: measure, needs: [c], during: c }
  e: { uses: load, background: true, with: { mix: {} } }
"#), @r#"
    error: `load` runs until it is stopped, so its step runs in the background
     --> w.yaml:3:14
      |
    3 |   a: { uses: load, with: { mix: {} } }
      |              ^^^^
      = help: add `background: true`

    error: `report` ends by itself and cannot run in the background
     --> w.yaml:4:34
      |
    4 |   b: { uses: report, background: true }
      |                                  ^^^^
      = help: leave `background` out

    error: `during` cannot name `c`, which runs in the background
     --> w.yaml:6:43
      |
    6 |   d: { uses: measure, needs: [c], during: c }
      |                                           ^
      = help: a background step has no end of its own: name the step that acts while it runs

    error: no step needs `e`: it would be stopped as soon as it is ready
     --> w.yaml:7:3
      |
    7 |   e: { uses: load, background: true, with: { mix: {} } }
      |   ^
      = help: add `e` to `needs` of the steps that it should run beside
    "#);
}

#[test]
fn an_unknown_phase() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a:
    uses: grow-cluster
    with: { add: [{ count: 1, type: x }] }
    grants: { cloud: { types: [x], machines: 1 } }
  b: { uses: measure, during: a.jion }
  c: { uses: measure, during: b.x }
"#), @r#"
    error: `a` has no phase `jion`
     --> w.yaml:7:31
      |
    7 |   b: { uses: measure, during: a.jion }
      |                               ^^^^^^
      = help: did you mean `join`?

    error: `b` has no phase `x`
     --> w.yaml:8:31
      |
    8 |   c: { uses: measure, during: b.x }
      |                               ^^^
      = help: it has no phases
    "#);
}

#[test]
fn outputs_that_cannot_be_used() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a:
    uses: provision
    with: { database: x, nodes: [{ count: 1, type: x }] }
    grants: { cloud: { types: [x], machines: 1 } }
  b: { uses: wait-stable, with: { hold: 1m, note: "${{ steps.a.outputs.version }}" } }
  c: { uses: wait-stable, needs: [a], with: { hold: 1m, note: "${{ steps.a.outputs.verison }}" } }
  d: { uses: wait-stable, needs: [a], with: { hold: "${{ steps.a.outputs.throughput }}", note: "${{ steps.x.outputs.y }}" } }
  e: { uses: wait-stable, needs: [a], with: { hold: "${{ steps.a.outputs.version }}s" }, timeout: "${{ steps.a.outputs.t }}" }
finally:
  z: { uses: wait-stable, with: { hold: 1m, note: "${{ steps.a.outputs.version }}" } }
"#), @r#"
    error: `b` uses an output of `a` but does not need it
     --> w.yaml:7:52
      |
    7 |   b: { uses: wait-stable, with: { hold: 1m, note: "${{ steps.a.outputs.version }}" } }
      |                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      = help: add `a` to `needs` of `b`

    error: `provision` has no output `verison`
     --> w.yaml:8:64
      |
    8 |   c: { uses: wait-stable, needs: [a], with: { hold: 1m, note: "${{ steps.a.outputs.verison }}" } }
      |                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      = help: did you mean `version`?

    error: `hold` must be a duration, but `steps.a.outputs.throughput` is a rate
     --> w.yaml:9:53
      |
    9 |   d: { uses: wait-stable, needs: [a], with: { hold: "${{ steps.a.outputs.throughput }}", note: "${{ steps.x.ou…
      |                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: there is no step `x`
     --> w.yaml:9:97
      |
    9 | … steps.a.outputs.throughput }}", note: "${{ steps.x.outputs.y }}" } }
      |                                          ^^^^^^^^^^^^^^^^^^^^^^^^
      = help: the steps are `a`, `b`, `c`, `d`, `e`, `z`

    error: `hold` must be a duration, not a text with an output in it
      --> w.yaml:10:53
       |
    10 |   e: { uses: wait-stable, needs: [a], with: { hold: "${{ steps.a.outputs.version }}s" }, timeout: "${{ steps.a…
       |                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: an output cannot be used in `timeout`, which is checked before anything runs
      --> w.yaml:10:100
       |
    10 | …eps.a.outputs.version }}s" }, timeout: "${{ steps.a.outputs.t }}" }
       |                                          ^^^^^^^^^^^^^^^^^^^^^^^^
       = help: only inputs can stand here

    error: `z` stands under `finally` and can use inputs only: `a` may never have run
      --> w.yaml:12:52
       |
    12 |   z: { uses: wait-stable, with: { hold: 1m, note: "${{ steps.a.outputs.version }}" } }
       |                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn missing_grants() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a: { uses: provision, with: { database: x, nodes: [{ count: 1, type: i4i.large }] } }
  b: { uses: query }
  c: { uses: "./extra.wasm#load", background: true, with: { mix: {} } }
  d: { uses: measure, needs: c }
"#), @r#"
    error: the plugin of `provision` can create or terminate machines, which this step does not grant
     --> w.yaml:3:14
      |
    3 |   a: { uses: provision, with: { database: x, nodes: [{ count: 1, type: i4i.large }] } }
      |              ^^^^^^^^^
      = help: if it may, add to the step:
              grants:
                cloud: { types: [i4i.large], machines: 3 }

    error: the plugin of `query` can run CQL statements, which this step does not grant
     --> w.yaml:4:14
      |
    4 |   b: { uses: query }
      |              ^^^^^
      = help: if it may, add to the step:
              grants:
                cql: { keyspaces: [NAME] }

    error: the plugin of `./extra.wasm#load` can start loads, which this step does not grant
     --> w.yaml:5:14
      |
    5 |   c: { uses: "./extra.wasm#load", background: true, with: { mix: {} } }
      |              ^^^^^^^^^^^^^^^^^^^
      = help: if it may, add to the step:
              grants:
                load: true
    "#);
}

#[test]
fn a_machine_type_that_is_not_granted() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a:
    uses: provision
    with: { database: x, nodes: [{ count: 1, type: i4i.large }] }
    grants: { cloud: { types: [i4i.xlarge], machines: 3 } }
"#), @r#"
    error: the machine type `i4i.large` is not granted to this step
     --> w.yaml:5:52
      |
    5 |     with: { database: x, nodes: [{ count: 1, type: i4i.large }] }
      |                                                    ^^^^^^^^^
      = help: did you mean `i4i.xlarge`?
              If it is right, add it to `cloud.types` of the step's `grants`.
    "#);
}

#[test]
fn malformed_grants() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a: { uses: report, grants: { cloud: { types: [x] }, clod: 1, load: maybe } }
  b: { uses: report, grants: { cloud: { types: [x], machines: many }, cql: {} } }
"#), @r#"
    error: the grant `cloud` lacks `machines`
     --> w.yaml:3:39
      |
    3 |   a: { uses: report, grants: { cloud: { types: [x] }, clod: 1, load: maybe } }
      |                                       ^^^^^^^^^^^^^^
      = help: write `cloud: { types: [i4i.large], machines: 3 }`

    error: `grants` has no key `clod`
     --> w.yaml:3:55
      |
    3 |   a: { uses: report, grants: { cloud: { types: [x] }, clod: 1, load: maybe } }
      |                                                       ^^^^
      = help: did you mean `cloud`?

    error: `load` must be `true` or `false`, but this is `maybe`
     --> w.yaml:3:70
      |
    3 |   a: { uses: report, grants: { cloud: { types: [x] }, clod: 1, load: maybe } }
      |                                                                      ^^^^^

    error: `machines` must be a whole number from 1 to 10000, but this is `many`
     --> w.yaml:4:63
      |
    4 |   b: { uses: report, grants: { cloud: { types: [x], machines: many }, cql: {} } }
      |                                                               ^^^^

    error: the grant `cql` lacks `keyspaces`
     --> w.yaml:4:76
      |
    4 | …d: { types: [x], machines: many }, cql: {} } }
      |                                          ^^
      = help: write `cql: { keyspaces: [shop] }`
    "#);
}

#[test]
fn limits_where_nothing_is_measured() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a: { uses: report, limits: { read.p99: <= 1ms } }
"#), @r#"
    error: `report` measures nothing that limits could hold for
     --> w.yaml:3:30
      |
    3 |   a: { uses: report, limits: { read.p99: <= 1ms } }
      |                              ^^^^^^^^^^^^^^^^^^^^
      = help: give `limits` to a step that measures
    "#);
}

#[test]
fn malformed_limits() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  a:
    uses: measure
    limits:
      raed.p99: <= 10ms
      p99: <= 10ms
      latency: <= 10ms
      read.p99: <= 10
      write.p99: 10ms
      read.max: <= 10/s
      rate: ">= 99 %"
      rate.drop: <= 5/s
      errors: <= few
      any ten: { rate.drop: <= 5 % }
      any 10m: { any 5m: { rate.drop: <= 5 % } }
"#), @r#"
    error: there is no metric `raed.p99`
     --> w.yaml:6:7
      |
    6 |       raed.p99: <= 10ms
      |       ^^^^^^^^
      = help: did you mean `read.p99`?

    error: there is no metric `p99`
     --> w.yaml:7:7
      |
    7 |       p99: <= 10ms
      |       ^^^
      = help: say of which operation: `read.p99` or `write.p99`

    error: there is no metric `latency`
     --> w.yaml:8:7
      |
    8 |       latency: <= 10ms
      |       ^^^^^^^
      = help: metrics are `read.p99` (p50, p90, p95, p99, p999, p9999, max; also `read.service.p99`), `write.p99`, `rate`, `read.rate`, `rate.drop`, `errors` and `read.errors`

    error: `read.p99`: `10` has no unit, but a duration is wanted here
     --> w.yaml:9:17
      |
    9 |       read.p99: <= 10
      |                 ^^^^^
      = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    error: `write.p99`: `10ms` does not say how to compare
      --> w.yaml:10:18
       |
    10 |       write.p99: 10ms
       |                  ^^^^
       = help: a rule begins with `<`, `<=`, `>` or `>=`, such as `<= 10ms`; one with `>` needs quotes in YAML

    error: `read.max`: `10/s` is a rate, but a duration is wanted here
      --> w.yaml:11:17
       |
    11 |       read.max: <= 10/s
       |                 ^^^^^^^
       = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    error: `rate`: `99 %` does not say of what
      --> w.yaml:12:13
       |
    12 |       rate: ">= 99 %"
       |             ^^^^^^^^^
       = help: write `99 % of asked`

    error: `rate.drop`: `5/s` is a rate, but a percentage is wanted here
      --> w.yaml:13:18
       |
    13 |       rate.drop: <= 5/s
       |                  ^^^^^^
       = help: a percentage has the unit %, such as `90 %`

    error: `errors`: `few` is no number of errors
      --> w.yaml:14:15
       |
    14 |       errors: <= few
       |               ^^^^^^
       = help: errors are a count, such as `<= 10`, or a part of all operations, such as `<= 0.1 %`

    error: `any`: `ten` is not a duration
      --> w.yaml:15:7
       |
    15 |       any ten: { rate.drop: <= 5 % }
       |       ^^^^^^^
       = help: write `any 10m: { … }`; a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    error: `any` cannot stand inside of `any`
      --> w.yaml:16:18
       |
    16 |       any 10m: { any 5m: { rate.drop: <= 5 % } }
       |                  ^^^^^^
    "#);
}

#[test]
fn control_characters() {
    insta::assert_snapshot!(mistakes("name: a\u{1b}[31m\nsteps:\n  f: { uses: report }\n"), @r#"
    error: the file holds the control character U+001B, which no text file has
     --> w.yaml:1:8
      |
    1 | name: a\u{1b}[31m
      |        ^^^^^^
    "#);
}

#[test]
fn mistakes_on_the_command_line() {
    let text = "name: a\ninputs: { rate: { type: rate, default: 1/s } }\nprofiles: { local: {} }\nsteps:\n  f: { uses: report }\n";
    let set = [("rate", "300"), ("raet", "1/s")].map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let choice = Choice { profile: Some("locl".into()), backend: "sim".into(), set, ..Choice::default() };
    let wrong = plan::build(&Source::new("w.yaml", text), &catalog(), &choice).unwrap_err();
    insta::assert_snapshot!(wrong, @r#"
    error: there is no profile `locl`
     --> command line:1:11
      |
    1 | --profile locl
      |           ^^^^
      = help: did you mean `local`?

    error: `rate`: `300` has no unit, but a rate is wanted here
     --> command line:1:12
      |
    1 | --set rate=300
      |            ^^^
      = help: a rate has a unit: /s, /m or /h, such as `300/s` or `10k/s`

    error: there is no input `raet`
     --> command line:1:7
      |
    1 | --set raet=1/s
      |       ^^^^^^^^
      = help: did you mean `rate`?
    "#);
}

#[test]
fn five_mistakes_have_five_places() {
    let text = "name: a\nsteps:\n  a: { uses: lod }\n  b:\n    uses: wait-stable\n    needs: [c]\n    with: { hold: 5, hodl: 1m }\n    timeout: 6 hours\n";
    let wrong = plan::build(&Source::new("w.yaml", text), &catalog(), &Choice::default()).unwrap_err();
    let places: Vec<_> =
        wrong.list.iter().map(|one| (one.line, one.column, &text[one.span.start..one.span.end])).collect();
    assert_eq!(places, [(3, 14, "lod"), (6, 13, "c"), (7, 19, "5"), (7, 22, "hodl"), (8, 14, "6 hours")]);
}

#[test]
fn names_that_nobody_can_read() {
    let named = |name: &str| mistakes(&format!("name: {name}\nsteps:\n  r: {{ uses: report }}\n"));
    let names = [r#""""#, r#""  ""#, r#""a\u202eb""#, r#""a\nb""#, &"long".repeat(51)];
    let first = |name: &str| named(name).lines().take(2).collect::<Vec<_>>().join(" ");
    insta::assert_snapshot!(names.map(first).join("\n"), @r"
    error: `name` is empty  --> w.yaml:1:7
    error: `name` is empty  --> w.yaml:1:7
    error: `name` has characters that cannot be seen: `a\u{202e}b`  --> w.yaml:1:7
    error: `name` has characters that cannot be seen: `a\u{a}b`  --> w.yaml:1:7
    error: `name` has more than 200 characters  --> w.yaml:1:7
    ");
}

#[test]
fn outputs_that_there_never_are() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  own: { uses: wait-stable, with: { hold: "${{ steps.own.outputs.waited }}" } }
  early: { uses: wait-stable, with: { hold: "${{ steps.late.outputs.waited }}" } }
  late: { needs: [early], uses: wait-stable, with: { hold: "${{ steps.last.outputs.waited }}" } }
finally:
  last: { uses: wait-stable, with: { hold: 1s } }
"#), @r#"
    error: `own` cannot use its own outputs: there are none before it has run
     --> w.yaml:3:44
      |
    3 |   own: { uses: wait-stable, with: { hold: "${{ steps.own.outputs.waited }}" } }
      |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: `late` needs `early`, so it has no outputs before
     --> w.yaml:4:46
      |
    4 |   early: { uses: wait-stable, with: { hold: "${{ steps.late.outputs.waited }}" } }
      |                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: `last` stands under `finally` and runs after `late`
     --> w.yaml:5:61
      |
    5 |   late: { needs: [early], uses: wait-stable, with: { hold: "${{ steps.last.outputs.waited }}" } }
      |                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn whole_numbers_in_any_notation() {
    let with = |count: &str| {
        format!(
            r#"name: a
steps:
  cluster:
    uses: provision
    with: {{ database: scylla 2025.2, nodes: [{{ count: {count}, type: i4i.large, racks: 1 }}] }}
    grants: {{ cloud: {{ types: [i4i.large], machines: 9 }} }}
"#
        )
    };
    let planned = crate::catalog::plan(&with("3e0")).unwrap();
    let parameters = &planned.steps.iter().next().unwrap().parameters;
    assert!(parameters.resolve(|_| None).unwrap()["nodes"][0]["count"].is_u64());
    let wrong = ["4294967296", "2.5", "1e400"].map(|count| mistakes(&with(count)));
    insta::assert_snapshot!(wrong.join("\n"), @"
    error: `nodes[0].count` must be at most 4294967295, but this is `4294967296`
     --> w.yaml:5:55
      |
    5 |     with: { database: scylla 2025.2, nodes: [{ count: 4294967296, type: i4i.large, racks: 1 }] }
      |                                                       ^^^^^^^^^^

    error: `nodes[0].count` must be a whole number, but this is `2.5`
     --> w.yaml:5:55
      |
    5 |     with: { database: scylla 2025.2, nodes: [{ count: 2.5, type: i4i.large, racks: 1 }] }
      |                                                       ^^^

    error: `nodes[0].count` must be a whole number, but this is `1e400`
     --> w.yaml:5:55
      |
    5 |     with: { database: scylla 2025.2, nodes: [{ count: 1e400, type: i4i.large, racks: 1 }] }
      |                                                       ^^^^^
    ");
}

#[test]
fn a_stretch_without_a_rule() {
    insta::assert_snapshot!(mistakes(r#"name: a
steps:
  m: { uses: measure, with: { for: 1m }, limits: { any 10s: {} } }
"#), @"
    error: `any` has no rule
     --> w.yaml:3:61
      |
    3 |   m: { uses: measure, with: { for: 1m }, limits: { any 10s: {} } }
      |                                                             ^^
      = help: write `any 10s: { read.p99: <= 10ms }`
    ");
}
