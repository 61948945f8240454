//! A log that is appended to in another way. The tests of the server use it as it is.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{Appended, Log, LogError, LogId, Survey, Tail, Tell};

/// A log that is appended to as a test says; all else is as it is.
pub struct Appending<F> {
    log: Arc<dyn Log>,
    append: F,
}

impl<F> Appending<F>
where
    F: Fn(&dyn Log, u64, &Bytes, Duration) -> Result<Appended, LogError> + Send + Sync,
{
    pub fn new(log: Arc<dyn Log>, append: F) -> Appending<F> {
        Appending { log, append }
    }
}

impl<F> Log for Appending<F>
where
    F: Fn(&dyn Log, u64, &Bytes, Duration) -> Result<Appended, LogError> + Send + Sync,
{
    fn id(&self) -> LogId {
        self.log.id()
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        (self.append)(&*self.log, after, message, within)
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.log.get(sequence)
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        self.log.bounds()
    }

    fn tail(&self, from: u64) -> Tail {
        self.log.tail(from)
    }

    fn close(&self) {
        self.log.close();
    }

    fn answer(&self, tell: Tell) {
        self.log.answer(tell);
    }

    fn survey(&self, within: Duration) -> Result<Option<Survey>, LogError> {
        self.log.survey(within)
    }
}
