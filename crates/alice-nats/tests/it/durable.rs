//! Durable keys: queues that the engine keeps.

use std::thread;
use std::time::Duration;

use crate::{LONG, NOW, connect, engine};
use alice::{Cancel, Key, Wait};
use alice_nats::{Durable, NotReceived, NotSent, Options, Portable, TOGETHER_MAX, Taken};
use jungle_testkit::NatsServers;

const A: Key<u32> = Key::new("a");
const B: Key<String> = Key::new("b");

fn take<T: Portable + Copy>(queue: &Durable<T>) -> T {
    let taken = queue.take_within(LONG).unwrap();
    let data = *taken.open().unwrap();
    taken.done().unwrap();
    data
}

#[test]
fn durable_queue_has_the_calls_of_a_node() {
    let (engine, _servers) = engine();
    let queue = engine.peer("nobody").durable(&A);
    assert!(matches!(queue.take_within(NOW), Err(NotReceived::TimedOut)));
    assert!(matches!(queue.peek_within(NOW), Err(NotReceived::TimedOut)));
    let indexes: Vec<u64> = (10..13).map(|data| queue.put(data).unwrap()).collect();
    assert_eq!(indexes, [1, 2, 3]);
    assert_eq!(*queue.peek().unwrap().open().unwrap(), 10);
    let taken = queue.take().unwrap();
    assert_eq!((taken.index(), *taken.open().unwrap(), taken.deliveries()), (1, 10, 1));
    assert_eq!(*queue.peek().unwrap().open().unwrap(), 10, "it is not done yet");
    taken.done().unwrap();
    let newer = queue.peek_newer(2).unwrap();
    assert_eq!((newer.index(), *newer.open().unwrap()), (3, 12));
    assert_eq!(queue.update(20).unwrap(), 4);
    queue.flip(&newer).unwrap();
    assert_eq!((take(&queue), take(&queue)), (20, 12));
    assert!(matches!(queue.take_within(NOW), Err(NotReceived::TimedOut)));
    let short = Duration::from_millis(20);
    assert!(matches!(queue.take_within(short), Err(NotReceived::TimedOut)));
    assert!(matches!(queue.peek_newer_within(5, short), Err(NotReceived::TimedOut)));
}

#[test]
fn many_are_put_taken_and_done_at_once() {
    let (engine, _servers) = engine();
    let queue = engine.peer("nobody").durable(&A);
    let count = u32::try_from(TOGETHER_MAX).unwrap() + 44;
    let put: Vec<u64> = queue.put_all(0..count).into_iter().map(Result::unwrap).collect();
    assert_eq!(put, (1..=u64::from(count)).collect::<Vec<_>>());
    let numbers = |taken: &[Taken<u32>]| -> Vec<u32> {
        taken.iter().map(|taken| *taken.open().unwrap()).collect()
    };
    let first = queue.take_up_to(usize::MAX, LONG).unwrap();
    assert_eq!(numbers(&first), (0..256).collect::<Vec<_>>());
    let mut rest = queue.take_up_to(usize::MAX, LONG).unwrap();
    assert_eq!(numbers(&rest), (256..count).collect::<Vec<_>>());
    // What is given back comes again; what is done does not.
    drop(rest.split_off(2));
    assert!(Taken::done_all(rest).iter().all(Result::is_ok));
    assert!(Taken::done_all(first).iter().all(Result::is_ok));
    let (mut again, wanted) = (Vec::new(), (258..count).collect::<Vec<_>>());
    while again.len() < wanted.len() {
        let taken = queue.take_up_to(wanted.len() - again.len(), LONG).unwrap();
        assert!(taken.iter().all(|taken| taken.deliveries() == 2));
        again.extend(numbers(&taken));
        assert!(Taken::done_all(taken).iter().all(Result::is_ok));
    }
    again.sort_unstable();
    assert_eq!(again, wanted);
    assert!(queue.take_up_to(0, NOW).unwrap().is_empty());
    assert!(matches!(queue.take_up_to(9, NOW), Err(NotReceived::TimedOut)));
    assert!(Taken::<u32>::done_all(Vec::new()).is_empty());
}

#[test]
fn one_that_comes_later_ends_the_wait_for_many() {
    let (engine, _servers) = engine();
    let queue = engine.peer("nobody").durable(&A);
    thread::scope(|scope| {
        let taking = scope.spawn(|| queue.take_up_to(10, LONG).unwrap());
        queue.put(7).unwrap();
        let taken = taking.join().unwrap();
        assert_eq!(taken.iter().map(|it| *it.open().unwrap()).collect::<Vec<_>>(), [7]);
    });
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = queue.take_up_to(10, &cancel);
    assert!(matches!(cancelled, Err(NotReceived::Cancelled)), "{cancelled:?}");
    assert_eq!(take(&queue), 7, "it was given back");
}

#[test]
fn queues_of_other_labels_and_keys_are_others() {
    let (engine, _servers) = engine();
    let (left, right) = (engine.peer("left"), engine.peer("right"));
    left.durable(&A).put(1).unwrap();
    right.durable(&A).put(2).unwrap();
    left.durable(&B).put("three".to_owned()).unwrap();
    assert_eq!((take(&right.durable(&A)), take(&left.durable(&A))), (2, 1));
    assert_eq!(*left.durable(&B).take().unwrap().open().unwrap(), "three");
}

#[test]
fn what_is_not_done_comes_again() {
    let servers = NatsServers::start(1);
    let redeliver_after = Duration::from_secs(1);
    let engine = connect(&servers, Options { redeliver_after, ..Options::default() });
    let queue = engine.peer("n").durable(&A);
    queue.put(1).unwrap();
    drop(queue.take().unwrap());
    let again = queue.take_within(LONG).unwrap();
    assert_eq!((again.index(), again.deliveries()), (1, 2));
    // Its taker is gone without a word.
    engine.close().unwrap();
    let other = connect(&servers, Options::default());
    let third = other.peer("n").durable(&A).take_within(LONG).unwrap();
    assert_eq!((third.index(), third.deliveries()), (1, 3));
    third.done().unwrap();
}

#[test]
fn what_is_held_longer_than_a_lease_is_not_given_to_others() {
    let servers = NatsServers::start(1);
    let redeliver_after = Duration::from_millis(200);
    let engine = connect(&servers, Options { redeliver_after, ..Options::default() });
    let queue = engine.peer("n").durable(&A);
    queue.put(1).unwrap();
    let held = queue.take().unwrap();
    assert!(matches!(queue.take_within(redeliver_after * 5), Err(NotReceived::TimedOut)));
    held.done().unwrap();
}

#[test]
fn waiting_take_and_peek_are_woken_by_a_put_or_cancelled() {
    let (engine, servers) = engine();
    let queue = connect(&servers, Options::default()).peer("n").durable(&A);
    let taker = {
        let queue = queue.clone();
        thread::spawn(move || take(&queue))
    };
    let viewer = {
        let queue = queue.clone();
        thread::spawn(move || *queue.peek_newer_within(1, LONG).unwrap().open().unwrap())
    };
    engine.peer("n").durable(&A).put(5).unwrap();
    assert_eq!(taker.join().unwrap(), 5);
    engine.peer("n").durable(&A).put(6).unwrap();
    assert_eq!((viewer.join().unwrap(), take(&queue)), (6, 6));
    let cancel = Cancel::new();
    let wait = Wait::for_ever().until(&cancel);
    let taker = thread::spawn(move || queue.take_within(wait));
    cancel.cancel();
    assert!(matches!(taker.join().unwrap(), Err(NotReceived::Cancelled)));
}

#[test]
fn same_id_is_put_once() {
    let (engine, servers) = engine();
    let queue = engine.peer("n").durable(&A);
    let first = queue.put_once("order 7", 1).unwrap();
    let again = connect(&servers, Options::default()).peer("n").durable(&A);
    assert_eq!(again.put_once("order 7", 2).unwrap(), first);
    // The same id of another queue is another one.
    engine.peer("m").durable(&A).put_once("order 7", 3).unwrap();
    assert_eq!((take(&queue), take(&engine.peer("m").durable(&A))), (1, 3));
    assert!(matches!(queue.take_within(NOW), Err(NotReceived::TimedOut)));
}

#[test]
fn outputs_of_what_is_done_twice_are_there_once() {
    let (engine, _servers) = engine();
    let (input, output) = (engine.peer("n").durable(&A), engine.peer("n").durable(&B));
    input.put(1).unwrap();
    for _ in 0..2 {
        // Dies before it says that it is done.
        let taken = input.take_within(LONG).unwrap();
        taken.put(&output, "first".to_owned()).unwrap();
        taken.put(&output, "second".to_owned()).unwrap();
    }
    let texts = ["first", "second"].map(|wanted| {
        let taken = output.take_within(LONG).unwrap();
        let is_it = *taken.open().unwrap() == wanted;
        taken.done().unwrap();
        is_it
    });
    assert_eq!(texts, [true, true]);
    assert!(matches!(output.take_within(NOW), Err(NotReceived::TimedOut)));
}

#[test]
fn queue_in_order_gives_the_next_when_the_one_before_is_done() {
    let (engine, _servers) = engine();
    let queue = engine.peer("n").durable(&A).in_order();
    (0..3).for_each(|data| _ = queue.put(data).unwrap());
    let first = queue.take().unwrap();
    assert!(matches!(queue.take_within(NOW), Err(NotReceived::TimedOut)));
    drop(first);
    assert_eq!([take(&queue), take(&queue), take(&queue)], [0, 1, 2]);
    let in_any_order = engine.peer("n").durable(&A);
    assert!(matches!(in_any_order.take_within(NOW), Err(NotReceived::Differs { .. })));
}

#[test]
fn what_was_put_survives_the_death_of_the_server() {
    let mut servers = NatsServers::start(1);
    let redeliver_after = Duration::from_secs(2);
    let engine = connect(&servers, Options { redeliver_after, ..Options::default() });
    let queue = engine.peer("n").durable(&A);
    (0..20).for_each(|data| _ = queue.put(data).unwrap());
    let held = queue.take().unwrap();
    servers.kill(0);
    let later = {
        let queue = queue.clone();
        thread::spawn(move || queue.put(20).unwrap())
    };
    servers.restart(0);
    later.join().unwrap();
    assert_eq!(*held.open().unwrap(), 0);
    // The server may have forgotten that it gave it away; then it says nothing, and gives it again.
    if held.done().is_err() {
        assert_eq!(take(&queue), 0);
    }
    let rest: Vec<u32> = (0..20).map(|_| take(&queue)).collect();
    assert!(rest.into_iter().eq(1..21));
}

#[test]
fn what_was_put_survives_the_death_of_all_servers() {
    let mut servers = NatsServers::start(3);
    let redeliver_after = Duration::from_secs(2);
    let options = || Options { redeliver_after, replicas: 3, ..Options::default() };
    let (engine, other) = (connect(&servers, options()), connect(&servers, options()));
    let queue = engine.peer("n").durable(&A);
    assert!(queue.put_all(0..20).iter().all(Result::is_ok));
    let mut taken = queue.take_up_to(5, LONG).unwrap();
    while taken.len() < 5 {
        taken.extend(queue.take_up_to(5 - taken.len(), LONG).unwrap());
    }
    let held = taken.split_off(3);
    assert!(Taken::done_all(taken).iter().all(Result::is_ok));
    (0..3).for_each(|at| servers.kill(at));
    (0..3).for_each(|at| servers.restart(at));
    drop(held);
    // Whatever was not done comes, to those who have taken before and to others; what was done just
    // before may come, too.
    let others = other.peer("n").durable(&A);
    let mut rest = std::collections::BTreeSet::new();
    while !(3..20).all(|number| rest.contains(&number)) {
        let taken = if rest.len() % 2 == 0 { &queue } else { &others }.take_within(LONG).unwrap();
        rest.insert(*taken.open().unwrap());
        // The engine may just have given it to another, or not know any more that it gave it away.
        let _ = taken.done();
    }
}

#[test]
fn stream_that_is_another_one_is_refused() {
    let (engine, servers) = engine();
    engine.peer("n").durable(&A).put(1).unwrap();
    let other = Options { remember: Duration::from_secs(7), ..Options::default() };
    let why = connect(&servers, other).peer("n").durable(&A).put(2).unwrap_err().why;
    assert!(matches!(why, NotSent::Differs { what } if what.contains("ids")));
    let space = Options { space: "another".to_owned(), ..Options::default() };
    let elsewhere = connect(&servers, space).peer("n").durable(&A);
    assert!(matches!(elsewhere.take_within(NOW), Err(NotReceived::TimedOut)));
}

#[test]
fn too_large_segment_is_refused() {
    let (engine, _servers) = engine();
    let queue = engine.peer("n").durable(&B);
    let why = queue.put("x".repeat(1 << 20)).unwrap_err().why;
    assert!(matches!(why, NotSent::TooLarge { .. }));
    // Beside others as well, which are put, also where they are too much for one batch.
    let [large, too_large] = [1 << 19, 1 << 20].map(|bytes| "x".repeat(bytes));
    let all = ["a", "b", &too_large, "c", &large, &large, "d"].map(str::to_owned);
    let put = queue.put_all(all.clone()).into_iter().map(Result::ok).collect::<Vec<_>>();
    assert_eq!(put, [Some(1), Some(2), None, Some(3), Some(4), Some(5), Some(6)]);
    for text in all.iter().filter(|text| text.len() < 1 << 20) {
        let taken = queue.take_within(LONG).unwrap();
        assert_eq!(**taken.open().unwrap(), *text);
        taken.done().unwrap();
    }
}

#[test]
fn stream_from_before_there_were_batches_gets_them() {
    let (engine, servers) = engine();
    engine.peer("n").durable(&A).put(1).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let takes_batches = |change: bool| {
        runtime.block_on(async {
            let client = async_nats::connect(servers.addresses()).await.unwrap();
            let context = async_nats::jetstream::new(client);
            let mut stream = context.get_stream("alice-default").await.unwrap();
            let mut config = stream.info().await.unwrap().config.clone();
            if change {
                config.allow_atomic_publish = false;
                context.update_stream(&config).await.unwrap();
            }
            config.allow_atomic_publish
        })
    };
    assert!(!takes_batches(true));
    // Who found them there does without: each is put by itself.
    let put = |engine: &alice_nats::Engine| -> Vec<u64> {
        let put = engine.peer("n").durable(&A).put_all(2..5);
        put.into_iter().map(Result::unwrap).collect()
    };
    assert_eq!(put(&engine), [2, 3, 4]);
    assert!(!takes_batches(false));
    assert_eq!(put(&connect(&servers, Options::default())), [5, 6, 7]);
    assert!(takes_batches(false));
}
