//! More servers than there are machines here: what the model says, how far it is from what was
//! measured, and what the cluster's own code did in virtual time.

use super::document::Block;
use super::plot::{Kind, Line, Mark, Plot, Scale};
use super::published::{BEYOND, SERVERS};
use crate::lab::Raw;
use crate::results::{Row, find};
use crate::scale::{
    CLIENTS, FAN_OUT, Here, Parameters, Prediction, SIMULATED, Site, Topology, predict,
};
use crate::stats::spread;
use crate::systems::System;
use crate::table::quantity;

/// For so many servers something is predicted.
const SIZES: [usize; 5] = [10, 30, 100, 300, 1_000];

/// What can be told from the rows of the experiment.
pub struct Beyond<'r> {
    rows: &'r [Row],
    parameters: Parameters,
    /// The same, each with the least of its rounds, and each with the greatest.
    range: [Parameters; 2],
    cores: f64,
    site: Site,
}

/// The section of the report. Without its figures it says so.
pub fn section(raws: &[Raw], blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading("Scale beyond this machine".to_owned()));
    let raw = raws.iter().find(|raw| raw.experiment == "scale");
    let Some(beyond) = raw.and_then(|raw| Beyond::of(&raw.rows, raw.machine.cores)) else {
        let text = "Not measured: `jungle-bench scale --report DIR` gives the parameters of the \
                    model, what it is held against, and the simulation.";
        return blocks.push(Block::Text(text.to_owned()));
    };
    blocks.extend(beyond.tables());
    blocks.push(Block::Picture("scale-seen".to_owned(), beyond.seen().svg()));
    blocks.push(Block::Picture("scale-rates".to_owned(), beyond.rates().svg()));
    blocks.push(Block::List(BEYOND.map(|source| format!("Published: {source}")).to_vec()));
}

impl Beyond<'_> {
    /// `None` when a parameter was not measured.
    pub fn of(rows: &[Row], cores: usize) -> Option<Beyond<'_>> {
        let range = [
            parameters(rows, |row| spread(&row.samples).0)?,
            parameters(rows, |row| spread(&row.samples).1)?,
        ];
        let (parameters, site) = (parameters(rows, |row| row.value)?, Site::default());
        Some(Beyond { rows, parameters, range, cores: cores as f64, site })
    }

    /// All of it but the pictures.
    pub fn tables(&self) -> Vec<Block> {
        let Site { hop_us, bits_s, cores } = self.site;
        let assumed = format!(
            "Predicted, not measured: there is one machine here. The model's parameters were \
             measured on it, each apart from the others; its formulas are in \
             crates/jungle-bench/src/scale/model.rs. It assumes that each server has a machine of \
             its own with {cores:.0} such cores, {:.1} ms one way from one to another and {:.0} \
             Gbit/s; that the log is kept by three servers of the engine; that one message is \
             under way at a time, and that those who commit do not come in each other's way. Star: \
             all are connected to the three; tree: each passes messages on to {FAN_OUT} others; \
             ring: to its neighbour, both ways round; mesh: the leader to all, each of which has \
             an engine's server beside it. Reads are in the server's own process, without HTTP, \
             while those that others published came over a network. By the rounds: with each \
             parameter at the least that a round gave, and with each at the greatest.",
            hop_us / 1e3,
            bits_s / 1e9
        );
        let mut blocks = vec![Block::Text(assumed)];
        blocks.push(Block::Part("Held against servers on this machine".to_owned()));
        self.held_against(&mut blocks);
        blocks.push(Block::Part("Predicted".to_owned()));
        blocks.push(self.predicted());
        blocks.push(Block::Part("Simulated".to_owned()));
        self.simulated(&mut blocks);
        blocks
    }

    fn row(&self, case: &str, servers: usize) -> Option<&Row> {
        find(self.rows, ("scale", case), System::Jungle, servers)
    }

    /// The rows of a case, by their numbers of servers.
    fn rows_of(&self, case: &str) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.case == case)
    }

    fn here(&self) -> Here<'_> {
        Here { parameters: &self.parameters, cores: self.cores }
    }

    fn predict(&self, topology: Topology, servers: usize, group: u64) -> Prediction {
        predict(&self.parameters, &self.site, topology, servers, group as f64)
    }

    fn held_against(&self, blocks: &mut Vec<Block>) {
        let (mut rows, mut errors) = (Vec::new(), [vec![], vec![]]);
        for seen in self.rows_of("seen") {
            let Some(commits) = self.row("commits", seen.threads) else { continue };
            let predicted_us = self.here().seen_us(seen.threads);
            let predicted = self.here().commits_s(seen.threads, CLIENTS as f64);
            let (late, many) = (error(predicted_us, seen.value), error(predicted, commits.value));
            rows.push(vec![
                seen.threads.to_string(),
                milliseconds(seen.value),
                milliseconds(predicted_us),
                percent(late),
                quantity(commits.value, "1/s"),
                quantity(predicted, "1/s"),
                percent(many),
            ]);
            errors[0].push(late);
            errors[1].push(many);
        }
        if rows.is_empty() {
            return blocks.push(Block::Text("Not measured.".to_owned()));
        }
        blocks.push(Block::Text(format!(
            "Servers in one process, with an engine of three on loopback; all share {:.0} cores, \
             which the model is told here. Seen: from the call of a lone commit until all servers \
             show it. Commits: of {CLIENTS} clients of one server, until all servers have done \
             them.",
            self.cores
        )));
        let head = vec![
            "servers",
            "seen, measured",
            "predicted",
            "error",
            "commits, measured",
            "predicted",
            "error",
        ];
        blocks.push(Block::Table(head, rows));
        let [late, many] = errors.map(|errors| {
            let (least, most) = spread(&errors);
            format!("{} to {}", percent(least), percent(most))
        });
        blocks.push(Block::Text(format!(
            "So the model is off by {late} in what is seen, and by {many} in commits. What it \
             predicts below is no surer than that."
        )));
    }

    fn predicted(&self) -> Block {
        let row = |topology: Topology, servers| {
            let one = self.predict(topology, servers, 1);
            let many = self.predict(topology, servers, CLIENTS);
            let [fast, slow] = self.range.map(|parameters| {
                let of = |group| predict(&parameters, &self.site, topology, servers, group);
                (of(1.0).seen_us, of(CLIENTS as f64).commits_s)
            });
            vec![
                topology.name().to_owned(),
                servers.to_string(),
                topology.links(servers).to_string(),
                milliseconds(one.seen_us),
                format!("{} – {}", milliseconds(fast.0), milliseconds(slow.0)),
                quantity(one.commits_s, "1/s"),
                quantity(many.commits_s, "1/s"),
                format!("{} – {}", quantity(slow.1, "1/s"), quantity(fast.1, "1/s")),
                quantity(many.reads_s, "1/s"),
                quantity(many.link_bytes_s, "B/s"),
                quantity(many.out_bytes_s, "B/s"),
            ]
        };
        let rows = Topology::ALL
            .into_iter()
            .flat_map(|topology| SIZES.map(|servers| row(topology, servers)))
            .collect();
        let head = vec![
            "topology",
            "servers",
            "links",
            "seen on all",
            "by the rounds",
            "commits, 1 a message",
            "commits, 64 a message",
            "by the rounds",
            "reads beside them",
            "on a link",
            "from the busiest",
        ];
        Block::Table(head, rows)
    }

    fn simulated(&self, blocks: &mut Vec<Block>) {
        let mut rows = Vec::new();
        for topology in Topology::ALL {
            let name = topology.name();
            for seen in self.rows_of(&format!("{name}-seen")) {
                let servers = seen.threads;
                let predicted =
                    predict(&SIMULATED, &Site::default(), topology, servers, 1.0).seen_us;
                let of = |what: &str| {
                    let row = self.row(&format!("{name}-{what}"), servers);
                    row.map_or(f64::NAN, |row| row.value)
                };
                rows.push(vec![
                    name.to_owned(),
                    servers.to_string(),
                    milliseconds(seen.value),
                    milliseconds(of("seen-p99")),
                    milliseconds(predicted),
                    percent(error(predicted, seen.value)),
                    format!("{:.2}", of("sent")),
                    format!("{:.2}", of("ran")),
                ]);
            }
        }
        if rows.is_empty() {
            return blocks.push(Block::Text("Not measured.".to_owned()));
        }
        let used = self.rows_of("memory").zip(self.rows_of("took")).map(|(memory, took)| {
            let mebibytes = memory.value / f64::from(1 << 20);
            format!("{} servers took {mebibytes:.0} MiB and {:.1} s", memory.threads, took.value)
        });
        let used: Vec<String> = used.collect();
        blocks.push(Block::Text(format!(
            "Every server is a Jungle that follows the log by the cluster's own code; only the \
             log, the network and the time are simulated, from a seed. In the middle 50 commits a \
             second come from servers drawn at random; one in four counts on from what it reads. \
             All servers were equal in the end, by their content hashes, and no count was lost. \
             {}. What things take is given ({:.1} ms for a majority, {:.0} µs for each copy), and \
             the model is given the same; it knows no queues, and hops here take up to a fifth \
             longer. Sent: how often a commit was sent until it was first, rebased in between; \
             ran: how often its closure did, since what it had read was changed.",
            used.join("; "),
            SIMULATED.publish_us / 1e3,
            SIMULATED.copy_us
        )));
        let head = vec![
            "topology",
            "servers",
            "seen on all, p50",
            "p99",
            "the model",
            "its error",
            "sent",
            "ran",
        ];
        blocks.push(Block::Table(head, rows));
    }

    /// The picture of how long a commit takes until all servers show it.
    fn seen(&self) -> Plot {
        let milli = |row: &Row| Mark {
            x: row.threads as f64,
            y: row.value / 1e3,
            spread: {
                let (low, high) = spread(&row.samples);
                (low / 1e3, high / 1e3)
            },
        };
        let mut lines = Vec::new();
        for topology in Topology::ALL {
            let name = topology.name();
            let point = |servers| {
                Mark::at((servers as f64, self.predict(topology, servers, 1).seen_us / 1e3))
            };
            lines.push(Line {
                name: format!("{name} (predicted)"),
                kind: Kind::Predicted,
                points: SIZES.map(point).to_vec(),
            });
            lines.push(Line {
                name: format!("{name} (simulated, with times that are given)"),
                kind: Kind::Simulated,
                points: self.rows_of(&format!("{name}-seen")).map(milli).collect(),
            });
        }
        lines.push(Line {
            name: "all servers on this machine (measured)".to_owned(),
            kind: Kind::Measured,
            points: self.rows_of("seen").map(milli).collect(),
        });
        plot("A commit until all servers show it", "milliseconds", lines)
    }

    /// The picture of what is done in a second, beside what others published.
    fn rates(&self) -> Plot {
        let predicted = |name: &str, of: &dyn Fn(usize) -> f64| Line {
            name: format!("{name} (predicted)"),
            kind: Kind::Predicted,
            points: SIZES.map(|servers| Mark::at((servers as f64, of(servers)))).to_vec(),
        };
        let mut lines =
            vec![predicted("Jungle reads in process, beside commits, star", &|servers| {
                self.predict(Topology::Star, servers, CLIENTS).reads_s
            })];
        for topology in Topology::ALL {
            let name = format!("Jungle commits, {CLIENTS} a message, {}", topology.name());
            lines.push(predicted(&name, &|servers| {
                self.predict(topology, servers, CLIENTS).commits_s
            }));
        }
        let mark =
            |row: &Row| Mark { x: row.threads as f64, y: row.value, spread: spread(&row.samples) };
        lines.push(Line {
            name: format!("Jungle commits of {CLIENTS} clients, all on this machine (measured)"),
            kind: Kind::Measured,
            points: self.rows_of("commits").map(mark).collect(),
        });
        lines.extend(SERVERS.iter().map(|published| Line {
            name: published.name.to_owned(),
            kind: Kind::Published,
            points: published.rates().into_iter().map(Mark::at).collect(),
        }));
        plot("Reads and commits of all servers together", "a second", lines)
    }
}

fn plot(title: &str, y: &str, lines: Vec<Line>) -> Plot {
    Plot {
        title: title.to_owned(),
        x: "servers",
        x_scale: Scale::Logarithmic,
        y: y.to_owned(),
        scale: Scale::Logarithmic,
        lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect(),
    }
}

fn milliseconds(micros: f64) -> String {
    quantity(micros / 1e3, "ms")
}

/// By how much of the measured number the predicted one is too large.
fn error(predicted: f64, measured: f64) -> f64 {
    predicted / measured - 1.0
}

fn percent(part: f64) -> String {
    format!("{:+.0} %", 100.0 * part)
}

/// What the parts take, if `of` makes a number of what the rounds gave.
fn parameters(rows: &[Row], of: fn(&Row) -> f64) -> Option<Parameters> {
    let number = |case| Some(of(find(rows, ("scale", case), System::Jungle, 1)?));
    Some(Parameters {
        prepare_us: number("prepare")?,
        joined_us: number("joined")?,
        message_us: number("message")?,
        record_us: number("record")?,
        message_bytes: number("message-bytes")?,
        record_bytes: number("record-bytes")?,
        publish_us: number("publish")?,
        publish_byte_ns: number("publish-byte")?,
        deliver_us: number("deliver")?,
        engine_us: number("engine")?,
        engine_byte_ns: number("engine-byte")?,
        copy_us: number("copy")?,
        receive_us: number("receive")?,
        // What was measured before the model had it is told without; that it lacks is told, too.
        wake_us: number("wake").unwrap_or(0.0),
        read_ns: number("read")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Beyond, milliseconds, section};
    use crate::report::document::Document;
    use crate::results::Row;
    use crate::scale::{Here, Site, Topology, predict};

    fn rows(left_out: &str) -> Vec<Row> {
        let row = |case: &str, threads: usize, unit: &str, sample: f64| {
            serde_json::json!({
                "experiment": "scale", "case": case, "system": "jungle", "threads": threads,
                "value": -1.0, "unit": unit, "samples": [sample],
            })
        };
        let parameters = [
            ("prepare", "us", 10.0),
            ("joined", "us", 20.0),
            ("message", "us", 30.0),
            ("record", "us", 4.0),
            ("message-bytes", "B", 200.0),
            ("record-bytes", "B", 40.0),
            ("publish", "us", 1_500.0),
            ("publish-byte", "ns", 10.0),
            ("deliver", "us", 50.0),
            ("engine", "us", 600.0),
            ("engine-byte", "ns", 20.0),
            ("copy", "us", 10.0),
            ("receive", "us", 15.0),
            ("wake", "us", 9.0),
            ("read", "ns", 100.0),
        ];
        let parameters =
            parameters.into_iter().map(|(case, unit, number)| row(case, 1, unit, number));
        let others = [
            row("seen", 3, "us", 2_000.0),
            row("commits", 3, "1/s", 10_000.0),
            row("star-seen", 10, "us", 1_600.0),
            row("star-seen-p99", 10, "us", 2_600.0),
            row("star-sent", 10, "x", 1.25),
            row("star-ran", 10, "x", 1.05),
            row("memory", 10, "B", 1048576.0),
            row("took", 10, "s", 2.0),
        ];
        let all = parameters.chain(others).filter(|row| row["case"] != left_out);
        serde_json::from_value(all.collect::<Vec<_>>().into()).unwrap()
    }

    fn page(rows: &[Row]) -> Option<String> {
        let blocks = Beyond::of(rows, 2)?.tables();
        Some(Document { title: String::new(), blocks }.markdown())
    }

    #[test]
    fn predictions_and_errors_are_derived_from_the_samples() {
        let rows = rows("");
        let beyond = Beyond::of(&rows, 2).unwrap();
        let here = Here { parameters: &beyond.parameters, cores: 2.0 };
        // 10 + 1500 + 50, and twice 10 + 15 + 30 + 4 and two times 9 on two cores.
        assert_eq!(here.seen_us(3), 1_637.0);
        let page = page(&rows).unwrap();
        assert!(page.contains("| 3 | 2.00 ms | 1.64 ms | -18 % | 10.0 k/s | "), "{page}");
        let thousand = predict(&beyond.parameters, &Site::default(), Topology::Tree, 1_000, 1.0);
        let cells = format!("| tree | 1000 | 1000 | {:.2} ms | ", thousand.seen_us / 1e3);
        assert!(page.contains(&cells), "{cells}: {page}");
        assert!(page.contains("| star | 10 | 1.60 ms | 2.60 ms | "), "{page}");
        assert!(
            page.contains("| 1.25 | 1.05 |") && page.contains("took 1 MiB and 2.0 s"),
            "{page}"
        );
    }

    #[test]
    fn how_far_rounds_lie_apart_is_carried_into_predictions() {
        let mut rows = rows("");
        let deliver = rows.iter_mut().find(|row| row.case == "deliver").unwrap();
        deliver.samples = vec![deliver.value - 50.0, deliver.value, deliver.value + 2_000.0];
        let beyond = Beyond::of(&rows, 2).unwrap();
        let seen =
            predict(&beyond.parameters, &Site::default(), Topology::Tree, 1_000, 1.0).seen_us;
        let [least, median, most] = [seen - 50.0, seen, seen + 2_000.0].map(milliseconds);
        let page = page(&rows).unwrap();
        let cells = format!("| tree | 1000 | 1000 | {median} | {least} – {most} | ");
        assert!(page.contains(&cells), "{cells}: {page}");
        assert!(page.contains("off by -18 % to -18 % in what is seen, and by "), "{page}");
    }

    #[test]
    fn without_a_parameter_nothing_is_predicted_and_that_is_told() {
        assert!(page(&rows("publish")).is_none());
        let mut blocks = Vec::new();
        section(&[], &mut blocks);
        let page = Document { title: String::new(), blocks }.markdown();
        assert!(page.contains("Not measured: `jungle-bench scale --report DIR`"), "{page}");
    }

    #[test]
    fn what_was_measured_without_wake_ups_is_predicted_without() {
        let rows = rows("wake");
        let beyond = Beyond::of(&rows, 2).unwrap();
        assert_eq!(beyond.parameters.wake_us, 0.0);
        assert_eq!(beyond.here().seen_us(3), 1_619.0);
    }

    #[test]
    fn what_was_not_measured_beside_the_parameters_is_told() {
        let mut rows = rows("");
        rows.truncate(15);
        let page = page(&rows).unwrap();
        assert_eq!(page.matches("Not measured.").count(), 2, "{page}");
        assert!(page.contains("| mesh | 1000 |"), "{page}");
    }

    #[test]
    fn predictions_are_drawn_as_such() {
        let rows = rows("");
        let beyond = Beyond::of(&rows, 2).unwrap();
        let (seen, rates) = (beyond.seen().svg(), beyond.rates().svg());
        assert!(seen.contains("ring (predicted)") && seen.contains("c0 simulated"), "{seen}");
        assert!(rates.contains("ZooKeeper writes (published)"), "{rates}");
        assert!(!seen.contains("NaN") && !rates.contains("NaN"));
    }
}
