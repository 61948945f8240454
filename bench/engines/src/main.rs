//! Which embedded engine should keep checkpoints? Each one takes the slabs of an arena, replaces
//! some of them in durable transactions, gives them back, and is opened again.
//!
//! `cargo run --release -- FOLDER` runs all engines in turn, three rounds, in a new folder below
//! `FOLDER` (which says on which disk), and prints medians. Each run is a process of its own.

mod content;
mod engines;
mod run;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [run::CHILD, phase, engine, form, folder, count] => {
            run::child(phase, engine, form, folder.as_ref(), count.parse().expect("a number"));
            ExitCode::SUCCESS
        }
        [folder] => {
            table::print(folder.as_ref());
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: engines FOLDER");
            ExitCode::from(2)
        }
    }
}
