//! Threads that wait for data segments.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::error::WaitError;
use crate::gate::{Gate, Look};
use crate::inputs::Ports;
use crate::line::{Stop, Waiter};
use crate::status::InputStatus;
use crate::sync::{Condvar, Mutex, MutexGuard, UNPOISONED};
use crate::turn;

/// How long to wait: for ever, for some time, until it is cancelled.
///
/// ```
/// use std::time::Duration;
/// use alice::{Cancel, Key, Node, Wait, WaitError};
///
/// let (node, key) = (Node::new(), Key::<u8>::new("never put"));
/// assert_eq!(node.take_within(&key, Duration::ZERO).unwrap_err(), WaitError::TimedOut);
/// let cancel = Cancel::new();
/// let wait = Wait::for_ever().within(Duration::from_secs(60)).until(&cancel);
/// assert_eq!(wait.timeout(), Some(Duration::from_secs(60)));
/// cancel.cancel();
/// assert_eq!(node.take_within(&key, wait).unwrap_err(), WaitError::Cancelled);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Wait {
    timeout: Option<Duration>,
    cancel: Option<Cancel>,
}

impl Wait {
    /// Without end.
    #[must_use]
    pub fn for_ever() -> Wait {
        Wait::default()
    }

    /// At most so long. Zero does not wait at all.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Wait {
        Wait { timeout: Some(timeout), ..self }
    }

    /// Until somebody cancels.
    #[must_use]
    pub fn until(self, cancel: &Cancel) -> Wait {
        Wait { cancel: Some(cancel.clone()), ..self }
    }

    /// How long, if there is a limit.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// What ends it, if anything does.
    #[must_use]
    pub fn cancel(&self) -> Option<&Cancel> {
        self.cancel.as_ref()
    }
}

impl From<Duration> for Wait {
    fn from(timeout: Duration) -> Wait {
        Wait::for_ever().within(timeout)
    }
}

impl From<&Cancel> for Wait {
    fn from(cancel: &Cancel) -> Wait {
        Wait::for_ever().until(cancel)
    }
}

/// Ends the waits, and the code segments, that were given it. Clones are the same one.
///
/// ```
/// use alice::{Cancel, Key, Node, Wait, WaitError};
///
/// const NEVER: Key<u8> = Key::new("never put");
///
/// let (node, cancel) = (Node::new(), Cancel::new());
/// let error = std::thread::scope(|scope| {
///     let waiting = scope.spawn(|| node.take_within(&NEVER, &cancel).unwrap_err());
///     cancel.cancel();
///     waiting.join().expect("it does not panic")
/// });
/// assert_eq!(error, WaitError::Cancelled);
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Cancel(Arc<Mutex<Cancelling>>);

#[derive(Default)]
struct Cancelling {
    stopped: Option<Stop>,
    waiters: Vec<Weak<dyn Waiter>>,
}

impl Cancel {
    /// One that is not cancelled yet.
    #[must_use]
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Ends them, for ever: waits get [`WaitError::Cancelled`], and code segments never run again.
    /// Code that runs now is not interrupted.
    pub fn cancel(&self) {
        self.stop(Stop::Cancelled);
    }

    /// As [`cancel`](Cancel::cancel), for another reason.
    pub(crate) fn stop(&self, why: Stop) {
        let waiters = {
            let mut cancelling = self.0.lock().expect(UNPOISONED);
            cancelling.stopped = Some(why);
            std::mem::take(&mut cancelling.waiters)
        };
        for waiter in waiters.iter().filter_map(Weak::upgrade) {
            waiter.stop(why);
        }
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().expect(UNPOISONED).stopped.is_some()
    }

    /// Calls this when it is cancelled, on the thread that cancels; at once, if it was already.
    /// Dropping what this gives takes the call back.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use alice::Cancel;
    ///
    /// let (tell, told) = channel();
    /// let cancel = Cancel::new();
    /// let call = cancel.then(move || tell.send("cancelled").expect("somebody listens"));
    /// cancel.cancel();
    /// assert_eq!(told.recv()?, "cancelled");
    /// # drop(call);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn then(&self, run: impl FnOnce() + Send + 'static) -> Then {
        let call: Arc<dyn Waiter> = Arc::new(Call(Mutex::new(Some(run))));
        self.stops(Arc::clone(&call));
        Then(call)
    }

    /// Stops the waiter when it is cancelled; at once, if it was already.
    pub(crate) fn stops(&self, waiter: Arc<dyn Waiter>) {
        let mut cancelling = self.0.lock().expect(UNPOISONED);
        if let Some(why) = cancelling.stopped {
            drop(cancelling);
            return waiter.stop(why);
        }
        let waiters = &mut cancelling.waiters;
        if waiters.len() == waiters.capacity() {
            // Those that are done go before the list grows, so its length stays that of the living.
            waiters.retain(|waiter| waiter.strong_count() > 0);
            // They are not looked at again before as many have come.
            waiters.reserve(waiters.len() + 1);
        }
        waiters.push(Arc::downgrade(&waiter));
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// A call that waits to be made: [`Cancel::then`].
#[must_use = "the call is taken back when this is dropped"]
pub struct Then(#[expect(dead_code, reason = "keeps the call alive")] Arc<dyn Waiter>);

impl std::fmt::Debug for Then {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Then")
    }
}

/// Waits for nothing but its end.
struct Call<F>(Mutex<Option<F>>);

impl<F: FnOnce() + Send> Waiter for Call<F> {
    fn try_fire(self: Arc<Self>) {}

    fn stop(self: Arc<Self>, _: Stop) {
        let run = self.0.lock().expect(UNPOISONED).take();
        if let Some(run) = run {
            run();
        }
    }

    fn name(&self) -> &str {
        "a call"
    }
}

/// A thread that waits.
struct Sleeper<P: Ports> {
    gate: Gate<P>,
    end: Mutex<Option<Result<P::Values, WaitError>>>,
    woken: Condvar,
}

/// Takes the inputs when all are there.
pub(crate) fn wait_for<P: Ports>(ports: P, wait: Wait) -> Result<P::Values, WaitError> {
    wait_until(ports, wait, None)
}

/// The same, but only until this ends besides.
pub(crate) fn wait_until<P: Ports>(
    ports: P,
    wait: Wait,
    ends: Option<&Cancel>,
) -> Result<P::Values, WaitError> {
    if ends.is_some_and(Cancel::is_cancelled) {
        return Err(WaitError::Closed);
    }
    let gate = Gate::new(ports, 0);
    match gate.look() {
        Look::Ready(values) => return Ok(values),
        Look::Closed => return Err(WaitError::Closed),
        Look::NotYet if wait.timeout == Some(Duration::ZERO) => return Err(WaitError::TimedOut),
        Look::NotYet if turn::is_inside() => return Err(WaitError::InsideCode),
        Look::NotYet => {}
    }
    let deadline = wait.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let sleeper = Arc::new(Sleeper { gate, end: Mutex::new(None), woken: Condvar::new() });
    match sleeper.gate.arm(&sleeper) {
        Look::Ready(values) => return Ok(values),
        Look::Closed => return Err(WaitError::Closed),
        Look::NotYet => {}
    }
    for cancel in wait.cancel.iter().chain(ends) {
        cancel.stops(Arc::clone(&sleeper) as Arc<dyn Waiter>);
    }
    sleeper.sleep(deadline)
}

impl<P: Ports> Sleeper<P> {
    fn sleep(self: Arc<Self>, mut deadline: Option<Instant>) -> Result<P::Values, WaitError> {
        let mut end = self.end.lock().expect(UNPOISONED);
        loop {
            if let Some(end) = end.take() {
                return end;
            }
            let (woken, is_in_time) = sleep(&self.woken, end, deadline);
            end = woken;
            if !is_in_time && end.is_none() {
                drop(end);
                if self.gate.disarm(&self) {
                    return Err(WaitError::TimedOut);
                }
                // Somebody has just taken the inputs for us: the end is about to come.
                deadline = None;
                end = self.end.lock().expect(UNPOISONED);
            }
        }
    }

    fn end(&self, end: Result<P::Values, WaitError>) {
        *self.end.lock().expect(UNPOISONED) = Some(end);
        self.woken.notify_one();
    }
}

impl<P: Ports> Waiter for Sleeper<P> {
    fn try_fire(self: Arc<Self>) {
        if let Some(values) = self.gate.fire(&self) {
            self.end(Ok(values));
        }
    }

    fn stop(self: Arc<Self>, why: Stop) {
        if self.gate.disarm(&self) {
            self.end(Err(match why {
                Stop::Cancelled => WaitError::Cancelled,
                Stop::Closed => WaitError::Closed,
                Stop::TimedOut => WaitError::TimedOut,
            }));
        }
    }

    fn name(&self) -> &str {
        "a thread"
    }

    fn inputs(&self) -> Vec<InputStatus> {
        self.gate.inputs()
    }
}

/// Sleeps on the condition; false when the deadline has passed.
pub(crate) fn sleep<'a, T>(
    condition: &Condvar,
    guard: MutexGuard<'a, T>,
    deadline: Option<Instant>,
) -> (MutexGuard<'a, T>, bool) {
    let Some(deadline) = deadline else {
        return (condition.wait(guard).expect(UNPOISONED), true);
    };
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return (guard, false);
    }
    (condition.wait_timeout(guard, left).expect(UNPOISONED).0, true)
}
