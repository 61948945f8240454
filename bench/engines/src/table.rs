//! All engines in turn, and the table of medians.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engines::ENGINES;
use crate::run::CHILD;

const ROUNDS: usize = 3;

const FORMS: [&str; 2] = ["raw", "lz4"];

/// Transactions before the size is taken.
const TRANSACTIONS: usize = 50;

const COLUMNS: [(&str, &str); 9] = [
    ("first_ms", "first, ms"),
    ("replace_ms", "replace, ms"),
    ("replace_ms_max", "worst, ms"),
    ("syncs", "syncs"),
    ("written_per_given", "written"),
    ("size", "size"),
    ("read_us", "read, us"),
    ("open_ms", "open, ms"),
    ("killed_ms", "killed, ms"),
];

type Seen = BTreeMap<(String, String, &'static str), Vec<f64>>;

pub fn print(folder: &Path) {
    let folder = folder.join(format!("engines-{}", std::process::id()));
    let mut seen = Seen::new();
    for round in 0..ROUNDS {
        for form in FORMS {
            for engine in ENGINES {
                eprintln!("round {} of {ROUNDS}: {engine} {form}", round + 1);
                measure(engine, form, &folder.join("run"), &mut seen);
            }
        }
    }
    fs::remove_dir_all(&folder).expect("made by this program");
    let names: Vec<&str> = COLUMNS.iter().map(|(_, name)| *name).collect();
    println!("| engine | slabs | {} |\n|---|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for form in FORMS {
        for engine in ENGINES {
            let value = |column: &'static str| {
                let mut values = seen[&(engine.to_owned(), form.to_owned(), column)].clone();
                values.sort_by(f64::total_cmp);
                let value = values[values.len() / 2];
                if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") }
            };
            let values: Vec<String> = COLUMNS.iter().map(|(column, _)| value(column)).collect();
            println!("| {engine} | {form} | {} |", values.join(" | "));
        }
    }
}

fn measure(engine: &str, form: &str, folder: &Path, seen: &mut Seen) {
    let mut note = |column, value| {
        seen.entry((engine.to_owned(), form.to_owned(), column)).or_default().push(value);
    };
    let run = |phase: &str, count: usize| said(&mut child(phase, engine, form, folder, count));
    drop(fs::remove_dir_all(folder));
    let written = run("write", TRANSACTIONS);
    for column in ["first_ms", "replace_ms", "replace_ms_max", "written_per_given"] {
        note(column, written[column]);
    }
    note("size", size(folder) / (1 << 20) as f64 / written["live_mib"]);
    note("killed_ms", run("close", 0)["open_ms"]);
    let opened = run("open", 0);
    note("open_ms", opened["open_ms"]);
    note("read_us", opened["read_us"]);
    let (few, many) = (10, 30);
    let syncs = [few, many].map(|count| syncs(engine, form, folder, count));
    note("syncs", (syncs[1] - syncs[0]) / (many - few) as f64);
}

/// The syncs of a whole run, counted by `strace`.
fn syncs(engine: &str, form: &str, folder: &Path, count: usize) -> f64 {
    drop(fs::remove_dir_all(folder));
    let trace = folder.with_extension("trace");
    let inner = child("write", engine, form, folder, count);
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=fsync,fdatasync,msync,sync_file_range", "-o"]).arg(&trace);
    command.arg(inner.get_program()).args(inner.get_args());
    said(&mut command);
    let trace = fs::read_to_string(trace).expect("strace wrote it");
    trace.lines().filter(|line| line.contains("sync(") || line.contains("sync_file_")).count()
        as f64
}

fn child(phase: &str, engine: &str, form: &str, folder: &Path, count: usize) -> Command {
    let program: PathBuf = std::env::current_exe().expect("this program has a file");
    let mut command = Command::new(program);
    command.args([CHILD, phase, engine, form]).arg(folder).arg(count.to_string());
    command
}

/// What a child printed.
fn said(command: &mut Command) -> BTreeMap<String, f64> {
    let output = command.output().expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let pair = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// What the files take up on the disk.
fn size(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).expect("it is there");
    let sizes = entries.map(|entry| {
        let entry = entry.expect("it is there");
        let meta = entry.metadata().expect("it is there");
        if meta.is_dir() {
            return size(&entry.path());
        }
        std::os::unix::fs::MetadataExt::blocks(&meta) as f64 * 512.0
    });
    sizes.sum()
}
