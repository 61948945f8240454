//! Watching for many clients: one thread looks at each branch that is watched, and hands what
//! happened to those whom it concerns.
//!
//! A client that does not keep up is not waited for: it is told that it lost something, and reads
//! it from the history itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jungle::{BranchId, Change, Path, Revision, TreeHandle, WatchError, WatchEvent};
use tokio::sync::{Notify, mpsc};

use crate::access::View;
use crate::api::event;
use crate::metrics::Counter;

/// Events that wait for a client.
const QUEUE: usize = 64;

/// So many bytes may wait for it, and one event more.
pub(crate) const QUEUE_BYTES: usize = 1 << 20;

/// How often a thread looks whether anybody still watches.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a thread rests when it has told something, before it lets itself be woken again. Of
/// commits that come quickly none then pays for waking it, and it does not take the processor from
/// their answers; the first one after a pause is told at once.
const REST: Duration = Duration::from_millis(4);

/// The branches that are watched.
#[derive(Clone, Default)]
pub(crate) struct Hubs {
    watched: Arc<Mutex<HashMap<BranchId, Hub>>>,
    panics: Arc<Counter>,
}

#[derive(Default)]
struct Hub {
    next_id: u64,
    /// Who tells them something takes the list along and lets the lock go: an event may be long.
    clients: Arc<Vec<Arc<Client>>>,
}

struct Client {
    id: u64,
    path: Path,
    view: View,
    queue: mpsc::Sender<(Revision, Bytes)>,
    /// Bytes that are in it.
    waiting: Arc<AtomicUsize>,
    lost: Arc<Lost>,
}

/// What waits for a client.
pub(crate) struct Queue {
    events: mpsc::Receiver<(Revision, Bytes)>,
    waiting: Arc<AtomicUsize>,
}

impl Queue {
    /// The next event; none when the branch was deleted.
    pub(crate) async fn next(&mut self) -> Option<(Revision, Bytes)> {
        let next = self.events.recv().await;
        self.taken(next)
    }

    /// The next one that is there already.
    pub(crate) fn next_now(&mut self) -> Option<(Revision, Bytes)> {
        let next = self.events.try_recv().ok();
        self.taken(next)
    }

    fn taken(&self, event: Option<(Revision, Bytes)>) -> Option<(Revision, Bytes)> {
        if let Some((_, frame)) = &event {
            self.waiting.fetch_sub(frame.len(), Ordering::SeqCst);
        }
        event
    }
}

/// Whether a client lost something.
#[derive(Default)]
pub(crate) struct Lost {
    is_lost: AtomicBool,
    notify: Notify,
}

impl Lost {
    /// Waits until something is lost; from then on nothing is, as far as is known.
    pub(crate) async fn wait(&self) {
        while !self.is_lost.swap(false, Ordering::SeqCst) {
            self.notify.notified().await;
        }
    }

    fn set(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
        self.notify.notify_one();
    }
}

/// What a client gets, until this is dropped. What was committed before is not in it: whoever
/// subscribes first, and reads the history then, misses nothing.
pub(crate) struct Subscription {
    hubs: Hubs,
    branch: BranchId,
    id: u64,
    pub(crate) queue: Queue,
    pub(crate) lost: Arc<Lost>,
}

impl Hubs {
    pub(crate) fn new(panics: Arc<Counter>) -> Hubs {
        Hubs { watched: Arc::default(), panics }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<BranchId, Hub>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches the node at `path` and below, as far as it may be told.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn subscribe(
        &self,
        tree: &TreeHandle,
        (path, view): (Path, View),
    ) -> std::io::Result<Subscription> {
        let branch = tree.branch_id();
        let mut hubs = self.lock();
        if !hubs.contains_key(&branch) {
            let (tree, hubs) = (tree.clone(), self.clone());
            let after = tree.snapshot().revision();
            let thread = std::thread::Builder::new().name("watch".to_owned());
            thread.spawn(move || hubs.mourned(branch, || hubs.run(&tree, after)))?;
        }
        let hub = hubs.entry(branch).or_default();
        let id = hub.next_id;
        hub.next_id += 1;
        let (client, queue) = Client::new(id, path, view);
        let lost = Arc::clone(&client.lost);
        Arc::make_mut(&mut hub.clients).push(Arc::new(client));
        Ok(Subscription { hubs: self.clone(), branch, id, queue, lost })
    }

    /// Does what the thread of a branch does. Where a bug ends it, the streams of those who listen
    /// end, and whoever comes again has a new thread.
    fn mourned(&self, branch: BranchId, f: impl FnOnce()) {
        struct Mourned<'h>(&'h Hubs, BranchId);

        impl Drop for Mourned<'_> {
            fn drop(&mut self) {
                // Otherwise it has removed its own.
                if std::thread::panicking() {
                    self.0.lock().remove(&self.1);
                }
            }
        }

        let _watched = self.panics.on_unwind();
        let _mourned = Mourned(self, branch);
        f();
    }

    /// Hands on what happens, until nobody listens or the branch is deleted.
    fn run(&self, tree: &TreeHandle, after: Revision) {
        let branch = tree.branch_id();
        let (mut watch, mut has_told) = (tree.watch(&[], after), false);
        loop {
            let next = jungle::loading(|| match watch.next() {
                Ok(None) if has_told => {
                    std::thread::sleep(REST);
                    watch.next()
                }
                Ok(None) => watch.wait(Some(PATIENCE)),
                found => found,
            });
            has_told = matches!(next, Ok(Ok(Some(_))));
            let mut hubs = self.lock();
            let Some(hub) = hubs.get_mut(&branch) else { return };
            match next {
                Ok(Ok(Some(event))) => {
                    // Whoever comes from now on has it from the history.
                    let clients = Arc::clone(&hub.clients);
                    drop(hubs);
                    tell(&clients, &event);
                }
                Ok(Ok(None)) if hub.clients.is_empty() => {
                    hubs.remove(&branch);
                    return;
                }
                Ok(Ok(None)) => {}
                // Each reads for itself then, and is told if it concerns it.
                Ok(Err(
                    WatchError::TooOld { oldest: next, .. }
                    | WatchError::TooManySteps { revision: next, .. },
                )) => {
                    hub.clients.iter().for_each(|client| client.lost.set());
                    watch = tree.watch(&[], next);
                }
                // Their streams end; who asks again is told why.
                Ok(Err(_)) | Err(_) => {
                    hubs.remove(&branch);
                    return;
                }
            }
        }
    }
}

fn tell(clients: &[Arc<Client>], event: &WatchEvent) {
    let mut whole = None;
    for client in clients {
        let is_concerned = |change: &&Change| change.concerns(&client.path);
        let concerned = event.changes.iter().filter(is_concerned).count();
        if concerned == 0 || client.lost.is_lost.load(Ordering::SeqCst) {
            continue;
        }
        let frame = if concerned == event.changes.len() && client.view.is_whole() {
            whole.get_or_insert_with(|| event::frame(event, &|_| true, &View::WHOLE)).clone()
        } else {
            event::frame(event, &|change| change.concerns(&client.path), &client.view)
        };
        client.send(event.info.revision, frame);
    }
}

impl Client {
    fn new(id: u64, path: Path, view: View) -> (Client, Queue) {
        let ((queue, events), waiting) = (mpsc::channel(QUEUE), Arc::default());
        let to_reader = Queue { events, waiting: Arc::clone(&waiting) };
        (Client { id, path, view, queue, waiting, lost: Arc::default() }, to_reader)
    }

    /// Puts an event into its queue, or says that it was lost.
    fn send(&self, revision: Revision, frame: Bytes) {
        let bytes = frame.len();
        if self.waiting.fetch_add(bytes, Ordering::SeqCst) < QUEUE_BYTES
            && self.queue.try_send((revision, frame)).is_ok()
        {
            return;
        }
        self.waiting.fetch_sub(bytes, Ordering::SeqCst);
        self.lost.set();
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(hub) = self.hubs.lock().get_mut(&self.branch) {
            Arc::make_mut(&mut hub.clients).retain(|client| client.id != self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use jungle::{Jungle, Memory};

    use super::*;

    #[tokio::test]
    async fn bug_in_a_thread_ends_the_streams_and_is_nobodys_later() {
        let jungle = Jungle::memory().unwrap();
        let (tree, hubs) = (jungle.create_tree("t").unwrap(), Hubs::default());
        let branch = tree.branch_id();
        let (client, mut queue) = Client::new(0, Path::root(), View::WHOLE);
        hubs.lock().insert(branch, Hub { next_id: 1, clients: Arc::new(vec![Arc::new(client)]) });
        let dead = hubs.clone();
        let bug = move || {
            let _held = dead.lock();
            panic!("a bug");
        };
        let thread = hubs.clone();
        let ended = std::thread::spawn(move || thread.mourned(branch, bug)).join();
        assert!(ended.is_err());
        assert_eq!((hubs.panics.get(), queue.next().await), (1, None));
        let place = (Path::root(), View::WHOLE);
        let mut again = hubs.subscribe(&tree, place).unwrap();
        let revision = tree.update(|tx| tx.append(&[])).unwrap().revision;
        assert_eq!(again.queue.next().await.map(|(revision, _)| revision), Some(revision));
    }

    #[tokio::test]
    async fn little_waits_for_a_client_that_does_not_read() {
        let (client, mut queue) = Client::new(0, Path::root(), View::WHOLE);
        let is_lost = || client.lost.is_lost.load(Ordering::SeqCst);
        let send = |at| client.send(Revision::new(at), Bytes::from(vec![b'x'; 400 << 10]));
        (1..=3).for_each(send);
        assert!(!is_lost());
        send(4);
        assert!(is_lost());
        client.lost.wait().await;
        // Whoever reads again gets what comes next.
        assert_eq!(queue.next().await.map(|(revision, _)| revision.number()), Some(1));
        send(5);
        let rest = std::iter::from_fn(|| queue.next_now()).map(|(revision, _)| revision.number());
        assert_eq!(rest.collect::<Vec<_>>(), [2, 3, 5]);
        assert!(!is_lost() && client.waiting.load(Ordering::SeqCst) == 0);
    }
}
