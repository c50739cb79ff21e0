//! The disk under a run's directory is full while machines run: the run ends in order.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use wfe_core::backend::{Answered, Backend, Context, Facts, Found, Offers, Run as BackendRun};
use wfe_core::event::ResourceState;
use wfe_core::verdict::Verdict;
use wfe_core::{Call, CallError, Millis};
use wfe_runner::journal;
use wfe_runner::run::{Cancel, Run};
use wfe_sim::{Faults, Sim};
use wfe_tests::{SmallDisk, cluster, options, planned, rehearsal};

/// A simulated world that passes for a real one: its run is durable, and must not just stop.
struct Real(Sim);

impl Backend for Real {
    fn facts(&self) -> Facts {
        Facts { simulated: false, ..self.0.facts() }
    }

    fn offers(&self) -> Offers {
        self.0.offers()
    }

    fn open<'a>(&'a self, run: BackendRun, history: &'a [Answered]) -> BoxFuture<'a, Result<(), CallError>> {
        self.0.open(run, history)
    }

    fn call<'a>(&'a self, context: &'a Context, call: &'a Call) -> BoxFuture<'a, Result<Value, CallError>> {
        self.0.call(context, call)
    }

    fn recorded_until<'a>(&'a self, moment: Millis) -> BoxFuture<'a, ()> {
        self.0.recorded_until(moment)
    }

    fn audit<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Found>, CallError>> {
        self.0.audit()
    }

    fn keep<'a>(&'a self, machines: &'a [String], until: Option<&'a str>) -> BoxFuture<'a, Result<(), CallError>> {
        self.0.keep(machines, until)
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, Result<(), CallError>> {
        self.0.close()
    }
}

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
        let backend = Arc::new(Real(Sim::new(Faults::default())));
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
