//! Stores that are made to keep every version, as a user of theirs would: one case per run, one
//! line of JSON. See the README beside this folder.
//!
//! What all of them share is here. They are several programs, since DoltLite and SQLite have C
//! functions of the same names.

pub mod apart;
pub mod bare;
pub mod between;
pub mod children;
pub mod history;
pub mod kill;
pub mod load;
pub mod readers;
pub mod run;
pub mod space;
pub mod stall;
pub mod subtree;
pub mod support;
pub mod versions;

use std::process::ExitCode;

use support::{Failure, Options, Outcome};

/// A peer's program: reads what it is asked for, runs it, prints what came out.
pub fn main(run: fn(&Options) -> Result<Outcome, Failure>) -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(outcome) => {
            println!("{}", outcome.to_json(&options));
            ExitCode::from(u8::from(outcome.check != "ok"))
        }
        Err(error) => {
            eprintln!("{}: {error}", options.system);
            ExitCode::FAILURE
        }
    }
}
