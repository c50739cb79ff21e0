//! A rehearsal is killed after every entry of its journal, and resumed: same verdict, same numbers, nothing left.
//!
//! A process that is killed leaves its journal and nothing else that counts, and the journal only grows. So the first k
//! lines of a whole run's journal are what a process killed after its k-th entry leaves behind.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use wfe_core::event::ResourceState;
use wfe_runner::{journal, telemetry};
use wfe_tests::{Planned, Trouble, killed, planned, rehearse, rehearse_in, repository, result, resume, resume_in};

#[test]
fn elasticity_killed_at_every_entry() {
    let expected = killed_at_every_entry(&elasticity(&[("steady", "1m")]), &Trouble::default());
    assert_eq!(expected["verdict"], "pass", "{expected:#}");
}

/// Two attempts of two steps, each because a machine was lost; a load beside them; and somebody ends the run while it is
/// measured for the second time.
#[test]
fn retries_faults_and_a_cancelled_load_killed_at_every_entry() {
    let lost = |machine: &str, at: u32| serde_json::json!({ "machine-lost": { "machine": machine, "at": at } });
    let faults = serde_json::from_value(serde_json::json!([lost("i-0002", 20), lost("i-0008", 190)])).unwrap();
    let trouble = Trouble { faults, cancelled_at: Some(600_123) };
    let expected = killed_at_every_entry(&planned(ROUGH, &[]), &trouble);
    assert_eq!(expected["verdict"], "cancelled", "{expected:#}");
    let steps = expected["steps"].as_array().unwrap();
    let standing: Vec<_> = steps.iter().map(|step| (&step["id"], &step["status"], &step["attempts"])).collect();
    let standing = serde_json::to_string(&standing).unwrap().replace("\"", "");
    insta::assert_snapshot!(standing, @"[[cluster,succeeded,2],[traffic,succeeded,1],[grow,succeeded,2],[growth,succeeded,1],[after,failed,1],[quiet,succeeded,1],[report,succeeded,1]]");
}

const ROUGH: &str = "\
name: rough
inputs:
  measured: { type: duration, default: 1h }
steps:
  cluster:
    uses: provision
    with:
      database: scylla 2025.2
      nodes: [{ count: 3, type: i4i.large, racks: 3 }]
      loaders: { count: 1, type: c6i.2xlarge }
    grants: { cloud: { types: [i4i.large, c6i.2xlarge], machines: 8 } }
    retry: { attempts: 2, backoff: 10s }
  traffic:
    needs: [cluster]
    uses: load
    background: true
    with: { mix: { write: 1, read: 1 }, rate: 5000/s, rows: 100000 }
  grow:
    needs: [traffic]
    uses: grow-cluster
    with: { add: [{ count: 1, type: i4i.large, racks: 1 }] }
    grants: { cloud: { types: [i4i.large], machines: 2 } }
    retry: { attempts: 2, backoff: 5s }
  growth:
    needs: [traffic]
    uses: measure
    during: grow
    limits: { read.p99: <= 10ms }
  after:
    needs: [grow, traffic]
    uses: measure
    with: { for: '${{ inputs.measured }}' }
finally:
  quiet: { uses: wait-stable, with: { hold: 10s } }
  report: { needs: [quiet], uses: report }
";

/// A cloud that makes machines twice, answers late or not at all, and lists machines late.
#[test]
fn a_cloud_that_misbehaves_killed_at_every_entry() {
    let create =
        |fault: &str, number: u32| serde_json::json!({ fault: { "call": "cloud/machines.create", "number": number } });
    let mut late = create("answer-late", 2);
    late["answer-late"]["seconds"] = 20.into();
    let listed = serde_json::json!({ "listed-late": { "seconds": 8 } });
    let faults = serde_json::json!([create("applied-twice", 1), late, create("answer-lost", 3), listed]);
    let trouble = Trouble { faults: serde_json::from_value(faults).unwrap(), ..Trouble::default() };
    let expected = killed_at_every_entry(&planned(ROUGH, &[("measured", "1m")]), &trouble);
    assert_eq!(expected["verdict"], "pass", "{expected:#}");
    let machines = expected["resources"].as_array().unwrap().iter().filter(|r| r["kind"] == "machine").count();
    assert_eq!(machines, 8, "three nodes that the cloud made twice, a loader, and a node whose answer was lost, once");
}

/// The run ends seconds after its machines were made, before the cloud lists any of them.
#[test]
fn machines_that_are_not_listed_yet_are_given_back() {
    let faults =
        serde_json::json!([{ "listed-late": { "seconds": 8 } }, { "capacity": { "machine-type": "c6i.2xlarge" } }]);
    let trouble = Trouble { faults: serde_json::from_value(faults).unwrap(), ..Trouble::default() };
    let planned = planned(&ROUGH.replacen("    retry: { attempts: 2, backoff: 10s }\n", "", 1), &[]);
    let expected = killed_at_every_entry(&planned, &trouble);
    assert_eq!(expected["verdict"], "infrastructure", "{expected:#}");
    assert_eq!(expected["resources"].as_array().unwrap().len(), 3, "{expected:#}");
}

/// The clean-up that asks for them again and again goes on where it was.
#[test]
fn a_machine_that_is_not_taken_back_killed_at_every_entry() {
    let faults = serde_json::json!([{ "terminate-fails": { "machine": "i-0002" } }]);
    let trouble = Trouble { faults: serde_json::from_value(faults).unwrap(), cancelled_at: Some(250_000) };
    let expected = killed_at_every_entry(&planned(ROUGH, &[]), &trouble);
    assert_eq!(expected["verdict"], "cancelled", "{expected:#}");
    let states: Vec<&str> =
        expected["resources"].as_array().unwrap().iter().filter_map(|r| r["state"].as_str()).collect();
    assert_eq!(states.iter().filter(|state| **state == "leaked").count(), 1, "{states:?}");
}

/// Kills a rehearsal after every entry of its journal and resumes it; answers the result, which is always the same.
fn killed_at_every_entry(planned: &Planned, trouble: &Trouble) -> Value {
    killed_after(planned, trouble, 7, |_| true)
}

/// Kills a rehearsal after some entries of its journal, counted from 1, and resumes it.
fn killed_after(planned: &Planned, trouble: &Trouble, seed: u64, some: impl Fn(usize) -> bool + Sync) -> Value {
    let runs = tempfile::tempdir().unwrap();
    let whole = rehearse_in(planned, runs.path(), seed, trouble);
    let expected = result(&whole);
    let journal = fs::read(whole.directory.join(journal::FILE)).unwrap();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let next = AtomicUsize::new(1);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                loop {
                    let kept = next.fetch_add(1, Ordering::Relaxed);
                    if kept >= lines.len() {
                        return;
                    }
                    if some(kept) {
                        let directory = runs.path().join(format!("killed-{kept}"));
                        resumed_after(kept, &lines, &directory, planned, trouble, &expected);
                        fs::remove_dir_all(&directory).unwrap();
                    }
                }
            });
        }
    });
    expected
}

fn resumed_after(
    kept: usize,
    lines: &[&[u8]],
    directory: &Path,
    planned: &Planned,
    trouble: &Trouble,
    expected: &Value,
) {
    let mut left: Vec<u8> = lines[..kept].concat();
    if kept.is_multiple_of(3) {
        left.extend(&lines[kept][..lines[kept].len() / 2]);
    }
    killed(directory, &left, planned);
    let resumed = resume_in(planned, directory, trouble).unwrap_or_else(|e| panic!("killed after entry {kept}: {e}"));
    let found = result(&resumed);
    assert!(found == *expected, "killed after entry {kept}:\n{found:#}\ninstead of\n{expected:#}");
    let left =
        resumed.state.ledger.resources().filter(|r| !matches!(r.state, ResourceState::Deleted | ResourceState::Leaked));
    assert_eq!(left.count(), 0, "killed after entry {kept}");
}

/// The shipped test. With a short steady state there is less to calculate and as much to lose.
fn elasticity(set: &[(&str, &str)]) -> Planned {
    let text = fs::read_to_string(repository().join("workflows/elasticity.yaml")).unwrap();
    planned(&text, set)
}

#[test]
fn elasticity_under_other_seeds_killed_here_and_there() {
    let planned = elasticity(&[]);
    for seed in [1, 2, 3] {
        let expected = killed_after(&planned, &Trouble::default(), seed, |kept| kept % 61 == seed as usize);
        assert_eq!(expected["verdict"], "pass", "seed {seed}: {expected:#}");
    }
}

/// The process that carries on is killed too, half way to the end.
#[test]
fn elasticity_killed_twice() {
    let planned = elasticity(&[("steady", "1m")]);
    let runs = tempfile::tempdir().unwrap();
    let whole = rehearse(&planned, runs.path(), 7);
    let expected = result(&whole);
    let journal = fs::read(whole.directory.join(journal::FILE)).unwrap();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    for kept in (5..lines.len()).step_by(151) {
        let once = runs.path().join(format!("once-{kept}"));
        killed(&once, &lines[..kept].concat(), &planned);
        resume(&planned, &once).unwrap();
        let again = fs::read(once.join(journal::FILE)).unwrap();
        let again: Vec<&[u8]> = again.split_inclusive(|byte| *byte == b'\n').collect();
        let half = kept + (again.len() - kept) / 2;
        let twice = runs.path().join(format!("twice-{kept}"));
        resumed_after(half, &again, &twice, &planned, &Trouble::default(), &expected);
    }
}

/// The file that a killed process leaves beside its journal: samples, the last one torn.
#[test]
fn telemetry_of_a_resumed_run_is_that_of_a_whole_one() {
    let planned = planned(QUICK, &[]);
    let runs = tempfile::tempdir().unwrap();
    let whole = rehearse(&planned, runs.path(), 1);
    let expected = fs::read(whole.directory.join(telemetry::FILE)).unwrap();
    let samples: Vec<&[u8]> = expected.split_inclusive(|byte| *byte == b'\n').collect();
    assert!(samples.len() > 1, "{} samples", samples.len());
    let journal = fs::read(whole.directory.join(journal::FILE)).unwrap();
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    for killed_at in 1..lines.len() {
        let now = moment(lines[killed_at - 1]);
        let before = samples.iter().take_while(|sample| moment(sample) < now).count();
        let at_once = samples.iter().take_while(|sample| moment(sample) <= now).count();
        for whole_samples in [before, at_once, samples.len()] {
            let directory = runs.path().join(format!("killed-{killed_at}-{whole_samples}"));
            killed(&directory, &lines[..killed_at].concat(), &planned);
            let torn = &samples[0][..samples[0].len() / 2];
            fs::write(directory.join(telemetry::FILE), [&samples[..whole_samples].concat(), torn].concat()).unwrap();
            resume(&planned, &directory).unwrap();
            let found = fs::read(directory.join(telemetry::FILE)).unwrap();
            let found = String::from_utf8_lossy(&found);
            assert_eq!(found, String::from_utf8_lossy(&expected), "killed after entry {killed_at}, {whole_samples}");
        }
    }
}

/// The moment that a line of the journal or of the telemetry carries.
fn moment(line: &[u8]) -> u64 {
    let line: serde_json::Value = serde_json::from_slice(line).unwrap();
    line["at"].as_u64().unwrap()
}

/// A resumed plugin that gets a number which differs in its last bit asks something else than it did.
#[test]
fn numbers_survive_the_journal_to_the_last_bit() {
    for n in 1..100_000_u32 {
        let number = f64::from(n) / 90_997.0;
        let text = serde_json::to_string(&serde_json::json!(number)).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read.as_f64().map(f64::to_bits), Some(number.to_bits()), "{text}");
    }
}

#[test]
fn a_run_that_is_over_is_not_resumed() {
    let planned = planned(QUICK, &[]);
    let runs = tempfile::tempdir().unwrap();
    let whole = rehearse(&planned, runs.path(), 1);
    let refused = resume(&planned, &whole.directory).err().expect("a run that is over is refused");
    assert_eq!(
        refused,
        "the run cannot be resumed: it is over, with verdict pass; `wfe report` makes its reports again"
    );
}

#[test]
fn a_changed_workflow_is_not_resumed() {
    let runs = tempfile::tempdir().unwrap();
    let original = planned(QUICK, &[]);
    let whole = rehearse(&original, runs.path(), 1);
    let journal = fs::read(whole.directory.join(journal::FILE)).unwrap();
    let half: Vec<u8> = journal.split_inclusive(|byte| *byte == b'\n').take(20).flatten().copied().collect();
    let directory = runs.path().join("changed");
    killed(&directory, &half, &original);
    let changed = planned(&QUICK.replace("hold: 20s", "hold: 30s"), &[]);
    let refused = resume(&changed, &directory).err().expect("another workflow is refused");
    assert_eq!(refused, "the run cannot be resumed: its copy of the workflow was changed since it began");
}

#[test]
fn damage_inside_the_journal_names_its_place() {
    let planned = planned(QUICK, &[]);
    let runs = tempfile::tempdir().unwrap();
    let whole = rehearse(&planned, runs.path(), 1);
    let mut journal = fs::read_to_string(whole.directory.join(journal::FILE)).unwrap();
    let second = journal.find('\n').unwrap() + 1;
    journal.replace_range(second..second + 1, "#");
    let directory = runs.path().join("damaged");
    killed(&directory, journal.as_bytes(), &planned);
    let refused = resume(&planned, &directory).err().expect("a damaged journal is refused");
    assert!(refused.contains(&format!("line 2, byte {second}: not a journal entry")), "{refused}");
}

const QUICK: &str = "\
name: quick
steps:
  cluster:
    uses: provision
    with:
      database: scylla 2025.2
      nodes: [{ count: 3, type: i4i.large, racks: 3 }]
    grants: { cloud: { types: [i4i.large], machines: 3 } }
  quiet:
    needs: [cluster]
    uses: wait-stable
    with: { hold: 20s }
";
