//! `pebble`: Let's Encrypt's own authority for tests, with the server of names that it asks, below
//! `target`.

use crate::command::go_install;
use crate::error::{Result, no_arguments};

/// The version that was tried; `jungle-testkit` looks for it by this folder.
const VERSION: &str = "2.10.3";

const PROGRAMS: [(&str, &str); 2] = [
    ("pebble", "github.com/letsencrypt/pebble/v2/cmd/pebble"),
    ("pebble-challtestsrv", "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv"),
];

pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("pebble", arguments)?;
    go_install("pebble", VERSION, &PROGRAMS)
}
