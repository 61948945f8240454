//! Processes of this program that end when the one that started them ends, however it does.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::failure::{Exit, Failure, failed};

/// A process that ends when this is dropped, or when this process ends: it reads what nobody
/// writes, and ends when that ends.
pub(crate) struct Leashed {
    child: Child,
    leash: Option<ChildStdin>,
}

impl Leashed {
    /// Starts this program with other arguments.
    pub(crate) fn start(arguments: &[&str]) -> Result<Leashed, Failure> {
        let program = env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        // What was set for a server that one keeps is not for those of a try-out.
        let names = env::vars_os().map(|(name, _)| name);
        names.filter(|name| name.to_string_lossy().starts_with("JUNGLE_")).for_each(|name| {
            command.env_remove(name);
        });
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        // So that an interrupt at the keyboard reaches this process only, which ends the others.
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let leash = child.stdin.take();
        Ok(Leashed { child, leash })
    }

    /// The first line that it says, for which this waits; none when it has ended, and it has said
    /// why on standard error then.
    pub(crate) fn first_line(&mut self) -> Result<String, Failure> {
        let told = self.child.stdout.take().expect("piped, and taken once");
        let mut line = String::new();
        BufReader::new(told).read_line(&mut line)?;
        match line.trim_end() {
            "" => Err(Failure::silent(Exit::Error)),
            line => Ok(line.to_owned()),
        }
    }

    /// Its number.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Has it end, without waiting for that.
    pub(crate) fn let_go(&mut self) {
        self.leash = None;
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        self.let_go();
        let _ = self.child.wait();
    }
}

/// Starts servers of the engine, so many as the text says; gives the addresses of its places, too.
pub(crate) fn start_engine(
    program: &Path,
    servers: &str,
    more: &[&str],
) -> Result<(Leashed, Vec<String>), Failure> {
    let program = program.to_string_lossy();
    let usual = ["alice", "engine", "--servers", servers, "--nats-server", &program];
    let mut engine = Leashed::start(&[&usual, more].concat())?;
    let line = engine.first_line()?;
    Ok((engine, line.split(' ').map(str::to_owned).collect()))
}
