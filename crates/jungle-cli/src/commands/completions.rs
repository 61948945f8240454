//! `jungle completions`: for shells.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Format, json_line, stdout};

/// Print what a shell needs to complete commands and options
#[derive(clap::Args)]
#[command(
    after_help = "bash: jungle completions bash > ~/.local/share/bash-completion/completions/jungle"
)]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    shell: String,
    script: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut args::Args::command(), "jungle", &mut script);
    let mut out = stdout();
    match context.format {
        Format::Json => {
            let script = String::from_utf8_lossy(&script).into_owned();
            json_line(&mut out, &Told { shell: args.shell.to_string(), script })?;
        }
        Format::Text => out.write_all(&script)?,
    }
    Ok(out.flush()?)
}
