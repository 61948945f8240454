//! The results: a row for each case, system and number of threads.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::plan;
use crate::stats::median;
use crate::systems::System;

/// What was measured; one line of the JSON file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The experiment.
    pub experiment: &'static str,
    /// The case in it.
    pub case: &'static str,
    /// Whose result.
    #[serde(serialize_with = "by_name")]
    pub system: System,
    /// On so many threads.
    pub threads: usize,
    /// The median of the samples.
    pub value: f64,
    /// Of what it is a number.
    pub unit: &'static str,
    /// One a round, in order.
    pub samples: Vec<f64>,
    /// The rounds that these are of, from 0 up: with a limit of time not each of a case is measured
    /// in every round. They are only told where they are not simply the first ones.
    #[serde(skip_serializing_if = "are_the_first")]
    pub rounds: Vec<usize>,
}

/// A row as it is read: whatever a file may say.
#[derive(Deserialize)]
struct Told {
    experiment: String,
    case: String,
    system: String,
    threads: usize,
    unit: String,
    samples: Vec<f64>,
    rounds: Option<Vec<usize>>,
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Row, D::Error> {
        Row::try_from(Told::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl TryFrom<Told> for Row {
    type Error = String;

    /// What can be derived is: the median is that of the samples, whatever the file says.
    fn try_from(told: Told) -> Result<Row, String> {
        let Told { experiment, case: name, system, threads, unit, samples, rounds } = told;
        let case = plan::find(&experiment, &name)
            .ok_or_else(|| format!("there is no case {experiment} {name}"))?;
        let system =
            System::named(&system).ok_or_else(|| format!("there is no system {system}"))?;
        if unit != case.unit {
            return Err(format!("{experiment} {name} is counted in {}, not {unit}", case.unit));
        }
        if samples.is_empty() {
            return Err(format!("{experiment} {name} of {} has no samples", system.name()));
        }
        let rounds = rounds.unwrap_or_else(|| (0..samples.len()).collect());
        if rounds.len() != samples.len() || !rounds.is_sorted_by(|a, b| a < b) {
            let whose = system.name();
            return Err(format!("{experiment} {name} of {whose} has samples of no round"));
        }
        let (experiment, name, unit) = (case.experiment, case.name, case.unit);
        let value = median(&samples);
        Ok(Row { experiment, case: name, system, threads, value, unit, samples, rounds })
    }
}

impl Row {
    /// Each of ours over that of the other row of the same round: what was measured at other times
    /// may be of a quicker or a slower machine. Empty where no round has both.
    pub fn over(&self, other: &Row) -> Vec<f64> {
        let ratio = |(round, sample): (&usize, &f64)| {
            let mut others = other.rounds.iter().zip(&other.samples);
            let (_, its) = others.find(|(its, _)| *its == round)?;
            Some(sample / its)
        };
        self.rounds.iter().zip(&self.samples).filter_map(ratio).collect()
    }
}

fn are_the_first(rounds: &[usize]) -> bool {
    rounds.iter().copied().eq(0..rounds.len())
}

fn by_name<S: serde::Serializer>(system: &System, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(system.name())
}

/// One row a line; those that were measured beside busy cores say so.
pub fn to_json_lines(rows: &[Row], occupied: &[Row]) -> String {
    let line = |line: Line<'_>| serde_json::to_string(&line).expect("a row is plain data") + "\n";
    let lines = rows.iter().map(|row| Line { row, occupied: false });
    lines.chain(occupied.iter().map(|row| Line { row, occupied: true })).map(line).collect()
}

#[derive(Serialize)]
struct Line<'r> {
    #[serde(flatten)]
    row: &'r Row,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    occupied: bool,
}

/// The row of a system.
pub fn find<'r>(
    rows: &'r [Row],
    case: (&str, &str),
    system: System,
    threads: usize,
) -> Option<&'r Row> {
    rows.iter().find(|row| {
        (row.experiment, row.case) == case && row.system == system && row.threads == threads
    })
}

#[cfg(test)]
mod tests {
    use super::{Row, to_json_lines};
    use crate::systems::System;

    #[test]
    fn a_row_is_read_again_and_its_median_is_derived() {
        let line = r#"{"experiment":"read","case":"count","system":"java","threads":2,"value":99.0,
            "unit":"1/s","samples":[1.0,5.0,2.0]}"#;
        let row: Row = serde_json::from_str(line).unwrap();
        assert_eq!((row.value, row.system, row.case), (2.0, System::Java, "count"));
        let wrongs = [("read", "tea"), ("java", "tea"), ("1/s", "us"), ("1.0,5.0,2.0", "")];
        for (right, wrong) in wrongs {
            assert!(serde_json::from_str::<Row>(&line.replace(right, wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_ratio_is_of_samples_of_one_round() {
        let row = |system: &str, samples: &[f64], rounds: &[usize]| {
            let row = serde_json::json!({
                "experiment": "read", "case": "count", "system": system, "threads": 1,
                "unit": "1/s", "samples": samples, "rounds": rounds,
            });
            serde_json::from_value::<Row>(row)
        };
        let ours = row("jungle", &[8.0, 6.0, 2.0, 9.0], &[0, 1, 3, 4]).unwrap();
        let its = row("java", &[1.0, 3.0], &[3, 4]).unwrap();
        assert_eq!((ours.over(&its), its.over(&ours)), (vec![2.0, 3.0], vec![0.5, 1.0 / 3.0]));
        assert!(ours.over(&row("java", &[1.0], &[2]).unwrap()).is_empty());
        let line = serde_json::to_string(&ours).unwrap();
        assert!(line.ends_with(r#""rounds":[0,1,3,4]}"#), "{line}");
        assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), ours);
        let first = row("java", &[4.0, 2.0], &[0, 1]).unwrap();
        assert_eq!(ours.over(&first), [2.0, 3.0]);
        assert!(serde_json::to_string(&first).unwrap().ends_with(r#""samples":[4.0,2.0]}"#));
        for wrong in [&[0][..], &[0, 1, 2], &[1, 0], &[1, 1]] {
            assert!(row("java", &[4.0, 2.0], wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_row_is_a_line_of_json() {
        let row = Row {
            experiment: "read",
            case: "count",
            system: System::HaskellIntmap,
            threads: 2,
            value: 1.5,
            unit: "1/s",
            samples: vec![1.0, 2.0],
            rounds: vec![0, 1],
        };
        let line = "{\"experiment\":\"read\",\"case\":\"count\",\"system\":\"haskell-intmap\",\
            \"threads\":2,\"value\":1.5,\"unit\":\"1/s\",\"samples\":[1.0,2.0]}\n";
        let rows = [row];
        assert_eq!(to_json_lines(&rows, &[]), line);
        let busy = line.replace("]}", "],\"occupied\":true}");
        assert_eq!(to_json_lines(&rows, &rows), format!("{line}{busy}"));
    }
}
