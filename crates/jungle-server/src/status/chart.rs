//! A picture of what happened in the last minutes.

use std::fmt::Write;

/// How wide and high a picture is, in its own units.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 80.0;

/// A picture with a line or two.
pub(super) struct Chart {
    pub(super) title: &'static str,
    /// What the highest point is, as its axis says it.
    pub(super) top: String,
    pub(super) lines: Vec<Line>,
}

/// A line of it.
pub(super) struct Line {
    pub(super) name: &'static str,
    /// The newest value, as text; none when there is none now.
    pub(super) newest: Option<String>,
    /// Where it goes, as the attribute `d` of an SVG path has it; it is broken where there is none.
    pub(super) way: String,
}

/// How a value is said.
pub(super) type Say = fn(f64) -> String;

impl Chart {
    /// Of values from the oldest to the newest; all lines have as many.
    pub(super) fn new(
        title: &'static str,
        say: Say,
        lines: &[(&'static str, Vec<Option<f64>>)],
    ) -> Chart {
        let values = lines.iter().flat_map(|(_, values)| values.iter().flatten());
        let top = values.fold(0.0, |top: f64, &value| top.max(value));
        let line = |(name, values): &(&'static str, Vec<Option<f64>>)| Line {
            name,
            newest: values.last().copied().flatten().map(say),
            way: way(values, top),
        };
        Chart { title, top: say(top), lines: lines.iter().map(line).collect() }
    }
}

/// The newest is at the right edge; where little was seen yet, the left stays empty.
fn way(values: &[Option<f64>], top: f64) -> String {
    let step = WIDTH / (super::SPANS - 1) as f64;
    let mut way = String::new();
    let mut is_drawing = false;
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value else {
            is_drawing = false;
            continue;
        };
        let x = WIDTH - step * (values.len() - 1 - at) as f64;
        let y = HEIGHT - if top > 0.0 { value / top * HEIGHT } else { 0.0 };
        let pen = if is_drawing { 'L' } else { 'M' };
        // A string takes everything.
        let _ = write!(way, "{pen}{x:.1} {y:.1}");
        if !is_drawing {
            // A point that is alone is seen, too.
            way.push_str("h.1");
        }
        is_drawing = true;
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_left_to_right_and_is_broken_where_nothing_was() {
        let values = vec![Some(1.0), Some(4.0), None, Some(2.0)];
        let chart = Chart::new("t", |value| format!("{value} /s"), &[("a", values)]);
        let step = WIDTH / (crate::status::SPANS - 1) as f64;
        let x = |back: f64| format!("{:.1}", WIDTH - back * step);
        let way = format!("M{} 60.0h.1L{} 0.0M{} 40.0h.1", x(3.0), x(2.0), x(0.0));
        assert_eq!((&*chart.lines[0].way, &*chart.top), (&*way, "4 /s"));
        assert_eq!(chart.lines[0].newest.as_deref(), Some("2 /s"));
    }

    #[test]
    fn nothing_is_a_flat_line() {
        let chart = Chart::new("t", |value| value.to_string(), &[("a", vec![Some(0.0), None])]);
        assert!(chart.lines[0].way.contains(" 80.0"), "{}", chart.lines[0].way);
        assert_eq!((&*chart.top, chart.lines[0].newest.is_none()), ("0", true));
        assert_eq!(Chart::new("t", |value| value.to_string(), &[("a", vec![])]).lines[0].way, "");
    }
}
