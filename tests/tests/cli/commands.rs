//! Each command, with right and with wrong requests.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use wfe_tests::{named, repository};

use crate::place::{Place, QUICK};

#[test]
fn no_arguments() {
    assert_snapshot!(Place::new().seen(&[]), @r#"
    exit code 0
    --- stdout
    wfe runs tests of distributed databases from YAML files.

      wfe run workflows/elasticity.yaml     rehearse the shipped test: hours pass in a second, nothing is spent
      wfe plan workflows/elasticity.yaml    see its steps, what it would create, how long it takes, what it costs
      wfe run workflows/elasticity.yaml --backend local
                                            run it for real, on Apache Cassandra on this machine
      wfe validate FILE                     find all mistakes of a workflow of your own
      wfe plugin list                       see the kinds of step there are

    `wfe --help` lists all commands, `wfe COMMAND --help` explains one.
    "#);
}

#[test]
fn an_unknown_command() {
    assert_snapshot!(Place::new().seen(&["rn"]), @r#"
    exit code 2
    --- stderr
    error: unrecognized subcommand 'rn'

      tip: a similar subcommand exists: 'runs'

    Usage: wfe [COMMAND]

    For more information, try '--help'.
    "#);
}

#[test]
fn validate_tells_all_mistakes_at_once() {
    let place = Place::new();
    place.write("bad.yaml", BAD);
    assert_snapshot!(place.seen(&["validate", "bad.yaml"]), @r#"
    exit code 2
    --- stderr
    error: the default of `rate`: `9850` has no unit, but a rate is wanted here
     --> bad.yaml:3:32
      |
    3 |   rate: { type: rate, default: 9850 }
      |                                ^^^^
      = help: a rate has a unit: /s, /m or /h, such as `300/s` or `10k/s`

    error: there is no step kind `provison`
     --> bad.yaml:6:11
      |
    6 |     uses: provison
      |           ^^^^^^^^
      = help: did you mean `provision`?

    error: there is no step `clutser`
     --> bad.yaml:8:13
      |
    8 |     needs: [clutser]
      |             ^^^^^^^
      = help: did you mean `cluster`?

    error: there is no input `rte`
      --> bad.yaml:11:39
       |
    11 |     with: { mix: { write: 1 }, rate: "${{ inputs.rte }}" }
       |                                       ^^^^^^^^^^^^^^^^^
       = help: did you mean `rate`?

    error: `for`: `5` has no unit, but a duration is wanted here
      --> bad.yaml:15:18
       |
    15 |     with: { for: 5 }
       |                  ^
       = help: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    error: a step has no key `limit`
      --> bad.yaml:16:5
       |
    16 |     limit: { read.p99: <= 10ms }
       |     ^^^^^
       = help: did you mean `limits`?
    "#);
}

const BAD: &str = "\
name: bad
inputs:
  rate: { type: rate, default: 9850 }
steps:
  cluster:
    uses: provison
  traffic:
    needs: [clutser]
    uses: load
    background: true
    with: { mix: { write: 1 }, rate: \"${{ inputs.rte }}\" }
  steady:
    needs: [traffic]
    uses: measure
    with: { for: 5 }
    limit: { read.p99: <= 10ms }
";

#[test]
fn validate_as_json_says_the_same() {
    let place = Place::quick();
    place.write("bad.yaml", BAD);
    let output = place.wfe(&["validate", "--json", "bad.yaml", "quick.yaml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["valid"], false);
    let [bad, quick] = &said["files"].as_array().unwrap()[..] else { panic!("{said:#}") };
    assert_eq!((&bad["file"], &bad["ok"]), (&"bad.yaml".into(), &false.into()), "{said:#}");
    assert_eq!(bad["diagnostics"].as_array().map(Vec::len), Some(6), "{said:#}");
    assert_eq!((&quick["file"], &quick["ok"], &quick["steps"]), (&"quick.yaml".into(), &true.into(), &3.into()));
}

#[test]
fn validate_of_good_files() {
    let place = Place::quick();
    fs::copy(repository().join("workflows/elasticity.yaml"), place.path("elasticity.yaml")).unwrap();
    assert_snapshot!(place.seen(&["validate", "quick.yaml", "elasticity.yaml"]), @r#"
    exit code 0
    --- stdout
    quick.yaml: 3 steps, no mistakes
    elasticity.yaml: 8 steps, no mistakes
    "#);
    assert!(place.runs().is_empty());
}

#[test]
fn files_that_are_no_text() {
    let place = Place::new();
    place.write("latin.yaml", b"name: caf\xe9\nsteps: {}\n");
    place.write("nul.yaml", b"name: a\0b\nsteps: {}\n");
    place.write("empty.yaml", b"");
    let files = ["latin.yaml", "nul.yaml", "empty.yaml", "none.yaml", "."];
    assert_snapshot!(place.seen(&[&["validate"], &files[..]].concat()), @r#"
    exit code 2
    --- stderr
    error: the file is not UTF-8 text: byte 9 belongs to no character
     --> latin.yaml:1:10
      |
    1 | name: caf�
      |          ^

    error: the file holds a NUL byte, which no text file has
     --> nul.yaml:1:8
      |
    1 | name: a\u{0}b
      |        ^^^^^

    error: the file is empty
     --> empty.yaml:1:1
      |
    1 |
      | ^
      = help: a workflow has a `name` and `steps`, each with what it `uses`:
              name: example
              steps:
                cluster: { uses: provision }

    error: none.yaml cannot be read: No such file or directory (os error 2)
    error: . cannot be read: Is a directory (os error 21)
    "#);
}

#[test]
fn run_a_small_workflow() {
    let _named = named();
    assert_snapshot!(Place::quick().seen(&["run", "quick.yaml"]), @r#"
    exit code 0
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    PASS  quick on sim, 0:03:27
    All 2 limits hold. steady: read P99 1.51 ms, write P99 1.81 ms at 5,000/s of 5,000/s asked.

    What the workflow asks for
      Step    Rule                             Result                                 Value  Where
      steady  read.p99 <= 10ms                 ✓ holds                              1.51 ms  whole window; worst from 0:02:47 to 0:02:57: 1.53 ms
      steady  rate >= 99 % of asked (default)  ✓ holds  5,000/s of 5,000/s asked (100.00 %)  whole window

    Measured windows, times in ms
      Window  P90 write  P90 read  P99 write  P99 read  max write  max read  op/s write  op/s read  asked op/s  duration    start  complete
      steady       1.12      0.90       1.81    ✓ 1.51       4.19      33.9       2,500      2,500       5,000   0:01:00  0:02:27  ✓ yes

    Report: [directory]/.wfe/runs/quick-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run quick-[stamp] begins on sim (SIMULATED)
     0:00:00  cluster: started
     0:00:00  cluster: machines
     0:00:00  cluster: asked for 3 x i4i.large as database
     0:00:00  cluster: asked for 1 x c6i.2xlarge as loader
     0:00:49  cluster: cluster
     0:02:24  cluster: scylla 2025.2 runs on 3 nodes
     0:02:24  cluster: succeeded
     0:02:24  traffic: started
     0:02:26  traffic: ready
     0:02:26  steady: started
     0:03:26  steady: limit read.p99 <= 10ms holds: 1.51 ms (whole window; worst from 0:02:47 to 0:02:57: 1.53 ms)
     0:03:26  steady: limit rate >= 99 % of asked (default) holds: 5,000/s of 5,000/s asked (100.00 %) (whole window)
     0:03:26  steady: succeeded
     0:03:26  traffic: asked to stop
     0:03:26  traffic: traffic ended after 310000 operations, 0 errors
     0:03:26  traffic: succeeded
     0:03:26  finally
     0:03:26  machine i-0001 deleted
     0:03:26  machine i-0002 deleted
     0:03:26  machine i-0003 deleted
     0:03:26  machine i-0004 deleted
     0:03:26  verdict: pass
    "#);
}

#[test]
fn run_says_first_and_last_that_it_is_simulated() {
    let stdout = Place::quick().stdout(&["run", "quick.yaml"]);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with("SIMULATED") && lines[lines.len() - 1].starts_with("SIMULATED"), "{stdout}");
}

#[test]
fn run_with_json_prints_the_result_and_nothing_else() {
    let place = Place::quick();
    let printed = place.stdout(&["run", "quick.yaml", "--json"]);
    assert_eq!(printed.trim_end(), place.result().trim_end());
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap()["verdict"], "pass");
}

#[test]
fn a_loader_that_is_lost_before_its_first_interval_is_missing() {
    let place = Place::new();
    place.write("two.yaml", QUICK.replace("rows: 100000", "rows: 100000, loaders: 2"));
    place.write("faults.yaml", "- loader-lost: {load: traffic, loader: 2, at: 1}\n");
    let seen = place.seen(&["run", "two.yaml", "--faults", "faults.yaml", "--json"]);
    assert!(seen.starts_with("exit code 3"), "{seen}");
    let result: Value = serde_json::from_str(&place.result()).unwrap();
    let missing = result["measurements"][0]["missing"].to_string();
    assert!(missing.contains("loader-2: nothing from"), "{missing}");
    assert!(place.runs()[0].join("hdr/traffic.loader-2.hlog").exists(), "a log without intervals says so for ever");
}

#[test]
fn a_log_that_is_missing_is_told_by_the_report() {
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    let run = place.runs().remove(0);
    let told = || fs::read_to_string(run.join("report.md")).unwrap().contains("traffic.loader-1.hlog is missing");
    place.stdout(&["report"]);
    assert!(!told());
    fs::remove_file(run.join("hdr/traffic.loader-1.hlog")).unwrap();
    place.stdout(&["report"]);
    assert!(told());
}

#[test]
fn run_leaves_its_files() {
    let place = Place::quick();
    place.stdout(&["run", "quick.yaml"]);
    let [run] = &place.runs()[..] else { panic!("one run is expected") };
    let mut names: Vec<_> = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let wanted = ["hdr", "journal.jsonl", "junit.xml", "owner.json", "plugins.lock"];
    let made = ["report.html", "report.md", "result.json", "telemetry.jsonl", "workflow.yaml"];
    assert_eq!(names, [wanted, made].concat());
    assert_eq!(fs::read_to_string(run.join("workflow.yaml")).unwrap(), QUICK);
}

#[test]
fn a_broken_limit_is_exit_code_1() {
    let _named = named();
    let place = Place::new();
    place.write("strict.yaml", QUICK.replace("read.p99: <= 10ms", "read.p99: <= 1ms"));
    assert_snapshot!(place.seen(&["run", "strict.yaml"]), @r#"
    exit code 1
    --- stdout
    SIMULATED: all numbers come from a model, nothing ran on real machines
    FAIL  quick on sim, 0:03:27
    `steady` breaks read.p99 <= 1ms: 1.51 ms in whole window; worst from 0:02:47 to 0:02:57: 1.53 ms. steady: read P99 1.51 ms, write P99 1.81 ms at 5,000/s of 5,000/s asked.

    What the workflow asks for
      Step    Rule                             Result                                  Value  Where
      steady  read.p99 <= 1ms                  ✗ broken                              1.51 ms  whole window; worst from 0:02:47 to 0:02:57: 1.53 ms
      steady  rate >= 99 % of asked (default)  ✓ holds   5,000/s of 5,000/s asked (100.00 %)  whole window

    Measured windows, times in ms
      Window  P90 write  P90 read  P99 write  P99 read  max write  max read  op/s write  op/s read  asked op/s  duration    start  complete
      steady       1.12      0.90       1.81    ✗ 1.51       4.19      33.9       2,500      2,500       5,000   0:01:00  0:02:27  ✓ yes

    Report: [directory]/.wfe/runs/quick-[stamp]/report.html
    SIMULATED: all numbers come from a model, nothing ran on real machines
    --- stderr
     0:00:00  run quick-[stamp] begins on sim (SIMULATED)
     0:00:00  cluster: started
     0:00:00  cluster: machines
     0:00:00  cluster: asked for 3 x i4i.large as database
     0:00:00  cluster: asked for 1 x c6i.2xlarge as loader
     0:00:49  cluster: cluster
     0:02:24  cluster: scylla 2025.2 runs on 3 nodes
     0:02:24  cluster: succeeded
     0:02:24  traffic: started
     0:02:26  traffic: ready
     0:02:26  steady: started
     0:03:26  steady: limit read.p99 <= 1ms BROKEN: 1.51 ms (whole window; worst from 0:02:47 to 0:02:57: 1.53 ms)
     0:03:26  steady: limit rate >= 99 % of asked (default) holds: 5,000/s of 5,000/s asked (100.00 %) (whole window)
     0:03:26  steady: succeeded
     0:03:26  traffic: asked to stop
     0:03:26  traffic: traffic ended after 310000 operations, 0 errors
     0:03:26  traffic: succeeded
     0:03:26  finally
     0:03:26  machine i-0001 deleted
     0:03:26  machine i-0002 deleted
     0:03:26  machine i-0003 deleted
     0:03:26  machine i-0004 deleted
     0:03:26  verdict: fail
    "#);
}

#[test]
fn wrong_requests_are_exit_code_2_and_leave_nothing() {
    let _named = named();
    let place = Place::quick();
    let mut all = String::new();
    let wrong: [&[&str]; 14] = [
        &["--set", "rate=5ms"],
        &["--set", "rate"],
        &["--set", "rat=5/s"],
        &["--profile", "fast"],
        &["--deadline", "soon"],
        &["--deadline", "0s"],
        &["--seed", "-1"],
        &["--backend", "moon"],
        &["--backend", "static"],
        &["--contact-point", "127.0.0.1:9042"],
        &["--backend", "local", "--faults", "faults.yaml"],
        &["--faults", "none.yaml"],
        &["--user", "me"],
        &["--keep", "maybe"],
    ];
    for arguments in wrong {
        let seen = place.seen(&[&["run", "quick.yaml"], arguments].concat());
        assert!(seen.starts_with("exit code 2\n--- stderr"), "{arguments:?}: {seen}");
        all += &format!("{}\n{}\n\n", arguments.join(" "), seen.trim_start_matches("exit code 2\n--- stderr\n").trim());
    }
    assert!(place.runs().is_empty());
    assert_snapshot!(all, @r#"
    --set rate=5ms
    error: `rate`: `5ms` is a duration, but a rate is wanted here
     --> command line:1:12
      |
    1 | --set rate=5ms
      |            ^^^
      = help: a rate has a unit: /s, /m or /h, such as `300/s` or `10k/s`

    --set rate
    error: invalid value 'rate' for '--set <INPUT=VALUE>': write INPUT=VALUE

    For more information, try '--help'.

    --set rat=5/s
    error: there is no input `rat`
     --> command line:1:7
      |
    1 | --set rat=5/s
      |       ^^^^^^^
      = help: did you mean `rate`?

    --profile fast
    error: there is no profile `fast`
     --> command line:1:11
      |
    1 | --profile fast
      |           ^^^^
      = help: the profiles are `slow`

    --deadline soon
    error: --deadline: `soon` is not a duration: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`

    --deadline 0s
    error: --deadline: `0s` is no time at all: it must be at least 1ms

    --seed -1
    error: unexpected argument '-1' found

      tip: to pass '-1' as a value, use '-- -1'

    Usage: wfe run [OPTIONS] <FILE>

    For more information, try '--help'.

    --backend moon
    error: invalid value 'moon' for '--backend <BACKEND>'
      [possible values: sim, local, static]

    For more information, try '--help'.

    --backend static
    error: --backend static needs the cluster's address: --contact-point HOST[:PORT]

    --contact-point 127.0.0.1:9042
    error: --contact-point is for --backend static

    --backend local --faults faults.yaml
    error: --faults are for --backend sim; local has real ones

    --faults none.yaml
    error: none.yaml cannot be read: No such file or directory (os error 2)

    --user me
    error: --user is for --backend static

    --keep maybe
    error: invalid value 'maybe' for '--keep <KEEP>'
      [possible values: never, on-failure, always]

    For more information, try '--help'.
    "#);
}

#[test]
fn a_file_in_the_way_of_the_runs() {
    let place = Place::quick();
    place.write("taken", "");
    assert_snapshot!(place.seen(&["run", "quick.yaml", "--runs-dir", "taken"]), @r#"
    exit code 4
    --- stderr
    error: taken: making the directory: File exists (os error 17)
    "#);
    assert_snapshot!(place.seen(&["runs", "--runs-dir", "taken"]), @r#"
    exit code 4
    --- stderr
    error: taken: listing the runs: Not a directory (os error 20)
    "#);
}

#[test]
fn a_contact_point_that_nobody_listens_at() {
    let _named = named();
    let place = Place::new();
    place.write("there.yaml", "name: there\nsteps:\n  quiet: { uses: wait-stable, with: { hold: 1m } }\n");
    let arguments = ["run", "there.yaml", "--backend", "static", "--contact-point", "127.0.0.1:1"];
    assert_snapshot!(place.seen(&arguments), @r#"
    exit code 4
    --- stderr
    error: contact point `127.0.0.1:1` cannot be reached: Connection refused (os error 111); is the database running there?
    "#);
    assert!(place.runs().is_empty(), "{:?}", place.runs());
}

#[test]
fn looking_at_runs() {
    let _named = named();
    let place = Place::quick();
    assert_snapshot!(place.seen(&["runs"]), @r#"
    exit code 0
    --- stdout
    no runs in .wfe/runs; `wfe run FILE` makes one
    "#);
    place.stdout(&["run", "quick.yaml"]);
    assert_snapshot!(place.seen(&["runs"]), @r#"
    exit code 0
    --- stdout
    RUN                         STARTED               BACKEND   STATE
    quick-[stamp]  [wall time]   sim       pass
    "#);
    assert_snapshot!(place.seen(&["show"]), @r#"
    exit code 0
    --- stdout
    run        quick-[stamp]
    workflow   quick (quick.yaml)
    backend    sim (SIMULATED)
    started    [wall time]
    verdict    pass after 0:03:26

    cluster              succeeded  0:02:24
    steady               succeeded  0:01:00
    traffic              succeeded  0:01:02

    load     traffic              deleted
    machine  i-0001               deleted
    machine  i-0002               deleted
    machine  i-0003               deleted
    machine  i-0004               deleted
    files      [directory]/.wfe/runs/quick-[stamp]
    "#);
    assert_snapshot!(place.seen(&["logs", "last", "steady"]), @r#"
    exit code 0
    --- stdout
     0:02:26  steady: started
     0:03:26  steady: limit read.p99 <= 10ms holds: 1.51 ms (whole window; worst from 0:02:47 to 0:02:57: 1.53 ms)
     0:03:26  steady: limit rate >= 99 % of asked (default) holds: 5,000/s of 5,000/s asked (100.00 %) (whole window)
     0:03:26  steady: succeeded
    "#);
    assert_snapshot!(place.seen(&["show", "none"]), @r#"
    exit code 2
    --- stderr
    error: no run `none` in [directory]/.wfe/runs; `wfe runs` lists what there is
    "#);
    place.stdout(&["run", "quick.yaml"]);
    assert_snapshot!(place.seen(&["show", "quick-"]), @r#"
    exit code 2
    --- stderr
    error: `quick-` could be quick-[stamp], quick-[stamp]; write more of it
    "#);
    let shown: Value = serde_json::from_str(&place.stdout(&["show", "--json"])).unwrap();
    assert_eq!(shown["ended"]["verdict"], "pass");
    let listed: Value = serde_json::from_str(&place.stdout(&["runs", "--json"])).unwrap();
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
}

#[test]
fn the_report_is_made_again_from_the_journal_and_the_logs() {
    let place = Place::quick();
    let printed = place.stdout(&["run", "quick.yaml"]);
    let run = place.runs().remove(0);
    let made = ["report.html", "report.md", "result.json", "junit.xml"];
    let read = || made.map(|name| fs::read_to_string(run.join(name)).unwrap());
    let first = read();
    made.iter().for_each(|name| fs::remove_file(run.join(name)).unwrap());
    let again = place.stdout(&["report"]);
    assert_eq!(read(), first);
    let without_path = |text: &str| text.lines().filter(|l| !l.starts_with("Report: ")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_path(&again), without_path(&printed));
}

#[test]
fn plan_of_a_small_workflow() {
    let place = Place::quick();
    assert_snapshot!(place.seen(&["plan", "quick.yaml"]), @r#"
    exit code 0
    --- stdout
    quick: 3 steps; times and costs come from a rehearsal (SIMULATED)

    STEP             USES                  STARTS     TAKES  AFTER
    cluster          provision            0:00:00   0:02:24  
    traffic          load                 0:02:24   0:01:02  cluster, (background)
    steady           measure              0:02:26   0:01:00  traffic

    machines
      1 × c6i.2xlarge
      3 × i4i.large

    takes 0:03:26, costs about 0.05 US dollars
    "#);
    assert_snapshot!(place.seen(&["plan", "--dot", "quick.yaml"]), @r#"
    exit code 0
    --- stdout
    digraph "quick" {
      rankdir=LR;
      node [shape=box, fontname="sans-serif"];
      "cluster" [label="cluster\nprovision"];
      "traffic" [label="traffic\nload", style=dashed];
      "cluster" -> "traffic";
      "steady" [label="steady\nmeasure"];
      "traffic" -> "steady";
    }
    "#);
    assert!(place.runs().is_empty());
}

#[test]
fn schema_is_json_and_knows_the_plugins() {
    let schema = Place::new().stdout(&["schema"]);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["type"], "object");
    assert!(schema.to_string().contains("fill-to-percent"));
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Place::new().stdout(&["completions", shell]);
        assert!(script.contains("wfe") && script.contains("validate") && script.contains("resume"), "{shell}");
    }
}

#[test]
fn plugins() {
    let _named = named();
    let place = Place::new();
    assert_snapshot!(place.seen(&["plugin", "list"]), @r#"
    exit code 0
    --- stdout
    fill-to-percent  Writes until the fullest disk of the cluster is used up to some percentage.
    grow-cluster     Adds nodes to a running cluster.
    load             Sends a load for as long as other steps need it.
    measure          Measures the latency and rate of all loads over a window.
    provision        Creates machines and forms a database cluster of them.
    report           Chooses what the report of the run shows, and in which order.
    wait-stable      Waits until nothing has been going on in the cluster for some time.
    "#);
    assert_snapshot!(place.seen(&["plugin", "inspect", "wait-stable"]), @r#"
    exit code 0
    --- stdout
    plugin      wait-stable
    digest      sha256:[digest]
    size        [size]
    can call    clock/clock.now
                clock/clock.sleep
                cluster/cluster.nodes
                log/log.write
                step/context.progress

    wait-stable: Waits until nothing has been going on in the cluster for some time.
      with:
        hold                duration, above 0, at most 30d, required
                            So long nothing may go on.
        steady              percent, 0 to 100 %, default 0.5 %
                            By so much of the disk the usage of a node may change during the hold time.
        timeout             duration, above 0, at most 30d, optional
                            The longest wait; without it, until the step's own timeout.
        tolerate_lost_nodes boolean, default false
                            Wait on although a node is down: for tests that stop or replace nodes.
      outputs:
        broken             map
                           How often each signal began to break the quiet.
        last_broken_by     text
                           What was the last to break the quiet, and where.
        signals            list of texts
                           The signals that were watched.
        waited             duration
                           How long it took, the hold time included.
    "#);
    assert_snapshot!(place.seen(&["plugin", "inspect", "none"]), @r#"
    exit code 2
    --- stderr
    error: no plugin `none`; built in are fill-to-percent, grow-cluster, load, measure, provision, report, wait-stable; others are given as a path that ends in .wasm
    "#);
    assert_snapshot!(place.seen(&["plugin", "inspect", "none.wasm"]), @r#"
    exit code 2
    --- stderr
    error: plugin `none.wasm`: ./none.wasm cannot be read: No such file or directory (os error 2)
    "#);
    let inspected: Value = serde_json::from_str(&place.stdout(&["plugin", "inspect", "load", "--json"])).unwrap();
    assert_eq!(inspected["kinds"][0]["name"], "load");
}
