//! Writing the lines of an interval.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress};

use super::{CLOSING, Closing, ClosingCounts, one_line};
use crate::measure::{Counts, Encoder, Histogram, Interval, Packed, ms};

/// First bytes of a compressed V2 histogram.
pub(super) const COMPRESSED_COOKIE: u32 = 0x1c84_9314;

/// Writes intervals, reusing its buffers.
pub struct Writer {
    encoder: Encoder,
    deflate: Compress,
    bytes: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Self {
        Self { encoder: Encoder::default(), deflate: Compress::new(Compression::fast(), true), bytes: Vec::new() }
    }
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

    fn operation(&mut self, text: &mut String, interval: &Interval, name: &str, counts: &Counts) {
        self.line(text, interval, &format!("{name}.rt"), &counts.response, counts.max_response_ns);
        self.line(text, interval, &format!("{name}.st"), &counts.service, counts.max_service_ns);
        for (class, times) in &counts.errors {
            self.line(text, interval, &format!("{name}.err.{}", one_line(class)), times, times.max());
        }
    }

    fn line(&mut self, text: &mut String, interval: &Interval, tag: &str, times: &Histogram, max_ns: u64) {
        let (start, length) = (interval.from_ms as f64 / 1e3, (interval.to_ms - interval.from_ms) as f64 / 1e3);
        let max_ns = if times.is_empty() { 0 } else { max_ns };
        let packed = Packed::of(times, &mut self.encoder);
        self.compress(&packed.v2());
        write!(text, "Tag={tag},{start:.3},{length:.3},{:.6},", ms(max_ns)).expect("a string takes every text");
        STANDARD.encode_string(&self.bytes, text);
        text.push('\n');
    }

    fn compress(&mut self, v2: &[u8]) {
        self.bytes.clear();
        // What cannot be compressed grows by five bytes for each block, and by the zlib header and checksum.
        self.bytes.reserve(v2.len() + v2.len() / 1_000 + 128);
        self.bytes.extend(COMPRESSED_COOKIE.to_be_bytes());
        self.bytes.extend([0; 4]);
        self.deflate.reset();
        self.deflate
            .compress_vec(v2, &mut self.bytes, FlushCompress::Finish)
            .expect("the buffer has room for all of it");
        let length = (self.bytes.len() - 8) as u32;
        self.bytes[4..8].copy_from_slice(&length.to_be_bytes());
    }
}

fn closing(counts: &Counts) -> ClosingCounts {
    ClosingCounts { share: counts.share, clamped: counts.clamped, errors: counts.errors.keys().cloned().collect() }
}
