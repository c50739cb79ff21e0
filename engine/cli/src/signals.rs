//! Ctrl-C and SIGTERM: the first asks for an orderly end with `finally`, the second ends the process at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use wfe_runner::run::Cancel;

/// The exit code of a cancelled process.
const CANCELLED: i32 = 130;

/// Listens for the signals of a run against a real world. A rehearsal is over before anybody could be asked, and its
/// clock must wait for timers alone, so it keeps the signals' own meaning.
pub fn listen(simulated: bool) -> Cancel {
    if simulated {
        return Cancel::never();
    }
    let (sender, receiver) = watch::channel(None);
    tokio::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        let mut asked = false;
        loop {
            let name = tokio::select! {
                _ = interrupt.recv() => "Ctrl-C",
                _ = terminate.recv() => "SIGTERM",
            };
            if asked {
                errln!("ended at once; `wfe resume` carries on and cleans up");
                std::process::exit(CANCELLED);
            }
            asked = true;
            errln!("{name}: ending in order; once more ends at once and may leave machines behind");
            sender.send_replace(Some(name.to_owned()));
        }
    });
    Cancel::new(receiver)
}
