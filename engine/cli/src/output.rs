//! Writing to stdout and stderr. A reader that is gone, such as `head`, ends neither the process nor a run.

/// Writes a text to stdout.
macro_rules! out {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        drop(write!(std::io::stdout(), $($text)*));
    }};
}

/// Writes a line to stdout.
macro_rules! outln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        drop(writeln!(std::io::stdout(), $($text)*));
    }};
}

/// Writes a line to stderr.
macro_rules! errln {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        drop(writeln!(std::io::stderr(), $($text)*));
    }};
}
