//! The disk under a run's directory is full while machines run: the run ends in order.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

use std::sync::Arc;

use wfe_core::event::ResourceState;
use wfe_core::verdict::Verdict;
use wfe_runner::journal;
use wfe_runner::run::{Cancel, Run};
use wfe_tests::real::Real;
use wfe_tests::{SmallDisk, cluster, options, planned, rehearsal};

const LONG: &str = concat!(
    "name: long\nsteps:\n",
    cluster!(),
    "  traffic:
    needs: [cluster]
    uses: load
    background: true
    with: { mix: { write: 1, read: 1 }, rate: 5000/s, rows: 100000 }
  steady: { needs: [traffic], uses: measure, with: { for: 12h } }
  longer: { needs: [steady, traffic], uses: measure, with: { for: 300h } }
finally:
  report: { uses: report }
"
);

#[test]
fn a_full_disk_ends_the_run_in_order() {
    let planned = planned(LONG, &[]);
    let place = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&place.path().join("small"), "1400k") else {
        assert!(std::env::var_os("CI").is_none(), "no file system can be mounted here; it needs root");
        eprintln!("not tested: no file system can be mounted here; it needs root");
        return;
    };
    let finished = rehearsal().block_on(async {
        let options = options(&planned, disk.path(), 1);
        let backend = Arc::new(Real::default());
        let run =
            Run::begin(planned.plan.clone(), planned.plugins.clone(), backend, options, Vec::new()).await.unwrap();
        run.carry_out(Cancel::never()).await.unwrap()
    });
    let ended = finished.state.ended.as_ref().unwrap();
    assert_eq!(ended.verdict, Verdict::Infrastructure, "{ended:?}");
    assert_eq!(ended.reasons[0], "it could not go on: the disk under the run's directory is full");
    assert!(finished.state.attempt("report").is_some(), "`finally` ran");
    let machines: Vec<_> = finished.state.ledger.resources().filter(|resource| resource.kind == "machine").collect();
    assert_eq!(machines.len(), 4);
    assert!(machines.iter().all(|machine| machine.state == ResourceState::Deleted), "{machines:?}");
    let written = journal::read(&finished.directory).unwrap();
    assert_eq!((written.entries.len() as u64, written.torn_bytes), (finished.state.next_n, 0));
}
