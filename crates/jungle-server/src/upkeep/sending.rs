//! A backup that goes to a client.

use std::io::{self, ErrorKind, Write};

use jungle::{BackupError, Revision, Store, StreamError};
use serde_json::Value;
use tokio::sync::oneshot;

use super::work::copied;
use super::{Steps, Undone};
use crate::body::Outgoing;
use crate::problem::Problem;

/// What is sent, and who is told when that begins, or why it does not.
pub(crate) struct Sending {
    out: Outgoing,
    begins: Option<oneshot::Sender<Result<(), Problem>>>,
}

impl Sending {
    pub(crate) fn new(out: Outgoing) -> (Sending, oneshot::Receiver<Result<(), Problem>>) {
        let (begins, begun) = oneshot::channel();
        (Sending { out, begins: Some(begins) }, begun)
    }

    /// Sends what a copy needs that has all up to a revision. The client has all of it when what
    /// has sent it is finished.
    pub(crate) fn send(
        mut self,
        store: &Store,
        since: Revision,
        steps: &Steps,
    ) -> Result<(Value, Outgoing), Undone> {
        let out = Watched { sending: &mut self, steps };
        match store.write_backup(since, out, steps.progress()) {
            Ok(report) => Ok((copied(&report), self.out)),
            Err(error) => Err(self.refuse(error)),
        }
    }

    /// Where nothing was sent yet, the client is told why.
    fn refuse(&mut self, error: BackupError) -> Undone {
        if let Some(begins) = self.begins.take() {
            let _ = begins.send(Err(Problem::from(&error)));
        }
        match error {
            // Nothing is wrong: the client asked for what there is not, or has gone away.
            BackupError::OutOfReach { .. } | BackupError::Stream(StreamError::Io(_)) => {
                Undone::GivenUp
            }
            error => error.into(),
        }
    }
}

/// It ends within a piece when it is given up: all of it may take hours.
struct Watched<'s> {
    sending: &'s mut Sending,
    steps: &'s Steps,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.steps.flow().is_break() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if let Some(begins) = self.sending.begins.take() {
            let _ = begins.send(Ok(()));
        }
        self.sending.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sending.out.flush()
    }
}
