//! Curves as SVG. Own code, since all that is needed is lines over numbers of threads: the plotting
//! crates bring a dozen packages for it.

use std::fmt::Write;

use super::document::escape;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// Room for the labels: left, top, right, bottom.
const ROOM: [f64; 4] = [76.0, 44.0, 16.0, 52.0];
/// The legend's lines.
const LEGEND_LINE: f64 = 18.0;
/// So many colours; then they come again.
const COLOURS: usize = 6;

/// A picture of curves over numbers of threads.
#[derive(Clone, Debug)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// Below the axis.
    pub x: &'static str,
    /// How that one counts.
    pub x_scale: Scale,
    /// Beside the other one.
    pub y: String,
    /// How that one counts.
    pub scale: Scale,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// How an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From 0 up.
    Linear,
    /// In powers of ten.
    Logarithmic,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// In the order of the axis.
    pub points: Vec<Mark>,
}

/// A point, and from where to where its rounds lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// On so many threads.
    pub x: f64,
    /// The number.
    pub y: f64,
    /// The least and the greatest.
    pub spread: (f64, f64),
}

impl Mark {
    /// A point without a spread.
    pub fn at((x, y): (f64, f64)) -> Mark {
        Mark { x, y, spread: (y, y) }
    }
}

/// What a curve is, which says how it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Measured here: points with their spread, joined.
    Measured,
    /// Measured by others, elsewhere: hollow points, dashes.
    Published,
    /// What a model says, measured by nobody: hollow points, long dashes.
    Predicted,
    /// What came of it in virtual time: dots, hollow points in the colour of the curve before it.
    Simulated,
    /// Amdahl's law: a thin dotted line in the colour of the curve before it.
    Amdahl,
    /// The Universal Scalability Law: a thin line in that colour.
    Scalability,
    /// As good as it could be: a grey line.
    Ideal,
}

impl Kind {
    /// Is it told in points?
    fn has_points(self) -> bool {
        matches!(self, Kind::Measured | Kind::Published | Kind::Predicted | Kind::Simulated)
    }

    /// Does it have a colour of its own?
    fn is_coloured(self) -> bool {
        self.has_points() && self != Kind::Simulated
    }
}

/// From numbers to places.
struct Frame {
    x: (f64, f64),
    x_scale: Scale,
    y: (f64, f64),
    scale: Scale,
    height: f64,
}

impl Plot {
    /// The picture, dark where the reader's is.
    pub fn svg(&self) -> String {
        let frame = self.frame();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" \
             aria-label=\"{}\" class=\"plot\">\n<style>{}</style>\n",
            frame.height,
            escape(&self.title),
            include_str!("plot.css")
        );
        let _ = writeln!(
            svg,
            "<rect class=\"paper\" width=\"{WIDTH}\" height=\"{}\"/>\
             <text class=\"title\" x=\"{}\" y=\"26\">{}</text>",
            frame.height,
            ROOM[0],
            escape(&self.title)
        );
        self.axes(&frame, &mut svg);
        let mut colour = 0;
        for (at, line) in self.lines.iter().enumerate() {
            colour += usize::from(at > 0 && line.kind.is_coloured());
            line.draw(&frame, colour % COLOURS, &mut svg);
            line.name(HEIGHT + LEGEND_LINE * at as f64, colour % COLOURS, &mut svg);
        }
        svg + "</svg>\n"
    }

    fn frame(&self) -> Frame {
        let marks = || self.lines.iter().flat_map(|line| &line.points);
        let top = marks().map(|mark| mark.spread.1.max(mark.y)).fold(1e-9, f64::max);
        let least = marks().map(|mark| mark.spread.0.min(mark.y)).filter(|y| *y > 0.0);
        let least = least.fold(top, f64::min);
        let y = match self.scale {
            Scale::Linear => (0.0, 1.05 * top),
            Scale::Logarithmic => (least.log10().floor(), top.log10().ceil()),
        };
        let y = if y.1 > y.0 { y } else { (y.0, y.0 + 1.0) };
        let most = marks().map(|mark| mark.x).fold(1.0, f64::max);
        let x = match self.x_scale {
            Scale::Linear => (0.0, most + 0.5),
            Scale::Logarithmic => {
                let least = marks().map(|mark| mark.x).fold(most, f64::min).max(1e-9);
                ((least / 1.2).log10(), (1.2 * most).log10())
            }
        };
        let height = HEIGHT + LEGEND_LINE * self.lines.len() as f64 + 4.0;
        Frame { x, x_scale: self.x_scale, y, scale: self.scale, height }
    }

    fn axes(&self, frame: &Frame, svg: &mut String) {
        let (left, right) = (ROOM[0], WIDTH - ROOM[2]);
        for (value, label) in frame.steps() {
            let y = frame.y(value);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"tick end\" x=\"{}\" y=\"{:.1}\">{label}</text>",
                left - 8.0,
                y + 4.0
            );
        }
        let bottom = HEIGHT - ROOM[3];
        for x in self.counts() {
            let at = frame.x(x);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{}\"/>\
                 <text class=\"tick middle\" x=\"{at:.1}\" y=\"{}\">{x}</text>",
                bottom + 5.0,
                bottom + 19.0
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"tick middle\" x=\"{}\" y=\"{}\">{}</text>\
             <text class=\"tick middle\" transform=\"translate(16 {}) rotate(-90)\">{}</text>",
            (left + right) / 2.0,
            bottom + 38.0,
            escape(self.x),
            (ROOM[1] + bottom) / 2.0,
            escape(&self.y)
        );
    }

    /// The numbers of threads that have points, those left out that would stand on another.
    fn counts(&self) -> Vec<f64> {
        let shown = self.lines.iter().filter(|line| line.kind.has_points());
        let mut counts: Vec<f64> = shown.flat_map(|line| &line.points).map(|mark| mark.x).collect();
        counts.sort_by(f64::total_cmp);
        let room = counts.last().copied().unwrap_or(0.0) / 30.0;
        counts.dedup_by(|b, a| match self.x_scale {
            Scale::Linear => *b - *a < room.max(1e-9),
            Scale::Logarithmic => *b < 1.25 * *a,
        });
        counts
    }
}

impl Line {
    fn draw(&self, frame: &Frame, colour: usize, svg: &mut String) {
        let class = self.class(colour);
        let place = |mark: &Mark| format!("{:.1},{:.1}", frame.x(mark.x), frame.y(mark.y));
        let places: Vec<String> = self.points.iter().map(place).collect();
        let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", places.join(" "));
        if !self.kind.has_points() {
            return;
        }
        for mark in &self.points {
            let (x, y) = (frame.x(mark.x), frame.y(mark.y));
            let (low, high) = (frame.y(mark.spread.0), frame.y(mark.spread.1));
            let _ = writeln!(
                svg,
                "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" \
                 y2=\"{high:.1}\"/><circle class=\"{class} dot\" cx=\"{x:.1}\" \
                 cy=\"{y:.1}\" r=\"4\"><title>{}: {} at {}</title></circle>",
                escape(&self.name),
                short(mark.y),
                mark.x
            );
        }
    }

    /// Its line in the legend.
    fn name(&self, y: f64, colour: usize, svg: &mut String) {
        let (left, class) = (ROOM[0], self.class(colour));
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{left}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/>\
             <text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>",
            left + 26.0,
            left + 34.0,
            y + 4.0,
            escape(&self.name)
        );
    }

    fn class(&self, colour: usize) -> String {
        match self.kind {
            Kind::Measured => format!("c{colour} measured"),
            Kind::Published => format!("c{colour} published"),
            Kind::Predicted => format!("c{colour} predicted"),
            Kind::Simulated => format!("c{colour} simulated"),
            Kind::Amdahl => format!("c{colour} law amdahl"),
            Kind::Scalability => format!("c{colour} law"),
            Kind::Ideal => "ideal".to_owned(),
        }
    }
}

impl Frame {
    fn x(&self, x: f64) -> f64 {
        let width = WIDTH - ROOM[0] - ROOM[2];
        let x = match self.x_scale {
            Scale::Linear => x,
            Scale::Logarithmic => x.max(1e-9).log10(),
        };
        ROOM[0] + width * (x - self.x.0) / (self.x.1 - self.x.0)
    }

    fn y(&self, y: f64) -> f64 {
        let y = match self.scale {
            Scale::Linear => y,
            Scale::Logarithmic => y.max(1e-9).log10(),
        };
        let part = ((y - self.y.0) / (self.y.1 - self.y.0)).clamp(0.0, 1.0);
        let height = HEIGHT - ROOM[1] - ROOM[3];
        ROOM[1] + height * (1.0 - part)
    }

    /// Where lines go across, with what stands beside them.
    fn steps(&self) -> Vec<(f64, String)> {
        let (low, high) = self.y;
        match self.scale {
            Scale::Logarithmic => {
                let powers = low as i32..=high as i32;
                powers.map(|power| 10_f64.powi(power)).map(|y| (y, short(y))).collect()
            }
            Scale::Linear => {
                let power = 10_f64.powf((high / 5.0).log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
                let step = step.into_iter().find(|step| high / step <= 6.0).unwrap_or(high);
                (0..=6)
                    .map(|at| f64::from(at) * step)
                    .take_while(|y| *y <= high)
                    .map(|y| (y, short(y)))
                    .collect()
            }
        }
    }
}

/// A number as it stands at an axis.
fn short(number: f64) -> String {
    let (scaled, unit) = match number {
        1e9.. => (number / 1e9, " G"),
        1e6.. => (number / 1e6, " M"),
        1e3.. => (number / 1e3, " k"),
        _ => (number, ""),
    };
    let digits = format!("{scaled:.2}");
    format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::{Kind, Line, Mark, Plot, Scale, short};

    fn plot(scale: Scale, points: &[(f64, f64)]) -> String {
        let points = points.iter().copied().map(Mark::at).collect();
        let line = Line { name: "a < b".into(), kind: Kind::Measured, points };
        let (title, y) = ("t & u".to_owned(), "speed".to_owned());
        Plot { title, x: "threads", x_scale: scale, y, scale, lines: vec![line] }.svg()
    }

    #[test]
    fn points_lie_where_they_belong() {
        let svg = plot(Scale::Linear, &[(1.0, 0.0), (2.0, 100.0)]);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("cy=\"348.0\""), "0 is at the bottom: {svg}");
        assert!(svg.contains("a &lt; b") && svg.contains("t &amp; u"), "{svg}");
    }

    /// Nothing that can be measured makes places that are no numbers.
    #[test]
    fn odd_numbers_are_drawn_too() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            for points in [&[][..], &[(1.0, 0.0)], &[(1.0, 5.0)], &[(1.0, 1.0), (64.0, 1e12)]] {
                let svg = plot(scale, points);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    /// What nobody has measured looks otherwise than what was.
    #[test]
    fn predictions_are_dashed_in_a_colour_that_their_simulation_shares() {
        let line = |name: &str, kind| Line {
            name: name.to_owned(),
            kind,
            points: [(10.0, 1.0), (100.0, 2.0), (1_000.0, 3.0)].map(Mark::at).to_vec(),
        };
        let kinds = [Kind::Measured, Kind::Predicted, Kind::Simulated, Kind::Predicted];
        let svg = Plot {
            title: "t".to_owned(),
            x: "servers",
            x_scale: Scale::Logarithmic,
            y: "speed".to_owned(),
            scale: Scale::Linear,
            lines: kinds.map(|kind| line("a", kind)).to_vec(),
        }
        .svg();
        for class in ["c0 measured", "c1 predicted", "c1 simulated", "c2 predicted"] {
            assert!(svg.contains(&format!("<polyline class=\"{class}\"")), "{class}: {svg}");
        }
        assert!(svg.contains(".plot .predicted { stroke-dasharray"), "{svg}");
        // As far from 10 to 100 as from 100 to 1,000.
        let (_, first) = svg.split_once("points=\"").unwrap();
        let (first, _) = first.split_once('"').unwrap();
        let at: Vec<f64> = first
            .split(' ')
            .map(|point| point.split_once(',').unwrap().0.parse().unwrap())
            .collect();
        assert!((at[2] - 2.0 * at[1] + at[0]).abs() < 0.3, "{at:?}");
    }

    #[test]
    fn numbers_at_an_axis_are_short() {
        assert_eq!(short(12_500_000.0), "12.5 M");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(0.0), "0");
    }
}
