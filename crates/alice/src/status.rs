//! What a node looks like from outside: its queues, and who waits for what.

use std::sync::Arc;

use crate::line::Waiter;

/// A node at one moment: [`Node::status`](crate::Node::status).
///
/// ```
/// use alice::{Key, Node, take};
///
/// const FISH: Key<&str> = Key::new("fish");
/// const FOOD: Key<u32> = Key::new("food");
///
/// let node = Node::new();
/// node.code("feed").when((take(&FISH), take(&FOOD))).repeatedly(|_, ()| ())?;
/// node.put(&FISH, "carp")?;
/// let status = node.status();
/// let fish = status.queues.iter().find(|queue| queue.name == "fish").unwrap();
/// assert_eq!((fish.segments, fish.newest), (1, 1));
/// let feed = &status.waiting[0];
/// assert_eq!((&*feed.name, feed.missing().collect::<Vec<_>>()), ("feed", vec!["food"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeStatus {
    /// The queues, in the order of their names.
    pub queues: Vec<QueueStatus>,
    /// The code segments, threads and peers that wait, in the order of their names.
    pub waiting: Vec<WaitingStatus>,
}

/// A queue at one moment, in a [`NodeStatus`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// The key's name.
    pub name: String,
    /// How many data segments there are.
    pub segments: usize,
    /// The index of the newest there ever was, and so how many were ever put.
    pub newest: u64,
    /// How many had to make room for newer ones.
    pub displaced: u64,
}

/// One that waits, at one moment, in a [`NodeStatus`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingStatus {
    /// What it is called: `a thread`, `a peer`, or the code segment's name.
    pub name: String,
    /// What it waits for.
    pub inputs: Vec<InputStatus>,
}

/// An input of one that waits, in a [`WaitingStatus`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputStatus {
    /// The key's name.
    pub name: String,
    /// Whether there is enough in the queue.
    pub is_there: bool,
}

impl WaitingStatus {
    pub(crate) fn of(waiter: &dyn Waiter) -> WaitingStatus {
        WaitingStatus { name: waiter.name().to_owned(), inputs: waiter.inputs() }
    }

    /// The names of the inputs that are not there: why it waits.
    ///
    /// ```
    /// use alice::{InputStatus, WaitingStatus};
    ///
    /// let input = |name: &str, is_there| InputStatus { name: name.to_owned(), is_there };
    /// let feed = WaitingStatus {
    ///     name: "feed".to_owned(),
    ///     inputs: vec![input("fish", true), input("food", false)],
    /// };
    /// assert_eq!(feed.missing().collect::<Vec<_>>(), ["food"]);
    /// ```
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let missing = self.inputs.iter().filter(|input| !input.is_there);
        missing.map(|input| input.name.as_str())
    }
}

/// Each once: who waits for several keys stands in several lines.
pub(crate) fn each_once(waiters: &mut Vec<Arc<dyn Waiter>>) {
    let address = |waiter: &Arc<dyn Waiter>| Arc::as_ptr(waiter).cast::<()>().addr();
    waiters.sort_by_key(address);
    waiters.dedup_by_key(|waiter| address(waiter));
}
