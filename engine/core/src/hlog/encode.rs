//! Writing the lines of an interval.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress};

use super::{CLOSING, Closing, ClosingCounts, one_line};
use crate::measure::{Counts, Encoder, Interval, Packed, Recorded, RecordedCounts, Recording, ms};

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
    /// Pushes an interval into a recording and answers its lines; none when the recording does not take it. Packs each
    /// histogram once for both.
    pub fn record(&mut self, recording: &mut Recording, interval: Interval) -> Option<String> {
        if !recording.fits(&interval) {
            return None;
        }
        let recorded = Recorded::of(&interval, &mut self.encoder);
        let lines = self.lines_of(&interval, &recorded);
        recording.insert(interval, recorded);
        Some(lines)
    }

    /// The lines of one interval, its closing comment last. Append them with one write.
    pub fn lines(&mut self, interval: &Interval) -> String {
        let recorded = Recorded::of(interval, &mut self.encoder);
        self.lines_of(interval, &recorded)
    }

    fn lines_of(&mut self, interval: &Interval, recorded: &Recorded) -> String {
        let mut text = String::new();
        for ((name, counts), packed) in interval.operations.iter().zip(recorded.operations.values()) {
            self.operation(&mut text, interval, &one_line(name), counts, packed);
        }
        let closing = Closing {
            from_ms: recorded.from_ms,
            to_ms: recorded.to_ms,
            warm_up: recorded.warm_up,
            asked_rate: recorded.asked_rate,
            lines: text.lines().count(),
            operations: interval.operations.iter().map(|(name, counts)| (name.clone(), closing(counts))).collect(),
        };
        let closing = serde_json::to_string(&closing).expect("numbers and texts can be encoded");
        text + CLOSING + &closing + "]\n"
    }

    fn operation(&mut self, text: &mut String, at: &Interval, name: &str, counts: &Counts, packed: &RecordedCounts) {
        self.compress(&packed.response.v2());
        self.line(text, at, &format!("{name}.rt"), packed.response.count(), packed.max_response_ns);
        // Without a queue both are often the same: the bytes stand already.
        if packed.service != packed.response {
            self.compress(&packed.service.v2());
        }
        self.line(text, at, &format!("{name}.st"), packed.service.count(), packed.max_service_ns);
        for (class, times) in &counts.errors {
            let failed = Packed::of(times, &mut self.encoder);
            self.compress(&failed.v2());
            self.line(text, at, &format!("{name}.err.{}", one_line(class)), failed.count(), times.max());
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
    ClosingCounts {
        share: if counts.share.is_finite() { counts.share } else { 0.0 },
        clamped: counts.clamped,
        errors: counts.errors.keys().cloned().collect(),
    }
}
