//! HDR logs as the archive of a recording.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use super::read::{Intervals, end_of_interval};
use crate::Millis;
use crate::measure::{Archive, Interval};

/// The HDR logs of a run, opened anew for each question by a function of load and loader.
pub struct Logs<F>(pub F);

/// So near to each other, bytes, two places of a file are not told apart by searching.
const NEAR: u64 = 64 << 10;

impl<F, R> Archive for Logs<F>
where
    F: Fn(&str, &str) -> io::Result<R> + Send + Sync,
    R: Read + Seek + 'static,
{
    fn intervals(&self, load: &str, loader: &str, from_ms: Millis) -> Box<dyn Iterator<Item = Interval>> {
        let file = (self.0)(load, loader).and_then(|file| {
            let mut file = BufReader::new(file);
            find(&mut file, from_ms)?;
            Ok(file)
        });
        match file {
            Ok(file) => Box::new(Intervals::new(file)),
            Err(_) => Box::new(std::iter::empty()),
        }
    }
}

/// Goes to a place where an interval or the header begins, near the first interval that ends after `from_ms` and not
/// after it.
fn find(file: &mut (impl BufRead + Seek), from_ms: Millis) -> io::Result<()> {
    let (mut low, mut high) = (0, file.seek(SeekFrom::End(0))?);
    while high.saturating_sub(low) > NEAR {
        let middle = low.midpoint(high);
        match next_end(file, middle)? {
            Some((end_ms, place)) if end_ms <= from_ms => low = place,
            _ => high = middle,
        }
    }
    file.seek(SeekFrom::Start(low)).map(drop)
}

/// When the next interval that ends after a place of the file ends, and at which place.
fn next_end(file: &mut (impl BufRead + Seek), mut place: u64) -> io::Result<Option<(Millis, u64)>> {
    file.seek(SeekFrom::Start(place))?;
    let mut raw = Vec::new();
    // The first line may be a part of one: as such it is no comment.
    while file.read_until(b'\n', &mut raw)? > 0 {
        place += raw.len() as u64;
        if let Some(end_ms) = end_of_interval(&raw) {
            return Ok(Some((end_ms, place)));
        }
        raw.clear();
    }
    Ok(None)
}
