//! Level `local`: what servers commit by themselves, while they are cut off and through restarts.

mod copied;
mod crossed;
mod hours;
mod reverts;

use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{
    Appended, Cluster, ConnectError, Depot, JoinError, Kept, LaterLog, Local, LocalError, LocalId,
    LocalOutcome, LocalUpdateError, Log, LogError, LogId, Tail, WRITERS,
};
use jungle_db::{
    CommitMeta, CommitOptions, Draft, Jungle, NotWritten, Retention, Revision, TreeHandle,
    UpdateError,
};
use jungle_store::{read_checkpoint, write_checkpoint};
use jungle_testkit::Rng;
use jungle_tree::{ArenaOptions, EditError, Key, Node, Path};

use crate::memory::{Engine, FaultyLog};
use crate::support::{Cut, agree, int, newcomer, options, path, schedules};

/// A connection that can be cut off altogether.
pub struct Line {
    log: Arc<Cut<FaultyLog>>,
    is_off: AtomicBool,
    /// What is appended is, and nobody hears of it.
    is_deaf: AtomicBool,
}

impl Line {
    fn new(engine: &Arc<Engine>, rng: &mut Rng, faults: u64) -> Arc<Line> {
        let log = Cut::new(engine.connect(rng, faults));
        let (is_off, is_deaf) = Default::default();
        Arc::new(Line { log, is_off, is_deaf })
    }

    fn cut(&self, is_off: bool) {
        self.is_off.store(is_off, Ordering::SeqCst);
        self.log.set(is_off);
    }

    fn on(&self) -> Result<&Cut<FaultyLog>, LogError> {
        match self.is_off.load(Ordering::SeqCst) {
            true => Err(LogError::NoAnswer { within: Duration::ZERO, last: None }),
            false => Ok(&self.log),
        }
    }
}

impl Log for Line {
    fn id(&self) -> LogId {
        self.log.id()
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        let appended = self.on()?.append(after, message, within)?;
        match self.is_deaf.load(Ordering::SeqCst) {
            true => Err(LogError::NoAnswer { within, last: None }),
            false => Ok(appended),
        }
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.on()?.get(sequence)
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        self.on()?.bounds()
    }

    fn tail(&self, from: u64) -> Tail {
        self.log.tail(from)
    }

    fn close(&self) {
        self.log.close();
    }

    fn depot(&self) -> Option<&dyn Depot> {
        self.log.depot()
    }
}

/// A server with an outbox that outlives it.
struct Server {
    name: String,
    line: Arc<Line>,
    outbox: Arc<Jungle>,
    /// What is there while it runs.
    running: Option<((Jungle, Cluster), Arc<Local>)>,
}

impl Server {
    fn start(engine: &Arc<Engine>, rng: &mut Rng, faults: u64, name: &str) -> Server {
        let outbox = Arc::new(Jungle::new().unwrap());
        let line = Line::new(engine, rng, 0);
        let mut server = Server { name: name.to_owned(), line, outbox, running: None };
        server.join();
        // The number was had without faults.
        server.restart(engine, rng, faults);
        server
    }

    fn join(&mut self) {
        let joined = loop {
            // What an engine that fails at random says to that.
            match newcomer(Arc::clone(&self.line), &self.name) {
                Ok(joined) => break joined,
                Err(JoinError::Log(_)) => {}
                Err(error) => panic!("{error:?}"),
            }
        };
        let local = Local::open(&joined.1, Arc::clone(&self.outbox)).unwrap();
        self.running = Some((joined, local));
    }

    fn restart(&mut self, engine: &Arc<Engine>, rng: &mut Rng, faults: u64) {
        self.running = None;
        self.line = Line::new(engine, rng, faults);
        self.join();
    }

    /// Starts anew where the engine cannot be reached, with what it had on its disk.
    fn resume(&mut self, engine: &Arc<Engine>, rng: &mut Rng, faults: u64) {
        let (jungle, cluster) = self.running.take().unwrap().0;
        cluster.leave();
        let mut bytes = Vec::new();
        write_checkpoint(&jungle, &jungle.checkpoint(), &mut bytes).unwrap();
        let arena = ArenaOptions::default();
        let jungle = read_checkpoint(Jungle::builder(), &arena, &bytes[..]).unwrap();
        self.line = Line::new(engine, rng, faults);
        self.line.cut(true);
        let line = Arc::clone(&self.line);
        let log = LaterLog::new(engine.id, move || match line.on() {
            Ok(_) => Ok(Arc::clone(&line) as Arc<dyn Log>),
            Err(_) => Err(ConnectError::NoCluster { name: "t".to_owned() }),
        });
        let cluster = Cluster::resume(Arc::new(log), &jungle, &options(&self.name)).unwrap();
        let local = Local::open(&cluster, Arc::clone(&self.outbox)).unwrap();
        self.running = Some(((jungle, cluster), local));
    }

    fn local(&self) -> &Local {
        &self.running.as_ref().unwrap().1
    }

    fn pair(&self) -> &(Jungle, Cluster) {
        &self.running.as_ref().unwrap().0
    }

    fn tree(&self) -> TreeHandle {
        self.pair().1.sync(LONG).ok();
        self.pair().0.open_tree("t").unwrap()
    }

    fn update<T>(
        &self,
        message: &str,
        f: impl FnOnce(&mut Draft) -> Result<T, EditError>,
    ) -> Result<Kept<T>, LocalUpdateError<EditError>> {
        let options = CommitOptions::from(&CommitMeta::new().message(message));
        let tree = self.pair().0.open_tree("t").unwrap();
        self.local().update(&tree, &options, f)
    }

    /// Appends below the root without looking at what others did last.
    fn extend(&self, name: &str) -> Result<Kept<Path>, LocalUpdateError<EditError>> {
        let tree = self.pair().0.open_tree("t").unwrap();
        self.local().extend(&tree, &CommitOptions::default(), |tx| {
            let path = Path::root().join(tx.append(&[])?);
            tx.put_attribute(&path, "name", name)?;
            Ok(path)
        })
    }

    /// Appends below a node, and names what it has appended.
    fn append(&self, at: &str, name: &str) -> Kept<Path> {
        let parent = path(at);
        let kept = self.update(name, |tx| {
            let path = parent.join(tx.append(&parent)?);
            tx.put_attribute(&path, "name", name)?;
            Ok(path)
        });
        kept.unwrap()
    }

    /// Publishes all that there is.
    fn publish(&self) {
        while self.pair().1.sync(LONG).is_err() {}
        let mut failed = 0;
        loop {
            match self.local().publish_next() {
                Ok(None) => return,
                Ok(Some(_)) => failed = 0,
                Err(LocalError::NotPublished(_)) if failed < 1000 => failed += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

const LONG: Duration = Duration::from_secs(30);

fn world(rng: &mut Rng, names: &[&str], faults: u64) -> (Arc<Engine>, Vec<Server>) {
    let engine = Arc::new(Engine::default());
    let servers: Vec<Server> =
        names.iter().map(|name| Server::start(&engine, rng, faults, name)).collect();
    // It may come to nothing that is known of.
    while servers[0].pair().0.open_tree("t").is_err() {
        let _ = servers[0].pair().0.create_tree("t");
        servers[0].pair().1.sync(LONG).unwrap();
    }
    servers.iter().for_each(|server| assert!(server.pair().1.sync(LONG).is_ok()));
    (engine, servers)
}

fn all_agree(servers: &mut [Server]) {
    let (pairs, locals): (Vec<_>, Vec<_>) =
        servers.iter_mut().map(|server| server.running.take().unwrap()).unzip();
    agree(&pairs);
    for ((server, pair), local) in servers.iter_mut().zip(pairs).zip(locals) {
        server.running = Some((pair, local));
    }
}

fn name_at(root: Node<'_>, at: &[Key]) -> Option<String> {
    Some(root.at(at).ok()?.attribute("name")?.as_text()?.to_owned())
}

/// All names that are there.
fn names(root: Node<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    root.visit(|node| {
        names.extend(node.attribute("name").map(|name| name.as_text().unwrap().to_owned()));
    });
    names
}

#[test]
fn entries_that_follow_different_revisions_are_read_back() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a", "b"], 0);
    let early = servers[0].append("/", "early");
    // What comes later is done on what the other one made meanwhile.
    let theirs = servers[1].tree().update(|tx| tx.append(&[])).unwrap().value;
    let theirs = Path::root().join(theirs);
    servers[0].tree();
    let later = servers[0].append(&theirs.to_string(), "later");
    let behind = servers[0].extend("behind").unwrap();
    servers[0].restart(&engine, rng, 0);
    let status = servers[0].local().status();
    assert_eq!((status.pending, status.refused), (3, 0));
    let tree = servers[0].tree();
    let here = servers[0].local().snapshot(&tree).unwrap();
    for (path, name) in [(&early.value, "early"), (&later.value, "later")] {
        assert_eq!(name_at(here.root(), path).as_deref(), Some(name));
    }
    servers[0].publish();
    all_agree(&mut servers);
    let there = servers[1].tree().snapshot();
    assert_eq!(name_at(there.root(), &later.value).as_deref(), Some("later"));
    assert_eq!(name_at(there.root(), &behind.value).as_deref(), Some("behind"));
}

#[test]
fn what_extends_sees_its_own_and_may_miss_what_others_did_last() {
    let rng = &mut Rng::new(1);
    let (_engine, mut servers) = world(rng, &["a", "b"], 0);
    let first = servers[0].extend("first").unwrap();
    servers[1].tree().update(|tx| tx.put_attribute(&[], "name", "theirs")).unwrap();
    let tree = servers[0].tree();
    let options = CommitOptions::default();
    let seen = servers[0].local().extend(&tree, &options, |tx| {
        let name = tx.attribute(&[], "name")?.and_then(|name| name.as_text()).map(str::to_owned);
        Ok::<_, EditError>((name, tx.exists(&first.value)))
    });
    assert_eq!(seen.unwrap().value, (None, true));
    let (here, newest) = servers[0].local().look(&tree).unwrap();
    assert_eq!(name_at(here.root(), &[]).as_deref(), Some("theirs"));
    assert_eq!(newest, first.id);
    servers[0].publish();
    assert_eq!(servers[0].local().look(&tree).unwrap().1, None);
    all_agree(&mut servers);
}

#[test]
fn a_server_that_is_cut_off_goes_on_and_is_heard_later() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a", "b"], 0);
    servers.iter().for_each(|server| server.line.cut(true));
    let a = servers[0].append("/", "a");
    let b = servers[1].append("/", "b");
    assert_eq!(
        (a.value.to_string(), b.value.to_string()),
        ("/0.000111".into(), "/0.010111".into())
    );
    let id = a.id.unwrap();
    assert_eq!(id.to_string().parse(), Ok(id));
    // Here it is seen, elsewhere it is not.
    let tree = servers[0].pair().0.open_tree("t").unwrap();
    assert!(servers[0].local().snapshot(&tree).unwrap().root().at(&a.value).is_ok());
    assert!(tree.read().root().at(&a.value).is_err());
    assert!(matches!(servers[0].local().publish_next(), Err(LocalError::NotPublished(_))));
    let status = servers[0].local().status();
    assert_eq!((status.pending, status.refused), (1, 0));
    assert!(status.oldest.unwrap().as_micros() > 1_700_000_000_000_000);
    assert_eq!(servers[0].local().outcome(id).unwrap(), LocalOutcome::Pending);
    // It goes away with that, and comes back.
    servers[0].restart(&engine, rng, 0);
    assert_eq!(servers[0].local().status().pending, 1);
    // What comes later has the later number, although nobody remembers what was given.
    let later = servers[0].append("/", "later");
    assert_eq!(later.value.to_string(), "/1.00400312");
    // Again, while it is cut off: what it gives then is its own, too.
    servers[0].resume(&engine, rng, 0);
    assert_eq!(servers[0].local().status().pending, 2);
    let cut = servers[0].append("/", "cut");
    assert_eq!(cut.value.to_string(), "/2.00800512");
    let tree = servers[0].pair().0.open_tree("t").unwrap();
    let refused = tree.update(|tx| tx.append(&[]));
    assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::Refused(_)))));
    servers.iter().for_each(|server| server.line.cut(false));
    servers.iter().for_each(Server::publish);
    all_agree(&mut servers);
    for server in &servers {
        let tree = server.tree();
        for (made, name) in [(&a, "a"), (&b, "b"), (&later, "later"), (&cut, "cut")] {
            assert_eq!(name_at(tree.read().root(), &made.value).as_deref(), Some(name));
            assert!(server.local().wait_for(made.id.unwrap(), LONG));
            assert_eq!(server.local().outcome(made.id.unwrap()).unwrap(), LocalOutcome::Settled);
        }
        assert_eq!(server.local().status().pending, 0);
    }
}

#[test]
fn the_last_attribute_wins_and_what_contradicts_is_refused() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a", "b"], 0);
    let made = servers[0].append("/", "made").value;
    servers[0].publish();
    servers[1].pair().1.sync(LONG).unwrap();
    servers.iter().for_each(|server| server.line.cut(true));
    let put = |server: &Server, n: i64| {
        let kept = server.update("put", |tx| tx.put_attribute(&[], "n", n));
        kept.unwrap().id.unwrap()
    };
    put(&servers[0], 1);
    put(&servers[1], 2);
    let removed = servers[0].update("remove", |tx| tx.remove(&made)).unwrap().id.unwrap();
    let below = servers[1].append(&made.to_string(), "below");
    let other = put(&servers[1], 3);
    servers.iter().for_each(|server| server.line.cut(false));
    servers.iter().for_each(Server::publish);
    all_agree(&mut servers);
    let tree = servers[0].tree();
    assert_eq!(int(&tree, "/", "n"), Some(3));
    assert!(tree.read().root().at(&made).is_err());
    // All of it is in the history.
    let history: BTreeSet<i64> = tree
        .history(..)
        .filter_map(|info| tree.at(info.unwrap().revision).unwrap().root().attribute("n")?.as_int())
        .collect();
    assert_eq!(history, BTreeSet::from([1, 2, 3]));
    let local = servers[1].local();
    let refused = local.refused().unwrap();
    assert_eq!((refused.len(), refused[0].id), (1, below.id.unwrap()));
    assert!(refused[0].why.contains("they removed what we changed"), "{}", refused[0].why);
    assert_eq!(refused[0].edit.changes.len(), 2);
    assert_eq!(refused[0].meta.message_text(), Some("below"));
    assert_eq!(local.outcome(below.id.unwrap()).unwrap(), LocalOutcome::Refused);
    for settled in [removed, other] {
        assert_eq!(local.outcome(settled).unwrap(), LocalOutcome::Settled);
    }
    // It is there after a restart, until it is forgotten.
    servers[1].restart(&engine, rng, 0);
    let local = servers[1].local();
    assert_eq!((local.status().refused, local.status().pending), (1, 0));
    assert!(local.forget(below.id.unwrap()).unwrap());
    assert!(!local.forget(below.id.unwrap()).unwrap());
    assert!(local.refused().unwrap().is_empty());
}

#[test]
fn entries_of_a_deleted_tree_are_refused() {
    let rng = &mut Rng::new(1);
    let (_engine, servers) = world(rng, &["a", "b"], 0);
    servers[0].line.cut(true);
    let lost = servers[0].append("/", "lost").id.unwrap();
    servers[1].pair().0.delete_tree("t").unwrap();
    servers[0].line.cut(false);
    servers[0].pair().1.sync(LONG).unwrap();
    servers[0].publish();
    assert_eq!(servers[0].local().outcome(lost).unwrap(), LocalOutcome::Refused);
}

/// What others did once it had its place takes nothing of it away.
#[test]
fn an_entry_that_had_its_place_is_settled_though_its_tree_is_deleted() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a", "b"], 0);
    let placed = servers[0].append("/", "placed").id.unwrap();
    // It has its place, and is stopped before it knows.
    servers[0].line.is_deaf.store(true, Ordering::SeqCst);
    assert!(servers[0].local().publish_next().is_err());
    servers[1].tree();
    servers[1].pair().0.delete_tree("t").unwrap();
    servers[0].restart(&engine, rng, 0);
    assert_eq!(servers[0].local().outcome(placed).unwrap(), LocalOutcome::Settled);
    assert_eq!(servers[0].local().status().refused, 0);
}

/// As when a branch keeps its newest version only, and others have made one since.
#[test]
fn what_follows_a_version_that_is_gone_is_refused_unless_it_only_adds() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a", "b"], 0);
    let made = servers[0].append("/", "made").value;
    servers[0].publish();
    servers[1].tree().set_retention(Retention::Last(1)).unwrap();
    servers[0].tree();
    let removed = servers[0].update("remove", |tx| tx.remove(&made)).unwrap().id.unwrap();
    let added = servers[0].append("/", "added");
    let renamed = servers[0].update("put", |tx| tx.put_attribute(&[], "name", "ours"));
    let theirs = servers[1].tree().update(|tx| tx.append(&made)).unwrap().value;
    servers[0].restart(&engine, rng, 0);
    let refused = servers[0].local().refused().unwrap();
    let ids: Vec<_> = refused.iter().map(|refused| Some(refused.id)).collect();
    assert_eq!(ids, [Some(removed), renamed.unwrap().id]);
    assert!(refused[0].why.contains("is not kept here any more"), "{}", refused[0].why);
    servers[0].publish();
    all_agree(&mut servers);
    let now = servers[1].tree().snapshot();
    assert_eq!(name_at(now.root(), &added.value).as_deref(), Some("added"));
    assert!(now.root().at(&made.join(theirs)).is_ok());
}

/// As when the log has lost that this server has its number, and another one has it now.
#[test]
fn an_entry_that_another_has_settled_is_not_lost() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a"], 0);
    let id = servers[0].append("/", "late").id.unwrap();
    let writers = servers[0].pair().0.open_tree(WRITERS).unwrap();
    writers.update(|tx| tx.put_attribute(&path("/0"), "settled", 100)).unwrap();
    let refused = servers[0].local().publish_next();
    assert!(matches!(refused, Err(LocalError::Copied { writer: 0 })), "{refused:?}");
    servers[0].restart(&engine, rng, 0);
    assert_eq!(servers[0].local().outcome(id).unwrap(), LocalOutcome::Refused);
    assert_eq!(servers[0].local().publish_next().unwrap(), None);
}

#[test]
fn an_outbox_is_of_one_cluster_and_of_one_server() {
    let rng = &mut Rng::new(1);
    let (engine, servers) = world(rng, &["a"], 0);
    let other = Engine::known_by(LogId([1; 16]));
    let theirs = newcomer(other.connect(rng, 0), "x").unwrap();
    let refused = Local::open(&theirs.1, Arc::clone(&servers[0].outbox)).map(drop);
    assert!(matches!(refused, Err(LocalError::OtherCluster { .. })), "{refused:?}");
    // One that begins anew has another number: what it gives nobody has given.
    let again = newcomer(engine.connect(rng, 0), "a").unwrap();
    let local = Local::open(&again.1, Box::new(Jungle::new().unwrap())).unwrap();
    assert_eq!((servers[0].local().status().writer, local.status().writer), (0, 1));
}

/// An engine that takes connections, and then says nothing, may take half a minute of each try.
#[test]
fn who_leaves_does_not_wait_for_an_engine_that_is_looked_for() {
    let (looked, is_looked_for) = channel();
    let (answer, answered) = channel::<()>();
    let answered = Mutex::new(answered);
    let log = LaterLog::new(LogId::default(), move || {
        looked.send(()).unwrap();
        let _ = answered.lock().unwrap().recv();
        Err(ConnectError::NoCluster { name: "t".to_owned() })
    });
    let jungle = Jungle::new().unwrap();
    let cluster = Cluster::resume(Arc::new(log), &jungle, &options("a")).unwrap();
    is_looked_for.recv().unwrap();
    // Nor does anybody else who asks meanwhile.
    assert!(matches!(cluster.sync(LONG), Err(LogError::NoAnswer { .. })));
    cluster.leave();
    drop(answer);
}

/// A folder that lost its end with the power, and an engine that is away.
#[test]
fn an_outbox_is_opened_once_what_it_follows_is_there() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let ours = newcomer(engine.connect(rng, 0), "ours").unwrap();
    let (tree, outbox) = (ours.0.create_tree("t").unwrap(), Arc::new(Jungle::new().unwrap()));
    let local = Local::open(&ours.1, Arc::clone(&outbox)).unwrap();
    let here = ours.0.revision();
    let mut folder = Vec::new();
    write_checkpoint(&ours.0, &ours.0.checkpoint(), &mut folder).unwrap();
    let added = tree.update(|tx| tx.append(&[])).unwrap().value;
    let follows = ours.0.revision();
    let edit = |tx: &mut Draft| tx.put_attribute(slice::from_ref(&added), "name", "new");
    let id = local.update(&tree, &CommitOptions::default(), edit).unwrap().id.unwrap();
    drop(local);
    ours.1.leave();
    let jungle = read_checkpoint(Jungle::builder(), &ArenaOptions::default(), &folder[..]).unwrap();
    let away = || Err(ConnectError::NoCluster { name: "t".to_owned() });
    let log = Arc::new(LaterLog::new(engine.id, away));
    let cluster = Cluster::resume(log, &jungle, &options("ours")).unwrap();
    match Local::open(&cluster, Arc::clone(&outbox)).map(drop) {
        Err(LocalError::Behind { follows: base, here: end }) => {
            assert_eq!((base, end), (follows, here));
        }
        other => panic!("{other:?}"),
    }
    cluster.leave();
    let (jungle, cluster) = newcomer(engine.connect(rng, 0), "ours").unwrap();
    let local = Local::open(&cluster, outbox).unwrap();
    while local.publish_next().unwrap().is_some() {}
    assert_eq!(local.outcome(id).unwrap(), LocalOutcome::Settled);
    let tree = jungle.open_tree("t").unwrap();
    assert_eq!(name_at(tree.read().root(), slice::from_ref(&added)).as_deref(), Some("new"));
}

#[test]
fn entries_are_published_by_the_server_itself() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let first = newcomer(engine.connect(rng, 0), "first").unwrap();
    let second = newcomer(engine.connect(rng, 0), "second").unwrap();
    let local = first.1.local(Box::new(Jungle::new().unwrap())).unwrap();
    assert!(matches!(first.1.local(Box::new(Jungle::new().unwrap())), Err(LocalError::Opened)));
    let tree = first.0.create_tree("t").unwrap();
    let ids: Vec<LocalId> = (0..50)
        .map(|_| local.update(&tree, &CommitOptions::default(), |tx| tx.append(&[])).unwrap())
        .map(|kept: Kept<Key>| kept.id.unwrap())
        .collect();
    assert!(local.wait_for(ids[49], LONG));
    agree(&[first, second]);
}

/// What waits of one author is one commit, as far as it only adds nodes to what is there; none of
/// it is there twice, although nobody hears that it has its place.
#[test]
fn messages_of_one_author_are_published_together() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let line = Line::new(&engine, rng, 0);
    let ours = newcomer(Arc::clone(&line), "ours").unwrap();
    let theirs = newcomer(engine.connect(rng, 0), "theirs").unwrap();
    let outbox = Arc::new(Jungle::new().unwrap());
    // Nothing of this is published yet.
    let local = Local::open(&ours.1, Arc::clone(&outbox)).unwrap();
    let tree = ours.0.create_tree("t").unwrap();
    let post_to = |local: &Local, author: &str, below: &[Key]| {
        let options = CommitOptions::from(&CommitMeta::new().author(author));
        let kept = local.extend(&tree, &options, |tx| {
            let path = Path::from(below).join(tx.append(below)?);
            tx.put_attribute(&path, "by", author)?;
            Ok::<_, EditError>(path)
        });
        kept.unwrap()
    };
    let post = |author: &str, below: &[Key]| post_to(&local, author, below);
    let first = post("ana", &[]).value;
    post("ana", &[]);
    // Another author, who adds to what has its place by then, and to what has not.
    let of_ben = post("ben", &[]).value;
    post("ben", &first);
    post("ben", &of_ben);
    post("ben", &[]);
    // An edit of what is there.
    let options = CommitOptions::from(&CommitMeta::new().author("ben"));
    local.update(&tree, &options, |tx| tx.put_attribute(&first, "by", "ben")).unwrap();
    post("ben", &[]);
    let revision = ours.0.revision().number();
    line.is_deaf.store(true, Ordering::SeqCst);
    drop(local);
    let local = ours.1.local(outbox).unwrap();
    assert!(theirs.1.wait_for(Revision::new(revision + 5), LONG));
    line.is_deaf.store(false, Ordering::SeqCst);
    let last = post_to(&local, "ben", &[]).id.unwrap();
    assert!(local.wait_for(last, LONG));
    let authors =
        tree.history(..).filter_map(|info| Some(info.unwrap().meta.author_name()? == "ana"));
    assert_eq!(authors.collect::<Vec<_>>(), [false, false, false, false, false, true]);
    let now = tree.snapshot();
    let children = |path: &[Key]| now.root().at(path).unwrap().child_count();
    assert_eq!((children(&[]), children(&first), children(&of_ben)), (6, 1, 1));
    assert_eq!((local.status().pending, local.status().refused), (0, 0));
    agree(&[ours, theirs]);
}

#[test]
fn an_entry_whose_place_is_not_known_has_one_only() {
    let rng = &mut Rng::new(1);
    let (_engine, servers) = world(rng, &["a"], 0);
    let (server, line) = (&servers[0], &servers[0].line);
    let id = server.update("entry", |tx| tx.put_attribute(&[], "n", 1)).unwrap().id.unwrap();
    line.log.set(true);
    line.is_deaf.store(true, Ordering::SeqCst);
    assert!(matches!(server.local().publish_next(), Err(LocalError::NotPublished(_))));
    line.is_deaf.store(false, Ordering::SeqCst);
    // It is tried again behind another commit, so that it would be another message.
    line.log.hold(true);
    let tree = server.pair().0.open_tree("t").unwrap();
    let (begun, has_begun) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| tree.update(|tx| tx.put_attribute(&[], "m", 2)).unwrap());
        line.log.wait_held();
        let again = scope.spawn(move || {
            begun.send(()).unwrap();
            server.local().publish_next().unwrap()
        });
        has_begun.recv().unwrap();
        (0..1000).for_each(|_| std::thread::yield_now());
        line.log.hold(false);
        line.log.set(false);
        // It may have come to know that first.
        assert!(again.join().unwrap().is_none_or(|published| published == id));
    });
    let writers = server.pair().0.open_tree(WRITERS).unwrap();
    let published = writers
        .history(..)
        .filter(|info| info.as_ref().unwrap().meta.message_text() == Some("entry"));
    assert_eq!(published.count(), 1);
    assert_eq!((int(&tree, "/", "n"), int(&tree, "/", "m")), (Some(1), Some(2)));
    assert_eq!(server.local().outcome(id).unwrap(), LocalOutcome::Settled);
}

/// What was acknowledged: its name, and the node that was made, if one was.
struct Acknowledged {
    message: String,
    id: LocalId,
    server: usize,
    made: Option<Path>,
}

/// Edits at random; gives the path of what it made.
fn edit(tx: &mut Draft, rng: &mut Rng, message: &str) -> Result<Option<Path>, EditError> {
    let mut paths: Vec<Path> = vec![Path::root()];
    let mut walk = tx.base().root().walk();
    while walk.next().is_some() {
        paths.push(walk.path());
    }
    let at = rng.pick(&paths).clone();
    let position = match at.last() {
        Some(Key::Position(position)) => Some(position.clone()),
        _ => None,
    };
    let parent = Path::from(&at[..at.depth().saturating_sub(1)]);
    let made = match (rng.below(10), position) {
        (0, Some(position)) => parent.join(tx.insert_before(&parent, &position)?),
        (1, Some(position)) => parent.join(tx.insert_after(&parent, &position)?),
        (2, _) => at.join(tx.insert_at(&at, rng.below(3))?),
        (3, Some(_)) => {
            tx.remove(&at)?;
            return Ok(None);
        }
        (4, Some(_)) if at.depth() > 1 => {
            // Names are the caller's, so what is there under one is another matter.
            tx.move_node(&at, &[], &Key::from(message))?;
            return Ok(None);
        }
        (5, _) => {
            tx.put_attribute(&at, "value", message)?;
            return Ok(None);
        }
        _ => at.join(tx.append(&at)?),
    };
    tx.put_attribute(&made, "name", message)?;
    Ok(Some(made))
}

/// One step of a schedule.
fn step(engine: &Arc<Engine>, servers: &mut [Server], rng: &mut Rng, faults: u64) {
    let at = rng.index(servers.len());
    match rng.below(12) {
        0 => servers[at].line.cut(true),
        1 | 2 => servers[at].line.cut(false),
        3 if !servers[at].line.is_off.load(Ordering::SeqCst) => {
            servers[at].restart(engine, rng, faults);
        }
        3 => servers[at].resume(engine, rng, faults),
        4..=9 => {
            let published = servers[at].local().publish_next();
            assert!(!matches!(published, Err(LocalError::BrokenOff)), "it has panicked");
        }
        _ => {
            // A commit as ever, beside them.
            let tree = servers[at].pair().0.open_tree("t").unwrap();
            let mut rng = rng.fork();
            let _ = tree.update(|tx| edit(tx, &mut rng, "quorum"));
        }
    }
}

#[test]
fn servers_agree_and_lose_nothing_whatever_happens() {
    schedules("local", 20, "", |rng| {
        let faults = *rng.pick(&[0, 10, 40]);
        let all = ["a", "b", "c", "d", "e"];
        let all = &all[..rng.range(2..6) as usize];
        let (engine, mut servers) = world(rng, all, faults);
        let mut acknowledged = Vec::new();
        for number in 0..120 {
            if rng.chance(1, 2) {
                step(&engine, &mut servers, rng, faults);
                continue;
            }
            let server = rng.index(servers.len());
            let message = format!("m{number}");
            let kept = servers[server].update(&message, |tx| edit(tx, rng, &message)).unwrap();
            let Some(id) = kept.id else { continue };
            if kept.value.is_some() {
                let here = servers[server].local().snapshot(&servers[server].tree()).unwrap();
                let outcome = servers[server].local().outcome(id).unwrap();
                // Others may have moved it meanwhile, but it is there until it has its place.
                let is_there = names(here.root()).contains(&message);
                assert!(is_there || outcome != LocalOutcome::Pending, "{message}");
            }
            acknowledged.push(Acknowledged { message, id, server, made: kept.value });
        }
        servers.iter().for_each(|server| server.line.cut(false));
        servers.iter().for_each(Server::publish);
        all_agree(&mut servers);
        nothing_is_lost(&servers, &acknowledged);
    });
}

/// Each entry was done once, or is refused; and each path named one node only, ever.
fn nothing_is_lost(servers: &[Server], acknowledged: &[Acknowledged]) {
    let jungle = &servers[0].pair().0;
    let (tree, writers) = (jungle.open_tree("t").unwrap(), jungle.open_tree(WRITERS).unwrap());
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for info in writers.history(..) {
        let info = info.unwrap();
        *times.entry(info.meta.message_text().unwrap_or_default().to_owned()).or_default() += 1;
    }
    let versions: Vec<_> =
        tree.history(..).map(|info| tree.at(info.unwrap().revision).unwrap()).collect();
    let all_names: BTreeSet<String> =
        versions.iter().flat_map(|version| names(version.root())).collect();
    for Acknowledged { message, id, server, made } in acknowledged {
        let local = servers[*server].local();
        let outcome = local.outcome(*id).unwrap();
        let is_done = outcome == LocalOutcome::Settled;
        assert_ne!(outcome, LocalOutcome::Pending, "{message}");
        assert_eq!(times.get(message).copied().unwrap_or(0), u32::from(is_done), "{message}");
        let listed = local.refused().unwrap();
        assert_eq!(listed.iter().any(|refused| refused.id == *id), !is_done, "{message}");
        let Some(made) = made else { continue };
        // Others may have moved what it was made in.
        assert_eq!(all_names.contains(message), is_done, "{made} of {message}");
        let mut found = versions.iter().filter_map(|version| name_at(version.root(), made));
        assert!(found.all(|name| name == *message), "{made} of {message}");
    }
}
