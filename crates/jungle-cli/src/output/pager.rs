//! A pager for what may be longer than the terminal of whoever reads it.
//!
//! It is started with the first that is printed, so that nothing comes between it and a note or an
//! error before that. (The crates for this fork the process, or want all of the text at once.)

use std::env;
use std::io::{self, BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::commands::shell::words;
use crate::interrupt;
use crate::output::say;

/// Where to look for what the reader has chosen.
const VARIABLES: [&str; 2] = ["JUNGLE_PAGER", "PAGER"];

/// What `less` does where nobody has said: it ends where all fits on the screen, shows colours, and
/// leaves what was read on the screen.
const LESS: &str = "FRX";

static PAGER: Mutex<Pager> = Mutex::new(Pager::Unwanted);
/// To be known while somebody waits for it.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

enum Pager {
    Unwanted,
    Wanted,
    Running { child: Child, input: BufWriter<ChildStdin> },
}

/// From now on, what is printed goes through a pager.
pub(crate) fn want() {
    *lock() = Pager::Wanted;
}

/// Where to print, if it is not standard output.
pub(crate) fn output() -> Option<Paged> {
    (!matches!(*lock(), Pager::Unwanted)).then_some(Paged)
}

/// Does somebody read? Interrupts are for the pager then.
pub(crate) fn is_running() -> bool {
    IS_RUNNING.load(Ordering::SeqCst)
}

/// Waits until all was read, or enough; tells whether there was a pager.
pub(crate) fn end() -> bool {
    let pager = std::mem::replace(&mut *lock(), Pager::Unwanted);
    let Pager::Running { mut child, input } = pager else { return false };
    // Closed, so that the pager knows that this is all.
    drop(input);
    let _ = child.wait();
    IS_RUNNING.store(false, Ordering::SeqCst);
    true
}

/// Standard output, through a pager.
pub(crate) struct Paged;

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pager = lock();
        if matches!(*pager, Pager::Wanted) {
            *pager = start();
        }
        match &mut *pager {
            Pager::Running { input, .. } => input.write(bytes),
            _ => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut *lock() {
            Pager::Running { input, .. } => input.flush(),
            _ => io::stdout().flush(),
        }
    }
}

fn lock() -> std::sync::MutexGuard<'static, Pager> {
    PAGER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start() -> Pager {
    let chosen = VARIABLES.iter().find_map(|name| env::var(name).ok());
    let Some(mut command) = command(chosen.as_deref().unwrap_or("less")) else {
        return Pager::Unwanted;
    };
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    // Before it may come to one: the pager may be read before this process hears that it runs.
    interrupt::listen();
    IS_RUNNING.store(true, Ordering::SeqCst);
    match command.stdin(Stdio::piped()).spawn() {
        Ok(mut child) => {
            let input = child.stdin.take().expect("it is piped");
            Pager::Running { child, input: BufWriter::new(input) }
        }
        Err(error) => {
            IS_RUNNING.store(false, Ordering::SeqCst);
            if let Some(chosen) = chosen {
                say(format_args!("Note: the pager {chosen:?} cannot be started: {error}"));
            }
            Pager::Unwanted
        }
    }
}

/// The command that is said by a variable; none where there is to be no pager.
fn command(said: &str) -> Option<Command> {
    let words = words::split(said).unwrap_or_else(|_| vec![said.to_owned()]);
    let (program, args) = words.split_first()?;
    if program.is_empty() || program == "cat" && args.is_empty() {
        return None;
    }
    let mut command = Command::new(program);
    command.args(args);
    Some(command)
}
