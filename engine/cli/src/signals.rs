//! Ctrl-C, SIGTERM and SIGHUP: the first asks for an orderly end with `finally`; only a second Ctrl-C, which a person at a
//! terminal types, ends the process at once.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use wfe_core::event::ResourceState;
use wfe_core::ledger::{MACHINE, Resource};
use wfe_core::state::RunState;
use wfe_core::{Entry, Event};
use wfe_runner::recorder::Reporter;
use wfe_runner::run::Cancel;

use crate::args::runs_option;
use crate::spool;

/// The exit code of a cancelled process.
const CANCELLED: i32 = 130;

/// What a run that ends at once leaves behind.
#[derive(Clone)]
pub struct Left {
    /// What the command has to be told to find the directory of runs.
    option: String,
    /// The command that carries on.
    command: &'static str,
    /// The run's id, and the machines that may exist.
    known: Arc<Mutex<(String, Vec<String>)>>,
}

impl Left {
    /// Of a run in that directory of runs nothing is known yet; `command` carries on with it.
    pub fn new(runs: &Path, command: &'static str) -> Self {
        Self { option: runs_option(runs), command, known: Arc::default() }
    }

    /// Keeps this up to date with the run's events.
    pub fn reporter(&self) -> Box<dyn Reporter> {
        Box::new(self.clone())
    }

    /// What is known of the run already.
    pub fn note(&self, state: &RunState) {
        let machines = state.ledger.left().filter(|resource| resource.kind == MACHINE).map(named).collect();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = (state.started.run.clone(), machines);
    }

    fn tell(&self, simulated: bool) -> String {
        let (run, machines) = &*self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let machines = match &machines[..] {
            _ if simulated => String::new(),
            [] => "; no machine of it is known".to_owned(),
            machines => format!("; these machines may still exist: {}", machines.join(", ")),
        };
        format!("ended at once{machines}\n`wfe {} {run}{}` carries on", self.command, self.option)
    }
}

impl Reporter for Left {
    fn recorded(&mut self, entry: &Entry, state: &RunState) {
        let concerns = match &entry.event {
            Event::CallIntended(id) | Event::CallAnswered { id, .. } => id.name.starts_with("cloud/"),
            Event::RunStarted(_)
            | Event::RunResumed { .. }
            | Event::RetryRequested { .. }
            | Event::CleanUpStarted { .. }
            | Event::Audited { .. }
            | Event::ResourceSettled { .. } => true,
            _ => false,
        };
        if concerns {
            self.note(state);
        }
    }
}

fn named(machine: &Resource) -> String {
    match machine.state {
        ResourceState::Announced => {
            format!("{} {} asked for by `{}`", machine.count, machine.description, machine.step)
        }
        _ => machine.id.clone(),
    }
}

/// Listens for the signals of a run, which is cancelled for that reason already, if there is one.
pub fn listen(simulated: bool, left: Left, already: Option<&str>) -> Cancel {
    let (sender, receiver) = watch::channel(already.map(str::to_owned));
    match [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal) {
        [Ok(interrupt), Ok(terminate), Ok(hangup)] => {
            tokio::spawn(obey([interrupt, terminate, hangup], simulated, left, sender));
        }
        [interrupt, terminate, hangup] => {
            let error = [interrupt.err(), terminate.err(), hangup.err()].into_iter().flatten().next();
            let why = error.map(|error| format!(" ({error})")).unwrap_or_default();
            errln!(
                "notice: this process cannot listen for signals{why}: they end it at once; `wfe resume` carries on then, `wfe cleanup` gives back what is left"
            );
        }
    }
    Cancel::new(receiver)
}

async fn obey(signals: [Signal; 3], simulated: bool, left: Left, ask: watch::Sender<Option<String>>) {
    let [mut interrupt, mut terminate, mut hangup] = signals;
    let leaves = if simulated { "" } else { " and may leave machines behind" };
    let mut asked = false;
    loop {
        let (name, typed) = tokio::select! {
            _ = interrupt.recv() => ("Ctrl-C", true),
            _ = terminate.recv() => ("SIGTERM", false),
            _ = hangup.recv() => ("SIGHUP", false),
        };
        if asked && typed {
            spool::finish_with(format!("{name}: {}", left.tell(simulated)));
            std::process::exit(CANCELLED);
        }
        match std::mem::replace(&mut asked, true) {
            true => errln!("{name}: it is ending in order"),
            false => errln!("{name}: ending in order; another Ctrl-C ends at once{leaves}"),
        }
        ask.send_if_modified(|reason| reason.is_none().then(|| *reason = Some(name.to_owned())).is_some());
    }
}
