//! A recorded histogram in its least form: the counts as the V2 encoding writes them, without the dense array.
//!
//! A dense histogram takes 200 KB; its runs of zeros and small counts take a few hundred bytes. A run keeps thousands of
//! them, and the log files hold the same bytes.

use super::place::{PLACES, highest_at, place_of};
use super::{HIGHEST_NS, Histogram, LOWEST_NS, SIGNIFICANT_DIGITS};

/// First bytes of the V2 encoding.
const COOKIE: u32 = 0x1c84_9313;
/// Bytes of the V2 encoding before the counts.
const HEADER: usize = 40;
/// Bytes of a number that is written in full.
const LONGEST_NUMBER: usize = 9;

/// A histogram with the bounds of [`super::histogram`], packed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packed {
    /// Zig-zag varints: a positive number is a count, a negative one a run of zeros. No zeros stand at the end.
    numbers: Box<[u8]>,
    count: u64,
    /// The place after the last that counts; 0 when none does.
    end: usize,
}

impl Packed {
    /// Packs a histogram. Values over the recorded bound count at it.
    pub fn of(source: &Histogram) -> Self {
        source.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The greatest value that counts where its greatest value does, nanoseconds; 0 when it is empty.
    pub fn max_ns(&self) -> u64 {
        if self.end == 0 { 0 } else { highest_at(self.end - 1) }
    }

    /// Bytes that its numbers take.
    pub(super) fn bytes(&self) -> usize {
        self.numbers.len()
    }

    /// The place after the last that counts; 0 when none does.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Appends the V2 encoding, header included.
    pub fn write_v2(&self, bytes: &mut Vec<u8>) {
        // The encoding of nothing says that the first place counts 0.
        let numbers = if self.numbers.is_empty() { &[0] } else { &*self.numbers };
        bytes.extend(COOKIE.to_be_bytes());
        bytes.extend((numbers.len() as u32).to_be_bytes());
        bytes.extend(0u32.to_be_bytes());
        bytes.extend(u32::from(SIGNIFICANT_DIGITS).to_be_bytes());
        bytes.extend(LOWEST_NS.to_be_bytes());
        bytes.extend(HIGHEST_NS.to_be_bytes());
        bytes.extend(1f64.to_be_bytes());
        bytes.extend(numbers);
    }

    /// Reads a V2 encoding with the recorded bounds; none when it has other bounds or makes no sense.
    pub fn read_v2(bytes: &[u8]) -> Option<Self> {
        let (header, numbers) = bytes.split_at_checked(HEADER)?;
        let mut own = Vec::with_capacity(HEADER + 1);
        Self::default().write_v2(&mut own);
        // All but the length.
        if header[..4] != own[..4] || header[8..] != own[8..HEADER] {
            return None;
        }
        let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let mut packing = Packing::default();
        for (place, count) in (Counts { bytes: numbers.get(..length)?, index: 0 }) {
            (place < PLACES && packing.sum.checked_add(count).is_some()).then(|| packing.add(place, count))?;
        }
        Some(packing.finish())
    }

    /// Every non-empty place of the counts array with its count, in ascending order.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        Counts { bytes: &self.numbers, index: 0 }
    }
}

/// Packs values in nanoseconds with how often each was seen. Values over the recorded bound count at it.
impl FromIterator<(u64, u64)> for Packed {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(values: I) -> Self {
        let values = values.into_iter();
        let mut places: Vec<(usize, u64)> = Vec::with_capacity(values.size_hint().0);
        places.extend(values.filter(|(_, count)| *count > 0).map(|(ns, count)| (place_of(ns), count)));
        places.sort_by_key(|(place, _)| *place);
        // A run of zeros and a count take three bytes in most places.
        let mut packing = Packing { numbers: Vec::with_capacity(3 * places.len()), ..Packing::default() };
        for same in places.chunk_by(|(one, _), (two, _)| one == two) {
            packing.add(same[0].0, same.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count)));
        }
        packing.finish()
    }
}

/// Encodes counts, place by place.
#[derive(Default)]
struct Packing {
    numbers: Vec<u8>,
    sum: u64,
    /// The place after the last.
    end: usize,
}

impl Packing {
    /// Adds a count that is not 0, at a place after all others.
    fn add(&mut self, place: usize, count: u64) {
        match place - self.end {
            0 => {}
            // A single zero is a count.
            1 => self.number(0),
            zeros => self.number(-(zeros as i64)),
        }
        let count = count.min(i64::MAX as u64);
        self.number(count as i64);
        self.sum = self.sum.saturating_add(count);
        self.end = place + 1;
    }

    fn number(&mut self, number: i64) {
        let mut rest = ((number << 1) ^ (number >> 63)) as u64;
        for _ in 1..LONGEST_NUMBER {
            if rest < 0x80 {
                break;
            }
            self.numbers.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.numbers.push(rest as u8);
    }

    fn finish(self) -> Packed {
        Packed { numbers: self.numbers.into(), count: self.sum, end: self.end }
    }
}

/// Decodes numbers to places with counts.
struct Counts<'a> {
    bytes: &'a [u8],
    index: usize,
}

impl Counts<'_> {
    #[inline]
    fn number(&mut self) -> Option<i64> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        // Nearly all counts take one byte.
        let value = if first & 0x80 == 0 { u64::from(first) } else { self.longer(first)? };
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn longer(&mut self, first: u8) -> Option<u64> {
        let mut value = u64::from(first & 0x7f);
        for place in 1..LONGEST_NUMBER {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            let bits = if place == LONGEST_NUMBER - 1 { byte } else { byte & 0x7f };
            value |= u64::from(bits) << (7 * place);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(value)
    }
}

impl Iterator for Counts<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let number = self.number()?;
            if number <= 0 {
                self.index = self.index.saturating_add(number.unsigned_abs().max(1) as usize);
                continue;
            }
            self.index = self.index.saturating_add(1);
            return Some((self.index - 1, number as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use proptest::prelude::*;

    use super::*;
    use crate::measure::histogram;

    fn values() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let value = prop_oneof![0u64..100_000, 0u64..50_000_000, 0..=HIGHEST_NS];
        let count = prop_oneof![1u64..3, 0u64..100_000, 0u64..1 << 55];
        proptest::collection::vec((value, count), 0..60)
    }

    fn v2(packed: &Packed) -> Vec<u8> {
        let mut bytes = Vec::new();
        packed.write_v2(&mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_an_equal_dense_histogram(values in values()) {
            let mut dense = histogram();
            values.iter().for_each(|(value, count)| dense.saturating_record_n(*value, *count));
            let mut expected = Vec::new();
            V2Serializer::new().serialize(&dense, &mut expected).unwrap();
            let packed: Packed = values.into_iter().collect();
            prop_assert_eq!(v2(&packed), expected);
            prop_assert_eq!((packed.count(), packed.max_ns()), (dense.len(), dense.max()));
            prop_assert_eq!(&Packed::of(&dense), &packed);
            prop_assert_eq!(Packed::read_v2(&v2(&packed)), Some(packed));
        }

        #[test]
        fn any_bytes_are_read_or_refused(numbers in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut bytes = v2(&Packed::default());
            bytes.truncate(HEADER);
            bytes[4..8].copy_from_slice(&(numbers.len() as u32).to_be_bytes());
            bytes.extend(numbers);
            if let Some(packed) = Packed::read_v2(&bytes) {
                prop_assert_eq!(packed.counts().map(|(_, count)| count).sum::<u64>(), packed.count());
                prop_assert_eq!(Packed::read_v2(&v2(&packed)), Some(packed));
            }
        }
    }

    #[test]
    fn values_over_the_bound_count_at_it() {
        let over: Packed = [(u64::MAX, 1), (HIGHEST_NS, 2), (5, 0)].into_iter().collect();
        assert_eq!(over, [(HIGHEST_NS, 3)].into_iter().collect());
    }

    #[test]
    fn other_bounds_are_not_read() {
        let mut bytes = v2(&Packed::default());
        bytes[12..16].copy_from_slice(&2u32.to_be_bytes());
        assert_eq!(Packed::read_v2(&bytes), None);
        assert_eq!(Packed::read_v2(&bytes[..20]), None);
    }
}
