//! The real engine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{
    Cluster, ConnectError, Fault, JoinError, LaterLog, Local, Log, LogError, NatsLog, Options,
    Role, Survey,
};
use jungle_db::{CommitOptions, Jungle, NotWritten, UpdateError};
use jungle_store::{OpenOptions, Store};
use jungle_testkit::{NatsServers, Passage, Rng, Scratch};
use tokio::runtime::Runtime;

use crate::support::{Cut, add, agree, int, newcomer, options, put};

const LONG: Duration = Duration::from_secs(30);

fn join(engine: &NatsServers, name: &str, replicas: usize) -> (Jungle, Cluster) {
    let jungle = Jungle::new().unwrap();
    let options = Options { replicas, ..options(name) };
    let cluster = Cluster::join(&engine.addresses(), &jungle, options).unwrap();
    (jungle, cluster)
}

#[test]
fn servers_on_one_engine_agree() {
    let engine = NatsServers::start(1);
    let servers = ["a", "b"].map(|name| join(&engine, name, 1));
    servers[0].0.create_tree("t").unwrap();
    servers[1].1.sync(Duration::from_secs(30)).unwrap();
    thread::scope(|scope| {
        for (jungle, _) in servers.iter().chain(&servers) {
            let tree = jungle.open_tree("t").unwrap();
            scope.spawn(move || (0..20).for_each(|_| add(&tree)));
        }
    });
    agree(&servers);
    let tree = servers[1].0.open_tree("t").unwrap();
    assert_eq!(int(&tree, "/", "n"), Some(80));
}

#[test]
fn commits_go_on_when_the_leader_is_killed() {
    let mut engine = NatsServers::start(3);
    let servers = ["a", "b"].map(|name| join(&engine, name, 3));
    let tree = servers[0].0.create_tree("t").unwrap();
    put(&tree, "/", "n", 1);
    for at in 0..3 {
        engine.kill(at);
        add(&tree);
        engine.restart(at);
    }
    agree(&servers);
    assert_eq!(int(&servers[1].0.open_tree("t").unwrap(), "/", "n"), Some(4));
}

/// Whoever led may have a message and never answer: the new one is asked at once.
#[test]
fn commits_hardly_wait_when_the_leader_ends_in_order() {
    let mut engine = NatsServers::start(3);
    let first = join(&engine, "first", 3);
    let tree = first.0.create_tree("t").unwrap();
    let mut gaps: Vec<Duration> =
        (0..3).map(|_| gap_at_drain(&mut engine, &first, &tree)).collect();
    gaps.sort();
    // An answer is waited for 2 s.
    assert!(gaps[1] < Duration::from_millis(1500), "{gaps:?}");
    agree(&[first]);
}

/// The longest time without a commit while the leader of the log ends in order.
fn gap_at_drain(
    engine: &mut NatsServers,
    first: &(Jungle, Cluster),
    tree: &jungle_db::TreeHandle,
) -> Duration {
    let survey = || first.1.survey(Duration::ZERO).unwrap().unwrap();
    let whole = retry(survey, is_whole);
    let leader = engine.position(&whole.log.leader.unwrap()).unwrap();
    engine.drain(leader);
    let (begun, mut last, mut longest) = (Instant::now(), Instant::now(), Duration::ZERO);
    while begun.elapsed() < Duration::from_secs(1) {
        add(tree);
        longest = longest.max(last.elapsed());
        last = Instant::now();
    }
    engine.kill(leader);
    engine.restart(leader);
    longest
}

/// Has the log a leader, and do the others have all of it?
fn is_whole(survey: &Survey) -> bool {
    survey.log.leader.is_some() && survey.log.replicas.iter().all(|it| it.current)
}

#[test]
fn commits_go_on_when_the_leader_is_cut_off() {
    let engine = NatsServers::start_relayed(3);
    let first = join(&engine, "first", 3);
    put(&first.0.create_tree("t").unwrap(), "/", "n", 1);
    let leader = first.1.survey(Duration::ZERO).unwrap().unwrap().log.leader.unwrap();
    let leader = engine.position(&leader).unwrap();
    let at = |name: &str, at: usize, seconds: u64| {
        let commit_within = Duration::from_secs(seconds);
        let options = Options { replicas: 3, commit_within, ..options(name) };
        let jungle = Jungle::new().unwrap();
        let cluster = Cluster::join(&engine.address(at), &jungle, options).unwrap();
        (jungle, cluster)
    };
    let [cut, with] = [at("cut", leader, 1), at("with", (leader + 1) % 3, 30)];
    engine.part(leader, Passage::Lost);
    thread::scope(|scope| {
        let tree = cut.0.open_tree("t").unwrap();
        let lost = scope.spawn(move || tree.update(|tx| tx.append(&[])));
        add(&with.0.open_tree("t").unwrap());
        let survey = with.1.survey(Duration::ZERO).unwrap().unwrap();
        assert_ne!(engine.position(&survey.log.leader.unwrap()), Some(leader));
        let lost = lost.join().unwrap();
        let Err(UpdateError::NotWritten(NotWritten::Undecided(_))) = lost else {
            panic!("{lost:?}");
        };
    });
    engine.mend();
    let servers = [first, cut, with];
    for (_, cluster) in &servers {
        // The old leader may not know of the new one yet.
        cluster.linearize(Duration::from_secs(30)).unwrap();
    }
    agree(&servers);
    let tree = servers[1].0.open_tree("t").unwrap();
    assert_eq!(int(&tree, "/", "n"), Some(2));
    assert_eq!(tree.snapshot().root().child_count(), 0);
}

#[test]
fn an_outage_is_told_until_it_is_over() {
    let mut engine = NatsServers::start(1);
    let (jungle, cluster) = join(&engine, "a", 1);
    let tree = jungle.create_tree("t").unwrap();
    assert_eq!(cluster.status().outage, None);
    let wait = |is_out: bool| {
        let begun = Instant::now();
        while cluster.status().outage.is_some() != is_out {
            assert!(begun.elapsed() < LONG, "{:?}", cluster.status());
            thread::park_timeout(Duration::from_millis(20));
        }
    };
    engine.kill(0);
    wait(true);
    let first = cluster.status().outage.unwrap();
    assert!(cluster.status().outage.unwrap() > first, "it goes on");
    assert_eq!(tree.snapshot().revision(), jungle.revision(), "what is here can be read");
    engine.restart(0);
    wait(false);
    put(&tree, "/", "n", 1);
}

/// One that was told to sync would be joined otherwise, and may lose what it has promised to keep.
#[test]
fn an_engine_that_is_too_old_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("nats://{}", listener.local_addr().unwrap());
    let old = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let greeting = r#"INFO {"version":"2.14.9","headers":true,"max_payload":1048576}"#;
        stream.write_all(format!("{greeting}\r\n").as_bytes()).unwrap();
        let heard = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        heard.filter(|line| line == "PING").for_each(|_| stream.write_all(b"PONG\r\n").unwrap());
    });
    let refused = NatsLog::connect(&address, &options("a")).map(drop);
    let Err(refused @ ConnectError::TooOld { .. }) = refused else { panic!("{refused:?}") };
    let told = refused.to_string();
    assert!(told.starts_with("the engine is NATS 2.14.9: 2.15 or newer is needed"), "{told}");
    old.join().unwrap();
}

/// Else it would be joined, and refuse what many commit at once.
#[test]
fn an_engine_that_takes_short_messages_only_is_refused() {
    let engine = NatsServers::start_with(1, "max_payload: 65536");
    let refused = NatsLog::connect(&engine.addresses(), &options("a")).map(drop);
    assert!(matches!(refused, Err(ConnectError::Payload { bytes: 65536 })), "{refused:?}");
}

/// It may well sync every two minutes: that is how it is set unless somebody says otherwise.
#[test]
fn an_engine_that_does_not_say_whether_it_syncs_is_refused() {
    let engine = NatsServers::start_with(1, "");
    let refused = NatsLog::connect(&engine.addresses(), &options("a")).map(drop);
    let Err(refused @ ConnectError::SyncUnknown) = refused else { panic!("{refused:?}") };
    let told = refused.to_string();
    assert!(told.contains("`jetstream { sync_interval: always }`"), "{told}");
    assert!(told.contains("`$SYS.REQ.SERVER.PING.JSZ`"), "{told}");
    let allowed = Options { allow_unsynced: true, ..options("a") };
    NatsLog::connect(&engine.addresses(), &allowed).map(drop).unwrap();
}

#[test]
fn how_the_log_ends_is_told_until_nobody_says_it() {
    let mut engine = NatsServers::start(1);
    let (jungle, _cluster) = join(&engine, "a", 1);
    jungle.create_tree("t").unwrap();
    let log = connect(&engine, 1);
    let (told, seen) = std::sync::mpsc::channel();
    log.watch_end(Arc::new(move |last| {
        let _ = told.send(last);
    }));
    assert_eq!(seen.recv_timeout(LONG), Ok(Some(1)));
    engine.kill(0);
    while seen.recv_timeout(LONG).unwrap().is_some() {}
}

#[test]
fn who_appends_says_so_and_who_rests_does_not() {
    let engine = NatsServers::start(1);
    let [(a, writer), (_, reader)] = &["a", "b"].map(|name| join(&engine, name, 1));
    let tree = a.create_tree("t").unwrap();
    let begun = Instant::now();
    // It is said of what was appended within a second.
    let roles = loop {
        put(&tree, "/", "n", 1);
        reader.sync(LONG).unwrap();
        let roles = [writer, reader].map(|cluster| cluster.status().role);
        if roles[0] == Role::Appends || begun.elapsed() > LONG {
            break roles;
        }
    };
    assert_eq!(roles, [Role::Appends, Role::Follows]);
    let told = writer.survey(Duration::from_secs(1)).unwrap().unwrap();
    assert!(told.servers.iter().all(|server| server.role.is_some()), "{told:?}");
    while writer.status().role == Role::Appends {
        assert!(begun.elapsed() < LONG * 2);
        thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn all_servers_say_how_they_stand() {
    let engine = NatsServers::start(3);
    let servers = ["a", "b"].map(|name| join(&engine, name, 3));
    servers[0].1.set_address("http://a");
    put(&servers[0].0.create_tree("t").unwrap(), "/", "n", 1);
    agree(&servers);
    let options = options("nobody");
    let ask = || Survey::take(&engine.addresses(), &options, Duration::from_millis(300)).unwrap();
    let survey = retry(ask, |survey| survey.servers.len() == 2);
    let [a, b] = &survey.servers[..] else { panic!("{survey:?}") };
    assert_eq!((&*a.server, a.address.as_deref()), ("a", Some("http://a")));
    assert_eq!((&*b.server, b.address.as_deref()), ("b", None));
    assert_eq!((a.followed, survey.lag(a), survey.lag(b)), (survey.log.last, 0, 0));
    assert!(a.hash.is_some() && a.hash == b.hash && a.revision == 2 && a.fault.is_none());
    assert!(survey.log.leader.is_some() && survey.log.replicas.len() == 2, "{survey:?}");
    assert_eq!(servers[1].1.survey(Duration::ZERO).unwrap().unwrap().log.last, survey.log.last);
    let [_, (_, b)] = servers;
    b.leave();
    retry(ask, |survey| survey.servers.len() == 1);
    let none = Options { name: "none".to_owned(), ..options };
    let none = Survey::take(&engine.addresses(), &none, Duration::ZERO).unwrap_err();
    assert!(matches!(none, ConnectError::NoCluster { .. }), "{none}");
}

/// A machine may have no time for an answer.
fn retry(mut ask: impl FnMut() -> Survey, is_so: impl Fn(&Survey) -> bool) -> Survey {
    loop {
        let survey = ask();
        if is_so(&survey) {
            return survey;
        }
    }
}

#[test]
fn a_folder_returns_to_its_cluster() {
    let engine = NatsServers::start(1);
    let dir = Scratch::new("jungle-cluster");
    let ours = join(&engine, "ours", 1);
    let tree = ours.0.create_tree("t").unwrap();
    for round in 0..3 {
        let store = Store::open(&dir).unwrap();
        let cluster = Cluster::join(&engine.addresses(), &store, options("theirs")).unwrap();
        put(&store.open_tree("t").unwrap(), "/", "theirs", round);
        put(&tree, "/", "ours", round);
        cluster.sync(Duration::from_secs(30)).unwrap();
        assert_eq!(int(&store.open_tree("t").unwrap(), "/", "ours"), Some(round));
        drop(cluster);
        drop(store);
        put(&tree, "/", "alone", round);
    }
}

#[test]
fn a_log_that_is_kept_otherwise_is_refused() {
    let engine = NatsServers::start(1);
    let _first = join(&engine, "a", 1);
    let other = Options { replicas: 3, ..options("b") };
    let refused = Cluster::join(&engine.addresses(), &Jungle::new().unwrap(), other);
    let Err(JoinError::Connect(ConnectError::Setting { setting, .. })) = refused else {
        panic!("{:?}", refused.err());
    };
    assert_eq!(setting, "replicas");
}

/// Else what many commit at once would be refused by a log that takes all else.
#[test]
fn a_log_that_takes_short_messages_only_is_refused() {
    let engine = NatsServers::start(1);
    connect(&engine, 1);
    let addresses = engine.addresses();
    let shortening = async move {
        let client = async_nats::connect(addresses).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = context.get_stream("jungle-jungle").await.unwrap();
        let mut config = stream.cached_info().config.clone();
        config.max_message_size = 65_536;
        context.update_stream(config).await.map(drop).unwrap();
    };
    Runtime::new().unwrap().block_on(shortening);
    let refused = NatsLog::connect(&engine.addresses(), &options("a")).map(drop);
    let Err(ConnectError::Setting { setting, found, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((setting, &*found), ("max_msg_size", "65536"));
}

/// Before anybody is asked: an engine makes logs on two or four servers as well.
#[test]
fn a_log_is_kept_on_one_three_or_five_servers() {
    for replicas in [0, 2, 4, 6] {
        let options = Options { replicas, ..options("a") };
        let refused = NatsLog::connect("nats://127.0.0.1:1", &options).map(drop);
        let Err(refused @ ConnectError::Replicas { .. }) = refused else { panic!("{refused:?}") };
        assert!(!refused.is_away(), "{refused}");
    }
}

/// Else they would go, and what they have is in the log no more.
#[test]
fn checkpoints_that_are_kept_otherwise_are_refused() {
    let engine = NatsServers::start(1);
    let addresses = engine.addresses();
    let making = async move {
        let client = async_nats::connect(addresses).await.unwrap();
        let config = async_nats::jetstream::object_store::Config {
            bucket: "jungle-jungle".to_owned(),
            max_age: Duration::from_hours(1),
            ..Default::default()
        };
        async_nats::jetstream::new(client).create_object_store(config).await.map(drop).unwrap();
    };
    Runtime::new().unwrap().block_on(making);
    let refused = NatsLog::connect(&engine.addresses(), &options("a")).map(drop);
    let Err(ConnectError::Setting { stream, setting, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((stream.as_str(), setting), ("OBJ_jungle-jungle", "max_age"));
}

/// The engine lets a server go on that has lost something, and lead, and tell others what it has.
#[test]
fn what_one_server_of_the_engine_has_damaged_comes_from_the_others() {
    let mut engine = NatsServers::start(3);
    let first = join(&engine, "first", 3);
    let tree = first.0.create_tree("t").unwrap();
    (0..100).for_each(|n| put(&tree, "/", "n", n));
    let leader = first.1.survey(Duration::ZERO).unwrap().unwrap().log.leader.unwrap();
    let at = engine.position(&leader).unwrap();
    // What ends as it should does not look at all it has when it begins again.
    end(engine.processes()[at]);
    engine.kill(at);
    let block = engine.kept(at).join("jetstream/JUNGLE/streams/jungle-jungle/msgs/1.blk");
    let mut bytes = std::fs::read(&block).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&block, bytes).unwrap();
    add(&tree);
    engine.restart(at);
    add(&tree);
    let survey = || first.1.survey(Duration::ZERO).unwrap().unwrap();
    retry(survey, is_whole);
    let_lead(&engine, &leader);
    retry(survey, |survey| survey.log.leader.as_ref() == Some(&leader));
    let mut servers = vec![first];
    // Chance says who sends what each of them follows.
    servers.extend((0..8).map(|n| join(&engine, &format!("late{n}"), 3)));
    agree(&servers);
}

/// Has a process end by itself.
fn end(process: u32) {
    let number = process.to_string();
    assert!(Command::new("kill").args(["-TERM", &number]).status().unwrap().success());
    let is_over = || {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat"));
        stat.is_ok_and(|stat| stat.contains(") Z "))
    };
    while !is_over() {
        thread::yield_now();
    }
}

/// Has a server of the engine lead the log, if it can.
fn let_lead(engine: &NatsServers, server: &str) {
    let (addresses, server) = (engine.addresses(), server.to_owned());
    let asking = async move {
        let client = async_nats::connect(addresses.split(',').collect::<Vec<_>>()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let question = serde_json::json!({ "placement": { "preferred": server } });
        let subject = "STREAM.LEADER.STEPDOWN.jungle-jungle";
        context.request::<_, _, serde_json::Value>(subject, &question).await.unwrap()
    };
    let said = Runtime::new().unwrap().block_on(asking);
    assert!(said.get("error").is_none(), "{said}");
}

fn connect(engine: &NatsServers, replicas: usize) -> Arc<NatsLog> {
    let options = Options { replicas, ..options("connects") };
    Arc::new(NatsLog::connect(&engine.addresses(), &options).unwrap())
}

#[test]
fn a_newcomer_after_a_trim_is_what_the_others_are() {
    let engine = NatsServers::start(3);
    let first = newcomer(connect(&engine, 3), "first").unwrap();
    let cut = Cut::new(connect(&engine, 3));
    let away = newcomer(Arc::clone(&cut), "away").unwrap();
    let tree = first.0.create_tree("t").unwrap();
    tree.branch("side", tree.snapshot().revision()).unwrap();
    away.1.sync(Duration::from_secs(30)).unwrap();
    cut.set(true);
    // Large enough for several parts.
    let mut rng = Rng::new(1);
    for round in 1..4 {
        let text = (0..200_000).map(|_| char::from(b'a' + rng.below(26) as u8));
        let text: String = text.collect();
        tree.update(|tx| tx.put_attribute(&[], &format!("text{round}"), &*text)).unwrap();
        first.1.checkpoint().unwrap();
    }
    put(&tree, "/", "n", 7);
    let log = connect(&engine, 3);
    assert_eq!(log.bounds().unwrap(), (5, 6));
    assert_eq!(log.depot().unwrap().stored().unwrap(), [5, 4]);
    let second = newcomer(log, "second").unwrap();
    assert_eq!(second.1.status().checkpoint, 5);
    put(&second.0.open_tree("t").unwrap(), "/", "m", 8);

    let dir = Scratch::new("jungle-newcomer");
    let folder = || {
        let log = connect(&engine, 3);
        Cluster::follow_in_folder(log, &dir, &OpenOptions::new(), &options("folder")).unwrap()
    };
    for _ in 0..2 {
        let (store, member) = folder();
        member.sync(Duration::from_secs(30)).unwrap();
        let tree = store.open_tree("t").unwrap();
        assert_eq!((int(&tree, "/", "n"), int(&tree, "/", "m")), (Some(7), Some(8)));
        drop(member);
    }

    cut.set(false);
    let Err(LogError::Ended(fault)) = away.1.sync(Duration::from_secs(30)) else {
        panic!("it goes on: {:?}", away.1.status());
    };
    assert!(away.1.status().fault.is_some() && fault.is_passing());
    assert!(matches!(&*fault, Fault::Trimmed { expected: 3, first: 5 }), "{fault:?}");
    agree(&[first, second]);
}

#[test]
fn a_cluster_is_restored_from_a_backup_of_a_folder() {
    let dir = Scratch::new("jungle-founded");
    let [before, backup, one, other] =
        ["before", "backup", "one", "other"].map(|name| dir.join(name));
    let follow = |engine: &NatsServers, folder: &std::path::Path, found: bool| {
        let options = Options { found, ..options("folder") };
        Cluster::follow_in_folder(connect(engine, 1), folder, &OpenOptions::new(), &options)
    };
    let lost = NatsServers::start(1);
    let (store, member) = follow(&lost, &before, false).unwrap();
    let tree = store.create_tree("t").unwrap();
    (0..5).for_each(|n| put(&tree, "/", "n", n));
    tree.tag("third", jungle_db::Revision::new(4)).unwrap();
    store.backup(&backup).unwrap();
    drop((tree, member));
    store.close().unwrap();
    drop(lost);

    let engine = NatsServers::start(1);
    OpenOptions::new().open(&backup).unwrap().backup(&one).unwrap();
    // Nobody begins with what is there by accident.
    let refused = follow(&engine, &one, false);
    assert!(matches!(refused, Err(JoinError::NotEmpty { .. })), "{refused:?}");
    let (first, member) = follow(&engine, &one, true).unwrap();
    // Before there is a message, and after: by who has nothing, and by who returns.
    let (second, with) = follow(&engine, &other, false).unwrap();
    drop(member);
    first.close().unwrap();
    let (first, member) = follow(&engine, &one, true).unwrap();
    let tree = first.open_tree("t").unwrap();
    put(&tree, "/", "m", 1);
    let (third, late) = newcomer(connect(&engine, 1), "late").unwrap();
    for (jungle, cluster) in [(&*second, &with), (&third, &late)] {
        cluster.sync(LONG).unwrap();
        let tree = jungle.open_tree("t").unwrap();
        assert_eq!((int(&tree, "/", "n"), int(&tree, "/", "m")), (Some(4), Some(1)));
        let tagged = tree.at_tag("third").unwrap();
        assert_eq!(tagged.root().attribute("n").unwrap().as_int(), Some(2));
        assert_eq!(tree.history(..).count(), 7);
    }
    // The next checkpoint takes the place of the first.
    member.checkpoint().unwrap();
    put(&tree, "/", "m", 2);
    member.checkpoint().unwrap();
    assert!(!connect(&engine, 1).depot().unwrap().stored().unwrap().contains(&1));
    drop((tree, member, with));
    drop((first, second));
    // Who was a server of the one that is lost may found it, too.
    let again = NatsServers::start(1);
    let (store, _member) = follow(&again, &before, true).unwrap();
    put(&store.open_tree("t").unwrap(), "/", "m", 3);
}

/// Nobody is left who needs the answers; the others are to write checkpoints.
#[test]
fn closing_ends_what_is_waited_for_and_lets_a_claim_go() {
    const AGES: Duration = Duration::from_hours(1);
    let mut engine = NatsServers::start(1);
    let (leaving, staying) = (connect(&engine, 1), connect(&engine, 1));
    let claim = |log: &NatsLog| log.depot().unwrap().claim("one");
    assert!(claim(&leaving).unwrap() && !claim(&staying).unwrap());
    leaving.close();
    leaving.depot().unwrap().release();
    assert!(claim(&staying).unwrap());
    engine.kill(0);
    thread::scope(|scope| {
        let (log, message) = (&staying, bytes::Bytes::from_static(b"message"));
        let waiting = [
            scope.spawn(move || log.append(0, &message, AGES).map(drop)),
            scope.spawn(move || log.get_within(1, AGES).map(drop)),
            scope.spawn(move || log.bounds().map(drop)),
        ];
        log.close();
        for waited in waiting.map(|thread| thread.join().unwrap()) {
            assert!(matches!(waited, Err(LogError::Closed)), "{waited:?}");
        }
    });
}

#[test]
fn one_server_at_a_time_writes_checkpoints() {
    let engine = NatsServers::start(1);
    let (a, b) = (connect(&engine, 1), connect(&engine, 1));
    let [a, b] = [&a, &b].map(|log| log.depot().unwrap());
    assert!(a.claim("a").unwrap());
    assert!(!b.claim("b").unwrap());
    a.release();
    assert!(b.claim("b").unwrap());
    // What could not be written to its end is not there.
    let failing = a.put(7, &mut |out| {
        out.write_all(&[1; 300_000])?;
        Err(jungle_store::StreamError::Short)
    });
    assert!(failing.is_err());
    assert!(b.stored().unwrap().is_empty());
    a.put(7, &mut |out| Ok(out.write_all(&[1; 300_000])?)).unwrap();
    a.put(8, &mut |out| Ok(out.write_all(&[2; 300_000])?)).unwrap();
    assert_eq!(b.stored().unwrap(), [8, 7]);
    b.remove(7).unwrap();
    b.remove(7).unwrap();
    assert_eq!(a.stored().unwrap(), [8]);
    let mut bytes = Vec::new();
    let stored = b.open(8).unwrap();
    assert_eq!(stored.bytes, 300_000);
    { stored.content }.read_to_end(&mut bytes).unwrap();
    assert!(bytes == [2; 300_000]);
}

#[test]
fn a_server_goes_on_by_itself_while_the_engine_is_away() {
    let mut engine = NatsServers::start(1);
    let dir = Scratch::new("jungle-local");
    let named = Options { commit_within: Duration::from_secs(2), ..options("alone") };
    let other = join(&engine, "other", 1);
    let tree = other.0.create_tree("t").unwrap();
    let append = |local: &Local, store: &Store| {
        let tree = store.open_tree("t").unwrap();
        let kept = local.update(&tree, &CommitOptions::default(), |tx| tx.append(&[])).unwrap();
        (kept.value, kept.id.unwrap())
    };
    let mut made = Vec::new();
    {
        let (data, log) = (dir.join("data"), connect(&engine, 1));
        let (store, cluster) =
            Cluster::follow_in_folder(log, &data, &OpenOptions::new(), &named).unwrap();
        let local = cluster.local(Store::open(dir.join("outbox")).unwrap()).unwrap();
        made.push(append(&local, &store));
        assert!(local.wait_for(made[0].1, LONG));
        engine.kill(0);
        made.push(append(&local, &store));
    }
    // It is started while the engine is away.
    let store = Store::open(dir.join("data")).unwrap();
    let id = Cluster::log_of(&dir.join("data")).unwrap().unwrap();
    let (addresses, later) = (engine.addresses(), named.clone());
    let log = LaterLog::new(id, move || {
        Ok(Arc::new(NatsLog::connect(&addresses, &later)?) as Arc<dyn Log>)
    });
    let cluster = Cluster::resume(Arc::new(log), &store, &named).unwrap();
    let local = cluster.local(Store::open(dir.join("outbox")).unwrap()).unwrap();
    assert_eq!(local.status().pending, 1);
    made.push(append(&local, &store));
    engine.restart(0);
    for (_, id) in &made {
        assert!(local.wait_for(*id, LONG), "{id}");
    }
    other.1.sync(LONG).unwrap();
    for (key, _) in &made {
        assert!(tree.read().root().child(key).is_some(), "{key}");
    }
    assert_eq!(tree.read().root().child_count(), 3);
    drop((local, cluster, store));
}

/// Else a server would take commits for ever that nobody gets.
#[test]
fn an_engine_that_does_not_take_the_credentials_is_not_away() {
    let engine = NatsServers::start_with(1, "authorization { user: a, password: b }");
    let refused = NatsLog::connect(&engine.addresses(), &options("a")).map(drop).unwrap_err();
    assert!(matches!(refused, ConnectError::Connect { .. }), "{refused:?}");
    assert!(!JoinError::from(refused).is_away());
    let addresses = engine.addresses();
    drop(engine);
    let away = NatsLog::connect(&addresses, &options("a")).map(drop).unwrap_err();
    assert!(JoinError::from(away).is_away());
}

/// Its own server of the engine takes the connection, and gives no log: there is no leader.
#[test]
fn a_server_goes_on_by_itself_while_most_of_the_engine_is_away() {
    let mut engine = NatsServers::start(3);
    let dir = Scratch::new("jungle-minority");
    let open = || Store::open(dir.join("outbox")).unwrap();
    let named = Options { replicas: 3, ..options("alone") };
    {
        let (data, log) = (dir.join("data"), connect(&engine, 3));
        let follow = Cluster::follow_in_folder(log, &data, &OpenOptions::new(), &named);
        let (store, cluster) = follow.unwrap();
        store.create_tree("t").unwrap();
        cluster.local(open()).unwrap();
    }
    (0..3).for_each(|at| engine.kill(at));
    // One that led would take itself for the leader for some seconds more, and as long as its disk
    // keeps it waiting. Started anew it leads nothing.
    engine.restart(2);
    let address = engine.address(2);
    let hasty = Options { join_within: Duration::from_secs(5), ..named.clone() };
    let refused = NatsLog::connect(&address, &hasty).map(drop).unwrap_err();
    let away = JoinError::from(refused);
    assert!(matches!(away, JoinError::Connect(ConnectError::Log { .. })), "{away:?}");
    assert!(away.is_away(), "{away:?}");
    // Who only looks has not said on how many servers it is, and is not asked whether they run.
    let looked = Survey::take(&address, &hasty, Duration::ZERO).map(drop).unwrap_err();
    assert!(looked.is_away() && matches!(looked, ConnectError::NotTold { .. }), "{looked:?}");
    let store = Store::open(dir.join("data")).unwrap();
    let id = Cluster::log_of(&dir.join("data")).unwrap().unwrap();
    let later = named.clone();
    let log =
        LaterLog::new(
            id,
            move || Ok(Arc::new(NatsLog::connect(&address, &later)?) as Arc<dyn Log>),
        );
    let cluster = Cluster::resume(Arc::new(log), &store, &named).unwrap();
    let local = cluster.local(open()).unwrap();
    let tree = store.open_tree("t").unwrap();
    let made = local.update(&tree, &CommitOptions::default(), |tx| tx.append(&[])).unwrap();
    engine.restart(0);
    engine.restart(1);
    assert!(local.wait_for(made.id.unwrap(), LONG * 2));
    assert!(tree.read().root().child(&made.value).is_some());
    drop((local, cluster, tree, store));
    // Of one server there is no majority that could come back.
    let single = NatsServers::start(1);
    let refused = NatsLog::connect(&single.addresses(), &hasty).map(drop).unwrap_err();
    assert!(!JoinError::from(refused).is_away());
}
