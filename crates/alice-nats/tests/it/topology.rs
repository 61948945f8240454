//! Topologies: places, holes, events, and members that return.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::{LONG, connect};
use alice::{Key, Node, take};
use alice_nats::{Engine, Event, Graph, JoinError, NotSent, Options, Part, Shape, Topology};
use jungle_testkit::{NatsServers, Rng, for_each_seed};

const A: Key<u32> = Key::new("a");

/// Long enough for whatever must not happen.
const SHORT: Duration = Duration::from_millis(50);

fn take_part(servers: &NatsServers, topology: &Topology, name: &str) -> (Engine, Part) {
    let engine = connect(servers, Options::default());
    let part = engine.take_part(topology, name, &Node::new()).unwrap();
    (engine, part)
}

fn known(part: &Part) -> String {
    let known = part.neighbours();
    known.iter().map(|(label, name)| format!("{label}={name}")).collect::<Vec<_>>().join(" ")
}

/// Waits until the part knows these.
fn wait_until_known(part: &Part, expected: &str) {
    while known(part) != expected {
        let why = "nothing more happens, and it is not so yet";
        part.events().take_within(LONG).unwrap_or_else(|_| panic!("{why}: {}", known(part)));
    }
}

fn wait_for_event(part: &Part, expected: &Event) {
    while *part.events().take_within(LONG).expect("it happens") != *expected {}
}

#[test]
fn newcomers_get_places_at_once_and_others_hear_of_them() {
    let servers = NatsServers::start(1);
    let ring = Topology::growing("ring", Shape::Ring);
    let (_a, ana) = take_part(&servers, &ring, "ana");
    assert_eq!((ana.place(), &*known(&ana)), (Some(0), ""));
    assert!(ana.peer("right").is_err());
    let (_b, ben) = take_part(&servers, &ring, "ben");
    assert_eq!((ben.place(), &*known(&ben)), (Some(1), "left=ana right=ana"));
    wait_for_event(&ana, &Event::Joined { name: "ben".into() });
    wait_until_known(&ana, "left=ben right=ben");
    let (_c, cleo) = take_part(&servers, &ring, "cleo");
    wait_for_event(&ana, &Event::Rewired { label: "left".into(), name: Some("cleo".into()) });
    assert_eq!(known(&cleo), "left=ben right=ana");
    for part in [&ana, &ben, &cleo] {
        part.wait_for(3, LONG).unwrap();
        part.wait_for_all(LONG).unwrap();
        assert_eq!(part.members(), ["ana", "ben", "cleo"]);
    }
    let few = ana.wait_for(4, SHORT).unwrap_err();
    assert!(matches!(few, JoinError::TooFew { there: 3, members: 4 }));
    assert_eq!(ana.peer("right").unwrap().label(), "ben");
}

#[test]
fn place_of_one_who_leaves_for_good_is_filled_by_the_last() {
    let servers = NatsServers::start(1);
    let tree = Topology::growing("tree", "tree:2".parse().unwrap());
    let mut all: BTreeMap<&str, (Engine, Part)> = BTreeMap::new();
    for name in ["n0", "n1", "n2", "n3", "n4"] {
        all.insert(name, take_part(&servers, &tree, name));
    }
    let (root, last) = (&all["n0"].1, &all["n4"].1);
    wait_until_known(root, "child0=n1 child1=n2");
    assert_eq!(known(last), "parent=n1");
    let (_engine, leaving) = all.remove("n1").unwrap();
    leaving.leave().unwrap();
    let (root, last) = (&all["n0"].1, &all["n4"].1);
    wait_until_known(root, "child0=n4 child1=n2");
    wait_until_known(last, "child0=n3 parent=n0");
    assert_eq!(last.place(), Some(1));
    wait_until_known(&all["n3"].1, "parent=n4");
    assert_eq!(root.members(), ["n0", "n2", "n3", "n4"]);
}

#[test]
fn one_who_returns_has_its_place_and_its_queued_work() {
    let servers = NatsServers::start(1);
    let ring = Topology::growing("ring", Shape::Ring).keep_places_for(LONG * 10);
    let (_a, ana) = take_part(&servers, &ring, "ana");
    let (b, ben) = take_part(&servers, &ring, "ben");
    let (_c, cleo) = take_part(&servers, &ring, "cleo");
    ana.wait_for(3, LONG).unwrap();
    // It dies, and says nothing to anybody; what it has must fade.
    b.close().unwrap();
    wait_for_event(&ana, &Event::Left { name: "ben".into() });
    wait_until_known(&ana, "left=cleo right=ben");
    let right = ana.peer("right").unwrap();
    assert!(matches!(right.put(&A, 7).unwrap_err().why, NotSent::Nobody { .. }));
    right.durable(&A).put(7).unwrap();
    let missing = ana.wait_for_all(SHORT).unwrap_err();
    assert!(matches!(missing, JoinError::Missing { labels } if labels == ["ben"]));
    drop(ben);
    let (engine, ben) = take_part(&servers, &ring, "ben");
    wait_for_event(&ana, &Event::Joined { name: "ben".into() });
    assert_eq!((ben.place(), &*known(&ben)), (Some(1), "left=ana right=cleo"));
    let work = engine.peer("ben").durable(&A).take_within(LONG).unwrap();
    assert_eq!(*work.open().unwrap(), 7);
    work.done().unwrap();
    assert_eq!(known(&cleo), "left=ben right=ana");
}

#[test]
fn place_of_the_dead_is_filled_after_some_time() {
    let servers = NatsServers::start(1);
    let star = Topology::growing("star", Shape::Star).keep_places_for(SHORT);
    let (h, hub) = take_part(&servers, &star, "hub of old");
    let (_a, ana) = take_part(&servers, &star, "ana");
    let (_b, ben) = take_part(&servers, &star, "ben");
    assert_eq!(known(&ben), "hub=hub of old");
    h.close().unwrap();
    drop(hub);
    wait_until_known(&ana, "hub=ben");
    wait_until_known(&ben, "spoke1=ana");
    // It returns, and finds another place.
    let (_h, hub) = take_part(&servers, &star, "hub of old");
    assert_eq!((hub.place(), &*known(&hub)), (Some(2), "hub=ben"));
}

#[test]
fn fixed_graph_waits_for_all_and_says_who_is_missing() {
    let servers = NatsServers::start(1);
    let dot = "digraph { ana -> ben [label=helper]; ben -> ana [label=boss]; cleo }";
    let graph = || Topology::fixed("office", Graph::parse(dot).unwrap());
    let (_a, ana) = take_part(&servers, &graph(), "ana");
    let missing = ana.wait_for_all(SHORT).unwrap_err();
    assert!(matches!(missing, JoinError::Missing { labels } if labels == ["ben", "cleo"]));
    // Each stays until all have seen all.
    let (sees, seen) = channel();
    let others = ["ben", "cleo"].map(|name| {
        let (addresses, graph, sees) = (servers.addresses(), graph(), sees.clone());
        let (stay, until) = channel::<()>();
        let thread = thread::spawn(move || {
            let engine = Engine::connect(&addresses, Options::default()).unwrap();
            let node = Node::new();
            let part = engine.take_part(&graph, name, &node).unwrap();
            part.member().serve(&A).unwrap();
            part.wait_for_all(LONG).unwrap();
            sees.send(()).unwrap();
            let taken = if name == "ben" { *node.take_within(&A, LONG).unwrap() } else { 0 };
            // Ends when the other side is dropped.
            let _ = until.recv();
            taken
        });
        (stay, thread)
    });
    ana.wait_for_all(LONG).unwrap();
    assert_eq!((ana.place(), &*known(&ana)), (None, "helper=ben"));
    // Who is there may not serve yet.
    while let Err(error) = ana.peer("helper").unwrap().put(&A, 5) {
        let is_early = matches!(error.why, NotSent::NotServed { .. } | NotSent::Nobody { .. });
        assert!(is_early, "{error:?}");
    }
    for _ in &others {
        seen.recv_timeout(LONG).expect("both see all");
    }
    let taken = others.map(|(stay, thread)| {
        drop(stay);
        thread.join().unwrap()
    });
    assert_eq!(taken, [5, 0]);
    wait_for_event(&ana, &Event::Left { name: "ben".into() });
    assert_eq!(known(&ana), "helper=ben", "a fixed graph stays as it is");
}

#[test]
fn names_topologies_and_graphs_that_do_not_fit_are_refused() {
    let servers = NatsServers::start(1);
    let graph = Shape::Ring.graph(&["ana", "ben"]).unwrap();
    let (engine, ana) = take_part(&servers, &Topology::fixed("t", graph.clone()), "ana");
    let join = |topology: &Topology, name: &str| {
        connect(&servers, Options::default()).take_part(topology, name, &Node::new()).map(drop)
    };
    let stranger = join(&Topology::fixed("t", graph.clone()), "eve").unwrap_err();
    assert!(matches!(stranger, JoinError::NotInGraph { name, .. } if name == "eve"));
    let taken = join(&Topology::fixed("t", graph), "ana").unwrap_err();
    assert!(matches!(taken, JoinError::Taken { label } if label == "ana"));
    let other = Topology::growing("t", Shape::Mesh);
    let differs = join(&other, "eve").unwrap_err();
    assert!(matches!(differs, JoinError::Differs { there, .. } if there.starts_with("fixed")));
    assert!(matches!(engine.view("u").unwrap_err(), JoinError::NoTopology { .. }));
    // When nobody of it is there, another one may have its name.
    drop(ana);
    join(&other, "eve").unwrap();
    assert_eq!(engine.topologies().unwrap(), ["t"]);
    assert_eq!(engine.view("t").unwrap().shape, "mesh");
}

#[test]
fn view_from_outside_shows_who_is_where() {
    let servers = NatsServers::start(1);
    let ring = Topology::growing("ring", Shape::Ring);
    let (_a, _ana) = take_part(&servers, &ring, "ana");
    let (_b, ben) = take_part(&servers, &ring, "ben");
    let engine = connect(&servers, Options::default());
    let there = || {
        let view = engine.view("ring").unwrap();
        let members = view.members.iter();
        members.map(|member| (member.name.clone(), member.is_there)).collect::<Vec<_>>()
    };
    assert_eq!(there(), [("ana".to_owned(), true), ("ben".to_owned(), true)]);
    assert_eq!(engine.view("ring").unwrap().edges.len(), 4);
    drop(ben);
    assert_eq!(there(), [("ana".to_owned(), true), ("ben".to_owned(), false)]);
}

#[test]
fn event_is_an_input_like_any_other() {
    const SEEN: Key<String> = Key::new("seen");
    let servers = NatsServers::start(1);
    let ring = Topology::growing("ring", Shape::Ring);
    let (engine, node) = (connect(&servers, Options::default()), Node::new());
    let ana = engine.take_part(&ring, "ana", &node).unwrap();
    let note = node.code("note").when(take(ana.events())).to(&SEEN);
    note.repeatedly(|event, seen| seen.put(format!("{:?}", **event))).unwrap();
    let _ben = take_part(&servers, &ring, "ben");
    while !node.take(&SEEN).unwrap().contains("Joined { name: \"ben\" }") {}
}

/// Many come and go, at random: in the end all see one whole ring, without holes.
#[test]
fn ring_is_whole_after_many_came_and_went() {
    for_each_seed(2, |rng| {
        let servers = NatsServers::start(1);
        let ring = Topology::growing("ring", Shape::Ring).keep_places_for(SHORT);
        let mut parts: BTreeMap<String, (Engine, Part)> = BTreeMap::new();
        for _ in 0..24 {
            let name = format!("n{}", rng.below(8));
            match parts.remove(&name) {
                None => _ = parts.insert(name.clone(), take_part(&servers, &ring, &name)),
                Some((_engine, part)) if rng.below(2) == 0 => part.leave().unwrap(),
                Some(gone) => drop(gone),
            }
        }
        check_ring(&servers, &ring, parts, rng);
    });
}

fn check_ring(
    servers: &NatsServers,
    ring: &Topology,
    mut parts: BTreeMap<String, (Engine, Part)>,
    rng: &mut Rng,
) {
    for _ in 0..3 {
        let name = format!("extra {}", rng.next_u64());
        parts.insert(name.clone(), take_part(servers, ring, &name));
    }
    let engine = connect(servers, Options::default());
    let began = std::time::Instant::now();
    let whole = loop {
        let view = engine.view("ring").unwrap();
        let places: Vec<usize> = view.members.iter().map(|member| member.place).collect();
        let is_whole = places.iter().copied().eq(0..parts.len());
        if is_whole && view.members.iter().all(|member| member.is_there) {
            break view;
        }
        assert!(began.elapsed() < LONG, "it stays like this: {view:?}");
    };
    let names: Vec<&str> = whole.members.iter().map(|member| member.name.as_str()).collect();
    for (at, name) in names.iter().enumerate() {
        let at_distance = |steps| names[(at + steps) % names.len()];
        let (left, right) = (at_distance(names.len() - 1), at_distance(1));
        wait_until_known(&parts[*name].1, &format!("left={left} right={right}"));
    }
}

#[test]
fn ring_goes_on_when_the_engine_loses_its_leader() {
    let mut servers = NatsServers::start(3);
    let options = || Options { replicas: 3, ..Options::default() };
    let ring = Topology::growing("ring", Shape::Ring);
    // While there is no leader, or three servers are slow, a member is asked to try again.
    let join = |servers: &NatsServers, name: &str| loop {
        let engine = connect(servers, options());
        match engine.take_part(&ring, name, &Node::new()) {
            Ok(part) => break (engine, part),
            Err(error) => assert!(matches!(error, JoinError::Engine { .. }), "{error:?}"),
        }
    };
    let (a, ana) = join(&servers, "ana");
    let (_b, ben) = join(&servers, "ben");
    a.peer("ana").durable(&A).put(1).unwrap();
    let leader = a.leader().unwrap().expect("it has just answered");
    servers.kill(servers.position(&leader).expect("it is one of ours"));
    let (_c, cleo) = join(&servers, "cleo");
    for part in [&ana, &ben, &cleo] {
        let all = part.wait_for(3, LONG);
        all.unwrap_or_else(|error| panic!("{part:?} has {:?}: {error}", part.members()));
    }
    wait_until_known(&ana, "left=cleo right=ben");
    wait_until_known(&ben, "left=ana right=cleo");
}
