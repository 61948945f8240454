//! Threads that wait: time limits, cancelling, closing.

use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;

use crate::put_all;
use alice::{Cancel, DeclareError, Key, Node, NotPut, Run, WaitError, take};

const A: Key<u32> = Key::new("a");
const B: Key<u32> = Key::new("b");
/// Longer than whatever has to happen.
const LONG: Duration = Duration::from_secs(30);

/// A thread that waits for A, met when it does.
fn while_waiting(node: &Node, end: impl FnOnce()) -> Result<u32, WaitError> {
    thread::scope(|scope| {
        let waiter = scope.spawn(|| node.take(&A).map(|segment| *segment));
        wait_until_waiting(node, 1);
        end();
        waiter.join().unwrap()
    })
}

fn wait_until_waiting(node: &Node, threads: usize) {
    let queue = node.queue(&A).unwrap();
    while format!("{queue:?}").matches("a thread").count() < threads {
        thread::yield_now();
    }
}

#[test]
fn waiting_thread_is_woken_by_put() {
    let node = Node::new();
    assert_eq!(while_waiting(&node, || put_all(&node, &A, [1])), Ok(1));
    assert!(node.queue(&A).unwrap().is_empty());
}

#[test]
fn waiting_thread_is_woken_by_close() {
    let node = Node::new();
    assert_eq!(while_waiting(&node, || node.close()), Err(WaitError::Closed));
    assert_eq!(node.put(&A, 1).unwrap_err().why, NotPut::Closed);
    assert_eq!(node.take(&A).unwrap_err(), WaitError::Closed);
    assert_eq!(node.take(&B).unwrap_err(), WaitError::Closed, "also a key that was never used");
    let declared = node.code("late").when(take(&A)).once(|_, ()| ());
    assert_eq!(declared.unwrap_err(), DeclareError::Closed);
}

#[test]
fn time_limit_ends_a_wait_and_takes_nothing() {
    let node = Node::new();
    let short = Duration::from_millis(2);
    node.put(&B, 1).unwrap();
    let waited = node.wait_for((take(&A), take(&B)), short);
    assert_eq!(waited.unwrap_err(), WaitError::TimedOut);
    assert_eq!(node.queue(&B).unwrap().len(), 1);
    node.put(&A, 2).unwrap();
    assert_eq!(node.queue(&A).unwrap().len(), 1, "nobody waits any more");
}

#[test]
fn cancelling_ends_all_waits_that_share_it() {
    let (node, cancel) = (Node::new(), Cancel::new());
    thread::scope(|scope| {
        let wait = || node.take_within(&A, &cancel).unwrap_err();
        let waiters = [scope.spawn(wait), scope.spawn(wait)];
        wait_until_waiting(&node, 2);
        cancel.cancel();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), WaitError::Cancelled);
        }
    });
    assert_eq!(node.take_within(&A, &cancel).unwrap_err(), WaitError::Cancelled);
    node.put(&A, 1).unwrap();
    assert_eq!(*node.take_within(&A, &cancel).unwrap(), 1, "what is there needs no wait");
}

#[test]
fn code_segment_does_not_wait() {
    let node = Node::new();
    let inside = node.clone();
    let waits = node.code("waits").when(take(&B)).to(&Key::<WaitError>::new("error"));
    waits
        .run(Run::Here)
        .once(move |_, error| {
            error.put(inside.take(&A).unwrap_err()).unwrap();
        })
        .unwrap();
    node.put(&B, 1).unwrap();
    assert_eq!(*node.take(&Key::<WaitError>::new("error")).unwrap(), WaitError::InsideCode);
}

#[test]
fn last_handle_closes_the_node() {
    let node = Node::new();
    let queue = node.queue(&A).unwrap();
    let other = node.clone();
    drop(node);
    queue.put(1).unwrap();
    drop(other);
    assert_eq!(queue.put(2).unwrap_err().why, NotPut::Closed);
}

/// What waits for queues of other nodes ends with its own.
#[test]
fn closed_node_takes_nothing_from_others() {
    let (shop, kitchen) = (Node::new(), Node::new());
    let orders = shop.queue(&A).unwrap();
    let cook = || kitchen.code("cook").when(take(&orders)).to(&B).run(Run::Here);
    cook().repeatedly(|order, dishes| dishes.flip(order)).unwrap();
    let both = kitchen.code("both").when((take(&orders), take(&B))).run(Run::Here);
    both.once(|_, ()| ()).unwrap();
    put_all(&shop, &A, [1]);
    assert_eq!((*kitchen.take(&B).unwrap(), orders.len()), (1, 0));
    let waited = thread::scope(|scope| {
        let waiter = scope.spawn(|| kitchen.wait_for(take(&orders), LONG));
        wait_until_waiting(&shop, 1);
        kitchen.close();
        waiter.join().unwrap()
    });
    assert_eq!(waited.unwrap_err(), WaitError::Closed);
    assert_eq!(orders.waiting(), 0);
    put_all(&shop, &A, [2]);
    assert_eq!(cook().once(|_, _| ()).unwrap_err(), DeclareError::Closed);
    let now = kitchen.wait_for(take(&orders), Duration::ZERO);
    assert_eq!(now.unwrap_err(), WaitError::Closed);
    assert_eq!(orders.len(), 1, "nobody has taken it");
    assert_eq!(*orders.take().unwrap(), 2);
}

#[test]
fn code_that_runs_when_its_node_is_closed_takes_no_more_from_others() {
    let (shop, kitchen) = (Node::new(), Node::new());
    let orders = shop.queue(&A).unwrap();
    let closes = kitchen.clone();
    let cook = kitchen.code("cook").when(take(&orders)).run(Run::Here);
    cook.repeatedly(move |_, ()| closes.close()).unwrap();
    put_all(&shop, &A, [1, 2]);
    assert_eq!(orders.len(), 1);
}

#[test]
fn what_is_handed_over_comes_within_the_call_or_is_let_go() {
    let (node, cancel) = (Node::new(), Cancel::new());
    let hand = |cancel: &Cancel| {
        let (sender, received) = channel();
        let waits = node.code("waits").when((take(&A), take(&B))).until(cancel);
        (waits.hand(move |(a, b)| sender.send(*a + *b).unwrap()).unwrap(), received)
    };
    let (_code, sum) = hand(&cancel);
    put_all(&node, &A, [1]);
    assert_eq!(sum.try_recv(), Err(TryRecvError::Empty));
    put_all(&node, &B, [2]);
    assert_eq!(sum.try_recv(), Ok(3));
    put_all(&node, &A, [3]);
    put_all(&node, &B, [4]);
    let (_code, sum) = hand(&cancel);
    assert_eq!(sum.try_recv(), Ok(7), "it was there already");
    let (code, sum) = hand(&cancel);
    code.cancel();
    assert_eq!(sum.try_recv(), Err(TryRecvError::Disconnected), "by its handle");
    let (_code, sum) = hand(&cancel);
    cancel.cancel();
    assert_eq!(sum.try_recv(), Err(TryRecvError::Disconnected), "by a token");
    let (_code, sum) = hand(&cancel);
    assert_eq!(sum.try_recv(), Err(TryRecvError::Disconnected), "before it begins");
    put_all(&node, &A, [5]);
    put_all(&node, &B, [6]);
    assert_eq!((*node.take(&A).unwrap(), *node.take(&B).unwrap()), (5, 6));
    let (_code, sum) = hand(&Cancel::new());
    node.close();
    assert_eq!(sum.try_recv(), Err(TryRecvError::Disconnected));
}
