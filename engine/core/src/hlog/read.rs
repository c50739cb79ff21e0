//! Reading HDR log files, forgiving what other writers and crashes do to them.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::Deserializer;

use super::encode::COMPRESSED_COOKIE;
use super::{CLOSING, Closing, Header, one_line};
use crate::Millis;
use crate::measure::{Counts, Histogram, Interval, Packed};

/// The longest decoded histogram that is believed, bytes: the recorded ones are below 300 KB.
const LONGEST: u64 = 16 << 20;

/// What a file says, but for its intervals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Log {
    /// The header; none when the file does not name its load and loader.
    pub header: Option<Header>,
    /// Bytes up to the end of the last whole interval, or of the header: a file is cut there before more is appended.
    pub good_bytes: u64,
    /// What was dropped from the end after a crash, for people.
    pub notice: Option<String>,
    /// What is damaged elsewhere. Its intervals are missing.
    pub damage: Vec<Damage>,
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Counts from 1.
    pub line: usize,
    /// What is wrong with it, for people.
    pub problem: String,
}

/// One histogram of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its tag, if it has one.
    pub tag: Option<String>,
    /// Its start, seconds, as the file counts them.
    pub start_s: f64,
    /// Its length, seconds.
    pub length_s: f64,
    /// The column of the maximum.
    pub max: f64,
    /// The values.
    pub histogram: Packed,
}

impl Line {
    /// Reads one line. Times may be whole or negative numbers; spaces around fields do not matter.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (tag, rest) = match text.trim().strip_prefix("Tag=") {
            Some(tagged) => tagged.split_once(',').map(|(tag, rest)| (Some(tag.to_owned()), rest)).ok_or("no times")?,
            None => (None, text.trim()),
        };
        let mut fields = rest.splitn(4, ',').map(str::trim);
        let mut number = |name: &str| {
            let field = fields.next().ok_or(format!("no {name}"))?;
            field.parse().map_err(|_| format!("{name} is not a number"))
        };
        let (start_s, length_s, max) = (number("start")?, number("length")?, number("maximum")?);
        let histogram = decode(fields.next().ok_or("no histogram")?)?;
        Ok(Self { tag, start_s, length_s, max, histogram })
    }
}

/// Reads a file and hands over its intervals one by one.
pub fn read(mut file: impl BufRead, mut take: impl FnMut(Interval)) -> io::Result<Log> {
    let mut reader = Reader::default();
    while reader.next_line(&mut file, &mut take)? {}
    Ok(reader.finish())
}

/// The intervals of a file from a place on where one begins, or the header. What is damaged is left out.
pub(super) struct Intervals<R> {
    file: R,
    reader: Reader,
}

impl<R: BufRead> Intervals<R> {
    pub(super) fn new(file: R) -> Self {
        Self { file, reader: Reader::default() }
    }
}

impl<R: BufRead> Iterator for Intervals<R> {
    type Item = Interval;

    fn next(&mut self) -> Option<Interval> {
        let mut found = None;
        while found.is_none() && self.reader.next_line(&mut self.file, &mut |interval| found = Some(interval)).ok()? {}
        found
    }
}

/// When the interval ends that a line closes; none when it closes none.
pub(super) fn end_of_interval(raw: &[u8]) -> Option<Millis> {
    let closing = comment(std::str::from_utf8(raw).ok()?.trim(), CLOSING)?;
    serde_json::from_str(closing).ok().map(|closing: Closing| closing.to_ms)
}

/// What stands in the lines so far.
#[derive(Default)]
struct Reader {
    log: Log,
    load: Option<String>,
    loader: Option<String>,
    base_s: f64,
    /// The line that was read last, its number and where it ends.
    raw: Vec<u8>,
    number: usize,
    position: u64,
    /// The lines of the interval that is not closed yet, and what is wrong with it.
    open: Vec<Line>,
    damage: Vec<Damage>,
}

impl Reader {
    /// Answers false at the end of the file.
    fn next_line(&mut self, file: &mut impl BufRead, take: &mut impl FnMut(Interval)) -> io::Result<bool> {
        let mut raw = std::mem::take(&mut self.raw);
        raw.clear();
        let length = file.read_until(b'\n', &mut raw)?;
        self.number += 1;
        self.position += length as u64;
        // A line without its end was torn, even if it looks whole: more would be appended to the same line.
        if raw.ends_with(b"\n") {
            self.line(&String::from_utf8_lossy(&raw), take);
        }
        self.raw = raw;
        Ok(length > 0)
    }

    fn line(&mut self, line: &str, take: &mut impl FnMut(Interval)) {
        let line = line.trim();
        if let Some(value) = comment(line, CLOSING) {
            self.close(value, take);
            self.log.good_bytes = self.position;
        } else if line.is_empty() || line.starts_with('#') || line.starts_with('"') {
            self.header(line);
            if self.open.is_empty() && self.damage.is_empty() {
                self.log.good_bytes = self.position;
            }
        } else {
            match Line::parse(line) {
                Ok(parsed) => self.open.push(parsed),
                Err(problem) => self.damage.push(Damage { line: self.number, problem }),
            }
        }
    }

    fn header(&mut self, line: &str) {
        if let Some(value) = comment(line, "#[Load: ") {
            self.load = Some(value.to_owned());
        } else if let Some(value) = comment(line, "#[Loader: ") {
            self.loader = Some(value.to_owned());
        } else if let Some(value) = comment(line, "#[BaseTime: ") {
            self.base_s = value.split(' ').next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0.0);
        }
    }

    fn close(&mut self, closing: &str, take: &mut impl FnMut(Interval)) {
        let names = (self.load.as_deref().unwrap_or_default(), self.loader.as_deref().unwrap_or_default());
        match close(closing, std::mem::take(&mut self.open), names) {
            Ok(interval) if self.damage.is_empty() => take(interval),
            Ok(_) => {}
            Err(problem) => self.damage.push(Damage { line: self.number, problem }),
        }
        self.log.damage.append(&mut self.damage);
    }

    fn finish(self) -> Log {
        let mut log = self.log;
        let rest = self.position - log.good_bytes;
        log.notice =
            (rest > 0).then(|| format!("the last {rest} bytes belong to an interval that was not finished; dropped"));
        log.header = self.load.zip(self.loader).map(|(load, loader)| Header { load, loader, base_s: self.base_s });
        log
    }
}

fn comment<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.strip_prefix(start)?.strip_suffix(']')
}

/// Puts the lines of one interval together.
fn close(closing: &str, lines: Vec<Line>, (load, loader): (&str, &str)) -> Result<Interval, String> {
    let closing: Closing = serde_json::from_str(closing).map_err(|e| format!("the interval's comment: {e}"))?;
    if closing.lines != lines.len() {
        return Err(format!("the interval has {} histograms instead of {}", lines.len(), closing.lines));
    }
    let mut by_tag: BTreeMap<String, Line> =
        lines.into_iter().filter_map(|line| line.tag.clone().map(|tag| (tag, line))).collect();
    let mut operations = BTreeMap::new();
    for (name, counts) in closing.operations {
        let mut take = |tag: String| by_tag.remove(&tag).ok_or(format!("the interval has no line tagged {tag}"));
        let tag = one_line(&name);
        let (response, service) = (take(format!("{tag}.rt"))?, take(format!("{tag}.st"))?);
        let mut errors = BTreeMap::new();
        for class in counts.errors {
            let line = take(format!("{tag}.err.{}", one_line(&class)))?;
            errors.insert(class, line.histogram);
        }
        operations.insert(
            name,
            Counts {
                max_response_ns: nanoseconds(response.max),
                max_service_ns: nanoseconds(service.max),
                response: response.histogram,
                service: service.histogram,
                clamped: counts.clamped,
                errors,
                share: counts.share,
            },
        );
    }
    Ok(Interval {
        load: load.to_owned(),
        loader: loader.to_owned(),
        from_ms: closing.from_ms,
        to_ms: closing.to_ms,
        warm_up: closing.warm_up,
        asked_rate: closing.asked_rate,
        operations,
    })
}

fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Decodes a histogram in base64. One with other bounds than the recorded ones is brought to them.
fn decode(text: &str) -> Result<Packed, String> {
    let v2 = inflate(&STANDARD.decode(text).map_err(|e| format!("the histogram is not base64: {e}"))?)?;
    Packed::read_v2(&v2).map_or_else(|| dense(&v2).map(|histogram| Packed::of(&histogram)), Ok)
}

/// Decodes a histogram in the compressed V2 encoding. Memory is bounded, whatever the bytes say of their length.
pub fn decode_v2(bytes: &[u8]) -> Result<Histogram, String> {
    dense(&inflate(bytes)?)
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (head, body) = bytes.split_at_checked(8).ok_or("the histogram is too short")?;
    let mut v2 = Vec::new();
    match head.starts_with(&COMPRESSED_COOKIE.to_be_bytes()) {
        true => ZlibDecoder::new(body).take(LONGEST).read_to_end(&mut v2).map_err(|e| format!("the histogram: {e}"))?,
        false => return Err("the histogram is not in the compressed V2 encoding".into()),
    };
    Ok(v2)
}

fn dense(v2: &[u8]) -> Result<Histogram, String> {
    let counts = v2.get(4..8).map(|length| u32::from_be_bytes([length[0], length[1], length[2], length[3]]));
    if counts.is_none_or(|length| length as usize + 40 > v2.len()) {
        return Err("the histogram is shorter than it says".into());
    }
    Deserializer::new().deserialize(&mut &*v2).map_err(|e| format!("the histogram: {e}"))
}
