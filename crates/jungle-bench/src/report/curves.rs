//! How work scales over threads: curves, laws fitted to them, and points that are too good.

use super::fit::{AMDAHL_MIN, Amdahl, Point, SCALABILITY_MIN, Scalability, parallel_of_ratio};
use super::plot::{Kind, Line, Mark, Plot, Scale};
use super::published::{self, Published};
use crate::lab::{Raw, beside_busy};
use crate::plan::{self, Threads};
use crate::results::{Row, find};
use crate::stats::{median, spread};
use crate::systems::System;
use crate::table::quantity;

/// Curves that belong together.
pub struct Figure {
    /// Its name in the folder.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What one ought to know beside it.
    pub notes: &'static [&'static str],
    /// The experiment, and whose cases are drawn.
    pub experiment: &'static str,
    /// Those, with the systems.
    pub cases: &'static [(&'static str, System)],
    /// What others published.
    pub published: &'static [Published],
    /// What the axis counts.
    pub x: X,
}

/// What is beside a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum X {
    /// The threads of the experiment.
    Threads,
    /// It uses all cores there are: one point.
    Cores,
}

use System::{Haskell, Jungle, Postgres};

/// All of them.
pub const FIGURES: [Figure; 6] = [
    Figure {
        name: "read",
        title: "E1: walking through snapshots",
        notes: &[published::ORIGINALS, published::READ_QUOTED, published::ORIGINALS_SOURCE],
        experiment: "read",
        cases: &[
            ("count", Jungle),
            ("visit", Jungle),
            ("visit-attribute", Jungle),
            ("visit", Haskell),
        ],
        published: &[published::READ],
        x: X::Threads,
    },
    Figure {
        name: "write",
        title: "E2: building trees",
        notes: &[published::ORIGINALS, published::WRITE_QUOTED, published::ORIGINALS_SOURCE],
        experiment: "write",
        cases: &[
            ("nodes", Jungle),
            ("attributes", Jungle),
            ("batch-nodes", Jungle),
            ("cursor-nodes", Jungle),
            ("nodes", Haskell),
        ],
        published: &[published::WRITE],
        x: X::Threads,
    },
    Figure {
        name: "point",
        title: "Reads by path",
        notes: &[],
        experiment: "point",
        cases: &[("read", Jungle), ("read-16", Jungle), ("read", Haskell)],
        published: &[],
        x: X::Threads,
    },
    Figure {
        name: "hot",
        title: "Writers on one tree",
        notes: &[],
        experiment: "hot",
        cases: &[("work-alone", Jungle), ("disjoint", Jungle), ("overlapping", Jungle)],
        published: &[],
        x: X::Threads,
    },
    Figure {
        name: "board",
        title: "E3: the board over HTTP",
        notes: &[
            published::ORIGINALS,
            published::ORIGINALS_SOURCE,
            "Their Java version has one point, at 12 processors",
            "Ours has one point, on all cores of this machine, which the load tool uses too",
        ],
        experiment: "board",
        cases: &[("read", Jungle), ("write", Jungle), ("hello", Jungle)],
        published: &published::BOARD,
        x: X::Cores,
    },
    Figure {
        name: "idle-trap",
        title: "E7: the idle-core trap",
        notes: &[published::POSTGRES],
        experiment: "idle-trap",
        cases: &[
            ("free", Jungle),
            ("pinned", Jungle),
            ("occupied", Jungle),
            ("select-free", Postgres),
            ("select-pinned", Postgres),
            ("select-occupied", Postgres),
        ],
        published: &[published::IDLE_TRAP, published::IDLE_TRAP_OCCUPIED],
        x: X::Threads,
    },
];

/// One curve: rates, and how many times those of its first point.
pub struct Curve {
    /// Whose.
    pub name: String,
    kind: Kind,
    /// A second.
    pub rates: Vec<Mark>,
    /// Over the first point, if that is of one thread.
    pub speedups: Vec<Mark>,
    /// Of its points, the fewest; what was published has none.
    rounds: usize,
}

impl Figure {
    /// Its curves, of what the file has.
    pub fn curves(&self, raw: &Raw) -> Vec<Curve> {
        let case = |(case, system): &(&str, System)| {
            let both = [Curve::measured(raw, case, *system, self.x)].into_iter();
            both.chain(Curve::beside_busy(raw, case, *system))
        };
        let measured = self.cases.iter().flat_map(case).filter(|curve| !curve.rates.is_empty());
        measured.chain(self.published.iter().map(Curve::published)).collect()
    }

    /// Is this case of this system drawn in it?
    fn has(&self, experiment: &str, case: &str, system: System) -> bool {
        self.experiment == experiment && self.cases.contains(&(case, system))
    }

    fn label(&self) -> &'static str {
        match self.x {
            X::Threads => "threads (published: processors; E7: clients)",
            X::Cores => "processors",
        }
    }

    /// The picture of what is done in a second.
    pub fn throughput(&self, curves: &[Curve]) -> Plot {
        let line = |curve: &Curve| Line {
            name: curve.name.clone(),
            kind: curve.kind,
            points: curve.rates.clone(),
        };
        Plot {
            title: format!("{}: throughput", self.title),
            x: self.label(),
            x_scale: Scale::Linear,
            y: "a second".to_owned(),
            scale: Scale::Logarithmic,
            lines: curves.iter().map(line).collect(),
        }
    }

    /// The picture of how many times one thread, with the laws that fit; `None` when no curve has
    /// two points.
    pub fn speedup(&self, curves: &[Curve]) -> Option<Plot> {
        let scaling: Vec<&Curve> = curves.iter().filter(|curve| curve.speedups.len() > 1).collect();
        let most = scaling.iter().flat_map(|curve| &curve.speedups).map(|mark| mark.x);
        let most = most.fold(0.0, f64::max);
        if scaling.is_empty() || self.x == X::Cores {
            return None;
        }
        let mut lines = Vec::new();
        for curve in scaling {
            let points = curve.speedups.clone();
            lines.push(Line { name: curve.name.clone(), kind: curve.kind, points });
            lines.extend(curve.laws());
        }
        let ideal = [(1.0, 1.0), (most, most)].map(Mark::at).to_vec();
        lines.push(Line {
            name: "as many times as threads".into(),
            kind: Kind::Ideal,
            points: ideal,
        });
        Some(Plot {
            title: format!("{}: speed-up", self.title),
            x: self.label(),
            x_scale: Scale::Linear,
            y: "times one thread".to_owned(),
            scale: Scale::Linear,
            lines,
        })
    }
}

fn mark(x: f64, samples: &[f64]) -> Mark {
    Mark { x, y: median(samples), spread: spread(samples) }
}

/// Points of all that was measured on several numbers of threads, and is drawn in no figure, at
/// which a thread does more than at fewer.
pub fn too_good_elsewhere(raw: &Raw) -> Vec<String> {
    let scales = |row: &&Row| {
        let is_drawn =
            FIGURES.iter().any(|figure| figure.has(row.experiment, row.case, row.system));
        let case = plan::find(row.experiment, row.case);
        // Elsewhere the number is of clients or servers, of which more may well do more each.
        let is_asked = case.is_some_and(|case| case.threads == Threads::Asked);
        row.threads == 1 && row.unit == "1/s" && is_asked && !is_drawn
    };
    let curves = raw.rows.iter().filter(scales).flat_map(|row| {
        let both = [Curve::measured(raw, row.case, row.system, X::Threads)].into_iter();
        both.chain(Curve::beside_busy(raw, row.case, row.system))
    });
    let curves = curves.map(|curve| {
        let name = format!("{}: {}", raw.experiment, curve.name);
        Curve { name, ..curve }
    });
    curves.flat_map(|curve| curve.too_good(raw.settings.occupy_idle)).collect()
}

/// What is held against what in `idle-trap`: being kept on some cores, and besides that others that
/// are busy, and both at once.
const LANES: [(&str, &str); 3] = [("pinned", "free"), ("occupied", "pinned"), ("occupied", "free")];

/// What that changes, for each case and number of threads of `idle-trap` that leaves a core idle:
/// on all cores there is nothing that could be changed.
pub fn idle_trap(raw: &Raw) -> Vec<String> {
    let has_idle = |row: &&Row| row.threads < raw.machine.cores;
    let lines = |row: &Row| {
        let line = |(one, other): (&str, &str)| {
            let other = format!("{}{other}", row.case.strip_suffix(one)?);
            let is_other =
                |it: &&Row| (&*other, row.system, row.threads) == (it.case, it.system, it.threads);
            raw.rows.iter().find(is_other).map(|other| over(row, other))
        };
        LANES.into_iter().filter_map(line).collect::<Vec<_>>()
    };
    raw.rows.iter().filter(has_idle).flat_map(lines).collect()
}

fn over(row: &Row, other: &Row) -> String {
    let (name, threads, case) = (row.system.name(), row.threads, row.case);
    format!("{name} {case} over {}, threads {threads}: {}", other.case, times(row, other))
}

/// How many times the rate of the other, round by round.
fn times(row: &Row, other: &Row) -> String {
    let over = row.over(other);
    let (low, high) = spread(&over);
    let rounds = match over.len() {
        0 => return "never in one round".to_owned(),
        1 => "one round".to_owned(),
        count => format!("{low:.2} to {high:.2}, {count} rounds"),
    };
    format!("{:.2} × ({rounds})", median(&over))
}

/// What was measured beside busy cores and beside idle ones.
pub fn both_ways(raw: &Raw) -> Vec<String> {
    let line = |busy: &Row| {
        let Row { experiment, case, system, threads, .. } = *busy;
        let idle = find(&raw.rows, (experiment, case), system, threads)?;
        let rate = |row: &Row| quantity(row.value, row.unit);
        let (name, rates) = (system.name(), [rate(busy), rate(idle)].join(", of "));
        let times = times(busy, idle);
        Some(format!(
            "{experiment} {case}, {name}, threads {threads}: {rates} beside idle ones: {times}"
        ))
    };
    raw.occupied.iter().filter_map(line).collect()
}

impl Curve {
    /// Of a case of a system, as the file has it.
    fn measured(raw: &Raw, case: &str, system: System, x: X) -> Curve {
        let of = |row: &&Row| row.case == case && row.system == system;
        let place = |row: &Row| match x {
            X::Threads => row.threads as f64,
            X::Cores => raw.machine.cores as f64,
        };
        let name = format!("{} {case}", system.name());
        Curve::through(name, raw.rows.iter().filter(of).collect(), place)
    }

    /// The same beside busy cores, if both ways were asked for. On all cores both are one.
    fn beside_busy(raw: &Raw, case: &str, system: System) -> Option<Curve> {
        let of = |row: &&Row| row.case == case && row.system == system;
        let busy: Vec<&Row> = raw.occupied.iter().filter(of).collect();
        if busy.is_empty() {
            return None;
        }
        let on_all = raw.rows.iter().filter(of).filter(|row| row.threads >= raw.machine.cores);
        let name = format!("{} {}", system.name(), beside_busy(case));
        let rows = busy.into_iter().chain(on_all).collect();
        Some(Curve::through(name, rows, |row| row.threads as f64))
    }

    /// Through what these rows have, each at its place.
    fn through(name: String, mut rows: Vec<&Row>, place: impl Fn(&Row) -> f64) -> Curve {
        rows.sort_by_key(|row| row.threads);
        let first = rows.first().filter(|row| row.threads == 1);
        let speedup = |row: &&Row| {
            let times = row.over(first?);
            (!times.is_empty()).then(|| mark(row.threads as f64, &times))
        };
        let shared = |row: &&Row| first.map_or(row.samples.len(), |first| row.over(first).len());
        let speedups = rows.iter().filter_map(speedup).filter(|mark| mark.y.is_finite());
        Curve {
            name,
            kind: Kind::Measured,
            speedups: speedups.collect(),
            rates: rows.iter().map(|row| mark(place(row), &row.samples)).collect(),
            rounds: rows.iter().map(shared).min().unwrap_or(0),
        }
    }

    fn published(published: &Published) -> Curve {
        let rates = published.rates();
        let first = rates.first().copied().filter(|(at, _)| *at == 1.0);
        let speedups = rates.iter().filter_map(|(at, rate)| Some((*at, rate / first?.1)));
        Curve {
            name: published.name.to_owned(),
            kind: Kind::Published,
            speedups: speedups.map(Mark::at).collect(),
            rates: rates.into_iter().map(Mark::at).collect(),
            rounds: 0,
        }
    }

    fn points(&self) -> Vec<Point> {
        self.rates.iter().map(|mark| (mark.x, mark.y)).collect()
    }

    /// The laws that can be fitted as lines, each over what one thread does by it.
    fn laws(&self) -> Vec<Line> {
        let points = self.points();
        let last = self.rates.last().map_or(1.0, |mark| mark.x);
        let at = |step: u32| 1.0 + (last - 1.0) * f64::from(step) / 60.0;
        let line = |name: &str, kind, times: &dyn Fn(f64) -> f64| Line {
            name: format!("{}: {name}", self.name),
            kind,
            points: (0..=60).map(at).map(|x| Mark::at((x, times(x)))).collect(),
        };
        let amdahl = Amdahl::fit(&points)
            .map(|law| line("Amdahl's law", Kind::Amdahl, &|x| law.rate(x) / law.alone));
        let scalability = Scalability::fit(&points).map(|law| {
            line("Universal Scalability Law", Kind::Scalability, &|x| law.rate(x) / law.alone)
        });
        amdahl.into_iter().chain(scalability).collect()
    }

    /// Its row in the table of laws.
    pub fn fitted(&self) -> Vec<String> {
        let points = self.points();
        let count = points.len();
        let few = |least: usize| format!("{count} of the {least} points that a fit needs");
        let none = || "–".to_owned();
        let Some(amdahl) = Amdahl::fit(&points) else {
            let parallel = self.parallel_of_two().unwrap_or_else(none);
            return vec![self.name.clone(), few(AMDAHL_MIN), parallel, none(), none(), none()];
        };
        let parallel =
            format!("{:.2} % (± {:.1} %)", 100.0 * amdahl.parallel, 100.0 * amdahl.error);
        let [contention, coherence, peak] = match Scalability::fit(&points) {
            Some(law) => {
                let peak = law.peak().map_or("none".to_owned(), |peak| format!("{peak:.0}"));
                let (contention, coherence) = (law.contention, law.coherence);
                let peak = format!("{peak} (± {:.1} %)", 100.0 * law.error);
                [format!("{contention:.4}"), format!("{coherence:.6}"), peak]
            }
            None => [few(SCALABILITY_MIN), none(), none()],
        };
        vec![self.name.clone(), count.to_string(), parallel, contention, coherence, peak]
    }

    /// The parallel part that follows from two points, and from the rounds' ratios.
    fn parallel_of_two(&self) -> Option<String> {
        let [_, more] = self.speedups[..] else { return None };
        let parallel = |times: f64| 100.0 * parallel_of_ratio(more.x, times);
        let (low, high) = more.spread;
        let rounds = match self.rounds {
            0 => String::new(),
            1 => "one round, ".to_owned(),
            _ => format!("{:.1} % to {:.1} %, ", parallel(low), parallel(high)),
        };
        Some(format!("{:.2} % ({rounds}of one ratio)", parallel(more.y)))
    }

    /// Points at which a thread does more than at fewer threads, each with the likely cause, which
    /// is another one if all idle cores were kept busy, `occupied`, or they were for this curve.
    pub fn too_good(&self, occupied: bool) -> Vec<String> {
        let is_busy = |end: &str| self.name.ends_with(end);
        let occupied = occupied || is_busy("occupied") || is_busy(&beside_busy(""));
        let each = |mark: &Mark| mark.y / mark.x;
        let mut lines = Vec::new();
        for (at, mark) in self.rates.iter().enumerate() {
            let before = self.rates[..at].iter().min_by(|a, b| each(a).total_cmp(&each(b)));
            let Some(before) = before.filter(|before| each(mark) > TOO_GOOD * each(before)) else {
                continue;
            };
            let worst = mark.spread.0 / mark.x / (before.spread.1 / before.x);
            let more = each(mark) / each(before);
            let cause = match self.kind {
                Kind::Measured if self.rounds <= 1 => "it was measured once, so it may be chance",
                Kind::Measured if worst <= 1.0 => {
                    "the rounds lie further apart than that, so it may be chance"
                }
                Kind::Measured if more > EXPLAINED => {
                    "more than idle cores explain, so something else ran beside the others"
                }
                _ if occupied => "the idle cores were kept busy, so rather caches or chance",
                _ => TRAP,
            };
            lines.push(format!(
                "{}: on {} a thread does {:.1} % more than on {}, more than linear: {cause}",
                self.name,
                mark.x,
                100.0 * (more - 1.0),
                before.x,
            ));
        }
        lines
    }
}

/// So much more a thread is not by the way.
const TOO_GOOD: f64 = 1.01;

/// Idle cores slow a machine down, but not by half.
const EXPLAINED: f64 = 1.5;

const TRAP: &str = "likely the idle-core trap (E7): idle cores slow the machine where threads are \
    few; measure with --occupy-idle";

#[cfg(test)]
mod tests {
    use super::published::{IDLE_TRAP, IDLE_TRAP_OCCUPIED, READ};
    use super::{Curve, Kind, Mark};

    /// What the originals saw: the last points flatter, unless the eight idle cores are kept busy.
    #[test]
    fn the_published_trap_is_seen() {
        let mut curve = Curve::published(&IDLE_TRAP);
        let flagged = curve.too_good(false);
        assert_eq!(flagged.len(), 3, "{flagged:?}");
        let last = &flagged[2];
        assert!(last.contains("on 16 a thread does 4.5 % more than on 8,"), "{last}");
        assert!(last.contains("idle-core trap"), "{last}");
        curve.rates = vec![Mark::at(IDLE_TRAP_OCCUPIED.points[0]), *curve.rates.last().unwrap()];
        assert!(curve.too_good(true).is_empty());
    }

    #[test]
    fn chance_is_told_from_cause() {
        let mark = |x, y, spread| Mark { x, y, spread };
        let curve = |spread| Curve {
            name: "a".into(),
            kind: Kind::Measured,
            rates: vec![mark(1.0, 10.0, (9.0, 11.0)), mark(2.0, 24.0, spread)],
            speedups: Vec::new(),
            rounds: 3,
        };
        assert!(curve((18.0, 25.0)).too_good(false)[0].contains("chance"));
        assert!(curve((23.0, 25.0)).too_good(false)[0].contains("--occupy-idle"));
        assert!(curve((23.0, 25.0)).too_good(true)[0].contains("kept busy"));
        let mut curve = curve((39.0, 41.0));
        curve.rates[1].y = 40.0;
        assert!(curve.too_good(false)[0].contains("something else"));
        curve.rounds = 1;
        assert!(curve.too_good(false)[0].contains("measured once"));
    }

    #[test]
    fn a_published_curve_is_fitted_and_two_points_are_not() {
        let curve = Curve::published(&READ);
        let row = curve.fitted();
        assert!(row[1] == "8" && row[2].contains('%'), "{row:?}");
        assert_eq!(curve.laws().len(), 2);
        let few = Curve { rates: curve.rates[..2].to_vec(), ..curve };
        assert!(few.fitted()[1].contains("2 of the 3 points") && few.laws().is_empty());
    }

    /// What the originals quote: of 12 processors over one.
    #[test]
    fn of_two_points_the_parallel_part_is_told_and_how_far_rounds_lie_apart() {
        let Curve { rates, speedups, .. } = Curve::published(&READ);
        let two = |marks: &[Mark]| vec![marks[0], marks[4]];
        let mut curve = Curve {
            name: "a".into(),
            kind: Kind::Measured,
            rates: two(&rates),
            speedups: two(&speedups),
            rounds: 1,
        };
        assert_eq!(curve.fitted()[2], "98.96 % (one round, of one ratio)");
        (curve.rounds, curve.speedups[1].spread) = (3, (6.0, 13.0));
        assert_eq!(curve.fitted()[2], "98.96 % (90.9 % to 100.0 %, of one ratio)");
        curve.speedups.truncate(1);
        assert_eq!(curve.fitted()[2], "–");
    }
}
