//! What ends a command that runs until it is told to.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// The end of a command: an interrupt, SIGTERM, or that whoever started it is gone.
pub(crate) struct Ends {
    sender: Sender<()>,
    ended: Receiver<()>,
}

impl Ends {
    /// Listens for signals from now on.
    pub(crate) fn listen() -> io::Result<Ends> {
        let (sender, ended) = channel();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (mut interrupt, mut terminate) = {
            let _inside = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let tell = sender.clone();
        thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
            // Nobody listens when the command has ended by itself.
            let _ = tell.send(());
        });
        Ok(Ends { sender, ended })
    }

    /// Also when standard input ends: whoever holds the other side is gone then, however it went.
    pub(crate) fn with_input(self) -> Ends {
        let tell = self.sender.clone();
        thread::spawn(move || {
            let mut input = io::stdin().lock();
            while matches!(input.read(&mut [0; 64]), Ok(1..)) {}
            let _ = tell.send(());
        });
        self
    }

    /// Waits so long; says whether the end has come.
    pub(crate) fn within(&self, time: Duration) -> bool {
        self.ended.recv_timeout(time) != Err(RecvTimeoutError::Timeout)
    }
}
