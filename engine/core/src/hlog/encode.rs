//! Writing the lines of an interval.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{CLOSING, Closing, ClosingCounts, one_line};
use crate::measure::{Counts, Interval, Packed, ms};

/// First bytes of a compressed V2 histogram.
pub(super) const COMPRESSED_COOKIE: u32 = 0x1c84_9314;

/// The longest part of a zlib stream that is stored as it is.
const LONGEST_STORED: usize = 65_535;

/// Writes intervals, reusing its buffers.
#[derive(Default)]
pub struct Writer {
    v2: Vec<u8>,
    bytes: Vec<u8>,
}

impl Writer {
    /// The lines of one interval, its closing comment last. Append them with one write.
    pub fn lines(&mut self, interval: &Interval) -> String {
        let mut text = String::new();
        for (name, counts) in &interval.operations {
            self.operation(&mut text, interval, &one_line(name), counts);
        }
        let closing = Closing {
            from_ms: interval.from_ms,
            to_ms: interval.to_ms,
            warm_up: interval.warm_up,
            asked_rate: interval.asked_rate.filter(|rate| rate.is_finite()),
            lines: text.lines().count(),
            operations: interval.operations.iter().map(|(name, counts)| (name.clone(), closing(counts))).collect(),
        };
        let closing = serde_json::to_string(&closing).expect("numbers and texts can be encoded");
        text + CLOSING + &closing + "]\n"
    }

    fn operation(&mut self, text: &mut String, at: &Interval, name: &str, counts: &Counts) {
        self.compress(&counts.response);
        self.line(text, at, &format!("{name}.rt"), counts.response.count(), counts.max_response_ns);
        // Without a queue both are often the same: the bytes stand already.
        if counts.service != counts.response {
            self.compress(&counts.service);
        }
        self.line(text, at, &format!("{name}.st"), counts.service.count(), counts.max_service_ns);
        for (class, failed) in &counts.errors {
            self.compress(failed);
            self.line(text, at, &format!("{name}.err.{}", one_line(class)), failed.count(), failed.max_ns());
        }
    }

    /// A line with the histogram that was compressed last.
    fn line(&self, text: &mut String, at: &Interval, tag: &str, count: u64, max_ns: u64) {
        let (start, length) = (at.from_ms as f64 / 1e3, (at.to_ms - at.from_ms) as f64 / 1e3);
        let max_ms = if count == 0 { 0.0 } else { ms(max_ns) };
        write!(text, "Tag={tag},{start:.3},{length:.3},{max_ms:.6},").expect("a string takes every text");
        STANDARD.encode_string(&self.bytes, text);
        text.push('\n');
    }

    /// Wraps a histogram as the compressed V2 encoding wants it, in a zlib stream that stores it as it is: packed counts
    /// are so dense that deflating them saves a tenth and costs more than all the rest.
    fn compress(&mut self, packed: &Packed) {
        self.v2.clear();
        packed.write_v2(&mut self.v2);
        let blocks = self.v2.len().div_ceil(LONGEST_STORED);
        let length = 2 + 5 * blocks + self.v2.len() + 4;
        self.bytes.clear();
        self.bytes.extend(COMPRESSED_COOKIE.to_be_bytes());
        self.bytes.extend((length as u32).to_be_bytes());
        self.bytes.extend([0x78, 0x01]);
        for (number, block) in self.v2.chunks(LONGEST_STORED).enumerate() {
            let length = block.len() as u16;
            self.bytes.push(u8::from(number + 1 == blocks));
            self.bytes.extend(length.to_le_bytes());
            self.bytes.extend((!length).to_le_bytes());
            self.bytes.extend(block);
        }
        self.bytes.extend(adler32(&self.v2).to_be_bytes());
    }
}

/// The checksum of a zlib stream.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    // So many sums fit into 32 bits.
    const MOST: usize = 5_552;
    let (mut sum, mut sums) = (1u32, 0u32);
    for part in bytes.chunks(MOST) {
        for &byte in part {
            sum += u32::from(byte);
            sums += sum;
        }
        (sum, sums) = (sum % MODULUS, sums % MODULUS);
    }
    sums << 16 | sum
}

fn closing(counts: &Counts) -> ClosingCounts {
    ClosingCounts {
        share: if counts.share.is_finite() { counts.share } else { 0.0 },
        clamped: counts.clamped,
        errors: counts.errors.keys().cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn a_histogram_of_any_size_is_a_zlib_stream() {
        let mut lengths = Vec::new();
        for values in [0, 1, 1_000, 400_000_u64] {
            let packed: Packed = (0..values).map(|number| (number << 12, u64::MAX >> 20)).collect();
            let mut writer = Writer::default();
            writer.compress(&packed);
            let (head, stream) = writer.bytes.split_at(8);
            assert_eq!(head[4..], (stream.len() as u32).to_be_bytes());
            let mut inflated = Vec::new();
            ZlibDecoder::new(stream).read_to_end(&mut inflated).unwrap();
            assert!(inflated == writer.v2, "{values} values");
            lengths.push(inflated.len());
        }
        assert!(lengths.is_sorted() && lengths[3] > LONGEST_STORED, "{lengths:?}");
    }
}
