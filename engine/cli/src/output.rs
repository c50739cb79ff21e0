//! Writing to stdout and stderr. A reader that is gone, such as `head`, ends neither the process nor a run.

use std::io;
use std::sync::Mutex;

/// Why stdout could not be written, if that happened.
static BROKEN: Mutex<Option<io::Error>> = Mutex::new(None);

/// Notes that a text was or was not written to stdout.
pub fn note(written: io::Result<()>) {
    if let (Err(error), Ok(mut broken)) = (written, BROKEN.lock()) {
        broken.get_or_insert(error);
    }
}

/// Flushes stdout and answers why it could not be written. That nobody reads any more is no fault.
pub fn finish() -> Option<io::Error> {
    note(io::Write::flush(&mut io::stdout()));
    let broken = BROKEN.lock().ok().and_then(|mut broken| broken.take());
    broken.filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

/// Writes a text to stdout.
macro_rules! out {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        crate::output::note(write!(std::io::stdout(), $($text)*));
    }};
}

/// Writes a line to stdout.
macro_rules! outln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        crate::output::note(writeln!(std::io::stdout(), $($text)*));
    }};
}

/// Writes a line to stderr.
macro_rules! errln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        drop(writeln!(std::io::stderr(), $($text)*));
    }};
}
