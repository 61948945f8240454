//! What one process measured: the line of JSON that peers print, and we too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What was measured, in the words of the system.
    pub case: String,
    /// How many threads worked.
    pub threads: usize,
    /// How long it took.
    pub seconds: f64,
    /// What `seconds` were spent on.
    pub operations: u64,
    /// The result.
    pub value: f64,
    /// Of what it is a number: `1/s`, `B`, `ns`, `us`, `x`.
    pub unit: String,
    /// `ok`, or how the result was wrong.
    pub check: String,
    /// Why there is nothing of a system that was asked in the same run, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
    /// Further results, by name.
    #[serde(flatten)]
    pub extra: BTreeMap<String, f64>,
}

impl Sample {
    /// So many operations in so many seconds.
    pub fn rate(seconds: f64, operations: u64) -> Sample {
        let value = operations as f64 / seconds;
        Sample { seconds, operations, ..Sample::value(value, "1/s") }
    }

    /// A number that is no rate.
    pub fn value(value: f64, unit: &str) -> Sample {
        Sample {
            case: String::new(),
            threads: 1,
            seconds: 0.0,
            operations: 0,
            value,
            unit: unit.to_owned(),
            check: "ok".to_owned(),
            failed: BTreeMap::new(),
            extra: BTreeMap::new(),
        }
    }

    /// With a further result.
    pub fn with(mut self, name: &str, value: f64) -> Sample {
        self.extra.insert(name.to_owned(), value);
        self
    }

    /// With a system of which there is nothing, and why.
    pub fn with_failed(mut self, system: &str, why: String) -> Sample {
        self.failed.insert(system.to_owned(), why);
        self
    }

    /// With the same among few of something and among many, and how many times as much that is.
    pub fn with_few_and_many(self, name: &str, few: f64, many: f64) -> Sample {
        self.with(name, many / few)
            .with(&format!("{name}-few"), few)
            .with(&format!("{name}-many"), many)
    }

    /// With a finding: so many of `what`, which ought to be none.
    pub fn check_none(self, wrong: u64, what: &str) -> Sample {
        self.check((wrong > 0).then(|| format!("{wrong} {what}")))
    }

    /// With a finding, if there is one; the first stays.
    pub fn check(mut self, finding: Option<String>) -> Sample {
        if self.check == "ok"
            && let Some(finding) = finding
        {
            self.check = finding;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn a_peers_line_is_read_whole() {
        let line = r#"{"case":"walker-update","threads":2,"seconds":2.0,"operations":9,
            "value":4.5,"unit":"1/s","walker":7.25,"check":"ok"}"#;
        let sample: Sample = serde_json::from_str(line).unwrap();
        assert_eq!((sample.value, sample.extra["walker"]), (4.5, 7.25));
        let ours = Sample { threads: 2, case: sample.case.clone(), ..Sample::rate(2.0, 9) };
        let ours = ours.with("walker", 7.25);
        assert_eq!(ours, sample);
        let ours = ours.with_failed("warp", "it ended".to_owned());
        let line = serde_json::to_string(&ours).unwrap();
        assert_eq!(serde_json::from_str::<Sample>(&line).unwrap(), ours);
    }

    #[test]
    fn the_first_finding_stays() {
        let sample = Sample::rate(1.0, 1).check_none(0, "cats").check_none(2, "dogs");
        assert_eq!(sample.check_none(3, "cows").check, "2 dogs");
    }
}
