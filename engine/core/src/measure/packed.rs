//! A recorded histogram in its least form: the counts as the V2 encoding writes them, without the dense array.
//!
//! A dense histogram takes 200 KB; its runs of zeros and small counts take a few hundred bytes. A run keeps thousands of
//! them, and the log files hold the same bytes.

use std::borrow::Cow;

use hdrhistogram::serialization::{Serializer, V2Serializer};

use super::{HIGHEST_NS, Histogram, LOWEST_NS, SIGNIFICANT_DIGITS, histogram};

/// Bytes of the V2 encoding before the counts.
const HEADER: usize = 40;

/// A histogram with the bounds of [`super::histogram`], packed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packed {
    encoded: Box<[u8]>,
    count: u64,
}

impl Packed {
    /// Packs a histogram. One with other bounds is brought to the recorded ones first; values over them are clamped.
    pub fn of(source: &Histogram, encoder: &mut Encoder) -> Self {
        if source.is_empty() {
            return Self::default();
        }
        let encoded = match has_recorded_bounds(source) {
            true => encoder.v2(source),
            false => encoder.v2(&rebound(source)),
        };
        Self { encoded: encoded.into(), count: source.len() }
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The V2 encoding, header included.
    pub fn v2(&self) -> Cow<'_, [u8]> {
        match self.encoded.is_empty() {
            true => Encoder::default().v2(&histogram()).to_vec().into(),
            false => Cow::Borrowed(&self.encoded),
        }
    }

    /// Every non-empty place of the counts array with its count, in ascending order.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        Counts { bytes: self.encoded.get(HEADER..).unwrap_or_default(), index: 0 }
    }
}

/// Packs histograms, reusing one buffer.
pub struct Encoder {
    serializer: V2Serializer,
    buffer: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { serializer: V2Serializer::new(), buffer: Vec::new() }
    }
}

impl Encoder {
    /// The V2 encoding of a histogram with the recorded bounds.
    fn v2(&mut self, source: &Histogram) -> &[u8] {
        self.buffer.clear();
        self.serializer.serialize(source, &mut self.buffer).expect("memory takes every byte, counts stay below 2^63");
        &self.buffer
    }
}

fn has_recorded_bounds(source: &Histogram) -> bool {
    (source.low(), source.high(), source.sigfig()) == (LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
}

fn rebound(source: &Histogram) -> Histogram {
    let mut target = histogram();
    for step in source.iter_recorded() {
        target.saturating_record_n(step.value_iterated_to(), step.count_at_value());
    }
    target
}

/// Decodes zig-zag varints: a positive number is a count, a negative one a run of zeros.
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
        for place in 1..9 {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            let bits = if place == 8 { byte } else { byte & 0x7f };
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
            self.index += 1;
            return Some((self.index - 1, number as u64));
        }
    }
}
