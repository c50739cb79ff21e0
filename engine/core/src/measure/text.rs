//! Numbers as people read them: one way for limits, reports and messages.

use crate::Millis;

/// What stands where there is no number.
pub const NONE: &str = "n/a";

/// A whole number with a comma between thousands.
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number that is not negative with about three significant digits; [`NONE`] when it is none.
pub fn number(value: f64) -> String {
    match value {
        value if !value.is_finite() => NONE.into(),
        value if value < 0.0 => format!("-{}", number(-value)),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => whole(value.round() as u64),
    }
}

/// A latency, `3.35 ms`.
pub fn latency(ms: Option<f64>) -> String {
    ms.filter(|ms| ms.is_finite()).map_or(NONE.into(), |ms| format!("{} ms", number(ms)))
}

/// A rate, `9,850/s`; `0.00028/s` for one an hour.
pub fn rate(per_second: f64) -> String {
    match per_second {
        value if !value.is_finite() => NONE.into(),
        value if value > 0.0 && value < 0.0995 => {
            let decimals = (1.0 - value.log10().floor()).clamp(2.0, 12.0) as usize;
            format!("{value:.decimals$}/s")
        }
        value if value < 99.95 => format!("{}/s", number(value)),
        value => format!("{}/s", whole(value.round() as u64)),
    }
}

/// A moment of the run or a length, `1:42:07`.
pub fn clock(ms: Millis) -> String {
    let seconds = (ms + 500) / 1_000;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Seconds without needless decimals, `120 s` or `0.25 s`.
pub fn seconds(ms: Millis) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([whole(0), whole(999), whole(1_000), whole(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([number(0.004), number(9.996), number(99.96), number(-2.5)], ["0.00", "10.0", "100", "-2.50"]);
        assert_eq!([latency(None), latency(Some(f64::NAN)), latency(Some(3.349))], ["n/a", "n/a", "3.35 ms"]);
        assert_eq!([rate(f64::INFINITY), rate(9_849.6), rate(0.5)], ["n/a", "9,850/s", "0.50/s"]);
        assert_eq!([rate(0.0), rate(1.0 / 3600.0), rate(0.0994)], ["0.00/s", "0.00028/s", "0.099/s"]);
        assert_eq!([clock(0), clock(6_127_400)], ["0:00:00", "1:42:07"]);
        assert_eq!([seconds(120_000), seconds(250), seconds(0)], ["120 s", "0.25 s", "0 s"]);
    }
}
