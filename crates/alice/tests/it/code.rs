//! Code segments: when they run, how often, where, in which order.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::put_all;
use alice::{Cancel, DeclareError, FAILURES, Key, Node, Pool, Run, newer, peek, take, take_many};

const A: Key<u32> = Key::new("a");
const B: Key<u32> = Key::new("b");
const C: Key<u32> = Key::new("c");
const LOG: Key<String> = Key::new("log");

fn log(node: &Node) -> Vec<String> {
    let queue = node.queue(&LOG).unwrap();
    (0..queue.len()).map(|_| queue.take().unwrap().into_data().unwrap()).collect()
}

#[test]
fn code_runs_once_when_all_inputs_are_there() {
    let node = Node::new();
    let sum = node.code("sum").when((take(&A), peek(&B))).to(&C).run(Run::Here);
    sum.once(|(a, b), c| c.put(**a + **b)).unwrap();
    node.put(&A, 1).unwrap();
    assert!(node.queue(&C).unwrap().is_empty());
    node.put(&B, 2).unwrap();
    assert_eq!(*node.take(&C).unwrap(), 3);
    node.put(&A, 4).unwrap();
    assert!(node.queue(&C).unwrap().is_empty());
    assert_eq!((node.queue(&A).unwrap().len(), node.queue(&B).unwrap().len()), (1, 1));
}

#[test]
fn code_whose_inputs_are_there_already_runs_at_once() {
    let node = Node::new();
    node.put(&A, 1).unwrap();
    let double = node.code("double").when(take(&A)).to(&C).run(Run::Here);
    double.once(|a, c| c.put(**a * 2)).unwrap();
    assert_eq!(*node.take(&C).unwrap(), 2);
}

#[test]
fn repeated_code_works_on_all_data_in_order() {
    for run in [Run::Here, Run::Next, Run::Pool] {
        let node = Node::on(&Pool::new(2).unwrap());
        let double = node.code("double").when(take(&A)).to(&C).run(run);
        double.repeatedly(|a, c| c.put(**a * 2)).unwrap();
        put_all(&node, &A, 0..1000);
        for data in 0..1000 {
            assert_eq!(*node.take(&C).unwrap(), data * 2, "{run:?}");
        }
    }
}

#[test]
fn long_chain_takes_no_stack() {
    for run in [Run::Here, Run::Next, Run::Pool] {
        let node = Node::on(&Pool::new(1).unwrap());
        let count = node.code("count").when(take(&A)).to((&A, &C)).run(run);
        let body = |a: &mut alice::Segment<u32>, (next, end): &(_, alice::Queue<u32>)| {
            let next: &alice::Queue<u32> = next;
            if **a < 300_000 { next.put(**a + 1) } else { end.put(**a) }.map(drop)
        };
        count.repeatedly(body).unwrap();
        node.put(&A, 0).unwrap();
        assert_eq!(*node.take(&C).unwrap(), 300_000, "{run:?}");
    }
}

#[test]
fn endless_chain_does_not_starve_others() {
    for run in [Run::Next, Run::Pool] {
        let (node, cancel) = (Node::on(&Pool::new(1).unwrap()), Cancel::new());
        let chain = node.code("chain").when(take(&A)).to((&A, &B)).run(run).until(&cancel);
        chain
            .repeatedly(|a, (next, other)| {
                if **a == 1000 {
                    other.put(**a)?;
                }
                next.put(**a + 1)
            })
            .unwrap();
        node.code("other").when(take(&B)).to(&C).run(run).once(|b, c| c.flip(b)).unwrap();
        node.put(&A, 0).unwrap();
        assert_eq!(*node.take(&C).unwrap(), 1000, "{run:?}");
        cancel.cancel();
    }
}

/// What the pool has to do besides waits for some jobs in a row at most, and finds none before it
/// that have nothing to do any more.
#[test]
fn endless_urgent_chain_does_not_starve_the_pool() {
    for run in [Run::Next, Run::Pool] {
        let (node, cancel) = (Node::on(&Pool::new(1).unwrap()), Cancel::new());
        let latest = Arc::new(AtomicU32::new(0));
        let chain = node.code("chain").when(take(&A)).to((&A, &B)).priority(1).run(run);
        let seen = Arc::clone(&latest);
        chain
            .until(&cancel)
            .repeatedly(move |a, (next, other)| {
                seen.store(**a, Ordering::SeqCst);
                if **a == 1000 {
                    let (other, seen) = (other.clone(), Arc::clone(&seen));
                    rayon_core::spawn_fifo(move || _ = other.put(seen.load(Ordering::SeqCst)));
                }
                next.put(**a + 1)
            })
            .unwrap();
        node.put(&A, 0).unwrap();
        let came = node.take_within(&B, Duration::from_secs(30));
        cancel.cancel();
        let came = *came.unwrap();
        assert!(came < 2000, "{run:?}: after {came}");
    }
}

#[test]
fn urgent_code_overtakes_and_nothing_is_left_behind() {
    let node = Node::on(&Pool::new(1).unwrap());
    let count = 1000;
    // Each run of the plain one makes urgent ones ready, which run before the next plain one.
    for (key, priority) in [(&B, 1), (&C, 2)] {
        let urgent = node.code("urgent").when(take(key)).to(&LOG).priority(priority).run(Run::Pool);
        urgent.repeatedly(move |n, log| log.put(format!("{priority} {}", **n))).unwrap();
    }
    let plain = node.code("plain").when(take(&A)).to((&B, &C, &LOG));
    plain
        .repeatedly(|n, (first, second, log)| {
            first.put(**n).unwrap();
            second.put(**n).unwrap();
            log.put(format!("0 {}", **n))
        })
        .unwrap();
    put_all(&node, &A, 0..count);
    let all: Vec<_> = (0..count * 3).map(|_| node.take(&LOG).unwrap().to_string()).collect();
    for priority in 0..3 {
        let name = format!("{priority} ");
        let of: Vec<_> = all.iter().filter_map(|line| line.strip_prefix(&name)).collect();
        let in_order = (0..count).map(|n| n.to_string());
        assert!(in_order.eq(of), "{priority}");
    }
    let place = |line: String| all.iter().position(|other| *other == line).unwrap();
    let overtaken = (0..count - 1).filter(|n| {
        place(format!("2 {n}")) < place(format!("1 {n}"))
            && place(format!("1 {n}")) < place(format!("0 {}", n + 1))
    });
    assert_eq!(overtaken.count() as u32, count - 1);
}

#[test]
fn higher_priority_gets_the_data_and_equal_ones_take_turns() {
    let node = Node::new();
    let declare = |name: &'static str, priority| {
        let code = node.code(name).when(take(&A)).to(&LOG).priority(priority).run(Run::Here);
        code.repeatedly(move |a, log| log.put(format!("{name}{}", **a))).unwrap()
    };
    let (x, _y) = (declare("x", 0), declare("y", 0));
    put_all(&node, &A, 0..4);
    assert_eq!(log(&node), ["x0", "y1", "x2", "y3"]);
    let urgent = declare("z", 1);
    put_all(&node, &A, 4..6);
    assert_eq!(log(&node), ["z4", "z5"]);
    urgent.cancel();
    x.cancel();
    put_all(&node, &A, 6..8);
    assert_eq!(log(&node), ["y6", "y7"]);
}

#[test]
fn ready_code_runs_in_order_of_priority() {
    for run in [Run::Here, Run::Next, Run::Pool] {
        let node = Node::on(&Pool::new(1).unwrap());
        for priority in [1, 3, 2] {
            let code = node.code("ready").when(newer(&B, 0)).to(&LOG).priority(priority).run(run);
            code.once(move |_, log| log.put(priority.to_string())).unwrap();
        }
        let all = node.code("begin").when(take(&A)).to(&B).run(run);
        all.once(|a, b| b.put(**a)).unwrap();
        node.put(&A, 1).unwrap();
        let order: Vec<String> =
            (0..3).map(|_| node.take(&LOG).unwrap().into_data().unwrap()).collect();
        assert_eq!(order, ["3", "2", "1"], "{run:?}");
    }
}

#[test]
fn cancelled_code_never_runs_and_takes_nothing() {
    let (node, cancel) = (Node::new(), Cancel::new());
    let by_handle = node.code("one").when(take(&A)).run(Run::Here).repeatedly(|_, ()| ()).unwrap();
    let by_token = node.code("two").when((take(&A), take(&B))).run(Run::Here).until(&cancel);
    by_token.repeatedly(|_, ()| ()).unwrap();
    by_handle.cancel();
    cancel.cancel();
    node.put(&A, 1).unwrap();
    let late = node.code("three").when(take(&A)).run(Run::Here).until(&cancel);
    late.repeatedly(|_, ()| ()).unwrap();
    node.put(&B, 1).unwrap();
    assert_eq!((node.queue(&A).unwrap().len(), node.queue(&B).unwrap().len()), (1, 1));
}

#[test]
fn code_that_cancels_itself_has_run_for_the_last_time() {
    let (node, cancel) = (Node::new(), Cancel::new());
    let stop = cancel.clone();
    let code = node.code("last").when(take(&A)).to(&B).run(Run::Here).until(&cancel);
    code.repeatedly(move |a, b| {
        stop.cancel();
        b.put(**a)
    })
    .unwrap();
    node.put(&A, 1).unwrap();
    node.put(&A, 2).unwrap();
    assert_eq!((node.queue(&A).unwrap().len(), node.queue(&B).unwrap().len()), (1, 1));
}

#[test]
fn time_limit_ends_code_that_waits_and_no_other() {
    let (node, short) = (Node::new(), Duration::from_millis(2));
    let hour = Duration::from_secs(3600);
    let sum = |name: &'static str, second: &Key<u32>, timeout| {
        let code = node.code(name).when((take(&A), take(second))).to(&LOG).run(Run::Here);
        code.once_within(timeout, move |_, log| log.put(name.to_owned())).unwrap()
    };
    sum("early", &B, hour);
    sum("late", &C, short);
    let failure = node.take(&FAILURES).unwrap();
    assert_eq!((failure.code(), failure.inputs().len()), ("late", 0));
    put_all(&node, &A, [1, 2]);
    put_all(&node, &B, [1]);
    put_all(&node, &C, [1]);
    assert_eq!(log(&node), ["early"]);
    let left = [&A, &B, &C].map(|key| node.queue(key).unwrap().len());
    assert_eq!(left, [1, 0, 1]);
}

#[test]
fn newer_shows_a_repeating_code_each_value_once() {
    let node = Node::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let watch = node.code("watch").when(newer(&A, 0)).run(Run::Here);
    watch.repeatedly(move |a, ()| sees.lock().unwrap().push(**a)).unwrap();
    node.put(&A, 1).unwrap();
    node.update(&A, 2).unwrap();
    node.put(&A, 3).unwrap();
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3]);
    assert_eq!(node.queue(&A).unwrap().len(), 2);
}

#[test]
fn code_that_would_never_rest_is_refused() {
    let node = Node::new();
    let refused = node.code("busy").when((peek(&A), peek(&B))).repeatedly(|_, ()| ());
    let expected = DeclareError::NeverRests { name: "busy".to_owned() };
    assert_eq!(refused.unwrap_err(), expected);
}

#[test]
fn many_inputs_and_outputs_of_one_type_are_vectors() {
    let node = Node::new();
    let keys: Vec<Key<u32>> = (0..5).map(|at| Key::named(format!("in {at}"))).collect();
    let ends: Vec<Key<u32>> = (0..5).map(|at| Key::named(format!("out {at}"))).collect();
    let code = node.code("reverse").when(keys.iter().rev().map(take).collect::<Vec<_>>());
    code.to(ends.iter().collect::<Vec<_>>())
        .run(Run::Here)
        .once(|inputs, outputs| {
            let pairs = inputs.iter().zip(outputs);
            pairs.for_each(|(input, output)| assert_eq!(output.flip(input).unwrap(), 1));
        })
        .unwrap();
    let pairs = node.code("pairs").when(take_many(&ends[0], 2)).to(&A).run(Run::Here);
    pairs.repeatedly(|two, a| a.put(*two[0] * 10 + *two[1])).unwrap();
    (0..).zip(&keys).for_each(|(data, key)| put_all(&node, key, [data]));
    assert_eq!(*node.take(&ends[4]).unwrap(), 0);
    node.put(&ends[0], 7).unwrap();
    assert_eq!(*node.take(&A).unwrap(), 47);
}

#[test]
fn data_goes_round_a_ring_of_nodes() {
    let nodes: Vec<Node> = (0..5).map(|_| Node::new()).collect();
    for (at, node) in nodes.iter().enumerate() {
        node.connect("right", &nodes[(at + 1) % nodes.len()]);
        let right = node.neighbour("right").unwrap().queue(&A).unwrap();
        let pass = node.code("pass").when(take(&A)).to((&right, &C));
        pass.repeatedly(
            |a, (right, done)| {
                if **a < 1000 { right.put(**a + 1) } else { done.put(**a) }
            },
        )
        .unwrap();
    }
    nodes[0].put(&A, 0).unwrap();
    assert_eq!(*nodes[1000 % 5].take(&C).unwrap(), 1000);
}

#[test]
fn place_is_as_declared() {
    let pool = Pool::new(2).unwrap();
    let node = Node::on(&pool);
    let names = Key::<Option<String>>::new("names");
    let name = || thread::current().name().map(str::to_owned);
    for (key, run) in [(&A, Run::Here), (&B, Run::Next), (&C, Run::Pool)] {
        let code = node.code("where").when(take(key)).to(&names).run(run);
        code.once(move |_, names| names.put(name())).unwrap();
        node.put(key, 1).unwrap();
        let is_of_pool =
            node.take(&names).unwrap().as_ref().is_some_and(|name| name.starts_with("alice "));
        assert_eq!(is_of_pool, run != Run::Here, "{run:?}");
    }
}
