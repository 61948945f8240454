//! The results: a row for each case, system and number of threads.

use serde::Serialize;

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

fn by_name<S: serde::Serializer>(system: &System, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(system.name())
}

/// One row a line.
pub fn to_json_lines(rows: &[Row]) -> String {
    let line = |row| serde_json::to_string(row).expect("a row is plain data") + "\n";
    rows.iter().map(line).collect()
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
        assert_eq!(
            to_json_lines(&[row]),
            "{\"experiment\":\"read\",\"case\":\"count\",\"system\":\"haskell-intmap\",\
             \"threads\":2,\"value\":1.5,\"unit\":\"1/s\",\"samples\":[1.0,2.0]}\n"
        );
    }
}
