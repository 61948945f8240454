//! Stores that are made to keep every version, as a user of theirs would: one case per run, one
//! line of JSON. See the README beside this folder.

mod doltlite;
mod lmdb;
mod redb;
mod run;
mod support;
mod versions;

use std::process::ExitCode;

use support::Options;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => return usage(&message),
    };
    let outcome = match options.case.as_str() {
        "commit" => run::commit(&options),
        "kept" => run::kept(&options),
        unknown => return usage(&format!("unknown case {unknown}")),
    };
    match outcome {
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

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}
