//! Ctrl-C, SIGTERM and SIGHUP: the first asks for an orderly end with `finally`, the second ends the process at once.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use wfe_core::ledger::MACHINE;
use wfe_core::state::RunState;
use wfe_core::{Entry, Event};
use wfe_runner::recorder::Reporter;
use wfe_runner::run::Cancel;

use crate::args::runs_option;

/// The exit code of a cancelled process.
const CANCELLED: i32 = 130;

/// What a run that ends at once leaves behind.
#[derive(Clone)]
pub struct Left {
    /// What `wfe resume` has to be told to find the directory of runs.
    option: String,
    /// The run's id, and the machines that may exist.
    known: Arc<Mutex<(String, Vec<String>)>>,
}

impl Left {
    /// Of a run in that directory of runs nothing is known yet.
    pub fn new(runs: &Path) -> Self {
        Self { option: runs_option(runs), known: Arc::default() }
    }

    /// Keeps this up to date with the run's events.
    pub fn reporter(&self) -> Box<dyn Reporter> {
        Box::new(self.clone())
    }

    fn tell(&self) -> String {
        let (run, machines) = &*self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let machines = match &machines[..] {
            [] => "no machine of it is known".to_owned(),
            machines => format!("these machines may still exist: {}", machines.join(", ")),
        };
        format!("ended at once; {machines}\n`wfe resume {run}{}` carries on with the clean-up", self.option)
    }
}

impl Reporter for Left {
    fn recorded(&mut self, entry: &Entry, state: &RunState) {
        let concerns = match &entry.event {
            Event::CallAnswered { id, .. } => id.name.starts_with("cloud/"),
            Event::RunStarted(_) | Event::RunResumed { .. } | Event::ResourceSettled { .. } => true,
            _ => false,
        };
        if concerns {
            let live = state.ledger.live(MACHINE).map(|machine| machine.id.clone()).collect();
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = (state.started.run.clone(), live);
        }
    }
}

/// Listens for the signals of a run against a real world. A rehearsal is over before anybody could be asked, and its
/// clock must wait for timers alone, so it keeps the signals' own meaning.
pub fn listen(simulated: bool, left: Left) -> Cancel {
    if simulated {
        return Cancel::never();
    }
    let (sender, receiver) = watch::channel(None);
    tokio::spawn(async move {
        let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else { return };
        let mut asked = false;
        loop {
            let name = tokio::select! {
                _ = interrupt.recv() => "Ctrl-C",
                _ = terminate.recv() => "SIGTERM",
                _ = hangup.recv() => "SIGHUP",
            };
            if asked {
                errln!("{name}: {}", left.tell());
                std::process::exit(CANCELLED);
            }
            asked = true;
            errln!("{name}: ending in order; once more ends at once and may leave machines behind");
            sender.send_replace(Some(name.to_owned()));
        }
    });
    Cancel::new(receiver)
}
