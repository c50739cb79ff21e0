//! What a load thread counts: one set of histograms, packed and emptied at the interval's edge.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use wfe_core::Millis;
use wfe_core::backend::IntervalSink;
use wfe_core::measure::{Counts, HIGHEST_NS, Histogram, Interval, Packed, histogram};

use crate::load::schedule::{Ns, Schedule};

/// One operation that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Which kind, as an index into the recorder's kinds.
    pub kind: usize,
    /// When it should have been sent.
    pub intended: Ns,
    /// When it was sent.
    pub sent: Ns,
    /// When it ended.
    pub ended: Ns,
    /// The class of its error.
    pub error: Option<&'static str>,
}

/// What one kind of operation did in the current interval.
struct Counting {
    response: Histogram,
    service: Histogram,
    max_response_ns: u64,
    max_service_ns: u64,
    clamped: u64,
    errors: BTreeMap<&'static str, Histogram>,
}

/// Counts what one load thread does.
pub struct Recorder {
    load: String,
    loader: String,
    /// Kinds of operation with their part of the rate.
    kinds: Vec<(String, f64)>,
    counts: Vec<Counting>,
    /// The run's millisecond at which the load's clock showed 0.
    zero_ms: Millis,
    interval_ns: Ns,
    from: Ns,
    /// How many operations were intended before `from`.
    intended: f64,
    first: bool,
    /// Operations that ended in the current interval.
    ended: u64,
    /// Operations a second in the last whole interval.
    rate: f64,
    sink: Arc<dyn IntervalSink>,
}

impl Recorder {
    /// A recorder whose first interval begins at 0 of the load's clock.
    pub fn new(
        (load, loader): (String, String),
        kinds: Vec<(String, f64)>,
        zero_ms: Millis,
        interval_ms: u64,
        sink: Arc<dyn IntervalSink>,
    ) -> Self {
        let counts = kinds.iter().map(|_| Counting::new()).collect();
        let interval_ns = interval_ms.max(1) * 1_000_000;
        Self {
            load,
            loader,
            kinds,
            counts,
            zero_ms,
            interval_ns,
            from: 0,
            intended: 0.0,
            first: true,
            ended: 0,
            rate: 0.0,
            sink,
        }
    }

    /// When the current interval ends.
    pub fn edge(&self) -> Ns {
        self.from + self.interval_ns
    }

    /// End of the last interval that was handed over, on the run's clock.
    pub fn recorded_ms(&self) -> Millis {
        self.zero_ms + self.from / 1_000_000
    }

    /// Operations a second in the last whole interval.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Hands over every interval that has ended by now, empty ones too. Must be called before the rate changes.
    /// Answers whether there was one.
    pub fn turn(&mut self, now: Ns, schedule: Option<&Schedule>) -> bool {
        let before = self.from;
        while now >= self.edge() {
            self.rate = self.ended as f64 * 1e9 / self.interval_ns as f64;
            self.hand_over(self.edge(), schedule);
        }
        self.from != before
    }

    /// Hands over what is left, at the load's end.
    pub fn finish(&mut self, now: Ns, schedule: Option<&Schedule>) {
        self.turn(now, schedule);
        if self.ended > 0 || now.saturating_sub(self.from) >= 1_000_000 {
            self.hand_over(now.max(self.from + 1_000_000), schedule);
        }
    }

    /// Counts an operation. Its end must lie in the current interval: [`Self::turn`] comes first.
    pub fn record(&mut self, operation: Ended) {
        let Ended { kind, intended, sent, ended, error } = operation;
        let counts = &mut self.counts[kind];
        let (response, service) = (ended.saturating_sub(intended), ended.saturating_sub(sent));
        counts.clamped += count(&mut counts.response, response) | count(&mut counts.service, service);
        counts.max_response_ns = counts.max_response_ns.max(response);
        counts.max_service_ns = counts.max_service_ns.max(service);
        if let Some(class) = error {
            count(counts.errors.entry(class).or_insert_with(histogram), service);
        }
        self.ended += 1;
    }

    fn hand_over(&mut self, to: Ns, schedule: Option<&Schedule>) {
        let seconds = (to - self.from) as f64 / 1e9;
        let asked_rate = schedule.map(|schedule| {
            let before = mem::replace(&mut self.intended, schedule.intended_before(to));
            (self.intended - before) / seconds
        });
        let kinds = self.kinds.iter().zip(&mut self.counts);
        let operations = kinds.map(|((name, share), counting)| (name.clone(), counting.take(*share))).collect();
        self.sink.push(Interval {
            load: self.load.clone(),
            loader: self.loader.clone(),
            from_ms: self.zero_ms + self.from / 1_000_000,
            to_ms: self.zero_ms + to / 1_000_000,
            warm_up: mem::replace(&mut self.first, false),
            asked_rate,
            operations,
        });
        self.from = to;
        self.ended = 0;
    }
}

impl Counting {
    fn new() -> Self {
        Self {
            response: histogram(),
            service: histogram(),
            max_response_ns: 0,
            max_service_ns: 0,
            clamped: 0,
            errors: BTreeMap::new(),
        }
    }

    /// Packs what was counted, and begins anew.
    fn take(&mut self, share: f64) -> Counts {
        let counts = Counts {
            response: Packed::of(&self.response),
            service: Packed::of(&self.service),
            max_response_ns: mem::take(&mut self.max_response_ns),
            max_service_ns: mem::take(&mut self.max_service_ns),
            clamped: mem::take(&mut self.clamped),
            errors: mem::take(&mut self.errors)
                .into_iter()
                .map(|(class, times)| (class.to_owned(), Packed::of(&times)))
                .collect(),
            share,
        };
        self.response.reset();
        self.service.reset();
        counts
    }
}

/// Counts a value; answers 1 when it was over the bound and was clamped.
fn count(histogram: &mut Histogram, value: Ns) -> u64 {
    histogram.saturating_record(value.min(HIGHEST_NS));
    u64::from(value > HIGHEST_NS)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Interval>>);

    impl IntervalSink for Kept {
        fn expect(&self, _: &str, _: &str) {}

        fn push(&self, interval: Interval) {
            self.0.lock().unwrap().push(interval);
        }
    }

    const MS: Ns = 1_000_000;

    fn recorder() -> (Recorder, Arc<Kept>) {
        let kept = Arc::new(Kept::default());
        let kinds = vec![("read".to_owned(), 0.25), ("write".to_owned(), 0.75)];
        (Recorder::new(("traffic".into(), "loader-1".into()), kinds, 5_000, 1_000, kept.clone()), kept)
    }

    #[test]
    fn a_stall_leaves_empty_intervals_and_a_long_response() {
        let (mut recorder, kept) = recorder();
        let schedule = Schedule::new(0, 100.0);
        recorder.turn(3_500 * MS, Some(&schedule));
        recorder.record(Ended { kind: 0, intended: 500 * MS, sent: 3_000 * MS, ended: 3_500 * MS, error: None });
        recorder.finish(3_600 * MS, Some(&schedule));
        let kept = kept.0.lock().unwrap();
        let times: Vec<_> = kept.iter().map(|interval| (interval.from_ms, interval.to_ms, interval.warm_up)).collect();
        let expected = [(5_000, 6_000, true), (6_000, 7_000, false), (7_000, 8_000, false), (8_000, 8_600, false)];
        assert_eq!(times, expected);
        assert_eq!(kept.iter().map(|i| i.asked_rate.unwrap().round()).collect::<Vec<_>>(), [100.0; 4]);
        let read = &kept[3].operations["read"];
        assert_eq!((read.response.count(), read.max_response_ns, read.max_service_ns), (1, 3_000 * MS, 500 * MS));
        assert_eq!(kept[3].operations["write"].response.count(), 0);
    }

    #[test]
    fn a_failed_operation_counts_in_the_response_time_and_in_its_class() {
        let (mut recorder, kept) = recorder();
        recorder.record(Ended { kind: 1, intended: 0, sent: MS, ended: 3 * MS, error: Some("timeout") });
        recorder.finish(10 * MS, None);
        let kept = kept.0.lock().unwrap();
        let write = &kept[0].operations["write"];
        assert_eq!((write.response.count(), write.errors["timeout"].count()), (1, 1));
        assert!(write.response.max_ns() >= 3 * MS && write.errors["timeout"].max_ns() < 3 * MS);
        assert_eq!((kept[0].asked_rate, write.share), (None, 0.75));
    }

    #[test]
    fn a_value_over_the_bound_is_clamped_and_counted_and_its_maximum_kept() {
        let (mut recorder, kept) = recorder();
        let ended = HIGHEST_NS + 5;
        recorder.record(Ended { kind: 0, intended: 0, sent: ended - 1_000, ended, error: None });
        recorder.finish(MS, None);
        let kept = kept.0.lock().unwrap();
        let read = &kept[0].operations["read"];
        assert_eq!((read.clamped, read.max_response_ns, read.response.count()), (1, ended, 1));
    }
}
