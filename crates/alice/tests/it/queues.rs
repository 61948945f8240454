//! Put, update, take, peek, newer, flip.

use std::time::Duration;

use crate::put_all;
use alice::{DeclareError, Key, Node, NotPut, WaitError, newer, peek, take, take_many};

const A: Key<u32> = Key::new("a");
const B: Key<u32> = Key::new("b");
const NOW: Duration = Duration::ZERO;

#[test]
fn takes_come_in_the_order_of_puts() {
    let node = Node::new();
    let indexes: Vec<u64> = (10..13).map(|data| node.put(&A, data).unwrap()).collect();
    assert_eq!(indexes, [1, 2, 3]);
    let taken: Vec<(u32, u64)> =
        (0..3).map(|_| node.take(&A).unwrap()).map(|segment| (*segment, segment.index())).collect();
    assert_eq!(taken, [(10, 1), (11, 2), (12, 3)]);
    assert_eq!(node.take_within(&A, NOW).unwrap_err(), WaitError::TimedOut);
}

#[test]
fn update_leaves_only_the_newest() {
    let node = Node::new();
    node.put(&A, 1).unwrap();
    node.put(&A, 2).unwrap();
    assert_eq!(node.update(&A, 3).unwrap(), 3);
    assert_eq!((*node.peek(&A).unwrap(), node.queue(&A).unwrap().len()), (3, 1));
    assert_eq!(*node.take(&A).unwrap(), 3);
    assert_eq!(node.update(&A, 4).unwrap(), 4);
    assert_eq!(*node.take(&A).unwrap(), 4);
}

#[test]
fn peek_leaves_the_head_and_newer_skips_what_was_seen() {
    let node = Node::new();
    put_all(&node, &A, 1..=3);
    assert_eq!((*node.peek(&A).unwrap(), *node.peek(&A).unwrap()), (1, 1));
    let seen = |seen| node.wait_for(newer(&A, seen), NOW).map(|segment| *segment);
    assert_eq!((seen(0), seen(1), seen(2)), (Ok(1), Ok(2), Ok(3)));
    assert_eq!(seen(3), Err(WaitError::TimedOut));
    node.take(&A).unwrap();
    assert_eq!((seen(0), seen(1)), (Ok(2), Ok(2)));
    let newest = node.peek_newer(&A, 2).unwrap();
    assert_eq!((*newest, newest.index(), node.queue(&A).unwrap().len()), (3, 3, 2));
}

#[test]
fn flip_hands_on_the_very_same_segment() {
    let node = Node::new();
    node.put(&A, 7).unwrap();
    let segment = node.take(&A).unwrap();
    node.put(&B, 6).unwrap();
    assert_eq!(node.flip(&B, &segment).unwrap(), 2);
    node.take(&B).unwrap();
    let flipped = node.take(&B).unwrap();
    assert!(flipped.is_same(&segment));
    assert_eq!((flipped.index(), segment.index()), (2, 1));
}

#[test]
fn what_is_given_back_stands_where_it_stood_unless_it_was_replaced() {
    let node = Node::new();
    let queue = node.queue(&A).unwrap();
    put_all(&node, &A, 1..=3);
    let (one, two) = (queue.take().unwrap(), queue.take().unwrap());
    assert!(queue.give_back(&two).unwrap() && queue.give_back(&one).unwrap());
    let order: Vec<u32> = (0..3).map(|_| *queue.take().unwrap()).collect();
    assert_eq!(order, [1, 2, 3]);
    queue.update(4).unwrap();
    assert!(!queue.give_back(&one).unwrap());
    assert_eq!((*queue.take().unwrap(), queue.len()), (4, 0));
    queue.put(5).unwrap();
    let five = queue.take().unwrap();
    node.code("waits").when(take(&A)).to(&B).once(|a, b| b.put(**a)).unwrap();
    assert!(queue.give_back(&five).unwrap());
    assert_eq!(*node.take(&B).unwrap(), 5);
}

#[test]
fn only_holder_changes_data_in_place_and_gets_it_out() {
    let node = Node::new();
    node.put(&A, 7).unwrap();
    let mut segment = node.take(&A).unwrap();
    let other = segment.clone();
    assert!(segment.get_mut().is_none());
    let segment = segment.into_data().unwrap_err();
    drop(other);
    assert_eq!(segment.into_data().unwrap(), 7);
}

#[test]
fn several_inputs_are_taken_all_at_once_or_not_at_all() {
    let node = Node::new();
    node.put(&A, 1).unwrap();
    assert_eq!(node.wait_for((take(&A), take(&B)), NOW).unwrap_err(), WaitError::TimedOut);
    assert_eq!(node.queue(&A).unwrap().len(), 1);
    node.put(&B, 2).unwrap();
    let (b, a) = node.wait_for((peek(&B), take(&A)), NOW).unwrap();
    assert_eq!((*a, *b), (1, 2));
    assert_eq!((node.queue(&A).unwrap().len(), node.queue(&B).unwrap().len()), (0, 1));
    let all = node.wait_for(vec![take(&B)], NOW).unwrap();
    assert_eq!(*all[0], 2);
}

#[test]
fn take_many_takes_exactly_so_many() {
    let node = Node::new();
    node.put(&A, 1).unwrap();
    assert_eq!(node.wait_for(take_many(&A, 2), NOW).unwrap_err(), WaitError::TimedOut);
    node.put(&A, 2).unwrap();
    node.put(&A, 3).unwrap();
    let two = node.wait_for(take_many(&A, 2), NOW).unwrap();
    assert_eq!((*two[0], *two[1], node.queue(&A).unwrap().len()), (1, 2, 1));
}

#[test]
fn wrong_declarations_are_refused() {
    let node = Node::new();
    node.put(&A, 1).unwrap();
    let other = Key::<String>::new("a");
    let wrong = node.queue(&other).unwrap_err();
    let message = "the key `a` holds u32, and was used for alloc::string::String";
    assert_eq!(wrong.to_string(), message);
    let refused = node.put(&other, "text".to_owned()).unwrap_err();
    assert_eq!((refused.why, &**refused.segment), (NotPut::Declare(wrong), "text"));
    let twice = node.wait_for((take(&A), peek(&B), peek(&A)), NOW).unwrap_err();
    let expected = DeclareError::SameKeyTwice { name: "a".to_owned() };
    assert_eq!(twice, WaitError::Declare(expected));
}

#[test]
fn nodes_have_queues_of_their_own_and_know_neighbours_by_label() {
    let (left, right) = (Node::new(), Node::new());
    left.connect("right", &right);
    left.neighbour("right").unwrap().put(&A, 5).unwrap();
    assert!(left.queue(&A).unwrap().is_empty());
    assert_eq!(*right.take(&A).unwrap(), 5);
    drop(right);
    let gone = left.neighbour("right").unwrap_err();
    assert_eq!(gone.to_string(), "this node has no neighbour `right`");
}
