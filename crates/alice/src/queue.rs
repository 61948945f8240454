//! Queues: what a key stands for on one node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::bound::Bound;
use crate::error::{NotPut, PutError, WaitError};
use crate::input::{Mode, Port};
use crate::key::Data;
use crate::line::{InLine, Stop, Waiter};
use crate::segment::Segment;
use crate::state::State;
use crate::status::QueueStatus;
use crate::sync::{Condvar, Mutex, MutexGuard, UNPOISONED};
use crate::turn;
use crate::wait::{Wait, wait_for};

/// The queue of a key on one node: what [`Node::queue`](crate::Node::queue) finds, to be used
/// without looking it up each time.
///
/// ```
/// use std::time::Duration;
/// use alice::{Key, Node};
///
/// let node = Node::new();
/// let numbers = node.queue(&Key::<u32>::new("numbers"))?;
/// numbers.put(7)?;
/// numbers.put(8)?;
/// let seven = numbers.take()?;
/// assert_eq!((*seven, *numbers.peek()?, numbers.len()), (7, 8, 1));
/// numbers.flip(&seven)?;
/// numbers.update(9)?;
/// assert_eq!(*numbers.take_within(Duration::from_secs(1))?, 9);
/// assert!(numbers.is_empty() && numbers.name() == "numbers");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Queue<T: Data>(Arc<Inner<T>>);

struct Inner<T> {
    /// The one order in which locks of several queues are taken.
    id: u64,
    /// The address of its node, which is there while this is open, so that no other one has it.
    node: usize,
    name: Box<str>,
    state: Mutex<State<T>>,
    room: Condvar,
}

impl<T: Data> Queue<T> {
    pub(crate) fn new(name: &str, node: usize, is_closed: bool) -> Queue<T> {
        // Not one of `sync`: it orders nothing, and outlives a schedule.
        static IDS: AtomicU64 = AtomicU64::new(0);
        let id = IDS.fetch_add(1, Ordering::SeqCst);
        let (state, room) = (Mutex::new(State::new(is_closed)), Condvar::new());
        Queue(Arc::new(Inner { id, node, name: name.into(), state, room }))
    }

    /// Appends a data segment, and gives its index. What now has all its inputs runs; this call
    /// never waits.
    ///
    /// # Errors
    /// Gives the segment back when the queue is full and refuses, or the node was closed.
    pub fn put(&self, data: T) -> Result<u64, PutError<T>> {
        self.append(Arc::new(data))
    }

    /// As [`put`](Queue::put), waiting for room as long as this.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use std::time::Duration;
    /// use alice::{Bound, Key, Node, NotPut, WhenFull};
    ///
    /// let node = Node::new();
    /// let jobs = node.queue(&Key::<u32>::new("jobs"))?;
    /// let segments_max = NonZeroUsize::MIN;
    /// jobs.set_bound(Some(Bound { segments_max, when_full: WhenFull::Refuse }));
    /// jobs.put(1)?;
    /// let late = jobs.put_within(2, Duration::from_millis(1)).unwrap_err();
    /// assert_eq!(late.why, NotPut::Full { segments_max: 1 });
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| jobs.take());
    ///     jobs.put_within(2, Duration::from_secs(60))
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`put`](Queue::put). A code segment cannot wait: it gets the segment back at once.
    pub fn put_within(&self, data: T, timeout: Duration) -> Result<u64, PutError<T>> {
        let deadline = Instant::now().checked_add(timeout);
        let mut data = Arc::new(data);
        loop {
            match self.append(data) {
                Err(PutError { segment, why: NotPut::Full { segments_max } }) => {
                    if turn::is_inside() {
                        return Err(PutError { segment, why: NotPut::InsideCode });
                    }
                    if !self.wait_for_room(deadline) {
                        return Err(PutError { segment, why: NotPut::Full { segments_max } });
                    }
                    data = Arc::clone(segment.shared());
                }
                done => return done,
            }
        }
    }

    /// Appends a data segment that was received under another key, the very same: nothing is
    /// copied. Gives its index here.
    ///
    /// # Errors
    /// As [`put`](Queue::put).
    pub fn flip(&self, segment: &Segment<T>) -> Result<u64, PutError<T>> {
        self.append(Arc::clone(segment.shared()))
    }

    /// Makes this the only data segment of the queue, whatever its bound, and gives its index.
    ///
    /// # Errors
    /// Gives the segment back when the node was closed.
    pub fn update(&self, data: T) -> Result<u64, PutError<T>> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(PutError::new(data, NotPut::Closed));
        }
        // Dropped at the end, since that may run the program's own code.
        let _gone = std::mem::take(&mut state.segments);
        let index = state.append(Arc::new(data));
        state.update = index;
        self.note_room(&state);
        let first = state.line.first();
        drop(state);
        self.offer(first);
        Ok(index)
    }

    /// Puts a data segment that was taken from this queue back into its old place, whatever the
    /// bound; false when it was replaced by [`update`](Queue::update) since, and is not wanted.
    ///
    /// ```
    /// use alice::{Key, Node};
    ///
    /// let node = Node::new();
    /// let numbers = node.queue(&Key::<u32>::new("numbers"))?;
    /// (numbers.put(7)?, numbers.put(8)?);
    /// let seven = numbers.take()?;
    /// assert!(numbers.give_back(&seven)?);
    /// assert_eq!((*numbers.take()?, *numbers.take()?), (7, 8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Gives the segment back when the node was closed.
    pub fn give_back(&self, segment: &Segment<T>) -> Result<bool, PutError<T>> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(PutError::new(segment.clone(), NotPut::Closed));
        }
        let is_wanted = state.give_back(segment);
        let first = state.line.first();
        drop(state);
        self.offer(first);
        Ok(is_wanted)
    }

    /// Waits for the head, and removes it.
    ///
    /// # Errors
    /// When the node is closed, or a code segment would have to wait. For a time limit see
    /// [`take_within`](Queue::take_within).
    pub fn take(&self) -> Result<Segment<T>, WaitError> {
        wait_for(Port::new(self, Mode::Take), Wait::for_ever())
    }

    /// As [`take`](Queue::take), but only for so long, or until it is cancelled.
    ///
    /// # Errors
    /// As [`take`](Queue::take), and when the wait ends.
    pub fn take_within(&self, wait: impl Into<Wait>) -> Result<Segment<T>, WaitError> {
        wait_for(Port::new(self, Mode::Take), wait.into())
    }

    /// Waits for the head, and leaves it there.
    ///
    /// # Errors
    /// As [`take`](Queue::take).
    pub fn peek(&self) -> Result<Segment<T>, WaitError> {
        wait_for(Port::new(self, Mode::Peek), Wait::for_ever())
    }

    /// Waits for the oldest data segment whose [index](Segment::index) is greater than `seen`, and
    /// leaves it there.
    ///
    /// ```
    /// use alice::{Key, Node};
    ///
    /// let node = Node::new();
    /// let prices = node.queue(&Key::<u32>::new("prices"))?;
    /// prices.put(7)?;
    /// prices.put(8)?;
    /// let first = prices.peek_newer(0)?;
    /// let second = prices.peek_newer(first.index())?;
    /// assert_eq!((*first, *second, prices.len()), (7, 8, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`take`](Queue::take).
    pub fn peek_newer(&self, seen: u64) -> Result<Segment<T>, WaitError> {
        wait_for(Port::new(self, Mode::Newer(seen)), Wait::for_ever())
    }

    /// How many data segments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().segments.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many wait for it: threads, code segments, peers.
    ///
    /// ```
    /// use alice::{Key, Node, take};
    ///
    /// let node = Node::new();
    /// let jobs = node.queue(&Key::<u32>::new("jobs"))?;
    /// for _ in 0..3 {
    ///     node.code("worker").when(take(&jobs)).repeatedly(|_, ()| ())?;
    /// }
    /// assert_eq!(jobs.waiting(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lock().line.names().count()
    }

    /// The key's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Limits the queue, as the [`Bound`] says, or lifts its limit. What is in it already stays.
    pub fn set_bound(&self, bound: Option<Bound>) {
        let mut state = self.lock();
        state.bound = bound;
        self.note_room(&state);
    }

    /// How many data segments had to make room for newer ones:
    /// [`WhenFull::DropOldest`](crate::WhenFull::DropOldest).
    #[must_use]
    pub fn displaced(&self) -> u64 {
        self.lock().displaced
    }

    /// What it looks like; those who wait for it are added.
    pub(crate) fn status(&self, waiters: &mut Vec<Arc<dyn Waiter>>) -> QueueStatus {
        let state = self.lock();
        waiters.extend(state.line.waiters().cloned());
        QueueStatus {
            name: self.name().to_owned(),
            segments: state.segments.len(),
            newest: state.newest,
            displaced: state.displaced,
        }
    }

    fn append(&self, data: Arc<T>) -> Result<u64, PutError<T>> {
        let mut state = self.lock();
        // Dropped at the end, since that may run the program's own code.
        let _displaced = match state.make_room() {
            Ok(displaced) => displaced,
            Err(why) => return Err(PutError::new(data, why)),
        };
        let index = state.append(data);
        let first = state.line.first();
        drop(state);
        self.offer(first);
        Ok(index)
    }

    /// Offers what is there to those who wait, in their order, until there is nothing left. Each is
    /// asked when no lock is held, since it may need those of other queues first.
    fn offer(&self, first: Option<InLine>) {
        let mut next = first;
        if next.is_none() {
            return;
        }
        while let Some(InLine { place, waiter }) = next {
            waiter.try_fire();
            let state = self.lock();
            next = if state.segments.is_empty() { None } else { state.line.behind(place) };
        }
        turn::run_here();
    }

    /// False when the deadline has passed.
    fn wait_for_room(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.lock();
        let is_full = |state: &State<T>| {
            let full = |bound: Bound| state.segments.len() >= bound.segments_max.get();
            !state.is_closed && state.bound.is_some_and(full)
        };
        state.wait_for_room += 1;
        let mut is_in_time = true;
        while is_in_time && is_full(&state) {
            (state, is_in_time) = crate::wait::sleep(&self.0.room, state, deadline);
        }
        state.wait_for_room -= 1;
        is_in_time
    }

    pub(crate) fn note_room(&self, state: &State<T>) {
        if state.wait_for_room > 0 {
            self.0.room.notify_all();
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.state.lock().expect(UNPOISONED)
    }

    pub(crate) fn id(&self) -> u64 {
        self.0.id
    }

    pub(crate) fn is_of(&self, node: usize) -> bool {
        self.0.node == node
    }

    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        self.note_room(&state);
        let waiters = state.line.clear();
        drop(state);
        for InLine { waiter, .. } in waiters {
            waiter.stop(Stop::Closed);
        }
    }
}

impl<T: Data> Clone for Queue<T> {
    fn clone(&self) -> Queue<T> {
        Queue(Arc::clone(&self.0))
    }
}

impl<T: Data> std::fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.lock();
        let waiting: Vec<&str> = state.line.names().collect();
        let mut shown = f.debug_struct("Queue");
        shown.field("name", &self.0.name).field("segments", &state.segments.len());
        shown.field("waiting", &waiting).finish()
    }
}
