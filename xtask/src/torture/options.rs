//! What suites of servers and clusters are asked for: numbers, and the seed of the first schedule.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Result, fail};

/// Reads options with a number each into what is usual.
pub fn read(arguments: &[String], usage: &str, numbers: &mut [(&str, &mut u64)]) -> Result<()> {
    for option in arguments.chunks(2) {
        let told = option.get(1).and_then(|number| number.parse().ok());
        let place = numbers.iter_mut().find(|(name, _)| *name == option[0]);
        match (place, told) {
            (Some((_, place)), Some(told)) => **place = told,
            _ => return fail(format!("usage: {usage}")),
        }
    }
    Ok(())
}

/// The seed of a day, far from those of other days: runs by hand look for something new.
pub fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / 86_400 * 1_000_000
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_take_the_place_of_what_is_usual() {
        let (mut schedules, mut seed) = (3, 7);
        let mut read = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let numbers = &mut [("--schedules", &mut schedules), ("--seed", &mut seed)];
            super::read(&words, "suite", numbers).is_ok()
        };
        assert!(read("") && read("--seed 5"));
        for wrong in ["--seed", "--seed five", "--seed -1", "--other 5", "5"] {
            assert!(!read(wrong), "{wrong}");
        }
        assert_eq!((schedules, seed), (3, 5));
    }
}
