//! Quantities with their units: durations, rates, sizes, percentages.
//!
//! A workflow writes `30m`, `9850/s`, `96MiB` and `90 %`; everything behind it computes with plain numbers in seconds,
//! operations per second, bytes and percent. A bare number where a unit belongs is an error that lists the units.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a quantity measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A length of time; in seconds.
    Duration,
    /// How often; in times per second.
    Rate,
    /// A size; in bytes.
    Bytes,
    /// A part of a hundred; in percent.
    Percent,
}

/// Why a text is no quantity of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError {
    /// What is wrong with the text.
    pub message: String,
    /// Which units there are, with an example.
    pub help: String,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.help)
    }
}

impl std::error::Error for QuantityError {}

/// A unit with how many canonical ones it is: multiply by the first number, then divide by the second. Two whole
/// numbers keep `1ms` exact where a factor of 0.001 would not be.
type Unit = (&'static str, f64, f64);

const DURATION: &[Unit] = &[
    ("us", 1.0, 1e6),
    ("µs", 1.0, 1e6),
    ("ms", 1.0, 1e3),
    ("s", 1.0, 1.0),
    ("m", 60.0, 1.0),
    ("h", 3_600.0, 1.0),
    ("d", 86_400.0, 1.0),
];
const RATE: &[Unit] = &[
    ("/s", 1.0, 1.0),
    ("/m", 1.0, 60.0),
    ("/h", 1.0, 3_600.0),
    ("k/s", 1e3, 1.0),
    ("k/m", 1e3, 60.0),
    ("k/h", 1e3, 3_600.0),
    ("M/s", 1e6, 1.0),
    ("M/m", 1e6, 60.0),
    ("M/h", 1e6, 3_600.0),
];
const BYTES: &[Unit] = &[
    ("B", 1.0, 1.0),
    ("kB", 1e3, 1.0),
    ("MB", 1e6, 1.0),
    ("GB", 1e9, 1.0),
    ("TB", 1e12, 1.0),
    ("KiB", 1024.0, 1.0),
    ("MiB", 1_048_576.0, 1.0),
    ("GiB", 1_073_741_824.0, 1.0),
    ("TiB", 1_099_511_627_776.0, 1.0),
];
const PERCENT: &[Unit] = &[("%", 1.0, 1.0)];

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Duration, Self::Rate, Self::Bytes, Self::Percent];

    /// The kind that a JSON Schema's `format` names; none for other formats.
    pub fn from_format(format: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.format_name() == format)
    }

    /// The word for it in a JSON Schema's `format` and as the type of an input.
    pub fn format_name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::Percent => "percent",
        }
    }

    /// The kind with its article, for messages.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Duration => "a duration",
            Self::Rate => "a rate",
            Self::Bytes => "a size",
            Self::Percent => "a percentage",
        }
    }

    /// The units that exist, with an example.
    pub fn units(self) -> &'static str {
        match self {
            Self::Duration => "a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`",
            Self::Rate => "a rate has a unit: /s, /m or /h, such as `300/s` or `10k/s`",
            Self::Bytes => "a size has a unit: B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as `96MiB`",
            Self::Percent => "a percentage has the unit %, such as `90 %`",
        }
    }

    /// A regular expression (ECMA) that the texts of this kind match, for editors.
    pub fn pattern(self) -> &'static str {
        match self {
            Self::Duration => r"^\s*([0-9]+(\.[0-9]+)?\s*(us|µs|ms|s|m|h|d)\s*)+$",
            Self::Rate => r"^\s*[0-9]+(\.[0-9]+)?\s*[kM]?/[smh]\s*$",
            Self::Bytes => r"^\s*[0-9]+(\.[0-9]+)?\s*(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)\s*$",
            Self::Percent => r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$",
        }
    }

    /// Reads a text of this kind; the answer is in the canonical unit, never negative and finite.
    pub fn parse(self, text: &str) -> Result<f64, QuantityError> {
        let wrong = |message: String| QuantityError { message, help: self.units().into() };
        let shown = crate::diagnostic::quote(text);
        let mut rest = text.trim();
        let (mut total, mut parts, mut last) = (0.0, 0, f64::INFINITY);
        while !rest.is_empty() {
            let (number, after) =
                take_number(rest).ok_or_else(|| wrong(format!("{shown} is not {}", self.phrase())))?;
            let (unit, after) = take_unit(after);
            let (times, by) = self.unit(unit).ok_or_else(|| wrong(self.no_such_unit(&shown, unit)))?;
            let size = times / by;
            if parts > 0 && (self != Self::Duration || size >= last) {
                return Err(wrong(format!("{shown} is not {}", self.phrase())));
            }
            total += number * times / by;
            (rest, last, parts) = (after, size, parts + 1);
        }
        match parts {
            0 => Err(wrong(format!("an empty text is not {}", self.phrase()))),
            _ if !total.is_finite() => Err(wrong(format!("{shown} is too large"))),
            _ => Ok(total),
        }
    }

    fn unit(self, name: &str) -> Option<(f64, f64)> {
        self.table().iter().find(|unit| unit.0 == name).map(|unit| (unit.1, unit.2))
    }

    fn table(self) -> &'static [Unit] {
        match self {
            Self::Duration => DURATION,
            Self::Rate => RATE,
            Self::Bytes => BYTES,
            Self::Percent => PERCENT,
        }
    }

    fn no_such_unit(self, shown: &str, unit: &str) -> String {
        if unit.is_empty() {
            return format!("{shown} has no unit, but {} is wanted here", self.phrase());
        }
        if let Some(other) = Self::ALL.into_iter().find(|kind| kind.unit(unit).is_some()) {
            return format!("{shown} is {}, but {} is wanted here", other.phrase(), self.phrase());
        }
        let unit = crate::diagnostic::quote(unit);
        match self.table().iter().find(|known| known.0.eq_ignore_ascii_case(unit.trim_matches('`'))) {
            Some(known) => format!("{shown} has the unknown unit {unit}: it is written `{}`", known.0),
            None => format!("{shown} has the unknown unit {unit}"),
        }
    }

    /// Writes a canonical value the way a workflow would; [`Kind::parse`] reads back the same number.
    pub fn format(self, value: f64) -> String {
        match self {
            Self::Duration => format_duration(value),
            Self::Rate => format!("{value}/s"),
            Self::Bytes => format_bytes(value),
            Self::Percent => format!("{value} %"),
        }
    }
}

/// Reads a duration as whole milliseconds, rounded.
pub fn parse_millis(text: &str) -> Result<crate::Millis, QuantityError> {
    let seconds = Kind::Duration.parse(text)?;
    if seconds > 1e12 {
        return Err(QuantityError {
            message: format!("{} is too long", crate::diagnostic::quote(text)),
            help: "a duration can be some ten thousand years".into(),
        });
    }
    Ok((seconds * 1e3).round() as crate::Millis)
}

/// A number without a fraction as a whole one, so that it fits schemas that ask for integers.
pub fn to_json(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { Value::from(value as i64) } else { Value::from(value) }
}

/// The unsigned decimal number at the beginning, with what follows it and white space.
fn take_number(text: &str) -> Option<(f64, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    let end = if fraction > 0 { whole + 1 + fraction } else { whole };
    if whole == 0 {
        return None;
    }
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

/// What stands before the next digit, without white space, with what follows.
fn take_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].trim(), &text[end..])
}

fn format_duration(seconds: f64) -> String {
    let whole = |value: f64| value.fract() == 0.0 && value < 1e15;
    if whole(seconds) && seconds >= 1.0 {
        return format_whole_seconds(seconds as u64);
    }
    for (unit, factor) in [("ms", 1e3), ("us", 1e6)] {
        let scaled = (seconds * factor).round();
        if seconds < 1.0 && scaled >= 1.0 && scaled / factor == seconds {
            return format!("{scaled}{unit}");
        }
    }
    format!("{seconds}s")
}

fn format_whole_seconds(seconds: u64) -> String {
    let parts = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect()
}

fn format_bytes(bytes: f64) -> String {
    let fits = |unit: &&Unit| bytes >= unit.1 && bytes % unit.1 == 0.0 && bytes / unit.1 < 1e15;
    let best = BYTES.iter().filter(fits).max_by(|a, b| a.1.total_cmp(&b.1));
    match best {
        Some((name, size, _)) if *size > 1.0 => format!("{}{name}", bytes / size),
        _ => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_users_write_is_read() {
        let cases = [
            (Kind::Duration, "500ms", 0.5),
            (Kind::Duration, "1h30m", 5_400.0),
            (Kind::Duration, "1 h 30 m", 5_400.0),
            (Kind::Duration, "1d", 86_400.0),
            (Kind::Duration, "250us", 0.000_25),
            (Kind::Rate, "9850/s", 9_850.0),
            (Kind::Rate, "10k/s", 10_000.0),
            (Kind::Rate, "600/m", 10.0),
            (Kind::Bytes, "96MiB", 100_663_296.0),
            (Kind::Bytes, "1GB", 1e9),
            (Kind::Bytes, "10 B", 10.0),
            (Kind::Percent, "90 %", 90.0),
            (Kind::Percent, "0.1%", 0.1),
        ];
        for (kind, text, value) in cases {
            assert_eq!(kind.parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn mistakes_say_which_units_exist() {
        let say = |kind: Kind, text| kind.parse(text).unwrap_err().to_string();
        insta::assert_snapshot!(say(Kind::Duration, "30"), @"`30` has no unit, but a duration is wanted here: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`");
        insta::assert_snapshot!(say(Kind::Rate, "30s"), @"`30s` is a duration, but a rate is wanted here: a rate has a unit: /s, /m or /h, such as `300/s` or `10k/s`");
        insta::assert_snapshot!(say(Kind::Bytes, "3mib"), @"`3mib` has the unknown unit `mib`: it is written `MiB`: a size has a unit: B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as `96MiB`");
        insta::assert_snapshot!(say(Kind::Percent, "most"), @"`most` is not a percentage: a percentage has the unit %, such as `90 %`");
        insta::assert_snapshot!(say(Kind::Rate, "1/s2/s"), @"`1/s2/s` is not a rate: a rate has a unit: /s, /m or /h, such as `300/s` or `10k/s`");
        insta::assert_snapshot!(say(Kind::Duration, "1m1h"), @"`1m1h` is not a duration: a duration has a unit: us, ms, s, m, h or d, such as `30s` or `1h30m`");
        for text in ["-1s", "+1s", "1e3s", "s", "", " ", "1.s", ".5s", "1,5s", "∞s", "１s", "1s 1s"] {
            assert!(Kind::Duration.parse(text).is_err(), "{text:?}");
        }
        assert!(Kind::Bytes.parse(&format!("{}TB", "9".repeat(400))).is_err());
    }

    #[test]
    fn values_are_written_with_fitting_units() {
        let write = |kind: Kind, value| kind.format(value);
        assert_eq!(write(Kind::Duration, 5_400.0), "1h30m");
        assert_eq!(write(Kind::Duration, 0.5), "500ms");
        assert_eq!(write(Kind::Duration, 0.0), "0s");
        assert_eq!(write(Kind::Bytes, 100_663_296.0), "96MiB");
        assert_eq!(write(Kind::Bytes, 1e9), "1GB");
        assert_eq!(write(Kind::Bytes, 10.0), "10 B");
        assert_eq!(write(Kind::Rate, 9_850.0), "9850/s");
    }

    fn kinds() -> impl Strategy<Value = Kind> {
        prop::sample::select(Kind::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn writing_and_reading_gives_the_same_number(kind in kinds(), value in prop_oneof![
            0.0..1e12_f64, (0_u64..10_000_000_000).prop_map(|n| n as f64), (0_u64..100_000).prop_map(|n| n as f64 / 1e3),
        ]) {
            let text = kind.format(value);
            prop_assert_eq!(kind.parse(&text), Ok(value), "{}", text);
        }

        #[test]
        fn no_text_panics(kind in kinds(), text in "\\PC{0,12}|[0-9a-zµ%/. ]{0,12}") {
            if let Ok(value) = kind.parse(&text) {
                prop_assert!(value.is_finite() && value >= 0.0);
            }
        }
    }
}
