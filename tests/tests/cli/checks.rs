//! Values that only a plugin or a backend can refuse: found before anything runs, or at the latest before their step acts.

use insta::assert_snapshot;
use wfe_tests::named;

use crate::place::Place;

const BAD: &str = r#"name: bad
inputs: { hold: { type: duration, default: 2m } }
steps:
  cluster:
    uses: provision
    with:
      database: scylla 2025.3
      nodes: [{ count: 2, type: i4i.large, racks: 3 }]
      loaders: { count: 3, type: c6i.2xlarge }
    grants:
      cloud: { types: [i4i.large, c6i.2xlarge, i4i.lage], machines: 4 }
  fill:
    needs: [cluster]
    uses: fill-to-percent
    with: { percent: 96 %, soft_limit: 97 %, loaders: "${{ steps.cluster.outputs.loaders }}" }
  quiet: { needs: [fill], uses: wait-stable, with: { hold: 0s } }
  hasty: { needs: [fill], uses: wait-stable, with: { hold: 2m, timeout: 1m } }
  traffic:
    needs: [quiet]
    uses: load
    background: true
    with: { mix: {}, consistency: TWO, loaders: "${{ steps.cluster.outputs.loaders }}" }
  steady: { needs: [traffic], uses: measure }
  grow:
    needs: [steady]
    uses: grow-cluster
    with: { add: [{ count: 4, type: i4i.4xlarge }] }
    grants: { cloud: { types: [i4i.4xlarge], machines: 3 } }
  growth: { needs: [traffic], uses: measure, during: grow, with: { for: "${{ inputs.hold }}" } }
finally:
  report: { uses: report, with: { title: Notes } }
"#;

#[test]
fn what_plugins_and_the_backend_refuse_is_told_at_once() {
    let _named = named();
    let place = Place::new();
    place.write("bad.yaml", BAD);
    let validated = place.seen(&["validate", "bad.yaml"]);
    assert_snapshot!(validated, @r#"
    exit code 2
    --- stderr
    error: the backend `sim` has no database `scylla 2025.3`
     --> bad.yaml:7:17
      |
    7 |       database: scylla 2025.3
      |                 ^^^^^^^^^^^^^
      = help: did you mean `scylla 2025.1`?

    error: `nodes`: 5 machines are asked for with the loaders, and `grants.cloud.machines` is 4
     --> bad.yaml:8:14
      |
    8 |       nodes: [{ count: 2, type: i4i.large, racks: 3 }]
      |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: `nodes[0].racks`: 3 racks cannot each have one of 2 machines
     --> bad.yaml:8:51
      |
    8 |       nodes: [{ count: 2, type: i4i.large, racks: 3 }]
      |                                                   ^

    error: the backend `sim` has no machine type `i4i.lage`
      --> bad.yaml:11:48
       |
    11 |       cloud: { types: [i4i.large, c6i.2xlarge, i4i.lage], machines: 4 }
       |                                                ^^^^^^^^
       = help: did you mean `i4i.large`?

    error: `percent`: it must be below `ceiling`, which is 95 %
      --> bad.yaml:15:22
       |
    15 |     with: { percent: 96 %, soft_limit: 97 %, loaders: "${{ steps.cluster.outputs.loaders }}" }
       |                      ^^^^

    error: `soft_limit`: it must be below `percent`, which is 96 %
      --> bad.yaml:15:40
       |
    15 |     with: { percent: 96 %, soft_limit: 97 %, loaders: "${{ steps.cluster.outputs.loaders }}" }
       |                                        ^^^^

    error: `hold` must be more than 0s, but this is `0s`
      --> bad.yaml:16:60
       |
    16 |   quiet: { needs: [fill], uses: wait-stable, with: { hold: 0s } }
       |                                                            ^^

    error: `timeout`: nothing can be quiet for 2 m within 1 m
      --> bad.yaml:17:73
       |
    17 | …wait-stable, with: { hold: 2m, timeout: 1m } }
       |                                          ^^

    error: `mix`: `read`, `write` or both need a weight above 0
      --> bad.yaml:22:18
       |
    22 |     with: { mix: {}, consistency: TWO, loaders: "${{ steps.cluster.outputs.loaders }}" }
       |                  ^^

    error: `consistency` cannot be `TWO`
      --> bad.yaml:22:35
       |
    22 |     with: { mix: {}, consistency: TWO, loaders: "${{ steps.cluster.outputs.loaders }}" }
       |                                   ^^^
       = help: it can be `ONE`, `QUORUM`, `ALL`

    error: `measure`: say what to measure: `with: { for: 30m }` or `during: STEP`
      --> bad.yaml:23:37
       |
    23 |   steady: { needs: [traffic], uses: measure }
       |                                     ^^^^^^^

    error: `add`: 4 machines are asked for, and `grants.cloud.machines` is 3
      --> bad.yaml:27:18
       |
    27 |     with: { add: [{ count: 4, type: i4i.4xlarge }] }
       |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error: `for`: `during` says what is measured: leave one of them out
      --> bad.yaml:29:73
       |
    29 | …es: measure, during: grow, with: { for: "${{ inputs.hold }}" } }
       |                                          ^^^^^^^^^^^^^^^^^^^^
       = help: its value is `inputs.hold`

    error: `title`: it is the heading of `text`, and there is none
      --> bad.yaml:31:42
       |
    31 |   report: { uses: report, with: { title: Notes } }
       |                                          ^^^^^
    "#);
    assert_eq!(place.seen(&["plan", "bad.yaml"]), validated);
    assert_eq!(place.seen(&["run", "bad.yaml"]), validated);
    assert!(place.runs().is_empty());
}

#[test]
fn each_backend_has_its_own_machines_and_databases() {
    let place = Place::quick();
    let seen = |backend| place.seen(&["validate", "--backend", backend, "quick.yaml"]);
    assert_snapshot!(seen("local"), @r#"
    exit code 2
    --- stderr
    error: the backend `local` has no database `scylla 2025.2`
      --> quick.yaml:10:17
       |
    10 |       database: scylla 2025.2
       |                 ^^^^^^^^^^^^^
       = help: it has `cassandra 5.0`
    "#);
    assert_snapshot!(seen("static"), @r#"
    exit code 2
    --- stderr
    error: the backend `static` creates no machines, which `provision` asks for
     --> quick.yaml:8:11
      |
    8 |     uses: provision
      |           ^^^^^^^^^
      = help: leave this step out, or take another backend
    "#);
}

/// A step whose parameter comes from another step: it is judged once it is known, and before the step does anything.
fn late(uses: &str, with: &str) -> String {
    let _named = named();
    let place = Place::new();
    let step = format!("  late:\n    needs: [cluster, quiet]\n    uses: {uses}\n    with: {with}\n");
    let cluster = r#"  cluster:
    uses: provision
    with:
      database: scylla 2025.2
      nodes: [{ count: 3, type: i4i.large, racks: 3 }]
      loaders: { count: 1, type: c6i.2xlarge }
    grants: { cloud: { types: [i4i.large, c6i.2xlarge], machines: 4 } }
  quiet: { needs: [cluster], uses: wait-stable, with: { hold: 1m } }
"#;
    place.write("late.yaml", format!("name: late\nsteps:\n{cluster}{step}"));
    assert_eq!(place.stdout(&["validate", "late.yaml"]), "late.yaml: 3 steps, no mistakes\n");
    let seen = place.seen(&["run", "late.yaml"]);
    assert!(!place.stdout(&["logs", "last", "late"]).contains("cluster"), "the step has asked for something");
    let lines: Vec<_> = seen
        .lines()
        .filter(|line| line.contains("`late`") || line.contains("late: ") || line.starts_with("exit"))
        .collect();
    lines.join("\n")
}

#[test]
fn a_late_value_is_held_against_the_check() {
    assert_snapshot!(late("wait-stable", r#"{ hold: 2h, timeout: "${{ steps.quiet.outputs.waited }}" }"#), @r#"
    exit code 2
    Step `late` failed: `timeout`: nothing can be quiet for 2 h within 1 m.
     0:03:24  late: started
     0:03:24  late: FAILED (request, parameters): `timeout`: nothing can be quiet for 2 h within 1 m
    "#);
}

#[test]
fn a_late_value_is_held_against_the_schema() {
    assert_snapshot!(late("fill-to-percent", r#"{ percent: 50 %, consistency: "${{ steps.cluster.outputs.database }}" }"#), @r#"
    exit code 2
    Step `late` failed: `consistency`: must be one of `ALL`, `ONE`, `QUORUM`.
     0:03:24  late: started
     0:03:24  late: FAILED (request, parameters): `consistency`: must be one of `ALL`, `ONE`, `QUORUM`
    "#);
}
