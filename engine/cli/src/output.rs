//! Writing to stdout and stderr. A reader that is gone, such as `head`, ends neither the process nor a run.

use std::io::{self, Write};
use std::sync::Mutex;

use crate::spool::{self, Said};

/// Why stdout could not be written, if that happened.
static BROKEN: Mutex<Option<io::Error>> = Mutex::new(None);

/// Notes that a text was or was not written to stdout.
pub fn note(written: io::Result<()>) {
    if let (Err(error), Ok(mut broken)) = (written, BROKEN.lock()) {
        broken.get_or_insert(error);
    }
}

/// Writes a line to stderr, or lets the spool of a run write it.
pub fn say(line: String) {
    if let Err(Said::Line(line)) = spool::say(Said::Line(line)) {
        line_on_stderr(&line);
    }
}

/// Writes a line to stderr.
pub fn line_on_stderr(line: &str) {
    // A reader that is gone loses the line, not the run.
    drop(writeln!(io::stderr(), "{line}"));
}

/// Takes the lines of `tracing`.
pub struct Log;

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        say(String::from_utf8_lossy(line).trim_end().to_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Flushes stdout and answers why it could not be written. That nobody reads any more is no fault.
pub fn finish() -> Option<io::Error> {
    spool::finish();
    note(io::stdout().flush());
    let broken = BROKEN.lock().ok().and_then(|mut broken| broken.take());
    broken.filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

/// Writes a text to stdout.
macro_rules! out {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        crate::spool::finish();
        crate::output::note(write!(std::io::stdout(), $($text)*));
    }};
}

/// Writes a line to stdout.
macro_rules! outln {
    () => {
        out!("\n")
    };
    ($($text:tt)*) => {{
        out!("{}\n", format_args!($($text)*));
    }};
}

/// Writes a line to stderr.
macro_rules! errln {
    ($($text:tt)*) => {
        crate::output::say(format!($($text)*))
    };
}
