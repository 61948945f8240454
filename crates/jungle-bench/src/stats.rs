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

/// The sum over how many there are; 0 when there are none.
pub fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// The standard deviation of what these are samples of, over their mean; 0 when there is but one.
pub fn deviation(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let degrees = numbers.len().saturating_sub(1).max(1);
    (squares / degrees as f64).sqrt() / mean
}

/// The least number that is no less than this share of all; 0 when there are none.
pub fn quantile(numbers: &[f64], share: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(at.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
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
    use super::{deviation, mean, median, quantile, ratios, spread};

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn a_deviation_is_over_the_mean() {
        let numbers = [2.0, 4.0, 4.0, 6.0];
        assert_eq!((mean(&numbers), mean(&[])), (4.0, 0.0));
        assert!((deviation(&numbers) - (8.0_f64 / 3.0).sqrt() / 4.0).abs() < 1e-12);
        assert_eq!(deviation(&[7.0]), 0.0);
    }

    #[test]
    fn a_quantile_is_one_of_the_numbers() {
        let numbers: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(quantile(&numbers, 0.99), 198.0);
        assert_eq!((quantile(&numbers, 0.0), quantile(&numbers, 1.0)), (1.0, 200.0));
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn ratios_pair_the_rounds() {
        assert_eq!(ratios(&[4.0, 9.0], &[2.0, 3.0]), [2.0, 3.0]);
        assert_eq!(spread(&[2.0, 1.0, 3.0]), (1.0, 3.0));
    }
}
