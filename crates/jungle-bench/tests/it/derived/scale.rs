//! What the report tells of more servers than there are here, worked out by the formulas that the
//! documentation of the model has (`src/scale/model.rs`), from the raw file as plain JSON.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{
    cells, is_number, is_on, is_quantity, least, middle, most, page, raws, report, samples,
    section, text_of,
};

/// What the parts take: microseconds, nanoseconds where it is of a byte or a read, and bytes.
type Parts = BTreeMap<&'static str, f64>;

/// What the simulation takes for granted.
const GIVEN: [(&str, f64); 15] = [
    ("prepare", 20.0),
    ("joined", 20.0),
    ("message", 20.0),
    ("record", 5.0),
    ("message-bytes", 210.0),
    ("record-bytes", 40.0),
    ("publish", 1_000.0),
    ("publish-byte", 10.0),
    ("deliver", 0.0),
    ("engine", 500.0),
    ("engine-byte", 10.0),
    ("copy", 10.0),
    ("receive", 10.0),
    ("wake", 0.0),
    ("read", 200.0),
];

/// Where servers each have a machine: microseconds one way, bits a second, cores.
const HOP: f64 = 100.0;
const BITS: f64 = 10e9;
const CORES: f64 = 2.0;

/// So many commit at once where commits a second are asked for.
const CLIENTS: f64 = 64.0;

#[test]
fn the_model_is_held_against_what_was_measured() {
    let (page, raws) = (page(), raws());
    let rows = &raws["scale"];
    let (parts, mut errors) = (parts(rows, middle), [vec![], vec![]]);
    let table = part(&page, "Held against servers on this machine");
    assert!(table.len() > 3, "{table:?}");
    for cells in &table {
        let [servers, seen, seen_told, late, commits, commits_told, many] = cells[..] else {
            panic!("{cells:?}")
        };
        let servers: f64 = servers.parse().unwrap();
        let of = |case| middle(&samples(row(rows, case, servers)));
        let (seen_is, commits_is) = (of("seen"), of("commits"));
        let (seen_us, commits_s) = here(&parts, cores(), servers);
        assert!(is_quantity(seen, seen_is / 1e3, "ms"), "{cells:?}: {seen_is}");
        assert!(is_quantity(seen_told, seen_us / 1e3, "ms"), "{cells:?}: {seen_us}");
        assert!(is_quantity(commits, commits_is, "1/s"), "{cells:?}: {commits_is}");
        assert!(is_quantity(commits_told, commits_s, "1/s"), "{cells:?}: {commits_s}");
        let both = [(late, seen_us / seen_is), (many, commits_s / commits_is)];
        for ((told, times), errors) in both.into_iter().zip(&mut errors) {
            let error = 100.0 * (times - 1.0);
            assert!(is_number(told.trim_end_matches(" %"), error), "{cells:?}: {error}");
            errors.push(error);
        }
    }
    let [late, many] = errors.map(|all| format!("{:+.0} % to {:+.0} %", least(&all), most(&all)));
    let told = format!("off by {late} in what is seen, and by {many} in commits");
    assert!(page.contains(&told), "{told}");
}

#[test]
fn what_is_predicted_follows_from_the_parts() {
    let (page, raws) = (page(), raws());
    let all = [middle, least, most].map(|of: fn(&[f64]) -> f64| parts(&raws["scale"], of));
    let table = part(&page, "Predicted");
    assert_eq!(table.len(), 20, "four shapes of five sizes");
    for cells in &table {
        let [shape, servers, links, numbers @ ..] = &cells[..] else { panic!("{cells:?}") };
        let n: f64 = servers.parse().unwrap();
        assert!(is_number(links, links_of(shape, n)), "{cells:?}");
        let alone = |parts| apart(parts, shape, n, 1.0);
        let many = |parts| apart(parts, shape, n, CLIENTS);
        let [parts, fast, slow] = &all;
        let both = |told: &str, low: f64, high: f64, unit: &str| {
            let (least, most) = told.split_once(" – ").unwrap();
            is_quantity(least, low, unit) && is_quantity(most, high, unit)
        };
        let seen = [parts, fast, slow].map(|parts| alone(parts).seen / 1e3);
        let commits = [parts, fast, slow].map(|parts| many(parts).commits);
        assert!(is_quantity(numbers[0], seen[0], "ms"), "{cells:?}: {seen:?}");
        assert!(both(numbers[1], seen[1], seen[2], "ms"), "{cells:?}: {seen:?}");
        assert!(is_quantity(numbers[2], alone(parts).commits, "1/s"), "{cells:?}");
        assert!(is_quantity(numbers[3], commits[0], "1/s"), "{cells:?}: {commits:?}");
        assert!(both(numbers[4], commits[2], commits[1], "1/s"), "{cells:?}: {commits:?}");
        let Apart { reads, link, out, .. } = many(parts);
        assert!(is_quantity(numbers[5], reads, "1/s"), "{cells:?}: {reads}");
        assert!(is_quantity(numbers[6], link, "B/s"), "{cells:?}: {link}");
        assert!(is_quantity(numbers[7], out, "B/s"), "{cells:?}: {out}");
        assert_eq!(numbers.len(), 8, "{cells:?}");
    }
}

#[test]
fn what_was_simulated_stands_beside_the_model() {
    let (page, raws) = (page(), raws());
    let (rows, given) = (&raws["scale"], Parts::from(GIVEN));
    let table = part(&page, "Simulated");
    let is_simulated = |row: &&Value| text_of(row, "case").ends_with("-seen");
    assert_eq!(table.len(), rows.iter().filter(is_simulated).count());
    for cells in &table {
        let [shape, servers, seen, slow, model, error, sent, ran] = cells[..] else {
            panic!("{cells:?}")
        };
        let n: f64 = servers.parse().unwrap();
        let of = |what: &str| middle(&samples(row(rows, &format!("{shape}-{what}"), n)));
        let (seen_us, model_us) = (of("seen"), apart(&given, shape, n, 1.0).seen);
        assert!(is_quantity(seen, seen_us / 1e3, "ms"), "{cells:?}: {seen_us}");
        assert!(is_quantity(slow, of("seen-p99") / 1e3, "ms"), "{cells:?}");
        assert!(is_quantity(model, model_us / 1e3, "ms"), "{cells:?}: {model_us}");
        let off = 100.0 * (model_us / seen_us - 1.0);
        assert!(is_number(error.trim_end_matches(" %"), off), "{cells:?}: {off}");
        assert!(is_number(sent, of("sent")) && is_number(ran, of("ran")), "{cells:?}");
    }
}

/// The table below a heading of the section.
fn part<'p>(page: &'p str, heading: &str) -> Vec<Vec<&'p str>> {
    let section = section(page, "Scale beyond this machine");
    let (_, its) = section.split_once(&format!("\n### {heading}\n")).unwrap();
    cells(its.split_once("\n### ").map_or(its, |(its, _)| its))
}

fn row<'r>(rows: &'r [Value], case: &str, servers: f64) -> &'r Value {
    let is_its = |row: &&Value| row["case"] == case && is_on(row, servers as u64);
    rows.iter().find(is_its).unwrap()
}

/// Of the machine that it was measured on.
fn cores() -> f64 {
    let raw = fs::read_to_string(report().join("raw/scale.json")).unwrap();
    let raw: Value = serde_json::from_str(&raw).unwrap();
    raw["machine"]["cores"].as_f64().unwrap()
}

/// What the parts take, if `of` makes a number of what the rounds gave.
fn parts(rows: &[Value], of: fn(&[f64]) -> f64) -> Parts {
    let part = |(name, _): (&'static str, f64)| {
        let row = rows.iter().find(|row| row["case"] == name && is_on(row, 1));
        // The model was without it at first.
        assert!(row.is_some() || name == "wake", "{name}");
        (name, row.map_or(0.0, |row| of(&samples(row))))
    };
    GIVEN.into_iter().map(part).collect()
}

fn publish(parts: &Parts, commits: f64) -> f64 {
    parts["publish"] + parts["publish-byte"] / 1e3 * (commits - 1.0) * parts["record-bytes"]
}

fn apply(parts: &Parts, commits: f64) -> f64 {
    parts["receive"] + parts["message"] + commits * parts["record"]
}

fn work(parts: &Parts, commits: f64) -> f64 {
    if commits > 1.0 { commits * parts["joined"] } else { parts["prepare"] }
}

/// So many servers on the cores of one machine: microseconds until all show a lone commit, and
/// commits a second of many clients.
fn here(parts: &Parts, cores: f64, n: f64) -> (f64, f64) {
    let (others, g) = (n - 1.0, CLIENTS);
    let beside = |g: f64| others * (parts["copy"] + parts["wake"] + apply(parts, g)) / cores;
    let deliver = if others > 0.0 { parts["deliver"] } else { 0.0 };
    let woken = others * parts["wake"] / cores;
    let seen = work(parts, 1.0) + publish(parts, 1.0) + deliver + beside(1.0) + woken;
    let engine = parts["engine"] + parts["engine-byte"] / 1e3 * (g - 1.0) * parts["record-bytes"];
    let cpu = engine
        + n * (parts["copy"] + parts["receive"])
        + g * parts["joined"]
        + others * (parts["message"] + g * parts["record"]);
    let cycle = publish(parts, g) + g * parts["joined"] + beside(g);
    (seen, 1e6 * g / cycle.max(cpu / cores))
}

/// What servers do that each have a machine: microseconds; commits, reads and bytes a second.
struct Apart {
    seen: f64,
    commits: f64,
    reads: f64,
    link: f64,
    out: f64,
}

/// Of so many servers with so many commits in a message.
fn apart(parts: &Parts, shape: &str, n: f64, g: f64) -> Apart {
    let bytes = |g: f64| parts["message-bytes"] + g * parts["record-bytes"];
    let send = |g: f64| parts["copy"].max(8e6 * bytes(g) / BITS);
    let placed = |g: f64| work(parts, g) + publish(parts, g) + 2.0 * HOP + parts["deliver"];
    let done = |g: f64| apply(parts, g) + 2.0 * parts["wake"];
    let Way { up, down, .. } = way(shape, n, send(1.0));
    let seen = placed(1.0) + up + down + done(1.0);
    let Way { up, halfway, out, .. } = way(shape, n, send(g));
    let cycle = placed(g) + up + halfway + done(g);
    let commits = 1e6 * g / cycle.max(out * send(g)).max(apply(parts, g));
    let following = (commits * apply(parts, g) / g / 1e6).min(CORES);
    let reads = n * (CORES - following) * 1e9 / parts["read"];
    let link = commits * bytes(g) / g;
    Apart { seen, commits, reads, link, out: out * link }
}

/// Microseconds of the way, and how many the busiest passes a message on to.
struct Way {
    up: f64,
    down: f64,
    halfway: f64,
    out: f64,
}

/// With so many microseconds to pass a message on to one more.
fn way(shape: &str, n: f64, s: f64) -> Way {
    let (up, down, halfway, out) = match shape {
        "star" => {
            let copies = (((n - 1.0) / 3.0).ceil() + 2.0) * s;
            (HOP, 2.0 * HOP + copies, 1.5 * HOP + copies / 2.0, (n / 3.0).ceil() + 2.0)
        }
        "tree" => {
            let (d, k) = (f64::from(levels(n)), n.min(10.0));
            (d * HOP, d * (HOP + k * s), d * (HOP + k * s / 2.0), k)
        }
        "ring" => {
            let down = (n / 2.0).ceil() * (HOP + s) + s;
            ((n / 4.0).max(1.0) * HOP, down, down / 2.0, n.min(2.0))
        }
        "mesh" => (HOP, HOP + n * s, HOP + n * s / 2.0, n),
        other => panic!("{other}"),
    };
    Way { up, down, halfway, out }
}

/// Of a tree in which each passes on to ten: 10 servers have one, 110 two, 1,110 three.
fn levels(n: f64) -> i32 {
    let reached = |levels: i32| (1..=levels).map(|level| 10_f64.powi(level)).sum::<f64>();
    (1..).find(|levels| n <= reached(*levels)).unwrap()
}

fn links_of(shape: &str, n: f64) -> f64 {
    match shape {
        "star" => n + 3.0,
        "tree" => n,
        "ring" => n + 1.0,
        "mesh" => n * (n + 1.0) / 2.0,
        other => panic!("{other}"),
    }
}
