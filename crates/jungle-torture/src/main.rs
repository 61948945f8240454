//! `cargo xtask torture SUITE`. What it does is in the library, of which `fuzz/` uses a part, too.

use std::process::ExitCode;

fn main() -> ExitCode {
    jungle_torture::run()
}
