//! Two laws of scaling, fitted to throughput over threads by least squares of the relative errors.

/// On how many numbers of threads Amdahl's law needs points: two are met by any law of two numbers.
pub const AMDAHL_MIN: usize = 3;

/// As [`AMDAHL_MIN`] for the Universal Scalability Law: three are met by any law of three numbers,
/// noise included, and an error of 0 would say that it holds.
pub const SCALABILITY_MIN: usize = 4;

/// On so many threads, so much a second.
pub type Point = (f64, f64);

/// Amdahl's law: a part of the work can be shared, the rest cannot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amdahl {
    /// What one thread does a second.
    pub alone: f64,
    /// The part that can be shared, from 0 to 1.
    pub parallel: f64,
    /// The root of the mean of the squares of the relative errors.
    pub error: f64,
}

/// The Universal Scalability Law: threads wait for each other, and tell each other what they did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalability {
    /// What one thread does a second.
    pub alone: f64,
    /// How much of the work waits for another thread's.
    pub contention: f64,
    /// What each pair of threads costs.
    pub coherence: f64,
    /// As [`Amdahl::error`].
    pub error: f64,
}

impl Amdahl {
    /// The one nearest to the points; `None` when they are too few, or on too few numbers of
    /// threads.
    pub fn fit(points: &[Point]) -> Option<Amdahl> {
        let points = usable(points, AMDAHL_MIN)?;
        // The time of an operation is what cannot be shared, and what can over the threads.
        let rows: Vec<[f64; 2]> =
            points.iter().map(|(threads, rate)| [*rate, rate / threads]).collect();
        let ([fixed, shared], error) = nearest(&rows)?;
        Some(Amdahl { alone: 1.0 / (fixed + shared), parallel: shared / (fixed + shared), error })
    }

    /// What it foretells on so many threads.
    pub fn rate(&self, threads: f64) -> f64 {
        self.alone / (1.0 - self.parallel + self.parallel / threads)
    }
}

impl Scalability {
    /// The one nearest to the points, as [`Amdahl::fit`].
    pub fn fit(points: &[Point]) -> Option<Scalability> {
        let points = usable(points, SCALABILITY_MIN)?;
        let row = |(threads, rate): &Point| {
            let each = rate / threads;
            [each, each * (threads - 1.0), each * threads * (threads - 1.0)]
        };
        let rows: Vec<[f64; 3]> = points.iter().map(row).collect();
        let ([time, contention, coherence], error) = nearest(&rows)?;
        let law = Scalability {
            alone: 1.0 / time,
            contention: contention / time,
            coherence: coherence / time,
            error,
        };
        (time > 0.0).then_some(law)
    }

    /// What it foretells on so many threads.
    pub fn rate(&self, threads: f64) -> f64 {
        let more = threads - 1.0;
        self.alone * threads / (1.0 + self.contention * more + self.coherence * threads * more)
    }

    /// On how many threads it is highest; `None` when it rises for ever.
    pub fn peak(&self) -> Option<f64> {
        let square = (1.0 - self.contention) / self.coherence;
        (self.coherence > 0.0).then(|| square.max(1.0).sqrt())
    }
}

/// The part that can be shared by Amdahl's law, from 0 to 1, if so many threads do so many times
/// what one does: how the originals worked theirs out. One ratio says nothing of how well the law
/// holds.
pub fn parallel_of_ratio(threads: f64, times: f64) -> f64 {
    ((1.0 - 1.0 / times) / (1.0 - 1.0 / threads)).clamp(0.0, 1.0)
}

/// The points that a law can be fitted to, if they are of enough numbers of threads.
fn usable(points: &[Point], least: usize) -> Option<Vec<Point>> {
    let is_usable = |(threads, rate): &Point| *threads >= 1.0 && *rate > 0.0 && rate.is_finite();
    let usable: Vec<Point> = points.iter().copied().filter(is_usable).collect();
    let mut counts: Vec<f64> = usable.iter().map(|(threads, _)| *threads).collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    (counts.len() >= least).then_some(usable)
}

/// The coefficients, none below 0, with which each row's sum is nearest to 1; and the root of the
/// mean of the squares of what is left.
///
/// A coefficient that would be negative is 0 in the answer, so every set of those that are not is
/// tried: there are at most seven.
fn nearest<const N: usize>(rows: &[[f64; N]]) -> Option<([f64; N], f64)> {
    let norm = |at: usize| rows.iter().map(|row| row[at] * row[at]).sum::<f64>().sqrt();
    let norms: [f64; N] = std::array::from_fn(norm);
    let scaled: Vec<[f64; N]> =
        rows.iter().map(|row| std::array::from_fn(|at| row[at] / norms[at])).collect();
    let mut best: Option<([f64; N], f64)> = None;
    for chosen in 1..1_usize << N {
        let Some(found) = least_squares(&scaled, |at| (chosen >> at) & 1 == 1) else { continue };
        let left = |row: &[f64; N]| (0..N).map(|at| row[at] * found[at]).sum::<f64>() - 1.0;
        let squares = scaled.iter().map(|row| left(row).powi(2)).sum::<f64>();
        let error = (squares / rows.len() as f64).sqrt();
        let is_better = best.is_none_or(|(_, least)| error < least);
        if is_better && found.iter().all(|coefficient| *coefficient >= 0.0) {
            best = Some((std::array::from_fn(|at| found[at] / norms[at]), error));
        }
    }
    best
}

/// As [`nearest`] with these coefficients alone, whatever their signs: the normal equations.
fn least_squares<const N: usize>(
    rows: &[[f64; N]],
    is_chosen: impl Fn(usize) -> bool,
) -> Option<[f64; N]> {
    let product = |a: usize, b: usize| match is_chosen(a) && is_chosen(b) {
        true => rows.iter().map(|row| row[a] * row[b]).sum(),
        // Makes the one that is left out 0.
        false => f64::from(u8::from(a == b)),
    };
    let sum = |at: usize| match is_chosen(at) {
        true => rows.iter().map(|row| row[at]).sum(),
        false => 0.0,
    };
    let matrix = std::array::from_fn(|a| std::array::from_fn(|b| product(a, b)));
    solve(matrix, std::array::from_fn(sum))
}

/// Gauss's elimination; `None` when there is more than one answer, or nearly so.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> Option<[f64; N]> {
    for column in 0..N {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..N).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if matrix[pivot][column].abs() < 1e-12 {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in (0..N).filter(|row| *row != column) {
            let factor = matrix[row][column] / matrix[column][column];
            let above = matrix[column];
            for (entry, above) in matrix[row].iter_mut().zip(above) {
                *entry -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    Some(std::array::from_fn(|at| right[at] / matrix[at][at]))
}

#[cfg(test)]
mod tests {
    use super::{Amdahl, Point, Scalability, parallel_of_ratio};
    use crate::workload::Random;

    const COUNTS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0];

    fn curve(rate: impl Fn(f64) -> f64) -> Vec<Point> {
        COUNTS.iter().map(|threads| (*threads, rate(*threads))).collect()
    }

    /// Within so much of it, whatever its size.
    #[track_caller]
    fn near(found: f64, ought: f64, within: f64, seed: u64) {
        assert!((found - ought).abs() <= within, "{found} is not {ought}; seed {seed}");
    }

    #[test]
    fn known_laws_are_found_again() {
        for parallel in [0.0, 0.5, 0.9896, 1.0] {
            let law = Amdahl { alone: 13.4e6, parallel, error: 0.0 };
            let found = Amdahl::fit(&curve(|threads| law.rate(threads))).unwrap();
            near(found.parallel, parallel, 1e-6, 0);
            near(found.alone / law.alone, 1.0, 1e-6, 0);
        }
        for (contention, coherence) in [(0.0, 0.0), (0.05, 0.0), (0.0, 0.002), (0.03, 0.0005)] {
            let law = Scalability { alone: 2e5, contention, coherence, error: 0.0 };
            let found = Scalability::fit(&curve(|threads| law.rate(threads))).unwrap();
            near(found.contention, contention, 1e-6, 0);
            near(found.coherence, coherence, 1e-7, 0);
            near(found.alone / law.alone, 1.0, 1e-6, 0);
        }
    }

    #[test]
    fn one_ratio_of_a_known_law_has_its_parallel_part() {
        for parallel in [0.0, 0.5, 0.9896, 1.0] {
            let law = Amdahl { alone: 13.4e6, parallel, error: 0.0 };
            for threads in [2.0, 12.0, 24.0] {
                let times = law.rate(threads) / law.rate(1.0);
                near(parallel_of_ratio(threads, times), parallel, 1e-9, 0);
            }
        }
        // More than linear, and slower than alone.
        assert_eq!((parallel_of_ratio(2.0, 2.1), parallel_of_ratio(2.0, 0.9)), (1.0, 0.0));
    }

    /// With errors of up to 2 % in each point: the parallel part within 0.005 (that of 0.96: within
    /// 0.01), contention within 0.025, coherence within 0.001.
    #[test]
    fn noise_moves_them_little() {
        for seed in 1..=200 {
            let mut random = Random(seed);
            let mut noisy = |rate: f64| rate * (0.98 + 0.04 * random.below(1001) as f64 / 1000.0);
            for (parallel, within) in [(0.9896, 0.005), (0.96, 0.01)] {
                let law = Amdahl { alone: 13.4e6, parallel, error: 0.0 };
                let points = curve(|threads| law.rate(threads));
                let points: Vec<Point> =
                    points.iter().map(|(n, rate)| (*n, noisy(*rate))).collect();
                near(Amdahl::fit(&points).unwrap().parallel, parallel, within, seed);
            }
            let law = Scalability { alone: 2e5, contention: 0.05, coherence: 0.004, error: 0.0 };
            let points = curve(|threads| law.rate(threads));
            let points: Vec<Point> = points.iter().map(|(n, rate)| (*n, noisy(*rate))).collect();
            let found = Scalability::fit(&points).unwrap();
            near(found.contention, law.contention, 0.025, seed);
            near(found.coherence, law.coherence, 0.001, seed);
            assert!(found.error < 0.02, "{found:?}, seed {seed}");
        }
    }

    /// Three points with errors of up to 2 % have a law of three numbers that meets them, whatever
    /// the errors are; of four, the law is within 4 % of the rates that were without errors.
    #[test]
    fn few_noisy_points_are_not_taken_for_a_law() {
        let law = Scalability { alone: 2e5, contention: 0.05, coherence: 0.004, error: 0.0 };
        for seed in 1..=200 {
            let mut random = Random(seed);
            let mut noisy = |threads: f64| {
                let noise = 0.98 + 0.04 * random.below(1001) as f64 / 1000.0;
                (threads, law.rate(threads) * noise)
            };
            let points = [1.0, 2.0, 4.0, 8.0].map(&mut noisy);
            assert_eq!(Scalability::fit(&points[..3]), None);
            let found = Scalability::fit(&points).unwrap();
            for (threads, _) in points {
                near(found.rate(threads) / law.rate(threads), 1.0, 0.04, seed);
            }
        }
    }

    #[test]
    fn a_curve_that_falls_has_its_peak() {
        let law = Scalability { alone: 1.0, contention: 0.04, coherence: 0.01, error: 0.0 };
        near(law.peak().unwrap(), (0.96_f64 / 0.01).sqrt(), 1e-9, 0);
        assert_eq!(Scalability { coherence: 0.0, ..law }.peak(), None);
    }

    #[test]
    fn few_points_are_not_fitted() {
        let points = [(1.0, 10.0), (2.0, 19.0), (2.0, 20.0), (4.0, 0.0)];
        assert_eq!(Amdahl::fit(&points), None);
        assert_eq!(Scalability::fit(&points), None);
    }

    #[test]
    fn more_than_linear_is_wholly_parallel() {
        let found = Amdahl::fit(&curve(|threads| threads.powf(1.1))).unwrap();
        assert_eq!(found.parallel, 1.0);
        let found = Scalability::fit(&curve(|threads| threads.powf(1.1))).unwrap();
        assert_eq!((found.contention, found.coherence), (0.0, 0.0));
        assert!(found.error > 0.01, "and the error tells: {found:?}");
    }
}
