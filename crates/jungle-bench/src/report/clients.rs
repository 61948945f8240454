//! E4: one server that more and more clients ask, ours beside the board that is kept in Cassandra.
//! Of the original only plots are published, so there is no curve of theirs.

use super::document::Block;
use super::plot::{Kind, Line, Mark, Plot, Scale};
use crate::lab::Raw;
use crate::results::{Row, find};
use crate::systems::System;

/// How many there were.
const CLIENTS: [u8; 8] = [10, 15, 20, 25, 30, 35, 40, 45];

/// Names of the pictures, what the names of their cases end with, and what their titles do.
const PICTURES: [(&str, &str, &str); 2] =
    [("clients", "", "synced"), ("clients-unsynced", "-unsynced", "not synced")];

/// The part of the report, if there is anything to draw.
pub fn part(raws: &[Raw], blocks: &mut Vec<Block>) {
    let Some(raw) = raws.iter().find(|raw| raw.experiment == "cassandra") else { return };
    let picture = |(name, end, title): (&str, &str, &str)| {
        let lines = lines(&raw.rows, end);
        let plot = Plot {
            title: format!("E4: one server, what is posted is {title}"),
            x: "clients, each with 20 connections",
            x_scale: Scale::Linear,
            y: "answers a second".to_owned(),
            scale: Scale::Linear,
            lines,
        };
        (!plot.lines.is_empty()).then(|| Block::Picture(name.to_owned(), plot.svg()))
    };
    let pictures: Vec<Block> = PICTURES.into_iter().filter_map(picture).collect();
    if pictures.is_empty() {
        return;
    }
    blocks.push(Block::Part("E4: one server over clients".to_owned()));
    blocks.push(Block::Text(
        "Mean of the turns, and on either side their standard deviation. Ten clients send 20,000 \
         requests each, as those of the originals; more of them send two fifths of that in all, \
         and with --quick all send a tenth. Clients, servers and Cassandra share the cores; \
         published are plots only, which have no numbers to be drawn."
            .to_owned(),
    ));
    blocks.extend(pictures);
}

/// Those of which there are two points at least.
fn lines(rows: &[Row], end: &str) -> Vec<Line> {
    let line = |word: &str, system: System| {
        let points = CLIENTS.iter().filter_map(|count| mark(rows, (word, end), *count, system));
        let name = format!("{} {word}", system.name());
        Line { name, kind: Kind::Measured, points: points.collect() }
    };
    let both = |word| [System::Jungle, System::Cassandra].map(|system| line(word, system));
    let lines = ["read", "write"].into_iter().flat_map(both);
    lines.filter(|line| line.points.len() > 1).collect()
}

fn mark(rows: &[Row], (word, end): (&str, &str), clients: u8, system: System) -> Option<Mark> {
    let number = |what: &str| {
        let case = format!("{word}-one-{clients}-{what}{end}");
        Some(find(rows, ("cassandra", &case), system, 1)?.value)
    };
    let (mean, deviation) = (number("mean")?, number("deviation")?);
    let off = mean * deviation;
    Some(Mark { x: f64::from(clients), y: mean, spread: (mean - off, mean + off) })
}

#[cfg(test)]
mod tests {
    use super::{CLIENTS, PICTURES, lines};
    use crate::plan;
    use crate::results::Row;
    use crate::systems::System;

    /// Every figure that there may be: 1,000 for each client, a tenth apart.
    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for case in plan::cases("cassandra").unwrap() {
            let count = CLIENTS.into_iter().find(|it| case.name.contains(&format!("-{it}-")));
            let of_one = case.rows(&[1], &[System::Jungle, System::Cassandra]);
            for (threads, system) in of_one {
                let mean = 1e3 * f64::from(count.unwrap_or_default());
                let sample = if case.name.contains("-deviation") { 0.1 } else { mean };
                rows.push(serde_json::json!({
                    "experiment": "cassandra", "case": case.name, "system": system.name(),
                    "threads": threads, "unit": case.unit, "samples": [sample],
                }));
            }
        }
        serde_json::from_value(rows.into()).unwrap()
    }

    #[test]
    fn all_clients_of_the_plan_are_drawn_and_how_far_turns_lie_apart() {
        let rows = rows();
        for (_, end, _) in PICTURES {
            let lines = lines(&rows, end);
            let names: Vec<&str> = lines.iter().map(|line| &*line.name).collect();
            assert_eq!(names, ["jungle read", "cassandra read", "jungle write", "cassandra write"]);
            for line in lines {
                assert_eq!(line.points.len(), CLIENTS.len(), "{}{end}", line.name);
                let last = line.points[CLIENTS.len() - 1];
                assert_eq!((last.x, last.y), (45.0, 45e3));
                assert_eq!(last.spread, (45e3 - 4.5e3, 45e3 + 4.5e3));
            }
        }
    }

    #[test]
    fn of_one_point_nothing_is_drawn() {
        let mut rows = rows();
        rows.retain(|row| row.case.contains("-10-"));
        assert!(lines(&rows, "").is_empty());
    }
}
