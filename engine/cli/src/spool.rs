//! Lines for a terminal that may be slow, stopped or gone: a thread of their own shows them, and a run never waits for it.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wfe_core::Entry;

/// Lines and entries that wait to be shown; what comes beyond that is counted and left out.
const WAITING: usize = 1_000;
/// How long what waits may take to be shown at the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What can be shown.
pub enum Said {
    /// A line of the process's own.
    Line(String),
    /// An event of the run.
    Entry(Box<Entry>),
}

/// Shows what is said.
pub trait View: Send + 'static {
    /// Shows a line.
    fn line(&mut self, line: &str);
    /// Shows an event.
    fn entry(&mut self, entry: &Entry);
}

/// A thread that shows things.
pub struct Spool {
    queue: SyncSender<Said>,
    left_out: u64,
    /// Lines that are shown after everything else, however much waits.
    last: Arc<Mutex<Vec<String>>>,
    /// Closed when everything is shown.
    shown: Receiver<()>,
}

impl Spool {
    /// Begins to show things.
    pub fn start(mut view: impl View) -> Self {
        let (queue, said) = sync_channel(WAITING);
        let (done, shown) = sync_channel(0);
        let last = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&last);
        std::thread::spawn(move || {
            let _done: SyncSender<()> = done;
            said.into_iter().for_each(|said| match said {
                Said::Line(line) => view.line(&line),
                Said::Entry(entry) => view.entry(&entry),
            });
            lines.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|line| view.line(line));
        });
        Self { queue, left_out: 0, last, shown }
    }

    /// Shows something later, or leaves it out.
    pub fn say(&mut self, said: Said) {
        if self.left_out > 0 {
            match self.queue.try_send(Said::Line(self.notice())) {
                Ok(()) => self.left_out = 0,
                Err(_) => return self.left_out += 1,
            }
        }
        if let Err(TrySendError::Full(_)) = self.queue.try_send(said) {
            self.left_out += 1;
        }
    }

    fn notice(&self) -> String {
        format!("notice: {} lines were not shown; `wfe logs` has them", self.left_out)
    }

    /// Waits until everything is shown, these words last, but not for ever.
    pub fn finish(self, words: Option<String>) {
        let notice = (self.left_out > 0).then(|| self.notice());
        self.last.lock().unwrap_or_else(PoisonError::into_inner).extend(notice.into_iter().chain(words));
        drop(self.queue);
        // It is closed and nothing comes, or the time is over.
        let _ = self.shown.recv_timeout(PATIENCE);
    }
}

/// The spool of this process, while a run against a real world goes on.
static SPOOL: Mutex<Option<Spool>> = Mutex::new(None);

/// From now on everything for the terminal goes through a spool.
pub fn install(view: impl View) {
    finish();
    *SPOOL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Spool::start(view));
}

/// Gives something to the spool; gives it back when there is none.
pub fn say(said: Said) -> Result<(), Said> {
    match &mut *SPOOL.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(spool) => {
            spool.say(said);
            Ok(())
        }
        None => Err(said),
    }
}

/// Shows what waits, and goes on without a spool.
pub fn finish() {
    let spool = SPOOL.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(spool) = spool {
        spool.finish(None);
    }
}

/// Shows what waits and then a line, which is the last word of this process.
pub fn finish_with(line: String) {
    let spool = SPOOL.lock().unwrap_or_else(PoisonError::into_inner).take();
    match spool {
        Some(spool) => spool.finish(Some(line)),
        None => errln!("{line}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    use super::*;

    /// A terminal that is stopped until it is let go.
    struct Stopped {
        go: Option<Receiver<()>>,
        shown: Arc<Mutex<Vec<String>>>,
        lines: Arc<AtomicUsize>,
    }

    impl View for Stopped {
        fn line(&mut self, line: &str) {
            if let Some(go) = self.go.take() {
                let _ = go.recv();
            }
            self.lines.fetch_add(1, Ordering::SeqCst);
            self.shown.lock().unwrap().push(line.to_owned());
        }

        fn entry(&mut self, _: &Entry) {}
    }

    #[test]
    fn nobody_waits_for_a_stopped_terminal() {
        let (let_go, go) = sync_channel(1);
        let (shown, lines) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
        let mut spool = Spool::start(Stopped { go: Some(go), shown: Arc::clone(&shown), lines: lines.clone() });
        for n in 0..3 * WAITING {
            spool.say(Said::Line(n.to_string()));
        }
        assert_eq!(lines.load(Ordering::SeqCst), 0, "nothing is shown yet");
        let_go.send(()).unwrap();
        let begun = now();
        while lines.load(Ordering::SeqCst) < WAITING {
            assert!(begun.elapsed() < Duration::from_secs(60), "the terminal shows nothing more");
            std::thread::yield_now();
        }
        spool.finish(Some("the last".into()));
        let shown = shown.lock().unwrap();
        assert_eq!(shown.last().unwrap(), "the last");
        let numbers = shown.iter().filter(|line| line.parse::<usize>().is_ok()).count();
        // The terminal may have taken its first line late, when others had been left out already.
        let notices = shown.iter().filter_map(|line| line.strip_prefix("notice: ")?.split(' ').next());
        let left_out: usize = notices.map(|count| count.parse::<usize>().unwrap()).sum();
        assert_eq!(numbers + left_out, 3 * WAITING, "{shown:?}");
    }

    #[test]
    fn an_end_waits_a_while_and_not_for_ever() {
        let (_let_go, go) = sync_channel(1);
        let mut spool = Spool::start(Stopped { go: Some(go), shown: Arc::default(), lines: Arc::default() });
        spool.say(Said::Line("never shown".into()));
        let begun = now();
        spool.finish(None);
        assert!(begun.elapsed() >= PATIENCE, "what waits may be shown for a while");
    }

    #[allow(clippy::disallowed_methods, reason = "it is about a thread, which knows of no run")]
    fn now() -> Instant {
        Instant::now()
    }
}
