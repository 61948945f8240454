//! A log in memory: messages have their places at once. What is measured with it is Jungle's own
//! part, without an engine.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{Appended, Log, LogError, LogId, Tail};

/// Messages, for one server.
#[derive(Default)]
pub struct Kept {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    messages: Vec<Bytes>,
    is_closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// A log that has these already.
    pub fn new(messages: &[Bytes]) -> Kept {
        let kept = Kept::default();
        kept.shared.state().messages = messages.to_vec();
        kept
    }

    /// All that it has.
    pub fn messages(&self) -> Vec<Bytes> {
        self.shared.state().messages.clone()
    }
}

/// The place of a message in a list.
fn place(sequence: u64) -> usize {
    usize::try_from(sequence).map_or(usize::MAX, |sequence| sequence.wrapping_sub(1))
}

impl Log for Kept {
    fn id(&self) -> LogId {
        LogId::default()
    }

    fn append(&self, after: u64, message: &Bytes, _: Duration) -> Result<Appended, LogError> {
        let mut state = self.shared.state();
        if state.messages.len() as u64 != after {
            return Ok(Appended::Behind);
        }
        state.messages.push(message.clone());
        drop(state);
        self.shared.news.notify_all();
        Ok(Appended::At(after + 1))
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        Ok(self.shared.state().messages.get(place(sequence)).cloned())
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        Ok((1, self.shared.state().messages.len() as u64))
    }

    fn tail(&self, from: u64) -> Tail {
        let (shared, mut next) = (Arc::clone(&self.shared), from);
        Box::new(std::iter::from_fn(move || {
            let is_waiting =
                |state: &mut State| !state.is_closed && (state.messages.len() as u64) < next;
            let state = shared.news.wait_while(shared.state(), is_waiting);
            let state = state.unwrap_or_else(PoisonError::into_inner);
            let found = (!state.is_closed).then(|| state.messages[place(next)].clone())?;
            next += 1;
            Some((next - 1, found))
        }))
    }

    fn close(&self) {
        self.shared.state().is_closed = true;
        self.shared.news.notify_all();
    }
}
