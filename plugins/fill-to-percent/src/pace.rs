//! The decision what to do next, from the measured usage alone: wait and for how long, flush, slow down, or stop.
//!
//! The pauses follow the predicted time to the next limit: half of it, so that a fill of hours is looked at a few
//! hundred times and its end is still met closely. The growth is measured and taken on the high side. What the database
//! keeps in memory is on no disk yet, so near the goal each look comes after a flush.

use crate::parameters::Goal;

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// When, seconds.
    pub at: f64,
    /// Usage of the fullest disk, percent.
    pub used: f64,
    /// Whether everything in memory had just been flushed.
    pub flushed: bool,
    /// Writes that have ended since the start.
    pub writes: u64,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Look again after so many seconds.
    Wait(f64),
    /// Flush, then look again at once.
    Flush,
    /// Write no more than so much a second, and look again after so many seconds.
    SlowDown {
        /// Writes a second.
        rate: f64,
        /// Seconds.
        wait: f64,
    },
    /// The first phase ends here; look again at once.
    SoftLimit,
    /// The goal is reached.
    Done,
}

/// Bounds of the pause between two looks, seconds: the shortest makes the greatest overshoot, the longest the time in
/// which a dead writer is found.
const PAUSES: (f64, f64) = (0.25, 60.0);
/// The first pause, seconds; each is at most twice the one before.
const FIRST_PAUSE: f64 = 0.5;
/// Nearer to the goal than this, in seconds or percent of the disk, each look comes after a flush.
const NEAR: (f64, f64) = (120.0, 2.0);
/// Nearer to the goal than this, in seconds and as a part of the goal, the writers slow down; earlier where a flush takes
/// long, because they write meanwhile.
const LAST: (f64, f64) = (20.0, 0.05);
/// So often the rate is halved.
const HALVINGS: u32 = 3;
/// Once the usage has grown by so many percent of the disk, measured growth is believed alone.
const PROVEN: f64 = 2.0;

/// What is known after some looks.
#[derive(Debug)]
pub struct Pace {
    goal: Goal,
    /// By so much of a disk one write should make the usage grow, percent.
    per_write: f64,
    first: Option<Sample>,
    /// The last look without and with a flush before it: only like can be compared with like.
    last: [Option<Sample>; 2],
    /// When the writes were last counted, how many there were, and their rate up to then.
    counted: (f64, u64),
    rate: f64,
    /// Percent a second between the last two looks of a kind.
    recent: f64,
    /// The highest estimate of the growth at the last look, percent a second.
    growth: f64,
    used: f64,
    pause: f64,
    halvings: u32,
    /// When the last flush was asked for, and how long it took, seconds: writes go on meanwhile.
    flushing: f64,
    flush: f64,
}

impl Pace {
    /// Nothing is known yet, but that one write should make the usage grow by so much of a disk, in percent.
    pub fn new(goal: Goal, per_write: f64) -> Self {
        Self {
            goal,
            per_write,
            first: None,
            last: [None, None],
            counted: (0.0, 0),
            rate: 0.0,
            recent: 0.0,
            growth: 0.0,
            used: 0.0,
            pause: FIRST_PAUSE / 2.0,
            halvings: 0,
            flushing: 0.0,
            flush: 0.0,
        }
    }

    /// Takes in a look and decides what to do next.
    pub fn decide(&mut self, sample: &Sample) -> Decision {
        self.take_in(sample);
        if self.goal.soft.is_some_and(|soft| self.used >= soft) {
            self.goal.soft = None;
            return Decision::SoftLimit;
        }
        let left = self.left_to(self.goal.percent);
        let near = left <= NEAR.0 || self.goal.percent - self.used <= NEAR.1;
        if self.is_last(sample, left) {
            self.halvings += 1;
            return Decision::SlowDown { rate: self.rate / 2.0, wait: self.next_pause() };
        }
        if near && !sample.flushed {
            self.flushing = sample.at;
            return Decision::Flush;
        }
        if self.used >= self.goal.percent {
            return Decision::Done;
        }
        Decision::Wait(self.next_pause())
    }

    /// Whether to slow down now: near the goal, and before a flush in which the writers, who do not wait for it, might
    /// pass the goal.
    fn is_last(&self, sample: &Sample, left: f64) -> bool {
        let gap = self.goal.percent - self.used;
        let near = sample.flushed && left <= LAST.0 && gap <= LAST.1 * self.goal.percent;
        let passes = gap <= 2.0 * self.flush * self.growth;
        gap > 0.0 && (near || passes) && self.halvings < HALVINGS && self.rate > 1.0
    }

    /// Seconds to the end of the fill, where they can be told.
    pub fn left(&self) -> Option<f64> {
        let left = self.left_to(self.goal.percent);
        left.is_finite().then_some(left.max(0.0))
    }

    fn take_in(&mut self, sample: &Sample) {
        self.count(sample);
        if sample.flushed {
            self.flush = sample.at - self.flushing;
        }
        let first = self.first.get_or_insert_with(|| sample.clone());
        let (since, grown) = (sample.at - first.at, sample.used - first.used);
        let overall = if since > 0.0 { grown / since } else { 0.0 };
        let last = &mut self.last[usize::from(sample.flushed)];
        if let Some(last) = last.as_ref().filter(|last| sample.at > last.at) {
            self.recent = (sample.used - last.used) / (sample.at - last.at);
        }
        *last = Some(sample.clone());
        let overall = overall / f64::from(1 << self.halvings);
        let expected = if grown < PROVEN { self.rate * self.per_write } else { 0.0 };
        self.growth = self.recent.max(overall).max(expected);
        self.used = sample.used;
    }

    /// A rate needs some time between two counts: a flush is not enough.
    fn count(&mut self, sample: &Sample) {
        let (at, writes) = self.counted;
        if self.first.is_none() {
            self.counted = (sample.at, sample.writes);
        } else if sample.at - at >= PAUSES.0 {
            self.rate = sample.writes.saturating_sub(writes) as f64 / (sample.at - at);
            self.counted = (sample.at, sample.writes);
        }
    }

    fn left_to(&self, percent: f64) -> f64 {
        if self.growth > 0.0 { (percent - self.used) / self.growth } else { f64::INFINITY }
    }

    /// Half the way to the next limit, and at most twice the pause before.
    fn next_pause(&mut self) -> f64 {
        let next = self.goal.soft.unwrap_or(self.goal.percent);
        self.pause = (self.left_to(next) / 2.0).min(2.0 * self.pause).clamp(PAUSES.0, PAUSES.1);
        self.pause
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Disks that fill: percent on disk, percent in memory, growth in percent a second.
    struct Disks {
        now: f64,
        disk: f64,
        memory: f64,
        growth: f64,
        /// Greatest part of a disk that may wait in memory, percent.
        memtable: f64,
        slow: f64,
        writes: f64,
        /// How long a flush takes, seconds.
        flush: f64,
    }

    impl Disks {
        fn pass(&mut self, seconds: f64) {
            self.now += seconds;
            self.writes += RATE * self.slow * seconds;
            self.memory += self.growth * self.slow * seconds;
            if self.memory > self.memtable {
                self.disk += std::mem::take(&mut self.memory);
            }
        }

        fn flush(&mut self) {
            self.pass(self.flush);
            self.disk += std::mem::take(&mut self.memory);
        }
    }

    const RATE: f64 = 10_000.0;

    struct Filled {
        end: f64,
        looks: u32,
        soft_at: Option<f64>,
        seconds: f64,
    }

    /// Fills until `Done`. The growth of each pause is `wobble` times the usual one.
    fn fill(mut disks: Disks, goal: Goal, wobble: &[f64]) -> Filled {
        let (mut pace, mut flushed, usual) = (Pace::new(goal, disks.growth / RATE), false, disks.growth);
        let mut soft_at = None;
        for looks in 1..10_000u32 {
            disks.growth = usual * wobble[looks as usize % wobble.len()];
            let sample = Sample { at: disks.now, used: disks.disk, flushed, writes: disks.writes as u64 };
            flushed = false;
            match pace.decide(&sample) {
                Decision::Done => return Filled { end: disks.disk + disks.memory, looks, soft_at, seconds: disks.now },
                Decision::SoftLimit => soft_at = Some(disks.disk),
                Decision::Flush => {
                    disks.flush();
                    flushed = true;
                }
                Decision::SlowDown { rate, wait } => {
                    disks.slow = rate / RATE;
                    disks.pass(wait);
                }
                Decision::Wait(wait) => disks.pass(wait),
            }
        }
        panic!("the fill does not end");
    }

    fn goal(percent: f64) -> Goal {
        Goal { soft: (percent > 71.0).then_some(71.0), percent, ceiling: 99.0 }
    }

    fn empty(growth: f64, memtable: f64) -> Disks {
        Disks { now: 0.0, disk: 0.0, memory: 0.0, growth, memtable, slow: 1.0, writes: 0.0, flush: 0.2 }
    }

    #[test]
    fn a_fill_of_hours_is_looked_at_a_few_hundred_times() {
        let filled = fill(empty(90.0 / 12_600.0, 0.9), goal(90.0), &[1.0]);
        assert!(filled.looks < 400, "{}", filled.looks);
        assert!((90.0..90.02).contains(&filled.end), "{}", filled.end);
        assert!((71.0..72.0).contains(&filled.soft_at.unwrap()));
        assert!(filled.seconds < 12_900.0, "{}", filled.seconds);
    }

    #[test]
    fn a_small_disk_whose_memory_holds_half_of_it_is_not_overfilled() {
        let filled = fill(empty(90.0 / 20.0, 45.0), goal(90.0), &[1.0]);
        assert!((90.0..92.0).contains(&filled.end), "{}", filled.end);
        assert!(filled.seconds < 60.0, "{}", filled.seconds);
    }

    #[test]
    fn writes_that_go_on_through_slow_flushes_are_counted_in() {
        let filled = fill(Disks { flush: 6.0, ..empty(1.0, 16.0) }, goal(90.0), &[1.0]);
        assert!((90.0..94.0).contains(&filled.end), "{}", filled.end);
        assert!(filled.seconds < 250.0, "{}", filled.seconds);
    }

    #[test]
    fn a_full_disk_ends_at_once() {
        let mut pace = Pace::new(goal(50.0), 0.0);
        let sample = |flushed| Sample { at: 0.0, used: 60.0, flushed, writes: 0 };
        assert_eq!(pace.decide(&sample(false)), Decision::Flush);
        assert_eq!(pace.decide(&sample(true)), Decision::Done);
    }

    proptest! {
        /// Whatever the growth, and however it varies, the goal is reached and hardly passed, in not too many looks.
        #[test]
        fn the_goal_is_met(
            percent in 20.0f64..95.0,
            hours in 0.02f64..8.0,
            memtable in 0.0f64..1.5,
            wobble in prop::collection::vec(0.5f64..1.5, 1..20),
        ) {
            let growth = percent / (hours * 3600.0);
            let filled = fill(empty(growth, memtable), goal(percent), &wobble);
            prop_assert!(filled.end >= percent);
            prop_assert!(filled.end <= percent + 2.0 * growth + 0.5, "ends at {} of {percent}", filled.end);
            let most = 400 + (filled.seconds / 10.0) as u32;
            prop_assert!(filled.looks < most, "{} looks in {} s", filled.looks, filled.seconds);
        }
    }
}
