//! Boards of servers that post at level local, on a real engine.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jungle::OpenOptions;
use jungle_cluster::{Cluster, NatsLog, Options};
use jungle_server::{BoardLevel, Data};
use jungle_testkit::NatsServers;

use crate::support::{Answer, Folder, Served};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const BOARD: &str = "/boards/b";
const LONG: Duration = Duration::from_secs(60);

/// A server of a cluster that posts by itself.
struct Local {
    served: Served,
    cluster: Arc<Cluster>,
    _folder: Folder,
}

impl Local {
    fn start(engine: &NatsServers, test: &str, name: &str) -> Local {
        let folder = Folder::new(&format!("board-local-{test}-{name}"));
        let mut named = Options { replicas: 1, ..Options::default() };
        named.server = name.to_owned();
        let log = Arc::new(NatsLog::connect(&engine.addresses(), &named).unwrap());
        let open = OpenOptions::new();
        let data = folder.0.join("data");
        let (store, cluster) = Cluster::follow_in_folder(log, &data, &open, &named).unwrap();
        cluster.local(open.open(folder.0.join("outbox")).unwrap()).unwrap();
        let cluster = Arc::new(cluster);
        let data = Data::Cluster(store, Arc::clone(&cluster));
        let mut options = jungle_server::Options::default();
        (options.boards, options.bench) = (BoardLevel::Local, true);
        Local { served: Served::start(data, options), cluster, _folder: folder }
    }

    #[track_caller]
    fn submit(&self, path: &str, form: &str) -> Answer {
        self.served.send("POST", path, &[FORM], Some(form))
    }

    fn page(&self) -> String {
        self.served.get(BOARD).text
    }

    /// The addresses of the messages that are shown, the newest first.
    fn messages(&self) -> Vec<String> {
        let page = self.page();
        let links = page.split("<a class=\"quiet\" href=\"").skip(1);
        links.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    }

    /// How many were refused here, once everything has its place or was refused.
    fn settle(&self) -> usize {
        let local = self.cluster.opened_local().unwrap();
        loop {
            let status = local.status();
            if status.pending == 0 {
                return status.refused;
            }
            thread::yield_now();
        }
    }
}

/// Two servers, which have a board; and whatever is in their outboxes is in the log and on both
/// then.
struct World {
    engine: NatsServers,
    servers: [Local; 2],
}

impl World {
    /// `test` must be unique among the tests.
    fn new(test: &str) -> World {
        let engine = NatsServers::start(1);
        let servers = ["a", "b"].map(|name| Local::start(&engine, test, name));
        assert_eq!(servers[0].submit("/boards", "name=b").status, 303);
        let world = World { engine, servers };
        world.settle();
        world
    }

    fn settle(&self) -> [usize; 2] {
        let refused = [0, 1].map(|at| self.servers[at].settle());
        for server in &self.servers {
            server.cluster.sync(LONG).unwrap();
        }
        refused
    }
}

#[test]
fn message_is_shown_here_at_once_and_by_others_later() {
    let mut world = World::new("shown");
    world.engine.pause(0);
    let [a, b] = &world.servers;
    let empty = a.served.get(BOARD).header("etag").to_owned();
    let mut events = a.served.watch("b/local", "");
    let posted = a.submit(BOARD, "author=ana&text=one");
    assert_eq!((posted.status.as_u16(), posted.header("location")), (303, BOARD));
    let (one, tag) = (a.messages(), a.served.get(BOARD).header("etag").to_owned());
    assert_eq!(one.len(), 1);
    assert_ne!(tag, empty);
    // Whoever looks is told, and has the newest page.
    let event = events.next().unwrap();
    assert_eq!((event.name.as_str(), &event.data["pending"]), ("change", &true.into()));
    let known = a.served.send("GET", BOARD, &[("if-none-match", &tag)], None);
    assert_eq!(known.status, 304);
    assert!(a.page().contains("1 message,") && a.served.get("/boards").text.contains("1 message"));
    assert!(b.messages().is_empty());

    // It has its address already, and can be edited there.
    let place = &one[0];
    assert!(a.served.get(place).text.contains("one"));
    assert_eq!(a.submit(place, "author=ana&text=two&edits=0").status, 303);
    let late = a.submit(place, "author=ben&text=mine&edits=0");
    assert_eq!(late.status, 409);
    assert!(late.text.contains("meanwhile") && late.text.contains("mine"), "{}", late.text);
    assert!(a.page().contains("two") && !a.page().contains("one\n"), "{}", a.page());
    assert_ne!(a.served.get(BOARD).header("etag"), tag);
    // The version that was replaced had no revision: that it is missing is said.
    assert!(a.served.get(place).text.contains("Older versions are not kept"));

    world.engine.resume(0);
    assert_eq!(world.settle(), [0, 0]);
    let [a, b] = &world.servers;
    assert_eq!((a.messages(), b.messages()), (one.clone(), one.clone()));
    assert!(b.page().contains("two"));
    assert!(b.served.get(&one[0]).text.contains("two"));
    // From now on versions have revisions.
    assert_eq!(b.submit(&one[0], "author=ana&text=three&edits=1").status, 303);
    assert!(b.served.get(&one[0]).text.contains("two"));
}

#[test]
fn one_of_two_that_contradict_each_other_is_refused_and_kept() {
    let mut world = World::new("contradict");
    let [a, b] = &world.servers;
    a.submit(BOARD, "author=ana&text=first");
    world.settle();
    let place = a.messages().remove(0);
    let key = place.rsplit('/').next().unwrap();
    world.engine.pause(0);
    assert_eq!(a.submit(&place, "author=ana&text=edited&edits=0").status, 303);
    let body = format!(r#"{{"edits":[{{"op":"remove","path":"/{key}"}}]}}"#);
    b.served.post("/api/v1/trees/b/local", &body).expect(202);
    assert!(a.page().contains("edited") && b.messages().is_empty());
    world.engine.resume(0);
    let refused = world.settle();
    let [a, b] = &world.servers;
    assert_eq!(refused.iter().sum::<usize>(), 1, "{refused:?}");
    assert_eq!(a.messages(), b.messages());
    // Whoever was second is refused: the edit has gone, or the message is there.
    assert_eq!(a.page().contains("edited"), refused[1] == 1);
    let kept = world.servers[usize::from(refused[1] == 1)].served.get("/api/v1/local").json();
    let why = kept["refused"][0]["why"].as_str().unwrap();
    assert!(why.contains(key), "{why}");
}

#[test]
fn many_posts_at_once_are_each_there_once() {
    let world = World::new("many");
    let post = |server: &Local, words: String| {
        let posted = server.served.get(&format!("/bench/post?board=b&author=x&text={words}"));
        assert_eq!(posted.status, 200, "{}", posted.text);
    };
    thread::scope(|scope| {
        for client in 0..8 {
            let server = &world.servers[client % 2];
            scope.spawn(move || (0..50).for_each(|at| post(server, format!("w{client}x{at}."))));
        }
    });
    assert_eq!(world.settle(), [0, 0]);
    for server in &world.servers {
        let tree = server.served.server.jungle().open_tree("b").unwrap();
        let tree = tree.snapshot();
        let texts = tree.root().children().map(|(_, node)| {
            node.attribute("text").and_then(|text| text.as_text()).unwrap().to_owned()
        });
        let mut texts: Vec<String> = texts.collect();
        texts.sort_unstable();
        let mut all: Vec<String> =
            (0..8).flat_map(|client| (0..50).map(move |at| format!("w{client}x{at}."))).collect();
        all.sort_unstable();
        assert_eq!(texts, all);
    }
}

#[test]
fn server_without_an_outbox_does_not_start() {
    let options = jungle_server::Options { boards: BoardLevel::Local, ..Default::default() };
    let memory = <jungle::Jungle as jungle::Memory>::memory().unwrap();
    let started = jungle_server::Server::start(Data::Memory(memory), options);
    assert!(matches!(started, Err(jungle_server::StartError::NoOutbox)));
}
