//! What Alice is measured beside: rayon's pool, crossbeam's channel, tokio's tasks and channel. One
//! case per run, one line of JSON. See the README beside this folder.

mod crossbeam;
mod on_rayon;
mod on_tokio;
mod support;

use std::process::ExitCode;

use support::Options;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => return usage(&message),
    };
    let measured = match options.system.as_str() {
        "rayon" => on_rayon::measure(&options),
        "crossbeam" => crossbeam::measure(&options),
        "tokio" => on_tokio::measure(&options),
        _ => None,
    };
    let Some(outcome) = measured else {
        return usage(&format!("{} has no case {}", options.system, options.case));
    };
    println!("{}", outcome.to_json(&options));
    ExitCode::from(u8::from(!outcome.is_right))
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}
