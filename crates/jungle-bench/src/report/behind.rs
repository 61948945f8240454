//! Where a peer does better than ours: losses are printed as wins are.

use super::document::Block;
use crate::lab::Raw;
use crate::results::{Row, find};
use crate::stats::{median, spread};
use crate::systems::System;
use crate::table::quantity;

/// Of these more is neither better nor worse: how much is found, and how much was asked for.
const NO_RACE: [(&str, &str); 3] = [
    ("workloads", "merge-10-conflicts"),
    ("workloads", "merge-10-disk-conflicts"),
    ("neighbours", "watched-rate"),
];

/// A figure of a peer, and ours beside it.
struct Race<'r> {
    ours: &'r Row,
    its: &'r Row,
    /// How many times as good as ours it is.
    times: f64,
    /// The least and the greatest of the rounds.
    spread: (f64, f64),
    /// How many rounds have both.
    rounds: usize,
}

/// The section of the report.
pub fn section(raws: &[Raw], blocks: &mut Vec<Block>) {
    let races: Vec<Race> = raws.iter().flat_map(|raw| races(&raw.rows)).collect();
    let mut lost: Vec<&Race> = races.iter().filter(|race| race.times > 1.0).collect();
    lost.sort_by(|a, b| b.times.total_cmp(&a.times));
    let apart = |raw: &Raw| raw.rows.iter().filter(|its| is_apart(its, &raw.rows)).count();
    let apart = match raws.iter().map(apart).sum::<usize>() {
        0 => String::new(),
        count => format!(" Of {count} more it is not known: no round has both."),
    };
    blocks.push(Block::Heading("Behind".to_owned()));
    blocks.push(Block::Text(format!(
        "Of {} figures that a peer has beside ours it does better in {}: more a second, or with \
         less time or space.{apart} The worst come first. What a peer keeps, and makes durable, \
         is in bench/peers/README.md.",
        races.len(),
        lost.len()
    )));
    if !lost.is_empty() {
        let head = vec!["case", "threads", "peer", "ours", "its", "times as good"];
        blocks.push(Block::Table(head, lost.into_iter().map(Race::cells).collect()));
    }
}

/// Does this one of these rows, a peer's, do better than ours?
pub fn is_ahead(its: &Row, rows: &[Row]) -> bool {
    race(its, rows).is_some_and(|race| race.times > 1.0)
}

/// Each figure of a peer that has ours beside it.
fn races(rows: &[Row]) -> Vec<Race<'_>> {
    rows.iter().filter_map(|its| race(its, rows)).collect()
}

/// Ours beside this one, if it is of a peer, and one of them is better.
fn ours_beside<'r>(its: &Row, rows: &'r [Row]) -> Option<&'r Row> {
    let is_peer = !matches!(its.system, System::Jungle | System::Machine);
    // How far turns lie apart is no race, and a mean stands beside its median.
    let is_statistic = its.case.contains("-mean") || its.case.contains("-deviation");
    if !is_peer || is_statistic || NO_RACE.contains(&(its.experiment, its.case)) {
        return None;
    }
    find(rows, (its.experiment, its.case), System::Jungle, its.threads)
}

/// Was it never measured in one round with ours?
fn is_apart(its: &Row, rows: &[Row]) -> bool {
    ours_beside(its, rows).is_some_and(|ours| ours.over(its).is_empty())
}

fn race<'r>(its: &'r Row, rows: &'r [Row]) -> Option<Race<'r>> {
    let ours = ours_beside(its, rows)?;
    // As the tables have it: ours over its, round by round.
    let over = ours.over(its);
    if over.is_empty() {
        return None;
    }
    let (middle, (low, high)) = (median(&over), spread(&over));
    let (times, spread) = match its.unit {
        "1/s" | "B/s" => (1.0 / middle, (1.0 / high, 1.0 / low)),
        _ => (middle, (low, high)),
    };
    Some(Race { ours, its, times, spread, rounds: over.len() })
}

impl Race<'_> {
    fn cells(&self) -> Vec<String> {
        let Race { ours, its, times, spread: (low, high), rounds } = self;
        let times = quantity(*times, "x");
        let rounds = match rounds {
            1 => "one round".to_owned(),
            _ => format!("{} to {}", quantity(*low, "x"), quantity(*high, "x")),
        };
        vec![
            format!("{} {}", its.experiment, its.case),
            its.threads.to_string(),
            its.system.name().to_owned(),
            quantity(ours.value, ours.unit),
            quantity(its.value, its.unit),
            format!("{times} ({rounds})"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::races;
    use crate::results::Row;

    fn row(case: (&str, &str, &str), system: &str, samples: &[f64]) -> Row {
        let (experiment, case, unit) = case;
        serde_json::from_value(serde_json::json!({
            "experiment": experiment, "case": case, "system": system, "threads": 1,
            "unit": unit, "samples": samples,
        }))
        .unwrap()
    }

    #[test]
    fn a_peer_is_ahead_with_more_a_second_or_with_less_of_anything_else() {
        let nodes = ("write", "nodes", "1/s");
        let bare = ("memory", "bare", "B");
        let conflicts = ("workloads", "merge-10-conflicts", "x");
        let rows = [
            row(nodes, "jungle", &[10e6, 10e6, 10e6]),
            row(nodes, "java", &[15e6, 12e6, 14e6]),
            row(nodes, "haskell", &[1e6, 2e6, 1e6]),
            row(bare, "jungle", &[4.0]),
            row(bare, "haskell", &[2.0]),
            row(bare, "java", &[40.0]),
            row(conflicts, "jungle", &[100.0]),
            row(conflicts, "automerge", &[90.0]),
            row(("write", "attributes", "1/s"), "java", &[1e6]),
        ];
        let mut apart = row(nodes, "java", &[15e6, 12e6, 14e6]);
        apart.rounds = vec![3, 4, 5];
        assert!(races(&[rows[0].clone(), apart]).is_empty());
        let races = races(&rows);
        let lost: Vec<String> = races
            .iter()
            .filter(|race| race.times > 1.0)
            .map(|race| race.cells().join(" | "))
            .collect();
        assert_eq!(races.len(), 4);
        assert_eq!(
            lost,
            [
                "write nodes | 1 | java | 10.0 M/s | 14.0 M/s | 1.40 × (1.20 × to 1.50 ×)",
                "memory bare | 1 | haskell | 4.00 B | 2.00 B | 2.00 × (one round)",
            ]
        );
    }
}
