//! Live keys: a peer's queue by request and answer.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::{LONG, NOW, connect, engine};
use alice::{Bound, Cancel, Key, Node, Pool, Run, Wait, WhenFull, take};
use alice_nats::{Compress, JoinError, NotReceived, NotSent, Options, Parcel};
use jungle_testkit::NatsServers;

const A: Key<u32> = Key::new("a");
const TEXT: Key<String> = Key::new("a.text with * and >");

#[test]
fn peer_has_the_calls_of_a_node() {
    let (engine, servers) = engine();
    let right = Node::new();
    let member = engine.join("right", &right).unwrap();
    member.serve(&A).unwrap();
    let elsewhere = connect(&servers, Options::default());
    let peer = elsewhere.peer("right");
    let indexes: Vec<u64> = (10..13).map(|data| peer.put(&A, data).unwrap()).collect();
    assert_eq!(indexes, [1, 2, 3]);
    assert_eq!(*peer.peek(&A).unwrap().open().unwrap(), 10);
    let taken = peer.take(&A).unwrap();
    assert_eq!((taken.index(), *taken.open().unwrap()), (1, 10));
    let newer = peer.peek_newer(&A, 2).unwrap();
    assert_eq!((newer.index(), *newer.open().unwrap()), (3, 12));
    assert_eq!(peer.update(&A, 20).unwrap(), 4);
    assert_eq!(peer.flip(&A, &taken).unwrap(), 5);
    let rest: Vec<u32> = (0..2).map(|_| *right.take(&A).unwrap()).collect();
    assert_eq!(rest, [20, 10]);
    assert!(matches!(peer.take_within(&A, NOW), Err(NotReceived::TimedOut)));
    assert!(matches!(peer.peek_within(&A, NOW), Err(NotReceived::TimedOut)));
    let short = Duration::from_millis(5);
    assert!(matches!(peer.peek_newer_within(&A, 9, short), Err(NotReceived::TimedOut)));
}

#[test]
fn take_waits_at_the_owner_in_line_with_its_code_segments() {
    let (engine, _servers) = engine();
    let node = Node::new();
    let member = engine.join("n", &node).unwrap();
    member.serve(&TEXT).unwrap();
    let peer = engine.peer("n");
    let taker = thread::spawn(move || peer.take_within(&TEXT, LONG).unwrap().open().unwrap());
    wait_for_line(&node, 1);
    node.code("later").when(take(&TEXT)).to(&A).once(|_, a| a.put(7)).unwrap();
    node.put(&TEXT, "first".to_owned()).unwrap();
    assert_eq!(*taker.join().unwrap(), "first");
    node.put(&TEXT, "second".to_owned()).unwrap();
    assert_eq!(*node.take(&A).unwrap(), 7);
}

#[test]
fn cancelled_take_takes_nothing() {
    let (engine, _servers) = engine();
    let node = Node::new();
    let member = engine.join("n", &node).unwrap();
    member.serve(&TEXT).unwrap();
    let (peer, cancel) = (engine.peer("n"), Cancel::new());
    let wait = Wait::for_ever().until(&cancel);
    let taker = thread::spawn(move || peer.take_within(&TEXT, wait));
    wait_for_line(&node, 1);
    cancel.cancel();
    assert!(matches!(taker.join().unwrap(), Err(NotReceived::Cancelled)));
    wait_for_line(&node, 0);
    node.put(&TEXT, "still there".to_owned()).unwrap();
    assert_eq!(*node.take(&TEXT).unwrap(), "still there");
}

/// A peer that died while it waited looks like one that never was.
#[test]
fn segment_whose_taker_is_gone_goes_back_to_its_place() {
    let (engine, servers) = engine();
    let node = Node::new();
    let member = engine.join("n", &node).unwrap();
    member.serve(&TEXT).unwrap();
    let wait_ms = u32::to_le_bytes(30_000);
    let ask = [&wait_ms[..], &[0; 8], b"its name"].concat();
    let subject = "alice.default.live.n.take.a=2Etext=20with=20=2A=20and=20=3E";
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    threads.block_on(async {
        let client = async_nats::connect(servers.addresses()).await.unwrap();
        client.publish_with_reply(subject, "nobody.is.here", ask.into()).await.unwrap();
        client.flush().await.unwrap();
    });
    wait_for_line(&node, 1);
    node.put(&TEXT, "one".to_owned()).unwrap();
    assert_eq!(*node.take_within(&TEXT, LONG).unwrap(), "one");
}

#[test]
fn what_is_not_there_not_served_or_full_is_said() {
    let (engine, _servers) = engine();
    let node = Node::new();
    let peer = engine.peer("n");
    let why = peer.put(&A, 1).unwrap_err().why;
    assert!(matches!(why, NotSent::Nobody { label } if label == "n"));
    assert!(matches!(peer.take(&A), Err(NotReceived::Nobody { .. })));
    let member = engine.join("n", &node).unwrap();
    assert!(matches!(peer.put(&A, 1).unwrap_err().why, NotSent::NotServed { .. }));
    assert!(matches!(peer.take(&A), Err(NotReceived::NotServed { .. })));
    member.serve(&A).unwrap();
    let segments_max = std::num::NonZeroUsize::MIN;
    let bound = Bound { segments_max, when_full: WhenFull::Refuse };
    node.queue(&A).unwrap().set_bound(Some(bound));
    peer.put(&A, 1).unwrap();
    let refused = peer.put(&A, 2).unwrap_err();
    assert!(matches!(refused.why, NotSent::Full { segments_max: 1 }));
    assert_eq!(*refused.parcel.open().unwrap(), 2);
    let wrong = Key::<String>::new("a");
    let why = peer.put(&wrong, "no number".to_owned()).unwrap_err().why;
    assert!(matches!(why, NotSent::Unreadable { .. }));
    let text = peer.take(&wrong).unwrap();
    assert!(text.open().unwrap_err().to_string().contains("String"));
    node.close();
    assert!(matches!(peer.put(&A, 1).unwrap_err().why, NotSent::Closed));
    assert!(matches!(peer.take(&A), Err(NotReceived::Closed)));
}

#[test]
fn too_large_segment_is_refused_on_both_ways_and_not_lost() {
    let (engine, _servers) = engine();
    let node = Node::new();
    let member = engine.join("n", &node).unwrap();
    member.serve(&TEXT).unwrap();
    let peer = engine.peer("n");
    let large = "x".repeat(2 << 20);
    let why = peer.put(&TEXT, large.clone()).unwrap_err().why;
    assert!(matches!(why, NotSent::TooLarge { bytes_max: 0x10_0000, .. }));
    node.put(&TEXT, large).unwrap();
    assert!(matches!(peer.take(&TEXT), Err(NotReceived::TooLarge { .. })));
    assert!(matches!(peer.peek(&TEXT), Err(NotReceived::TooLarge { .. })));
    assert_eq!(node.take(&TEXT).unwrap().len(), 2 << 20);
}

#[test]
fn relay_sends_on_the_bytes_that_it_got() {
    let (engine, _servers) = engine();
    let (relay, home) = (Node::new(), Node::new());
    let relays: Key<Parcel<String>> = Key::named(TEXT.name());
    let (first, second) =
        (engine.join("relay", &relay).unwrap(), engine.join("home", &home).unwrap());
    first.serve(&relays).unwrap();
    second.serve(&relays).unwrap();
    // Bytes that nobody could read: they are not looked at on the way.
    let bytes = alice_nats::Bytes::from_static(b"\xFFno form at all");
    engine.peer("relay").put(&TEXT, Parcel::received(bytes.clone())).unwrap();
    let parcel = relay.take(&relays).unwrap();
    engine.peer("home").put(&TEXT, &*parcel).unwrap();
    let received = engine.peer("home").take(&TEXT).unwrap();
    assert_eq!(received.parcel().wire(alice_nats::Compress::Never).unwrap(), bytes);
    assert!(received.open().is_err());
}

#[test]
fn label_is_had_by_one_and_free_when_he_leaves() {
    let (engine, servers) = engine();
    let (node, other) = (Node::new(), connect(&servers, Options::default()));
    let member = engine.join("n", &node).unwrap();
    let taken = other.join("n", &node).unwrap_err();
    assert!(matches!(taken, JoinError::Taken { label } if label == "n"));
    assert_eq!(other.labels().unwrap(), ["n"]);
    other.wait_for_all(&["n"], LONG).unwrap();
    let missing = other.wait_for_all(&["n", "m. x"], Duration::from_millis(50)).unwrap_err();
    assert!(matches!(missing, JoinError::Missing { labels } if labels == ["m. x"]));
    drop(member);
    assert!(other.labels().unwrap().is_empty());
    let again = other.join("n", &node).unwrap();
    assert!(!again.is_lost());
}

#[test]
fn label_of_one_who_died_is_taken_at_once() {
    let (engine, servers) = engine();
    let node = Node::new();
    let dying = connect(&servers, Options::default());
    let dead = dying.join("n", &node).unwrap();
    dying.close().unwrap();
    let _alive = engine.join("n", &node).unwrap();
    assert_eq!(engine.labels().unwrap(), ["n"]);
    drop(dead);
}

#[test]
fn segments_are_each_taken_once_by_many_takers() {
    const COUNT: u32 = 500;
    let (engine, servers) = engine();
    let node = Node::new();
    let member = engine.join("n", &node).unwrap();
    member.serve(&A).unwrap();
    let takers: Vec<_> = (0..4)
        .map(|_| {
            let peer = connect(&servers, Options::default()).peer("n");
            thread::spawn(move || {
                let taken = (0..COUNT / 4).map(|_| peer.take_within(&A, LONG).unwrap());
                taken.map(|taken| *taken.open().unwrap()).collect::<Vec<u32>>()
            })
        })
        .collect();
    let peer = engine.peer("n");
    (0..COUNT).for_each(|data| _ = peer.put(&A, data).unwrap());
    let mut all = Vec::new();
    for taker in takers {
        let taken = taker.join().unwrap();
        assert!(taken.is_sorted());
        all.extend(taken);
    }
    all.sort_unstable();
    assert!(all.into_iter().eq(0..COUNT));
}

/// Waits until so many wait for the text.
fn wait_for_line(node: &Node, count: usize) {
    let queue = node.queue(&TEXT).unwrap();
    while queue.waiting() != count {
        thread::yield_now();
    }
}

#[test]
fn peer_tells_what_its_node_looks_like() {
    let (engine, _servers) = engine();
    let node = Node::new();
    let _member = engine.join("n", &node).unwrap();
    node.code("both").when((take(&A), take(&TEXT))).once(|_, ()| ()).unwrap();
    node.put(&A, 7).unwrap();
    let status = engine.peer("n").status().unwrap();
    assert_eq!(status, node.status());
    assert_eq!(status.waiting[0].missing().collect::<Vec<_>>(), [TEXT.name()]);
    assert!(matches!(engine.peer("m").status(), Err(NotReceived::Nobody { .. })));
    assert!(engine.durable_queues().unwrap().is_empty());
    engine.peer("n").durable(&TEXT).put("kept".to_owned()).unwrap();
    let taken = engine.peer("n").durable(&TEXT).take().unwrap();
    let queues = engine.durable_queues().unwrap();
    let [queue] = &queues[..] else { panic!("{queues:?}") };
    assert_eq!((&*queue.label, &*queue.key), ("n", TEXT.name()));
    assert_eq!((queue.segments, queue.in_hand), (1, 1));
    drop(taken);
}

#[test]
fn compression_is_chosen_for_each_peer_and_key() {
    let (engine, _servers) = engine();
    let node = Node::new();
    let member = engine.join("n", &node).unwrap();
    let parcels: Key<Parcel<String>> = Key::named(TEXT.name());
    member.serve(&parcels).unwrap();
    let text = "la ".repeat(1000);
    let peers = [
        (engine.peer("n"), 1),
        (engine.peer("n").compress(Compress::Above { bytes: 100 }), 2),
        (engine.peer("n").compress(Compress::ZstdAbove { bytes: 100 }), 3),
    ];
    for (peer, first) in peers {
        peer.put(&TEXT, text.clone()).unwrap();
        let received = node.take(&parcels).unwrap().wire(Compress::Never).unwrap();
        assert_eq!(received[0], first);
        peer.durable(&TEXT).put(text.clone()).unwrap();
        let taken = peer.durable(&TEXT).take().unwrap();
        assert_eq!(taken.parcel().wire(Compress::Never).unwrap()[0], first);
        assert_eq!(*taken.open().unwrap(), text);
        taken.done().unwrap();
    }
    let text_node = Node::new();
    let other = engine.join("m", &text_node).unwrap();
    other.serve_compressed(&TEXT, Compress::ZstdAbove { bytes: 100 }).unwrap();
    text_node.put(&TEXT, text).unwrap();
    let taken = engine.peer("m").take(&TEXT).unwrap();
    assert_eq!(taken.parcel().wire(Compress::Never).unwrap()[0], 3);
}

#[test]
fn code_that_goes_on_holds_up_no_peer() {
    let (engine, _servers) = engine();
    let node = Node::on(&Pool::new(1).unwrap());
    let member = engine.join("n", &node).unwrap();
    member.serve(&TEXT).unwrap();
    let (release, held) = channel::<()>();
    let code = node.code("puts and goes on").when(take(&A)).to(&TEXT);
    code.once(move |_, text| {
        text.put("progress".to_owned()).unwrap();
        held.recv()
    })
    .unwrap();
    let peer = engine.peer("n");
    let taker = thread::spawn(move || peer.take_within(&TEXT, Duration::from_secs(1)));
    wait_for_line(&node, 1);
    node.put(&A, 1).unwrap();
    let taken = taker.join().unwrap();
    release.send(()).unwrap();
    assert_eq!(*taken.unwrap().open().unwrap(), "progress");
}

#[test]
fn segment_whose_taker_has_given_up_stays_with_its_owner() {
    let servers = NatsServers::start(1);
    let answer_within = Duration::from_millis(300);
    let impatient = || connect(&servers, Options { answer_within, ..Options::default() });
    let (owner, taker) = (impatient(), impatient());
    let node = Node::new();
    let member = owner.join("n", &node).unwrap();
    member.serve(&TEXT).unwrap();
    member.serve(&A).unwrap();
    let (release, held) = channel::<()>();
    // On the only thread of the owner's engine, which can answer nobody meanwhile.
    let code = node.code("holds up").when(take(&A)).to(&TEXT).run(Run::Here);
    code.once(move |_, text| {
        text.put("late".to_owned()).unwrap();
        held.recv()
    })
    .unwrap();
    let peer = taker.peer("n");
    let taking = thread::spawn(move || peer.take_within(&TEXT, Duration::from_millis(500)));
    wait_for_line(&node, 1);
    let puts = connect(&servers, Options::default()).peer("n");
    let putting = thread::spawn(move || puts.put(&A, 1));
    let taken = taking.join().unwrap();
    assert!(matches!(taken, Err(NotReceived::Unanswered)), "{taken:?}");
    release.send(()).unwrap();
    assert_eq!(*node.take_within(&TEXT, LONG).unwrap(), "late");
    drop(putting.join().unwrap());
}
