//! The forms without markup: terminal, Markdown, JSON, JUnit.

use serde_json::Value;
use wfe_report::{json, junit, markdown, result, summary};

use super::fixture;

#[test]
fn the_terminal_shows_what_decided() {
    insta::assert_snapshot!(summary(&fixture::troubled().document(), ".wfe/runs/1/report.html", "wfe cleanup 1"), @r#"
    SIMULATED: all numbers come from a model, nothing ran on real machines
    INFRASTRUCTURE  trouble on sim, 0:01:51
    i-0003 may still exist: the cloud does not answer (and 2 more). steady (incomplete): read P99 15.3 ms, write P99 5.83 ms at 200/s of 200/s asked.
      - i-0003 may still exist: the cloud does not answer
      - step `grow` failed: node-3 did not join
      - `steady` breaks read.p99 <= 10ms

    What the workflow asks for
      Step    Rule                             Result                                                       Value  Where
      steady  read.p99 <= 10ms                 ✗ broken                                                   15.3 ms  whole window; worst from 0:01:00 to 0:01:10: 17.1 ms
      steady  write.p99 <= 10ms                ? undecided                          5.83 ms where it was recorded  loader-2: nothing from 50 s to 80 s
      steady  rate >= 99 % of asked (default)  ? undecided  200/s of 200/s asked (100.00 %) where it was recorded  loader-2: nothing from 50 s to 80 s

    Measured windows, times in ms
      Window  P90 write  P90 read  P99 write  P99 read  max write  max read  op/s write  op/s read  asked op/s  duration    start  complete
      steady       3.38      7.83     ? 5.83    ✗ 15.3       9.10      24.6         100        100         200   0:01:00  0:00:20  ? no

    Disk usage at named moments
      Moment  Time     Node                used GiB  available GiB  total GiB  used %
      final   0:01:20  node-1 (i4i.large)       310            126        436  71.2 %
      final   0:01:20  node-2 (i4i.large)       305            131        436  69.9 %
      final   0:01:20  cluster                  615            257        872  70.5 %

    Still there, for $0.34 an hour
      machine i-0003 (i4i.large) leaked: the cloud does not answer
      machine i-0004 (i4i.large) kept: asked for by --keep
    Give back: wfe cleanup 1

    Report: .wfe/runs/1/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    "#);
}

#[test]
fn markdown_says_the_same() {
    insta::assert_snapshot!(markdown(&fixture::troubled().document()), @r#"
    > **SIMULATED: all numbers come from a model, nothing ran on real machines**

    # trouble

    **INFRASTRUCTURE  trouble on sim, 0:01:51**

    i-0003 may still exist: the cloud does not answer (and 2 more). steady (incomplete): read P99 15.3 ms, write P99 5.83 ms at 200/s of 200/s asked.

    * i-0003 may still exist: the cloud does not answer
    * step \`grow\` failed: node-3 did not join
    * \`steady\` breaks read.p99 &lt;= 10ms

    * **Workflow**: trouble
    * **What for**: Grow a cluster that is 90 % full while a mixed load runs.
    * **Run**: 20250611-093000-elasticity-4f1c
    * **Started**: 2025-06-11T09:30:00Z
    * **Where**: backend sim (simulated: all numbers come from a model)
    * **How long**: 0:01:51 of simulated time, rehearsed in 111 s
    * **Cost**: would have cost 0.02 US dollars, 0.12 machine hours
    * **Command**: wfe run workflows/trouble.yaml --backend sim --seed 42 --set rate=9850/s

    ## Limits

    What the workflow asks for:

    | Step | Rule | Result | Value | Where |
    | --- | --- | --- | ---: | --- |
    | steady | read.p99 &lt;= 10ms | ✗ broken | 15.3 ms | whole window; worst from 0:01:00 to 0:01:10: 17.1 ms |
    | steady | write.p99 &lt;= 10ms | ? undecided | 5.83 ms where it was recorded | loader-2: nothing from 50 s to 80 s |
    | steady | rate &gt;= 99 % of asked (default) | ? undecided | 200/s of 200/s asked (100.00 %) where it was recorded | loader-2: nothing from 50 s to 80 s |

    ## Measurements

    Measured windows, times in ms:

    | Window | P90 write | P90 read | P99 write | P99 read | max write | max read | op/s write | op/s read | asked op/s | duration | start | complete |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
    | steady | 3.38 | 7.83 | ? 5.83 | ✗ 15.3 | 9.10 | 24.6 | 100 | 100 | 200 | 0:01:00 | 0:00:20 | ? no |

    Response times in milliseconds, counted from the intended start of each operation. P90 and P99 are marked where a limit of the step is about them.

    ### steady: 0:01:00 from 0:00:20

    * loader-2: nothing from 50 s to 80 s

    Percentiles of the whole window:

    | Times in ms | P50 | P90 | P95 | P99 | P99.9 | P99.99 | max | count | failed |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | read response | 2.98 | 7.83 | 9.89 | 15.3 | 20.7 | 24.6 | 24.6 | 4,500 | 0 |
    | read service | 2.77 | 7.28 | 9.20 | 14.2 | 19.2 | 22.9 | 22.9 | 4,500 | 0 |
    | write response | 1.70 | 3.38 | 4.10 | 5.83 | 8.40 | 9.10 | 9.10 | 4,500 | 0 |
    | write service | 1.58 | 3.14 | 3.81 | 5.43 | 7.82 | 8.47 | 8.47 | 4,500 | 0 |

    Intervals inside the window:

    | From | to | Operation | P50 | P90 | P99 | max | op/s | failed |
    | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | 0:00:20 | 0:00:30 | read | 3.07 | 7.83 | 12.9 | 18.0 | 100 | 0 |
    | 0:00:20 | 0:00:30 | write | 1.62 | 3.04 | 5.43 | 8.40 | 100 | 0 |
    | 0:00:30 | 0:00:40 | read | 2.93 | 7.68 | 16.1 | 20.7 | 100 | 0 |
    | 0:00:30 | 0:00:40 | write | 1.72 | 3.30 | 5.80 | 9.10 | 100 | 0 |
    | 0:00:40 | 0:00:50 | read | 3.10 | 7.83 | 13.5 | 20.7 | 100 | 0 |
    | 0:00:40 | 0:00:50 | write | 1.76 | 3.45 | 5.62 | 8.91 | 100 | 0 |
    | 0:00:50 | 0:01:00 | read | 2.94 | 7.61 | 12.5 | 24.6 | 50.0 | 0 |
    | 0:00:50 | 0:01:00 | write | 1.69 | 3.32 | 6.27 | 7.29 | 50.0 | 0 |
    | 0:01:00 | 0:01:10 | read | 3.01 | 7.91 | 17.1 | 18.0 | 50.0 | 0 |
    | 0:01:00 | 0:01:10 | write | 1.81 | 3.61 | 5.59 | 6.95 | 50.0 | 0 |
    | 0:01:10 | 0:01:20 | read | 2.98 | 7.67 | 16.7 | 20.9 | 50.0 | 0 |
    | 0:01:10 | 0:01:20 | write | 1.67 | 3.59 | 5.88 | 6.13 | 50.0 | 0 |

    ### Disk usage

    Disk usage at named moments:

    | Moment | Time | Node | used GiB | available GiB | total GiB | used % |
    | --- | --- | --- | ---: | ---: | ---: | ---: |
    | final | 0:01:20 | node-1 (i4i.large) | 310 | 126 | 436 | 71.2 % |
    | final | 0:01:20 | node-2 (i4i.large) | 305 | 131 | 436 | 69.9 % |
    | final | 0:01:20 | cluster | 615 | 257 | 872 | 70.5 % |

    ## Steps

    Steps:

    | Step | Uses | Result | attempts | start | duration | What came out |
    | --- | --- | --- | ---: | ---: | ---: | --- |
    | cluster | provision | ✓ succeeded | 2 | 0:00:00 | 0:00:20 | nodes 2 |
    | traffic | load | ✓ succeeded | 1 | 0:00:20 | 0:01:21 |  |
    | steady | measure | ✓ succeeded | 1 | 0:00:20 | 0:01:00 |  |
    | grow | grow-cluster | ✗ failed | 1 | 0:01:20 | 0:00:20 | node-3 did not join: raft operation \[read\_barrier\] timed out (product, join-failed) |
    | growth | measure | ? skipped | 0 | – | – | \`grow\` failed |

    Attempts and phases:

    | Step | attempt | Phase | start | duration |
    | --- | ---: | --- | ---: | ---: |
    | cluster | 1 | (whole attempt) | 0:00:00 | 0:00:05 |
    | cluster | 2 | (whole attempt) | 0:00:10 | 0:00:10 |

    ## Findings and events

    What was noticed, newest first:

    | Time | From | Severity | Message |
    | --- | --- | --- | --- |
    | 0:01:35 | grow | ✗ error | raft operation \[read\_barrier\] timed out |

    ## Completeness

    What each measurement covers:

    | Window | Complete | Loaders | Counted | Missing | Left out by rule |
    | --- | --- | --- | --- | --- | --- |
    | steady | ✗ no | loader-1, loader-2 | 0:00:20 to 0:01:20 | loader-2: nothing from 50 s to 80 s | – |

    ## Resources and environment

    What the run made, and what became of it:

    | Kind | Id | Type | Made by | from | until | State | Why |
    | --- | --- | --- | --- | ---: | ---: | --- | --- |
    | machine | i-0001 | i4i.large | cluster | 0:00:01 | 0:01:50 | ✓ deleted | – |
    | machine | i-0002 | i4i.large | cluster | 0:00:01 | 0:01:50 | ✓ deleted | – |
    | machine | i-0003 | i4i.large | cluster | 0:00:11 | – | ✗ leaked | the cloud does not answer |
    | machine | i-0004 | i4i.large | cluster | 0:00:11 | – | ? kept | asked for by --keep |

    Plugins:

    | Plugin | SHA-256 of its component | KiB | Can ask for |
    | --- | --- | ---: | --- |
    | grow-cluster | a4ecaeb6b77bba1f000000000000000000000000000000000000000000000000 | 179 | clock, cluster |
    | load | 3b13b09db7d97b78000000000000000000000000000000000000000000000000 | 179 | clock, cluster |
    | measure | fbe055387da1faee000000000000000000000000000000000000000000000000 | 179 | clock, cluster |
    | provision | 714b966c10cd2f42000000000000000000000000000000000000000000000000 | 179 | clock, cluster |

    What each step was allowed to do:

    | Step | Plugin | Granted |
    | --- | --- | --- |
    | cluster | provision | cluster; cloud: 6 machines of i4i.4xlarge, i4i.large |
    | traffic | load | cluster |
    | steady | measure | cluster |
    | grow | grow-cluster | cluster; cloud: 6 machines of i4i.4xlarge, i4i.large |
    | growth | measure | cluster |

    * **wfe**: 0.1.0
    * **Workflow file**: workflows/trouble.yaml (SHA-256 2d9e7be2fea63675000000000000000000000000000000000000000000000000)
    * **Seed**: 42
    * **Keep machines**: never
    * **model**: calibration 2025-06
    * **zone**: us-east-1a
    * **Input database**: scylla 2025.2
    * **Input rate**: 9850 (set on the command line)

    > **SIMULATED: all numbers come from a model, nothing ran on real machines**
    "#);
}

#[test]
fn junit_has_a_case_for_each_step_and_limit() {
    insta::assert_snapshot!(junit(&fixture::troubled().document()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="trouble" tests="8" failures="2" errors="2" skipped="1" time="111.000">
      <testsuite name="steps" timestamp="2025-06-11T09:30:00Z" tests="5" failures="1" errors="0" skipped="1" time="181.000">
        <properties><property name="run" value="20250611-093000-elasticity-4f1c"/><property name="simulated" value="true"/></properties>
        <testcase classname="steps" name="cluster" time="20.000"/>
        <testcase classname="steps" name="traffic" time="81.000"/>
        <testcase classname="steps" name="steady" time="60.000"/>
        <testcase classname="steps" name="grow" time="20.000"><failure message="node-3 did not join: raft operation [read_barrier] timed out (product, join-failed)"/></testcase>
        <testcase classname="steps" name="growth" time="0.000"><skipped message="`grow` failed"/></testcase>
      </testsuite>
      <testsuite name="limits" timestamp="2025-06-11T09:30:00Z" tests="3" failures="1" errors="2" skipped="0" time="0.000">
        <testcase classname="limits.steady" name="read.p99 &lt;= 10ms" time="0.000"><failure message="read.p99 &lt;= 10ms: 15.3 ms, whole window; worst from 0:01:00 to 0:01:10: 17.1 ms"/></testcase>
        <testcase classname="limits.steady" name="write.p99 &lt;= 10ms" time="0.000"><error message="write.p99 &lt;= 10ms: 5.83 ms where it was recorded, loader-2: nothing from 50 s to 80 s"/></testcase>
        <testcase classname="limits.steady" name="rate &gt;= 99 % of asked (default)" time="0.000"><error message="rate &gt;= 99 % of asked (default): 200/s of 200/s asked (100.00 %) where it was recorded, loader-2: nothing from 50 s to 80 s"/></testcase>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn result_has_the_promised_keys() {
    let mut result = result(&fixture::troubled().document());
    // One measurement and two pieces of it show the shape.
    let measurements = result["measurements"].as_array_mut().expect("it is a list");
    assert_eq!(measurements.len(), 2);
    measurements.truncate(1);
    let pieces = measurements[0]["intervals"].as_array_mut().expect("it is a list");
    assert_eq!(pieces.len(), 6);
    pieces.truncate(1);
    insta::assert_snapshot!(serde_json::to_string_pretty(&result).expect("it is JSON"), @r#"
    {
      "run": "20250611-093000-elasticity-4f1c",
      "workflow": "trouble",
      "backend": "sim",
      "simulated": true,
      "partial": false,
      "verdict": "infrastructure",
      "reasons": [
        "i-0003 may still exist: the cloud does not answer",
        "step `grow` failed: node-3 did not join",
        "`steady` breaks read.p99 <= 10ms"
      ],
      "started": "2025-06-11T09:30:00Z",
      "duration_s": 111,
      "wall_s": 111,
      "steps": [
        {
          "id": "cluster",
          "uses": "provision",
          "plugin_digest": "714b966c10cd2f42000000000000000000000000000000000000000000000000",
          "status": "succeeded",
          "attempts": 2,
          "started_s": 0,
          "duration_s": 20,
          "phases": [],
          "outputs": {
            "nodes": 2
          },
          "error": null,
          "skipped": null
        },
        {
          "id": "traffic",
          "uses": "load",
          "plugin_digest": "3b13b09db7d97b78000000000000000000000000000000000000000000000000",
          "status": "succeeded",
          "attempts": 1,
          "started_s": 20,
          "duration_s": 81,
          "phases": [],
          "outputs": {},
          "error": null,
          "skipped": null
        },
        {
          "id": "steady",
          "uses": "measure",
          "plugin_digest": "fbe055387da1faee000000000000000000000000000000000000000000000000",
          "status": "succeeded",
          "attempts": 1,
          "started_s": 20,
          "duration_s": 60,
          "phases": [],
          "outputs": {},
          "error": null,
          "skipped": null
        },
        {
          "id": "grow",
          "uses": "grow-cluster",
          "plugin_digest": "a4ecaeb6b77bba1f000000000000000000000000000000000000000000000000",
          "status": "failed",
          "attempts": 1,
          "started_s": 80,
          "duration_s": 20,
          "phases": [],
          "outputs": {},
          "error": {
            "kind": "product",
            "code": "join-failed",
            "message": "node-3 did not join: raft operation [read_barrier] timed out"
          },
          "skipped": null
        },
        {
          "id": "growth",
          "uses": "measure",
          "plugin_digest": "fbe055387da1faee000000000000000000000000000000000000000000000000",
          "status": "skipped",
          "attempts": 0,
          "started_s": null,
          "duration_s": null,
          "phases": [],
          "outputs": {},
          "error": null,
          "skipped": "`grow` failed"
        }
      ],
      "measurements": [
        {
          "step": "steady",
          "window": {
            "from_s": 20,
            "to_s": 80
          },
          "operation": "read",
          "response_ms": {
            "p50": 2.975743,
            "p90": 7.827455,
            "p95": 9.887743,
            "p99": 15.253503,
            "p999": 20.676607,
            "p9999": 24.647971,
            "max": 24.647971
          },
          "service_ms": {
            "p50": 2.766847,
            "p90": 7.282687,
            "p95": 9.199615,
            "p99": 14.180351,
            "p999": 19.234815,
            "p9999": 22.922613,
            "max": 22.922613
          },
          "count": 4500,
          "rate": 100,
          "asked_rate": 100,
          "errors": {},
          "complete": false,
          "missing": [
            "loader-2: nothing from 50 s to 80 s"
          ],
          "intervals": [
            {
              "from_s": 20,
              "to_s": 30,
              "count": 1000,
              "rate": 100,
              "asked_rate": 100,
              "errors": 0,
              "response_ms": {
                "p50": 3.065855,
                "p90": 7.831551,
                "p95": 9.437183,
                "p99": 12.943359,
                "p999": 17.970787,
                "p9999": 17.970787,
                "max": 17.970787
              }
            }
          ]
        }
      ],
      "disk": [
        {
          "moment": "final",
          "at_s": 80,
          "node": "node-1",
          "used_bytes": 333323821907,
          "total_bytes": 468151435264
        },
        {
          "moment": "final",
          "at_s": 80,
          "node": "node-2",
          "used_bytes": 327237853249,
          "total_bytes": 468151435264
        }
      ],
      "limits": [
        {
          "step": "steady",
          "rule": "read.p99 <= 10ms",
          "value": "15.3 ms",
          "holds": false,
          "where": "whole window; worst from 0:01:00 to 0:01:10: 17.1 ms"
        },
        {
          "step": "steady",
          "rule": "write.p99 <= 10ms",
          "value": "5.83 ms where it was recorded",
          "holds": null,
          "where": "loader-2: nothing from 50 s to 80 s"
        },
        {
          "step": "steady",
          "rule": "rate >= 99 % of asked (default)",
          "value": "200/s of 200/s asked (100.00 %) where it was recorded",
          "holds": null,
          "where": "loader-2: nothing from 50 s to 80 s"
        }
      ],
      "resources": [
        {
          "kind": "machine",
          "id": "i-0001",
          "state": "deleted"
        },
        {
          "kind": "machine",
          "id": "i-0002",
          "state": "deleted"
        },
        {
          "kind": "machine",
          "id": "i-0003",
          "state": "leaked"
        },
        {
          "kind": "machine",
          "id": "i-0004",
          "state": "kept"
        }
      ],
      "cost": {
        "usd": 0.02,
        "machine_hours": 0.116
      }
    }
    "#);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let (one, two) = (fixture::elasticity().document(), fixture::elasticity().document());
    assert_eq!(json(&one), json(&two));
    assert_eq!(wfe_report::html(&one), wfe_report::html(&two));
    assert!(serde_json::from_str::<Value>(&json(&one)).is_ok());
}

#[test]
fn a_pass_names_its_numbers() {
    let document = fixture::elasticity().document();
    insta::assert_snapshot!(document.headline, @"All 7 limits hold. steady: read P99 3.52 ms, write P99 2.24 ms at 9,846/s of 9,850/s asked; growth: read P99 5.44 ms, write P99 3.24 ms at 9,846/s of 9,850/s asked.");
    let text = junit(&document);
    assert!(text.contains("failures=\"0\" errors=\"0\" skipped=\"0\"") && !text.contains("<failure"));
}

#[test]
fn foreign_text_is_escaped_everywhere() {
    let document = fixture::hostile().document();
    let (xml, md, terminal) = (junit(&document), markdown(&document), summary(&document, "x", "y"));
    assert!(!xml.contains("<script") && !xml.contains('\u{1b}'));
    assert!(!md.contains("<script") && !md.contains('\u{1b}'));
    assert!(!terminal.contains('\u{1b}'), "nothing foreign steers the terminal");
    let table_rows = md.lines().filter(|line| line.starts_with('|')).collect::<Vec<_>>();
    assert!(!table_rows.is_empty());
    assert!(xml.lines().filter(|line| line.contains("<testcase")).count() >= 2);
}

#[test]
fn a_run_that_has_not_ended_is_inconclusive() {
    let mut run = fixture::elasticity();
    run.entries.pop();
    let document = run.document();
    let result = result(&document);
    assert_eq!((&result["verdict"], &result["partial"]), (&Value::from("inconclusive"), &Value::from(true)));
    assert!(summary(&document, "x", "y").contains("NOT ENDED"));
    assert!(junit(&document).contains("<error message=\"the run has not ended"), "no server shows it green");
}

#[test]
fn simulated_stands_at_the_top_and_at_the_end() {
    let text = summary(&fixture::elasticity().document(), "x", "y");
    assert!(text.starts_with("SIMULATED") && text.lines().last().is_some_and(|line| line.starts_with("SIMULATED")));
}
