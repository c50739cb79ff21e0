//! Quantities: numbers that a workflow writes with their unit; and names that a backend must know.
//!
//! They reach a plugin, and leave it, as plain numbers. Their JSON Schema says which unit belongs to them, so that
//! `hold: 2` instead of `hold: 2m` is a mistake with a place in the workflow file.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

macro_rules! quantities {
    ($( $(#[$meta:meta])* $name:ident, $format:literal; )*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
            #[serde(transparent)]
            pub struct $name(pub f64);

            impl JsonSchema for $name {
                fn schema_name() -> Cow<'static, str> {
                    stringify!($name).into()
                }
                fn inline_schema() -> bool {
                    true
                }
                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!({ "type": "number", "format": $format })
                }
            }
        )*
    };
}

quantities! {
    /// A length of time in seconds, written as `30m` in a workflow.
    Duration, "duration";
    /// Something per second, written as `10000/s` in a workflow.
    Rate, "rate";
    /// An amount of data in bytes, written as `96MiB` in a workflow.
    Bytes, "bytes";
    /// Percent, written as `90 %` in a workflow: 90 and not 0.9.
    Percent, "percent";
}

impl Duration {
    /// So many seconds.
    pub const fn seconds(seconds: f64) -> Self {
        Self(seconds)
    }

    /// So many milliseconds.
    pub fn millis(ms: u64) -> Self {
        Self(ms as f64 / 1000.0)
    }

    /// In milliseconds, rounded; 0 for what is negative or no number.
    pub fn as_millis(self) -> u64 {
        (self.0 * 1000.0).round() as u64
    }
}

impl fmt::Display for Duration {
    /// Two units at most, such as `1 h 21 m`, `2 m`, `0.25 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0.round() as u64;
        let units = match whole {
            0..60 => return write!(f, "{} s", (self.0 * 100.0).round() / 100.0),
            60..3600 => [(whole / 60, "m"), (whole % 60, "s")],
            _ => [(whole / 3600, "h"), (whole % 3600 / 60, "m")],
        };
        let shown: Vec<_> = units.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n} {unit}")).collect();
        f.write_str(&shown.join(" "))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two digits that say something: `0.00028/s` is one operation an hour.
        let mut decimals = 0;
        let mut digits = self.0.abs();
        while digits > 0.0 && digits < 9.95 && digits.fract() != 0.0 && decimals < 12 {
            decimals += 1;
            digits *= 10.0;
        }
        write!(f, "{:.decimals$}/s", self.0)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", (self.0 * 10.0).round() / 10.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut value, mut unit) = (self.0, "B");
        for larger in ["KiB", "MiB", "GiB", "TiB"] {
            if value < 1024.0 {
                break;
            }
            (value, unit) = (value / 1024.0, larger);
        }
        write!(f, "{} {unit}", (value * 10.0).round() / 10.0)
    }
}

macro_rules! names {
    ($( $(#[$meta:meta])* $name:ident, $format:literal; )*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
            #[serde(transparent)]
            pub struct $name(pub String);

            impl JsonSchema for $name {
                fn schema_name() -> Cow<'static, str> {
                    stringify!($name).into()
                }
                fn inline_schema() -> bool {
                    true
                }
                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!({ "type": "string", "format": $format })
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(&self.0)
                }
            }
        )*
    };
}

names! {
    /// A provider's name of a machine type, such as `i4i.large`: a workflow grants it, and the backend must have it.
    MachineType, "machine-type";
    /// A database product and its version, such as `cassandra 5.0`: the backend must have it.
    Database, "database";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let shown = |seconds| Duration(seconds).to_string();
        assert_eq!(shown(0.25), "0.25 s");
        assert_eq!(shown(59.0), "59 s");
        assert_eq!(shown(59.9), "1 m");
        assert_eq!(shown(120.0), "2 m");
        assert_eq!(shown(4887.0), "1 h 21 m");
        assert_eq!(shown(3600.0), "1 h");
    }

    #[test]
    fn amounts_read_well() {
        assert_eq!(Bytes(1023.0).to_string(), "1023 B");
        assert_eq!(Bytes(1536.0).to_string(), "1.5 KiB");
        assert_eq!(Bytes(436.0 * 1024f64.powi(3)).to_string(), "436 GiB");
        assert_eq!(Percent(89.96).to_string(), "90 %");
        let rates = [0.0, 1.0 / 3600.0, 0.5, 3.29, 9.96, 5000.4];
        assert_eq!(rates.map(|rate| Rate(rate).to_string()), ["0/s", "0.00028/s", "0.5/s", "3.3/s", "10/s", "5000/s"]);
    }

    #[test]
    fn what_is_no_time_is_no_milliseconds() {
        assert_eq!(Duration(-1.0).as_millis(), 0);
        assert_eq!(Duration(f64::NAN).as_millis(), 0);
        assert_eq!(Duration(1.5).as_millis(), 1500);
    }
}
