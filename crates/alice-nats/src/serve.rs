//! The keys of a node that peers may use.

use std::collections::HashMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use alice::{Code, Data, Node, NotPut, Queue, Segment, WaitError, newer, peek, take};
use bytes::Bytes;
use tokio::sync::oneshot;

use crate::parcel::{Compress, FormError, Parcel, Portable};
use crate::wire::{Answer, Refusal, SEGMENT_HEAD_BYTES};

/// What can be in a queue that peers use: any [`Portable`] data, or [`Parcel`]s of it.
pub trait Travels: Data {
    #[doc(hidden)]
    fn wire(segment: &Segment<Self>, compress: Compress) -> Result<Bytes, FormError>
    where
        Self: Sized;

    #[doc(hidden)]
    fn received(bytes: Bytes) -> Result<Self, FormError>
    where
        Self: Sized;
}

impl<T: Portable> Travels for T {
    fn wire(segment: &Segment<T>, compress: Compress) -> Result<Bytes, FormError> {
        Parcel::from(segment).wire(compress)
    }

    fn received(bytes: Bytes) -> Result<T, FormError> {
        let object = Parcel::<T>::received(bytes).open()?;
        Ok(object.into_data().unwrap_or_else(|_| unreachable!("the parcel is gone")))
    }
}

impl<T: Portable> Travels for Parcel<T> {
    fn wire(segment: &Segment<Parcel<T>>, compress: Compress) -> Result<Bytes, FormError> {
        (**segment).wire(compress)
    }

    fn received(bytes: Bytes) -> Result<Parcel<T>, FormError> {
        Ok(Parcel::received(bytes))
    }
}

/// All keys that a member serves.
#[derive(Default)]
pub(crate) struct Served(RwLock<HashMap<String, Arc<dyn AnyQueue>>>);

impl Served {
    pub(crate) fn add(&self, key: String, queue: Arc<dyn AnyQueue>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, queue);
    }

    pub(crate) fn find(&self, key: &str) -> Option<Arc<dyn AnyQueue>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }
}

/// What a peer wants of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Take,
    Peek,
    Newer(u64),
}

/// A data segment that is about to be sent, and how it gets back if nobody is there to get it.
pub(crate) struct Handed {
    pub(crate) index: u64,
    pub(crate) form: Bytes,
    pub(crate) give_back: Option<GiveBack>,
}

pub(crate) type GiveBack = Box<dyn FnOnce() + Send>;

pub(crate) type Waiting = Pin<Box<dyn Future<Output = Result<Option<Handed>, Refusal>> + Send>>;

/// A queue of any type.
pub(crate) trait AnyQueue: Send + Sync {
    fn put(&self, bytes: Bytes) -> Answer;

    fn update(&self, bytes: Bytes) -> Answer;

    /// What is there now.
    fn now(&self, want: Want) -> Result<Option<Handed>, Refusal>;

    /// Waits so long, or until it is cancelled. `None` is the end of that.
    fn wait(&self, want: Want, within: Duration, cancelled: oneshot::Receiver<()>) -> Waiting;
}

pub(crate) struct ServedQueue<T: Travels>(Arc<Inner<T>>);

struct Inner<T: Travels> {
    node: Node,
    queue: Queue<T>,
    compress: Compress,
    bytes_max: usize,
    /// What was shown to the last one who peeked, for the next one.
    shown: Mutex<Option<(u64, Bytes)>>,
}

impl<T: Travels> ServedQueue<T> {
    /// `bytes_max` is what an answer may have.
    pub(crate) fn new(
        node: Node,
        queue: Queue<T>,
        compress: Compress,
        bytes_max: usize,
    ) -> ServedQueue<T> {
        ServedQueue(Arc::new(Inner { node, queue, compress, bytes_max, shown: Mutex::new(None) }))
    }
}

impl<T: Travels> AnyQueue for ServedQueue<T> {
    fn put(&self, bytes: Bytes) -> Answer {
        self.0.append(bytes, |queue, data| queue.put(data).map_err(|error| error.why))
    }

    fn update(&self, bytes: Bytes) -> Answer {
        self.0.append(bytes, |queue, data| queue.update(data).map_err(|error| error.why))
    }

    fn now(&self, want: Want) -> Result<Option<Handed>, Refusal> {
        let queue = &self.0.queue;
        let found = match want {
            Want::Take => queue.take_within(Duration::ZERO),
            Want::Peek => self.0.node.wait_for(peek(queue), Duration::ZERO),
            Want::Newer(seen) => self.0.node.wait_for(newer(queue, seen), Duration::ZERO),
        };
        match found {
            Ok(segment) => self.0.hand(want, segment).map(Some),
            Err(WaitError::TimedOut) => Ok(None),
            Err(_) => Err(Refusal::Closed),
        }
    }

    fn wait(&self, want: Want, within: Duration, cancelled: oneshot::Receiver<()>) -> Waiting {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            match inner.wait(want, within, cancelled).await? {
                Some(segment) => inner.hand(want, segment).map(Some),
                None => Ok(None),
            }
        })
    }
}

impl<T: Travels> Inner<T> {
    fn append(
        &self,
        bytes: Bytes,
        put: impl FnOnce(&Queue<T>, T) -> Result<u64, NotPut>,
    ) -> Answer {
        let read = guarded(|| T::received(bytes));
        let put = read.and_then(|data| {
            put(&self.queue, data).map_err(|why| match why {
                NotPut::Full { segments_max } => {
                    Refusal::Full { segments_max: segments_max as u64 }
                }
                _ => Refusal::Closed,
            })
        });
        put.map_or_else(Answer::Refused, Answer::Put)
    }

    /// Something stands in the peer's place in line with all others, and gets the segment as a
    /// thread of this process would: a code segment would have to wait for whatever runs meanwhile.
    async fn wait(
        &self,
        want: Want,
        within: Duration,
        cancelled: oneshot::Receiver<()>,
    ) -> Result<Option<Segment<T>>, Refusal> {
        let (sender, received) = oneshot::channel();
        let input = match want {
            Want::Take => take(&self.queue),
            Want::Peek => peek(&self.queue),
            Want::Newer(seen) => newer(&self.queue, seen),
        };
        // The receiver stays until this was called or never will be, or its wait is dropped.
        let hand = hand_to(sender, self.queue.clone(), want);
        let waits = self.node.code("a peer").when(input).hand(hand);
        let code = waits.map_err(|_| Refusal::Closed)?;
        let mut place = InLine { queue: self.queue.clone(), want, code, received };
        tokio::select! {
            biased;
            came = &mut place.received => return came.map(Some).map_err(|_| Refusal::Closed),
            // Whoever may cancel is gone when the member is: that is a reason, too.
            _ = cancelled => {}
            () = tokio::time::sleep(within) => {}
        }
        // If it was given the segment meanwhile, it sends it; else its sender goes with it.
        place.code.cancel();
        Ok((&mut place.received).await.ok())
    }

    fn hand(&self, want: Want, segment: Segment<T>) -> Result<Handed, Refusal> {
        let index = segment.index();
        let form = match want {
            Want::Take => guarded(|| T::wire(&segment, self.compress)),
            Want::Peek | Want::Newer(_) => self.show(&segment),
        };
        let bytes_max = self.bytes_max - SEGMENT_HEAD_BYTES;
        let form = form.and_then(|form| match form.len() {
            bytes if bytes > bytes_max => Err(Refusal::TooLarge { bytes: bytes as u64 }),
            _ => Ok(form),
        });
        let queue = self.queue.clone();
        let give_back = move || {
            // A closed node has lost all it had.
            let _ = queue.give_back(&segment);
        };
        match (want, form) {
            (Want::Take, Ok(form)) => {
                Ok(Handed { index, form, give_back: Some(Box::new(give_back)) })
            }
            (Want::Peek | Want::Newer(_), Ok(form)) => Ok(Handed { index, form, give_back: None }),
            (Want::Take, Err(refusal)) => {
                give_back();
                Err(refusal)
            }
            (Want::Peek | Want::Newer(_), Err(refusal)) => Err(refusal),
        }
    }

    fn show(&self, segment: &Segment<T>) -> Result<Bytes, Refusal> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match &*shown {
            Some((index, form)) if *index == segment.index() => Ok(form.clone()),
            _ => {
                let form = guarded(|| T::wire(segment, self.compress))?;
                *shown = Some((segment.index(), form.clone()));
                Ok(form)
            }
        }
    }
}

/// What stands in a peer's place in line. It leaves the line when nobody waits for it any more, as
/// when the threads of the engine end, and gives back what it was given.
struct InLine<T: Travels> {
    queue: Queue<T>,
    want: Want,
    code: Code,
    received: oneshot::Receiver<Segment<T>>,
}

impl<T: Travels> Drop for InLine<T> {
    fn drop(&mut self) {
        self.code.cancel();
        self.received.close();
        if let Ok(segment) = self.received.try_recv() {
            give_back(&self.queue, self.want, &segment);
        }
    }
}

/// Hands a segment to a wait; one that comes as that is dropped goes back. Only then a queue is
/// used within the call that brought the segment, which has nothing locked meanwhile.
fn hand_to<T: Travels>(
    sender: oneshot::Sender<Segment<T>>,
    queue: Queue<T>,
    want: Want,
) -> impl FnOnce(Segment<T>) + Send + 'static {
    move |segment| {
        if let Err(segment) = sender.send(segment) {
            give_back(&queue, want, &segment);
        }
    }
}

/// Gives back what was taken.
fn give_back<T: Travels>(queue: &Queue<T>, want: Want, segment: &Segment<T>) {
    if want == Want::Take {
        // A closed node has lost all it had.
        let _ = queue.give_back(segment);
    }
}

/// Reading and writing is the program's own code, and must not end the service of all keys.
fn guarded<V>(run: impl FnOnce() -> Result<V, FormError>) -> Result<V, Refusal> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Refusal::Unreadable { why: error.to_string() }),
        Err(_) => Err(Refusal::Failed { why: "its reader or writer panicked".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use alice::Key;

    use super::*;

    #[test]
    fn a_wait_that_is_dropped_takes_nothing_along() {
        let node = Node::new();
        let queue = node.queue(&Key::<u32>::new("numbers")).unwrap();
        let served = ServedQueue::new(node.clone(), queue.clone(), Compress::Never, 1 << 20);
        let threads = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for is_given in [false, true] {
            let (_cancel, cancelled) = oneshot::channel();
            let mut waiting = served.wait(Want::Take, Duration::from_secs(60), cancelled);
            let polled = async { tokio::time::timeout(Duration::ZERO, &mut waiting).await };
            assert!(threads.block_on(polled).is_err(), "it stands in line");
            assert_eq!(queue.waiting(), 1);
            if is_given {
                queue.put(7).unwrap();
                assert!(queue.is_empty());
            }
            // As when the threads of the engine end.
            drop(waiting);
            assert_eq!((queue.waiting(), queue.len()), (0, usize::from(is_given)));
        }
        assert_eq!(*queue.take().unwrap(), 7);
    }

    #[test]
    fn what_comes_as_a_wait_is_dropped_goes_back() {
        let node = Node::new();
        let queue = node.queue(&Key::<u32>::new("numbers")).unwrap();
        queue.put(7).unwrap();
        for want in [Want::Take, Want::Peek] {
            let (sender, received) = oneshot::channel();
            let hand = hand_to(sender, queue.clone(), want);
            let segment = if want == Want::Take { queue.take() } else { queue.peek() };
            drop(received);
            hand(segment.unwrap());
            assert_eq!(queue.len(), 1);
        }
    }
}
