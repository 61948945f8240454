//! `nats`: the server that carries Alice between processes, for the tests, below `target`.

use crate::command::go_install;
use crate::error::{Result, no_arguments};

/// The version that was measured and tried; `jungle-testkit` looks for it by this folder.
const VERSION: &str = "2.15.2";

pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("nats", arguments)?;
    go_install("nats-server", VERSION, &[("nats-server", "github.com/nats-io/nats-server/v2")])
}
