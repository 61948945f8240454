//! Queues with a limit.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use crate::put_all;
use alice::{Bound, Key, Node, NotPut, Queue, Run, WhenFull, take};

const A: Key<u32> = Key::new("a");

fn bounded(node: &Node, segments_max: usize, when_full: WhenFull) -> Queue<u32> {
    let queue = node.queue(&A).unwrap();
    let segments_max = NonZeroUsize::new(segments_max).unwrap();
    queue.set_bound(Some(Bound { segments_max, when_full }));
    queue
}

#[test]
fn full_queue_refuses_and_gives_the_segment_back() {
    let node = Node::new();
    let queue = bounded(&node, 2, WhenFull::Refuse);
    queue.put(1).unwrap();
    queue.put(2).unwrap();
    let refused = queue.put(3).unwrap_err();
    assert_eq!((refused.why, *refused.segment), (NotPut::Full { segments_max: 2 }, 3));
    queue.take().unwrap();
    assert_eq!(queue.put(4).unwrap(), 3);
    assert_eq!(queue.update(5).unwrap(), 4);
    assert_eq!((*queue.take().unwrap(), queue.len()), (5, 0));
}

#[test]
fn full_queue_drops_its_oldest_and_counts_them() {
    let node = Node::new();
    let queue = bounded(&node, 2, WhenFull::DropOldest);
    put_all(&node, &A, 1..=5);
    assert_eq!((*queue.take().unwrap(), *queue.take().unwrap()), (4, 5));
    assert_eq!((queue.len(), queue.displaced()), (0, 3));
}

#[test]
fn put_waits_for_room_when_it_is_told_to() {
    let node = Node::new();
    let queue = bounded(&node, 1, WhenFull::Refuse);
    queue.put(1).unwrap();
    let refused = queue.put_within(2, Duration::from_millis(1)).unwrap_err();
    assert_eq!(refused.why, NotPut::Full { segments_max: 1 });
    thread::scope(|scope| {
        let putter = scope.spawn(|| queue.put_within(3, Duration::from_secs(60)).unwrap());
        assert_eq!(*queue.take().unwrap(), 1);
        assert_eq!(*queue.take().unwrap(), 3);
        assert_eq!(putter.join().unwrap(), 2);
    });
}

#[test]
fn lifting_a_bound_makes_room() {
    let node = Node::new();
    let queue = bounded(&node, 1, WhenFull::Refuse);
    queue.put(1).unwrap();
    thread::scope(|scope| {
        let putter = scope.spawn(|| queue.put_within(2, Duration::from_secs(60)));
        queue.set_bound(None);
        assert!(putter.join().unwrap().is_ok());
    });
    assert_eq!(queue.len(), 2);
}

#[test]
fn code_segment_does_not_wait_for_room() {
    let node = Node::new();
    let (queue, done) = (bounded(&node, 1, WhenFull::Refuse), Key::<String>::new("done"));
    queue.put(1).unwrap();
    let code = node.code("put").when(take(&Key::<u32>::new("go"))).to((&queue, &done));
    code.run(Run::Here)
        .once(|data, (full, done)| {
            let refused = full.put_within(**data, Duration::from_secs(60)).unwrap_err();
            done.put(refused.to_string()).unwrap();
        })
        .unwrap();
    node.put(&Key::new("go"), 2u32).unwrap();
    let message = node.take(&done).unwrap();
    assert_eq!(*message, "a code segment cannot wait for room in a queue");
}
