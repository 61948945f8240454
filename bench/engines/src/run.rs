//! One engine, one form of the slabs, one process.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::content::{Numbers, SLABS, form, slab, slabs};
use crate::engines;

/// What the first argument of such a process is.
pub const CHILD: &str = "--child";

/// How many slabs a transaction replaces.
const REPLACED: usize = 100;

const READS: usize = 2_000;

/// Does what is asked for, and prints what it measured, `name value` a line. It leaves without
/// closing the engine, as a process does that is killed, unless it is asked to close it.
pub fn child(phase: &str, engine: &str, form: &str, folder: &Path, count: usize) {
    match phase {
        "write" => write(engine, form, folder, count),
        "open" | "close" => open(engine, form, folder, phase == "close"),
        _ => panic!("there is no phase {phase}"),
    }
}

fn write(engine: &str, form_name: &str, folder: &Path, transactions: usize) {
    fs::create_dir_all(folder).expect("a folder");
    let slabs = slabs();
    let compressing = Instant::now();
    let all: Vec<(u64, Vec<u8>)> =
        slabs.iter().enumerate().map(|(i, slab)| (i as u64, form(slab, form_name))).collect();
    say("form_us", compressing.elapsed().as_secs_f64() * 1e6 / SLABS as f64);
    let mut engine = engines::open(engine, folder);
    let begun = Instant::now();
    engine.put(&all);
    say("first_ms", begun.elapsed().as_secs_f64() * 1e3);
    let mut numbers = Numbers(7);
    let (mut times, mut given, written) = (Vec::new(), 0, bytes_written());
    for _ in 0..transactions {
        // Another slab's bytes, so that something changes.
        let batch: Vec<(u64, Vec<u8>)> = (0..REPLACED)
            .map(|_| (numbers.below(SLABS) as u64, all[numbers.below(SLABS)].1.clone()))
            .collect();
        given += batch.iter().map(|(_, value)| value.len()).sum::<usize>();
        let begun = Instant::now();
        engine.put(&batch);
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    if transactions > 0 {
        say("replace_ms", times[times.len() / 2]);
        say("replace_ms_max", times[times.len() - 1]);
        say("written_per_given", (bytes_written() - written) / given as f64);
    }
    let live: usize = (0..SLABS).map(|key| engine.get(key as u64).len()).sum();
    say("live_mib", live as f64 / (1 << 20) as f64);
    leave();
}

/// Opens what is there and reads from it.
fn open(engine: &str, form: &str, folder: &Path, is_closed: bool) {
    let begun = Instant::now();
    let engine = engines::open(engine, folder);
    let first = slab(&engine.get(0), form);
    say("open_ms", begun.elapsed().as_secs_f64() * 1e3);
    assert_eq!(first.len(), 64 << 10);
    let mut numbers = Numbers(9);
    let begun = Instant::now();
    for _ in 0..READS {
        assert_eq!(slab(&engine.get(numbers.below(SLABS) as u64), form).len(), 64 << 10);
    }
    say("read_us", begun.elapsed().as_secs_f64() * 1e6 / READS as f64);
    if is_closed {
        drop(engine);
    } else {
        leave();
    }
}

/// Ends the process, with nothing closed.
fn leave() -> ! {
    std::process::exit(0);
}

fn say(name: &str, value: f64) {
    println!("{name} {value}");
}

/// Bytes that this process has caused to be written to the disk.
fn bytes_written() -> f64 {
    let io = fs::read_to_string("/proc/self/io").expect("Linux tells");
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).expect("a number")
}
