//! One panel: lines on a time or quantile axis, with labels that do not shrink with the drawing.

use std::fmt::Write;

use wfe_core::measure::text;

use super::Text;

/// How values become heights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// From 0 to this.
    Linear(f64),
    /// From ten to the one power to ten to the other.
    Log(i32, i32),
}

impl Scale {
    /// A scale from 0 that ends at a round number.
    pub(super) fn linear(max: f64) -> Self {
        let step = round_step(max);
        Self::Linear((max / step).ceil().max(1.0) * step)
    }

    /// Whole decades around the values.
    pub(super) fn log(values: impl Iterator<Item = f64> + Clone) -> Self {
        let positive = values.filter(|value| *value > 0.0);
        let low = positive.clone().fold(f64::INFINITY, f64::min).max(1e-3);
        let high = positive.fold(0.0, f64::max).max(low);
        if !low.is_finite() {
            return Self::Log(-1, 1);
        }
        let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        Self::Log(from, to.max(from + 1))
    }

    /// The height of a value: 0 at the bottom, 1 at the top.
    pub(super) fn height(self, value: f64) -> f64 {
        let height = match self {
            Self::Linear(max) => value / max,
            Self::Log(from, to) => (value.max(1e-9).log10() - f64::from(from)) / f64::from(to - from),
        };
        height.clamp(0.0, 1.0)
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear(max) => {
                let step = round_step(max);
                (0..).map(|n| f64::from(n) * step).take_while(|tick| *tick <= max * 1.001).collect()
            }
            Self::Log(from, to) => {
                let every = ((to - from) as usize).div_ceil(5);
                (from..=to).step_by(every).map(|power| 10f64.powi(power)).collect()
            }
        }
    }
}

/// A step of 1, 2 or 5 times a power of ten that gives two to five ticks.
fn round_step(max: f64) -> f64 {
    let rough = (max / 4.0).max(1e-6);
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999).unwrap_or(10.0);
    factor * power
}

/// One line of a panel.
pub(super) struct Line {
    /// Its name in the legend.
    pub(super) name: String,
    /// Which colour, from 0; none for the text colour.
    pub(super) colour: Option<usize>,
    /// Which pattern.
    pub(super) dash: Dash,
    /// Its points: parts of the width with values; none interrupts the line.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

/// The pattern of a line: tells lines apart where colours cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Dashed,
    Dotted,
    Alternating,
    Thin,
}

impl Dash {
    /// The pattern of the n-th line where each stands for a node.
    pub(super) fn nth(n: usize) -> Self {
        [Self::Solid, Self::Dashed, Self::Dotted, Self::Alternating][n / COLOURS % 4]
    }

    fn class(self) -> &'static str {
        match self {
            Self::Solid => "solid",
            Self::Dashed => "dashed",
            Self::Dotted => "dotted",
            Self::Alternating => "dashdot",
            Self::Thin => "thin",
        }
    }
}

/// Colours before they repeat with another pattern.
pub(super) const COLOURS: usize = 6;

impl Line {
    fn stroke(&self) -> String {
        let colour = self.colour.map_or("ink".to_owned(), |colour| format!("c{}", colour % COLOURS));
        format!("{colour} {}", self.dash.class())
    }

    fn path(&self, scale: Scale) -> String {
        let mut path = String::new();
        let mut pen = 'M';
        for (place, (x, value)) in self.points.iter().enumerate() {
            let Some(value) = value else {
                pen = 'M';
                continue;
            };
            // The middle of a level stretch needs no point.
            let beside = |place: Option<usize>| place.and_then(|place| self.points.get(place)?.1);
            if beside(place.checked_sub(1)) == Some(*value) && beside(Some(place + 1)) == Some(*value) {
                continue;
            }
            let alone = pen == 'M' && self.points.get(place + 1).is_none_or(|(_, next)| next.is_none());
            let _ = write!(path, "{pen}{:.1} {:.1}", x * 1e3, (1.0 - scale.height(*value)) * 1e2);
            path.push_str(if alone { "h1" } else { "" });
            pen = 'L';
        }
        path
    }
}

/// A panel with its heading, legend, labels and lines.
pub(super) struct Panel<'a> {
    pub(super) title: &'a str,
    pub(super) unit: &'a str,
    pub(super) scale: Scale,
    pub(super) lines: &'a [Line],
    /// Whether the lines are named.
    pub(super) legend: bool,
    /// SVG behind the lines, in a box of 1000 x 100.
    pub(super) behind: &'a str,
    /// `tall` or `low`.
    pub(super) size: &'a str,
    /// A description for those who cannot see it.
    pub(super) summary: String,
}

impl Panel<'_> {
    pub(super) fn draw(&self, page: &mut String) {
        let _ = write!(page, "<div class=\"panel {}\"><p class=\"legend\"><b>{}</b>", self.size, Text(self.title));
        for line in self.lines.iter().filter(|_| self.legend) {
            let sample = "<svg viewBox=\"0 0 22 8\" aria-hidden=\"true\"><path d=\"M1 4H21\"/></svg>";
            let _ = write!(page, "<span class=\"key {}\">{sample}{}</span>", line.stroke(), Text(&line.name));
        }
        page.push_str("</p><div class=\"row\"><div class=\"gutter\" aria-hidden=\"true\">");
        let ticks = self.scale.ticks();
        for tick in &ticks {
            let height = self.scale.height(*tick) * 100.0;
            let _ = write!(page, "<span style=\"bottom:{height:.2}%\">{}</span>", Text(&label(*tick, self.unit)));
        }
        let _ = write!(
            page,
            "</div><div class=\"plot\"><svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{}\">{}<g class=\"grid\">",
            Text(&format!("{}. {}", self.title, self.summary)),
            self.behind
        );
        for tick in &ticks {
            let _ = write!(page, "<path d=\"M0 {:.2}H1000\"/>", (1.0 - self.scale.height(*tick)) * 100.0);
        }
        page.push_str("</g>");
        for line in self.lines {
            let _ = write!(page, "<path class=\"line {}\" d=\"{}\"/>", line.stroke(), line.path(self.scale));
        }
        page.push_str("</svg></div></div></div>");
    }
}

/// A tick's label: short, with its unit.
fn label(value: f64, unit: &str) -> String {
    match unit {
        "ms" if value >= 1e3 => format!("{} s", text::whole((value / 1e3).round() as u64)),
        "ms" if value < 1.0 => format!("{} µs", text::whole((value * 1e3).round() as u64)),
        "%" => format!("{value:.0} %"),
        _ if value >= 1e6 => format!("{} M{unit}", value / 1e6),
        _ if value >= 1e4 => format!("{} k{unit}", value / 1e3),
        "" if value.fract() != 0.0 => format!("{value}"),
        "" => text::whole(value as u64),
        _ => format!("{} {unit}", text::whole(value.round() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        assert_eq!(Scale::linear(9_850.0), Scale::Linear(10_000.0));
        assert_eq!(Scale::linear(0.0).height(0.0), 0.0);
        assert_eq!(Scale::log([0.2, 859.0].into_iter()), Scale::Log(-1, 3));
        assert_eq!(Scale::log(std::iter::empty()), Scale::Log(-1, 1));
        for max in [0.001, 0.7, 3.0, 99.0, 123_456.0] {
            let count = Scale::linear(max).ticks().len();
            assert!((3..=6).contains(&count), "{max}: {count}");
        }
    }

    #[test]
    fn a_line_is_interrupted_where_nothing_was_recorded() {
        let points = vec![(0.0, Some(0.0)), (0.1, Some(1.0)), (0.2, None), (0.3, Some(1.0)), (0.4, None)];
        let line = Line { name: String::new(), colour: None, dash: Dash::Solid, points };
        assert_eq!(line.path(Scale::Linear(1.0)), "M0.0 100.0L100.0 0.0M300.0 0.0h1");
        let points = (0..10).map(|n| (f64::from(n) / 10.0, Some(0.5))).collect();
        let level = Line { points, ..line };
        assert_eq!(level.path(Scale::Linear(1.0)), "M0.0 50.0L900.0 50.0");
    }
}
