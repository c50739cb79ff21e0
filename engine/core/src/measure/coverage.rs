//! Which seconds of a window are recorded.

use crate::Millis;

/// How the recorded spans of one loader cover a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Stretches without any record, those at an edge that are shorter than one interval left out.
    pub gaps: Vec<(Millis, Millis)>,
    /// Milliseconds at the window's start that no counted interval covers, shorter than one interval.
    pub cut_start_ms: Millis,
    /// The same at its end.
    pub cut_end_ms: Millis,
    /// Milliseconds of the window that are warm-up.
    pub warm_up_ms: Millis,
}

/// One recorded interval: `(from, to, warm-up)`.
pub type Span = (Millis, Millis, bool);

impl Coverage {
    /// How `spans`, ascending, cover the window. Warm-up explains its seconds, but is not counted.
    pub fn of(spans: impl Iterator<Item = Span>, from: Millis, to: Millis) -> Self {
        let mut coverage = Self::default();
        let (mut reached, mut longest) = (from, 0);
        let mut holes = Vec::new();
        for (start, end, warm_up) in spans {
            if end <= from || start >= to {
                continue;
            }
            longest = longest.max(end - start);
            let counts = warm_up || (start >= from && end <= to);
            if !counts {
                continue;
            }
            let (start, end) = (start.max(from), end.min(to));
            coverage.warm_up_ms += if warm_up { end - start } else { 0 };
            if start > reached {
                holes.push((reached, start));
            }
            reached = reached.max(end);
        }
        if reached < to {
            holes.push((reached, to));
        }
        for hole in holes {
            coverage.file(hole, (from, to), longest);
        }
        coverage
    }

    fn file(&mut self, hole: (Millis, Millis), window: (Millis, Millis), longest: Millis) {
        let length = hole.1 - hole.0;
        let tolerated = length < longest && hole != window;
        match tolerated {
            true if hole.0 == window.0 => self.cut_start_ms = length,
            true if hole.1 == window.1 => self.cut_end_ms = length,
            _ => self.gaps.push(hole),
        }
    }

    /// Milliseconds that are missing.
    pub fn gap_ms(&self) -> Millis {
        self.gaps.iter().map(|(from, to)| to - from).sum()
    }
}

/// Ascending spans, those that follow each other or overlap as one.
pub(super) fn union(spans: impl IntoIterator<Item = (Millis, Millis)>) -> Vec<(Millis, Millis)> {
    let mut all: Vec<(Millis, Millis)> = Vec::new();
    for (from, to) in spans {
        match all.last_mut().filter(|last| last.1 >= from) {
            Some(last) => last.1 = last.1.max(to),
            None => all.push((from, to)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cover(spans: &[Span], from: Millis, to: Millis) -> Coverage {
        Coverage::of(spans.iter().copied(), from, to)
    }

    #[test]
    fn edges_shorter_than_an_interval_are_cut_and_not_gaps() {
        let spans = [(0, 10, false), (10, 20, false), (20, 30, false)];
        assert_eq!(cover(&spans, 0, 30), Coverage::default());
        assert_eq!(cover(&spans, 3, 29), Coverage { cut_start_ms: 7, cut_end_ms: 9, ..Coverage::default() });
    }

    #[test]
    fn a_whole_interval_without_record_is_a_gap() {
        let spans = [(10, 20, false), (30, 40, false)];
        assert_eq!(cover(&spans, 0, 50).gaps, [(0, 10), (20, 30), (40, 50)]);
        assert_eq!(cover(&spans, 0, 50).gap_ms(), 30);
    }

    #[test]
    fn warm_up_explains_its_seconds() {
        let coverage = cover(&[(0, 10, true), (10, 20, false)], 2, 20);
        assert_eq!(coverage, Coverage { warm_up_ms: 8, ..Coverage::default() });
    }

    #[test]
    fn a_window_inside_one_interval_is_a_gap() {
        assert_eq!(cover(&[(0, 10, false)], 2, 8).gaps, [(2, 8)]);
        assert_eq!(cover(&[], 2, 8).gaps, [(2, 8)]);
    }
}
