//! A fake for what a rehearsal alone never does: its run is durable, and nothing of it may just stop.

use futures_util::future::BoxFuture;
use serde_json::Value;
use wfe_core::backend::{Answered, Backend, Context, Facts, Found, Offers, Run};
use wfe_core::{Call, CallError, Millis};
use wfe_sim::{Faults, Sim};

/// A simulated world that passes for a real one: its run is durable, and must not just stop.
pub struct Real(Sim);

impl Default for Real {
    fn default() -> Self {
        Self(Sim::new(Faults::default()))
    }
}

impl Backend for Real {
    fn facts(&self) -> Facts {
        Facts { simulated: false, ..self.0.facts() }
    }

    fn offers(&self) -> Offers {
        self.0.offers()
    }

    fn open<'a>(&'a self, run: Run, history: &'a [Answered]) -> BoxFuture<'a, Result<(), CallError>> {
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
