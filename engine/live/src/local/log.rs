//! What a node wrote into its `system.log`.

use std::fs;
use std::path::Path;

/// One event of a log; lines that continue it are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `info`, `warn` or `error`.
    pub severity: &'static str,
    /// Milliseconds since 1970.
    pub wall_ms: u64,
    /// What it says.
    pub message: String,
}

/// Reads all events of a log file; none when there is no such file.
pub fn read(path: &Path) -> Vec<Line> {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).lines().filter_map(parse).collect()).unwrap_or_default()
}

/// Reads one line of the form that the nodes are configured to write.
fn parse(line: &str) -> Option<Line> {
    let (level, rest) = line.split_once(' ')?;
    let severity = match level {
        "INFO" => "info",
        "WARN" => "warn",
        "ERROR" => "error",
        _ => return None,
    };
    let (_, rest) = rest.split_once("] ")?;
    let (time, rest) = rest.split_once(' ')?;
    let (_, message) = rest.split_once(" - ")?;
    Some(Line { severity, wall_ms: parse_time(time)?, message: message.trim().to_owned() })
}

/// Reads `2026-01-31T23:59:59.123Z`.
fn parse_time(text: &str) -> Option<u64> {
    let numbers: Vec<u64> = text.strip_suffix('Z')?.split(['-', 'T', ':', '.']).map_while(|n| n.parse().ok()).collect();
    let &[year, month, day, hour, minute, second, ms] = numbers.as_slice() else { return None };
    let valid = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let days = valid.then(|| days_before(year, month) + day - 1)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + ms)
}

/// Days from 1970 to the first of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let years: u64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    years + lengths.iter().take(month as usize - 1).sum::<u64>()
}

/// The last lines that a node left behind: of its log, or of what it printed when it did not come to log anything.
pub fn last_words(logs: &Path) -> Vec<String> {
    ["system.log", "stderr.log", "stdout.log"]
        .iter()
        .map(|name| tail(&logs.join(name)))
        .find(|tail| !tail.is_empty())
        .unwrap_or_default()
}

/// The last lines of a file, errors before them, stack traces left out.
fn tail(path: &Path) -> Vec<String> {
    const LINES: usize = 8;
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with("\tat ")).collect();
    let from = lines.len().saturating_sub(LINES);
    let earlier = lines[..from].iter().rev().find(|line| line.starts_with("ERROR")).copied();
    earlier.into_iter().chain(lines[from..].iter().copied()).map(|line| line.chars().take(400).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_its_severity_time_and_message() {
        let text = "WARN  [main] 2026-02-28T23:59:59.250Z Startup.java:12 - a - b [c] ";
        let line = parse(text).unwrap();
        assert_eq!((line.severity, line.message.as_str()), ("warn", "a - b [c]"));
        assert_eq!(line.wall_ms, 1_772_323_199_250);
    }

    #[test]
    fn a_leap_day_counts() {
        assert_eq!(parse_time("2024-03-01T00:00:00.000Z"), Some(1_709_251_200_000));
        assert_eq!(parse_time("1970-01-01T00:00:00.001Z"), Some(1));
        assert_eq!(parse_time("2024-13-01T00:00:00.000Z"), None);
    }

    #[test]
    fn what_is_no_event_is_skipped() {
        for text in ["", "\tat java.base/x", "INFO", "java.lang.Error: x", "INFO  [a] yesterday X:1 - b"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_words_hold_an_earlier_error_and_no_stack() {
        let logs = tempfile::tempdir().unwrap();
        let mut text = String::from("ERROR [main] no disk\n\tat x.y(Z)\n");
        (0..20).for_each(|n| text.push_str(&format!("INFO line {n}\n")));
        fs::write(logs.path().join("system.log"), text).unwrap();
        let words = last_words(logs.path());
        assert_eq!(words.len(), 9);
        assert_eq!((words[0].as_str(), words[8].as_str()), ("ERROR [main] no disk", "INFO line 19"));
    }
}
