//! Medians and spreads.

/// The middle of the numbers, or the mean of the two in the middle; 0 when there are none.
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

/// The least and the greatest.
pub fn spread(numbers: &[f64]) -> (f64, f64) {
    let fold = |start, f: fn(f64, f64) -> f64| numbers.iter().copied().fold(start, f);
    (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max))
}

/// Each of `a` over that of `b` measured in the same round.
pub fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

#[cfg(test)]
mod tests {
    use super::{median, ratios, spread};

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn ratios_pair_the_rounds() {
        assert_eq!(ratios(&[4.0, 9.0], &[2.0, 3.0]), [2.0, 3.0]);
        assert_eq!(spread(&[2.0, 1.0, 3.0]), (1.0, 3.0));
    }
}
