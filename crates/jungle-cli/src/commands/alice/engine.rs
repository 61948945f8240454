//! `jungle alice engine`: what `jungle alice up` and `jungle cluster up` start, to have servers
//! that end with them however they end.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::failure::{Exit, Failure};
use crate::output::stdout;
use crate::tryout::{Ends, Servers};

/// Keep servers of the engine running until standard input ends
#[derive(clap::Args)]
pub(super) struct Args {
    /// How many
    #[arg(long, value_name = "COUNT")]
    servers: usize,
    /// Their program
    #[arg(long, value_name = "FILE")]
    nats_server: PathBuf,
    /// They sync before they promise anything
    #[arg(long)]
    sync: bool,
}

/// How often it is looked whether they run.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let ends = Ends::listen()?.with_input();
    let mut servers = Servers::start(&args.nats_server, args.servers, args.sync)?;
    {
        let mut out = stdout();
        writeln!(out, "{}", servers.addresses())?;
        out.flush()?;
    }
    while !ends.within(LOOK_AGAIN) {
        if servers.has_ended() {
            return Err(Failure::new(Exit::Error, "a server of the engine has ended"));
        }
    }
    Ok(())
}
