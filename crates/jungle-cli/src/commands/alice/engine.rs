//! `jungle alice engine`: what `jungle alice up` and `jungle cluster up` start, to have servers
//! that end with them however they end.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::failure::{Exit, Failure};
use crate::output::{say, stdout};
use crate::tryout::{Ends, Plan, Servers};

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
    /// Leaf nodes beside them: the place of whom each is connected to; 0 is they, 1 the first leaf
    #[arg(long, value_name = "PLACES", value_delimiter = ',')]
    relays: Vec<usize>,
    /// The leaf nodes keep what they are given as well
    #[arg(long, requires = "relays")]
    mirrors: bool,
}

/// How often it is looked whether they run.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let ends = Ends::listen()?.with_input();
    let (servers, relays) = (args.servers, args.relays.clone());
    let (syncs_always, has_mirrors) = (args.sync, args.mirrors);
    let plan = Plan { servers, syncs_always, relays, has_mirrors };
    let mut servers = Servers::start(&args.nats_server, plan)?;
    {
        let mut out = stdout();
        writeln!(out, "{}", servers.addresses().join(" "))?;
        out.flush()?;
    }
    while !ends.within(LOOK_AGAIN) {
        for address in servers.newly_ended() {
            say(format_args!("the engine's server at {address} has ended"));
        }
        if servers.have_no_majority() {
            return Err(Failure::new(Exit::Error, "too few servers of the engine run"));
        }
    }
    Ok(())
}
