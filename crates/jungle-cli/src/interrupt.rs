//! Interrupts: the first has what takes long given up, so that nothing is left behind, the second
//! ends the process at once. Elsewhere an interrupt ends the process, which loses nothing either.

use std::error::Error;
use std::io;
use std::ops::ControlFlow::{self, Break, Continue};
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::thread;

use tokio::runtime::Builder;

use crate::failure::{Exit, Failure, failed};
use crate::output::{pager, say};

/// Of what is under way.
static UNDER_WAY: Mutex<Weak<AtomicBool>> = Mutex::new(Weak::new());

/// What an interrupt does to what is printed now.
static PRINTED: Printed = Printed::new();

/// What an interrupt does to what is printed: one number says it, so that one that comes as a line
/// of the shell ends does not stop what the next line prints.
struct Printed(AtomicU8);

/// An interrupt ends the process.
const WHOLE: u8 = 0;

/// What is done only prints, and is less than the process: an interrupt has it stop.
const PART: u8 = 1;

/// Nothing more of it is to be printed.
const STOPPED: u8 = 2;

impl Printed {
    const fn new() -> Printed {
        Printed(AtomicU8::new(WHOLE))
    }

    fn set(&self, state: u8) {
        self.0.store(state, Ordering::SeqCst);
    }

    /// Has nothing more printed; was that enough?
    fn stop(&self) -> bool {
        let order = Ordering::SeqCst;
        self.0.compare_exchange(PART, STOPPED, order, order).is_ok()
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst) == STOPPED
    }
}

/// Until this is dropped, an interrupt has nothing more printed in place of ending the process,
/// where nothing with a [`flag`] is under way; a second one ends it.
pub(crate) struct Printing(());

impl Printing {
    pub(crate) fn begin() -> Printing {
        PRINTED.set(PART);
        listen();
        Printing(())
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        PRINTED.set(WHOLE);
    }
}

/// An error where nothing more is to be printed.
pub(crate) fn go_on_printing() -> io::Result<()> {
    match PRINTED.is_stopped() {
        true => Err(io::Error::other("it was interrupted")),
        false => Ok(()),
    }
}

/// What the next interrupt sets, as long as somebody has it.
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    *UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&flag);
    listen();
    flag
}

/// Whether to go on with what has this flag.
pub(crate) fn flow(flag: &AtomicBool) -> ControlFlow<()> {
    match flag.load(Ordering::SeqCst) {
        true => Break(()),
        false => Continue(()),
    }
}

/// Why something was not done: it was given up, or this happened.
pub(crate) fn or_failed(is_given_up: bool, error: impl Error + 'static) -> Failure {
    match is_given_up {
        true => given_up(),
        false => failed(error),
    }
}

pub(crate) fn given_up() -> Failure {
    Failure::new(Exit::Interrupted, "it was interrupted, and given up")
        .with_hint("nothing is lost; it can be done again")
}

/// From now on interrupts are heard. Where the system does not tell of them, each ends the process
/// as before.
pub(crate) fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
        let interrupts = {
            let _inside = runtime.enter();
            interrupts()
        };
        let Ok(mut interrupts) = interrupts else { return };
        thread::spawn(move || {
            while runtime.block_on(interrupts.recv()).is_some() {
                heed();
            }
        });
    });
}

#[cfg(unix)]
fn interrupts() -> std::io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

#[cfg(windows)]
fn interrupts() -> std::io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}

fn heed() {
    if pager::is_running() {
        // It is for whoever reads.
        return;
    }
    let flag = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
    match flag {
        Some(flag) if !flag.swap(true, Ordering::SeqCst) => {}
        None if PRINTED.stop() => {}
        _ => exit(Exit::Interrupted as i32),
    }
    say("Note: it is given up; a second interrupt ends it at once");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_that_comes_late_stops_nothing_that_is_printed_next() {
        let printed = Printed::new();
        assert!(!printed.stop() && !printed.is_stopped());
        printed.set(PART);
        assert!(!printed.is_stopped());
        assert!(printed.stop() && printed.is_stopped());
        // A second one ends the process.
        assert!(!printed.stop() && printed.is_stopped());
        printed.set(WHOLE);
        assert!(!printed.stop() && !printed.is_stopped());
    }
}
