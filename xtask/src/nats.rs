//! `nats`: the server that carries Alice between processes, for the tests, below `target`.

use std::fs;

use crate::command::{command, need, run as run_command, target_dir};
use crate::error::{Context, Result, no_arguments};

/// The version that was measured and tried; `jungle-testkit` looks for it by this folder.
const VERSION: &str = "2.15.2";

pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("nats", arguments)?;
    let folder = target_dir().join(format!("nats-server-{VERSION}"));
    if folder.join("nats-server").is_file() {
        return Ok(());
    }
    need("go", "golang-go")?;
    fs::create_dir_all(&folder).context(format!("cannot make {}", folder.display()))?;
    let module = format!("github.com/nats-io/nats-server/v2@v{VERSION}");
    let mut install = command("go", ["install", &module]);
    install.env("GOBIN", &folder);
    run_command(install)
}
