//! All recorded intervals of a run: what is known of each in memory, the histograms of the latest ones too.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Interval;
use super::runs::Runs;
use crate::Millis;

/// All recorded intervals of a run, by load and loader.
#[derive(Default)]
pub struct Recording {
    pub(super) loads: BTreeMap<String, Load>,
    older: Option<Older>,
    /// Bytes of the intervals in memory, about.
    held: usize,
}

/// Where intervals are that have no room in memory.
struct Older {
    archive: Box<dyn Archive>,
    room: usize,
}

/// Keeps all intervals of a run in the order in which they were recorded.
pub trait Archive: Send + Sync {
    /// A loader's intervals, beginning with any that is not later than the first one to end after `from_ms`. What cannot
    /// be read is left out.
    fn intervals(&self, load: &str, loader: &str, from_ms: Millis) -> Box<dyn Iterator<Item = Interval>>;
}

/// One load's loaders.
#[derive(Default)]
pub(super) struct Load {
    pub(super) loaders: BTreeMap<String, Track>,
}

/// What one loader recorded.
#[derive(Default)]
pub(super) struct Track {
    /// All of its intervals.
    pub(super) runs: Runs,
    /// The latest, with their histograms.
    pub(super) recent: VecDeque<Interval>,
}

impl Recording {
    /// The room that a process has for recorded intervals, bytes.
    pub const ROOM: usize = 64 << 20;

    /// An empty recording that keeps everything in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty recording that keeps about so many bytes of the latest intervals in memory. Each interval has to be in the
    /// archive before it is pushed.
    pub fn over(archive: impl Archive + 'static, room: usize) -> Self {
        Self { older: Some(Older { archive: Box::new(archive), room }), ..Self::default() }
    }

    /// Keeps all that is in memory there from now on: the archive takes no more.
    pub fn keep(&mut self) {
        self.older.iter_mut().for_each(|older| older.room = usize::MAX);
    }

    /// Announces a loader, so that it counts as missing when it never records anything.
    pub fn expect_loader(&mut self, load: &str, loader: &str) {
        let load = self.loads.entry(load.into()).or_default();
        load.loaders.entry(loader.into()).or_default();
    }

    /// Whether a loader was announced or recorded something.
    pub fn knows(&self, load: &str, loader: &str) -> bool {
        self.loads.get(load).is_some_and(|load| load.loaders.contains_key(loader))
    }

    /// Takes one whole interval. Answers false, and leaves it out, when it begins before the loader's last one ended:
    /// a resumed run may offer again what it recorded before, and nothing may count twice.
    pub fn push(&mut self, mut interval: Interval) -> bool {
        let fits = self.fits(&interval);
        if fits {
            interval.asked_rate = interval.asked_rate.filter(|rate| rate.is_finite());
            interval.operations.values_mut().filter(|counts| !counts.share.is_finite()).for_each(|c| c.share = 0.0);
            self.held += interval.bytes();
            let load = self.loads.entry(interval.load.clone()).or_default();
            let track = load.loaders.entry(interval.loader.clone()).or_default();
            track.runs.push(&interval);
            track.recent.push_back(interval);
            let room = self.older.as_ref().map_or(usize::MAX, |older| older.room);
            while self.held > room {
                let Some(oldest) = track.recent.pop_front() else { break };
                self.held -= oldest.bytes();
            }
        }
        fits
    }

    /// Whether [`Self::push`] would take it.
    pub fn fits(&self, interval: &Interval) -> bool {
        let load = self.loads.get(&interval.load);
        let life = load.and_then(|load| load.loaders.get(&interval.loader)).and_then(|track| track.runs.life());
        interval.from_ms >= life.map_or(0, |(_, end)| end) && interval.to_ms > interval.from_ms
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.end_ms() == 0
    }

    /// The millisecond after the last recorded one; 0 when there is none.
    pub fn end_ms(&self) -> Millis {
        self.tracks().filter_map(|track| track.runs.life()).map(|(_, end)| end).max().unwrap_or(0)
    }

    /// The length of the longest recorded interval that overlaps the window; 0 when there is none.
    pub fn interval_ms(&self, from_ms: Millis, to_ms: Millis) -> Millis {
        let overlapping = self.tracks().flat_map(|track| track.runs.between(from_ms, to_ms));
        overlapping.map(|span| span.to_ms - span.from_ms).max().unwrap_or(0)
    }

    /// The kinds of operation that were recorded at any time.
    pub fn operations(&self) -> BTreeSet<&str> {
        self.tracks().flat_map(|track| track.runs.operations()).map(String::as_str).collect()
    }

    /// The intervals of a loader in the archive, as [`Archive::intervals`] answers them.
    pub(super) fn older(&self, load: &str, loader: &str, from_ms: Millis) -> Box<dyn Iterator<Item = Interval>> {
        match &self.older {
            Some(older) => older.archive.intervals(load, loader, from_ms),
            None => Box::new(std::iter::empty()),
        }
    }

    fn tracks(&self) -> impl Iterator<Item = &Track> {
        self.loads.values().flat_map(|load| load.loaders.values())
    }
}

impl Load {
    /// The first and the last recorded millisecond of all loaders.
    pub(super) fn life(&self) -> Option<(Millis, Millis)> {
        let lives = self.loaders.values().filter_map(|track| track.runs.life());
        lives.reduce(|(start, end), (other_start, other_end)| (start.min(other_start), end.max(other_end)))
    }
}
