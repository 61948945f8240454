//! A backup that goes to a client.

use std::io::{self, ErrorKind, Write};

use jungle::{BackupError, Revision, Store, StreamError};
use serde_json::Value;
use tokio::sync::oneshot;

use super::work::copied;
use super::{Steps, Undone};
use crate::body::Outgoing;
use crate::problem::{Kind, Problem};

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
            Err(error) => Err(self.refuse(error, steps)),
        }
    }

    /// Where nothing was sent yet, the client is told why.
    fn refuse(&mut self, error: BackupError, steps: &Steps) -> Undone {
        if let Some(begins) = self.begins.take() {
            // Whoever writes is told of it as of a client that has gone away.
            let problem = match steps.flow().is_break() {
                true => Problem::new(Kind::Stopped, "the copy was given up before it began"),
                false => Problem::from(&error),
            };
            let _ = begins.send(Err(problem));
        }
        match error {
            // Nothing is wrong: the client asked for what there is not, has gone away, or may not
            // have it any more.
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

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;
    use crate::access::Who;
    use crate::limits::Limits;

    #[tokio::test]
    async fn who_waits_for_a_copy_that_is_given_up_is_told_so() {
        let dir = std::env::temp_dir().join(format!("jungle-unsent-{}", std::process::id()));
        let store = Store::open(&dir).expect("a new folder");
        let (out, _body) = Outgoing::copying(&Limits::default(), Who::Anybody);
        let (sending, begun) = Sending::new(out);
        let steps = Steps::default();
        steps.give_up();
        let sent = sending.send(&store, Revision::new(0), &steps);
        assert!(matches!(sent, Err(Undone::GivenUp)));
        let refused = begun.await.expect("it is told").expect_err("nothing was sent");
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(store);
        std::fs::remove_dir_all(&dir).expect("it is there");
    }
}
