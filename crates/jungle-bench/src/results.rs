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
        let Told { experiment, case: name, system, threads, unit, samples } = told;
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
        let (experiment, name, unit) = (case.experiment, case.name, case.unit);
        let value = median(&samples);
        Ok(Row { experiment, case: name, system, threads, value, unit, samples })
    }
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
    fn a_row_is_a_line_of_json() {
        let row = Row {
            experiment: "read",
            case: "count",
            system: System::HaskellIntmap,
            threads: 2,
            value: 1.5,
            unit: "1/s",
            samples: vec![1.0, 2.0],
        };
        let line = "{\"experiment\":\"read\",\"case\":\"count\",\"system\":\"haskell-intmap\",\
            \"threads\":2,\"value\":1.5,\"unit\":\"1/s\",\"samples\":[1.0,2.0]}\n";
        let rows = [row];
        assert_eq!(to_json_lines(&rows, &[]), line);
        let busy = line.replace("]}", "],\"occupied\":true}");
        assert_eq!(to_json_lines(&rows, &rows), format!("{line}{busy}"));
    }
}
