//! When operations are intended: computed from their number, never accumulated, so that nothing drifts.

/// Nanoseconds of a load's clock.
pub type Ns = u64;

/// Intended times of an open loop, with a stretch of its own for each rate.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Operations a second.
    rate: f64,
    /// When operation `first` is intended; the others follow at the rate.
    start_ns: f64,
    first: u64,
    /// Operations of earlier stretches that were not taken yet, with what is needed to compute their times.
    earlier: Vec<Stretch>,
    /// Number of the next operation to be taken.
    next: u64,
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    rate: f64,
    start_ns: f64,
    first: u64,
    /// The number after its last operation.
    end: u64,
}

const SECOND_NS: f64 = 1e9;

impl Schedule {
    /// A schedule whose operation 0 is intended at `start`. A rate of 0 intends nothing.
    pub fn new(start: Ns, rate: f64) -> Self {
        Self { rate, start_ns: start as f64, first: 0, earlier: Vec::new(), next: 0 }
    }

    /// The asked rate, operations a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// When the next operation that was not taken is intended; none while the rate is 0.
    pub fn next_at(&self) -> Option<Ns> {
        self.at(self.next)
    }

    /// Takes the next operation when it is due: its number and when it was intended.
    pub fn take(&mut self, now: Ns) -> Option<(u64, Ns)> {
        let at = self.next_at().filter(|at| *at <= now)?;
        let taken = (self.next, at);
        self.next += 1;
        self.earlier.retain(|stretch| stretch.end > self.next);
        Some(taken)
    }

    /// Changes the rate from `now` on. Operations that were intended before keep their times; the part of an operation
    /// that has built up since the last one counts, so that changing the rate often makes none.
    pub fn set_rate(&mut self, now: Ns, rate: f64) {
        let built_up = ((now as f64 - self.start_ns) / SECOND_NS * self.rate).max(-1.0);
        let begun = if self.rate > 0.0 { (built_up.floor() + 1.0).max(0.0) } else { 0.0 };
        let end = self.first + begun as u64;
        if end > self.next {
            self.earlier.push(Stretch { rate: self.rate, start_ns: self.start_ns, first: self.first, end });
        }
        // What is left until the next operation is due, in operations.
        let left = if self.rate > 0.0 { begun - built_up } else { 0.0 };
        self.start_ns = if rate > 0.0 { now as f64 + left / rate * SECOND_NS } else { now as f64 };
        self.first = end;
        self.rate = rate;
    }

    /// How many operations are intended before a moment. The moment must not lie before the last change of the rate.
    pub fn intended_before(&self, moment: Ns) -> f64 {
        let since = (moment as f64 - self.start_ns) / SECOND_NS * self.rate;
        self.first as f64 + since.max(0.0)
    }

    fn at(&self, number: u64) -> Option<Ns> {
        let earlier = self.earlier.iter().find(|stretch| number < stretch.end);
        let (rate, start, first) = match earlier {
            Some(stretch) => (stretch.rate, stretch.start_ns, stretch.first),
            None => (self.rate, self.start_ns, self.first),
        };
        (rate > 0.0).then(|| (start + number.saturating_sub(first) as f64 / rate * SECOND_NS) as Ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Ns = 1_000_000_000;

    fn drain(schedule: &mut Schedule, now: Ns) -> Vec<Ns> {
        std::iter::from_fn(|| schedule.take(now)).map(|(_, at)| at).collect()
    }

    #[test]
    fn a_second_of_300_has_300_operations() {
        let mut schedule = Schedule::new(0, 300.0);
        assert_eq!(drain(&mut schedule, SECOND - 1).len(), 300);
    }

    #[test]
    fn an_hour_drifts_by_less_than_a_period() {
        let mut schedule = Schedule::new(0, 9_850.0);
        schedule.next = 9_850 * 3_600;
        let at = schedule.next_at().unwrap();
        assert!(at.abs_diff(3_600 * SECOND) < SECOND / 9_850);
    }

    #[test]
    fn a_queued_operation_keeps_its_time_when_the_rate_changes() {
        let mut schedule = Schedule::new(0, 10.0);
        schedule.set_rate(SECOND, 1_000.0);
        let times = drain(&mut schedule, SECOND);
        assert_eq!(times[..3], [0, SECOND / 10, SECOND / 5]);
        // The last of them is intended at this very moment; the next is due one new period later.
        assert_eq!(times.len(), 11);
        assert_eq!(schedule.next_at(), Some(SECOND + SECOND / 1_000));
    }

    #[test]
    fn a_rate_of_nothing_intends_nothing_until_it_changes() {
        let mut schedule = Schedule::new(0, 100.0);
        drain(&mut schedule, SECOND / 2);
        schedule.set_rate(SECOND / 2, 0.0);
        assert_eq!(schedule.next_at(), None);
        schedule.set_rate(SECOND, 100.0);
        assert_eq!(drain(&mut schedule, 2 * SECOND - 1).len(), 100);
    }

    proptest! {
        #[test]
        fn no_change_makes_or_loses_operations(changes in prop::collection::vec((1u64..500, 1u32..5_000), 1..20)) {
            let mut schedule = Schedule::new(0, 100.0);
            let (mut now, mut expected, mut rate, mut taken) = (0u64, 0.0, 100.0, 0usize);
            let mut last = 0;
            for (n, (ms, next_rate)) in changes.into_iter().enumerate() {
                now += ms * 1_000_000;
                expected += ms as f64 / 1_000.0 * rate;
                if n % 2 == 0 {
                    for at in drain(&mut schedule, now) {
                        prop_assert!(at >= last && at <= now);
                        last = at;
                        taken += 1;
                    }
                }
                schedule.set_rate(now, f64::from(next_rate));
                rate = f64::from(next_rate);
            }
            taken += drain(&mut schedule, now).len();
            prop_assert!((taken as f64 - expected).abs() <= 2.0, "{taken} of {expected}");
            prop_assert!((schedule.intended_before(now) - expected).abs() <= 2.0);
        }

        #[test]
        fn times_never_go_back(rate in 0.1f64..2e6, n in 0u64..10_000_000) {
            let mut schedule = Schedule::new(5, rate);
            schedule.next = n;
            let at = schedule.next_at().unwrap();
            schedule.next = n + 1;
            prop_assert!(at <= schedule.next_at().unwrap());
        }
    }
}
