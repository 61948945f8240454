//! `jungle completions`: for shells.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args;
use crate::failure::Failure;
use crate::output::stdout;

/// Print what a shell needs to complete commands and options
#[derive(clap::Args)]
#[command(
    after_help = "bash: jungle completions bash > ~/.local/share/bash-completion/completions/jungle"
)]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut text = Vec::new();
    generate(args.shell, &mut args::Args::command(), "jungle", &mut text);
    let mut out = stdout();
    out.write_all(&text)?;
    Ok(out.flush()?)
}
