//! What one address can take of a server. This machine's own addresses are not counted, so the
//! client comes from another one, of a network of the test's own. Where the system gives none, that
//! is skipped: how connections are counted is tried in `accept/mod.rs`, too, and how requests are
//! by what a proxy says.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use jungle::{CommitRecord, Durability, Journal, JournalError, Jungle, Revision, SystemClock};
use jungle_server::{Data, Options};
use jungle_testkit::Machines;

use crate::support::{Answer, PATIENCE, Served, limits};

/// Requests a second; four times as many at once.
const RATE: u32 = 5;
const CONNECTIONS: usize = 3;

/// A connection to this address.
struct Client(TcpStream);

impl Client {
    fn new(host: &str, port: u16) -> Client {
        let stream = TcpStream::connect((host, port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client(stream)
    }

    /// Asks; gives the answer up to the end of its head and body.
    fn ask(&mut self) -> String {
        self.ask_for("")
    }

    /// The same with further headers.
    fn ask_for(&mut self, headers: &str) -> String {
        let ask = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        // Whoever has no place is told so unasked.
        let _ = self.0.write_all(ask.as_bytes());
        let mut answer = Vec::new();
        while !is_whole(&answer) {
            let mut piece = [0; 4096];
            match self.0.read(&mut piece).unwrap() {
                0 => break,
                read => answer.extend_from_slice(&piece[..read]),
            }
        }
        String::from_utf8(answer).unwrap()
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_some_and(|length| length.parse() == Ok(body.len()))
}

/// What other machines reach, with few places for each address, and this proxy.
fn exposed(proxy: Option<String>) -> Served {
    Served::with(|options| {
        options.listen = "0.0.0.0:0".parse().unwrap();
        options.expose = true;
        options.proxies = proxy.iter().map(|proxy| proxy.parse().unwrap()).collect();
        options.limits = limits(|limits| {
            limits.requests_per_second_max = RATE;
            limits.connections_per_address_max = CONNECTIONS;
        });
    })
}

#[test]
fn one_address_does_not_crowd_out_others() {
    let test = "crowding::one_address_does_not_crowd_out_others";
    Machines::run(test, 1, |machines| {
        let served = exposed(None);
        let port = served.address().port();
        let client = || Client::new(&machines.hub(), port);

        let mut first = client();
        let mut answers = (0..2_000).map(|_| first.ask());
        let refused = answers.by_ref().position(|answer| answer.starts_with("HTTP/1.1 429 "));
        let refused = refused.expect("2,000 requests take less than 400 seconds");
        assert!(refused >= 4 * RATE as usize, "{refused}");
        let told = answers.find(|answer| answer.starts_with("HTTP/1.1 429 ")).unwrap();
        let told = told.to_ascii_lowercase();
        assert!(
            told.contains("retry-after: 1\r\n") && told.contains("/docs#problem-too-many"),
            "{told}"
        );
        drop(answers);

        let mut held: Vec<Client> = (1..CONNECTIONS).map(|_| client()).collect();
        held.iter_mut().for_each(|held| assert_ne!(held.ask(), ""));
        let full = client().ask();
        let is_full = full.starts_with("HTTP/1.1 503 ") && full.contains("/docs#problem-full");
        assert!(is_full, "{full}");
        // Whoever gives one up may have another one.
        drop(held.pop());
        while client().ask().starts_with("HTTP/1.1 503 ") {}

        let mut own: Vec<Client> =
            (0..2 * CONNECTIONS).map(|_| Client::new("127.0.0.1", port)).collect();
        for _ in 0..100 {
            own.iter_mut().for_each(|own| assert!(own.ask().starts_with("HTTP/1.1 200 ")));
        }
    });
}

#[test]
fn clients_of_a_proxy_are_told_apart() {
    let served = Served::with(|options| {
        options.proxies = vec!["127.0.0.1".parse().unwrap()];
        options.limits = limits(|limits| limits.requests_per_second_max = RATE);
    });
    let from = |address: &str| served.send("GET", "/health", &[("x-forwarded-for", address)], None);
    let refused = |address: &str| (0..2_000).position(|_| from(address).status == 429);
    let burst = 4 * RATE as usize;
    assert!(refused("192.0.2.1").is_some_and(|first| first >= burst));
    assert_eq!(from("192.0.2.2").status, 200);
    // What a client says by itself stands in front of what the proxy says. A client that had not
    // asked before could ask as often as the first one could.
    assert!(refused("192.0.2.3, 192.0.2.1").is_some_and(|first| first < burst / 2));
    assert_eq!(from("192.0.2.1, 192.0.2.2").status, 200);
    assert_eq!(from("nobody").status, 400);
    let itself = (0..2_000).position(|_| served.get("/health").status == 429);
    assert!(itself.is_some_and(|first| first >= burst), "what no client asks for is the proxy's");

    let alone = Served::with(|options| {
        options.limits = limits(|limits| limits.requests_per_second_max = RATE);
    });
    let told = [("x-forwarded-for", "192.0.2.1")];
    assert!((0..100).all(|_| alone.send("GET", "/health", &told, None).status == 200));
}

#[test]
fn nobody_has_more_than_a_share_of_the_streams() {
    let served = Served::with(|options| {
        options.proxies = vec!["127.0.0.1".parse().unwrap()];
        options.limits = limits(|limits| limits.watchers_max = 8);
    })
    .tree("t");
    let watch = |address: &str| served.watch("t/watch", &format!("X-Forwarded-For: {address}\r\n"));
    let held = [(); 2].map(|()| watch("192.0.2.1"));
    let from = [("x-forwarded-for", "192.0.2.1")];
    let refused = served.send("GET", "/api/v1/trees/t/watch", &from, None);
    assert_eq!((refused.status.as_u16(), refused.problem()), (429, "too-many".to_owned()));
    let mut other = watch("192.0.2.2");
    served.server.jungle().open_tree("t").unwrap().update(|tx| tx.append(&[])).unwrap();
    for mut events in held {
        assert_eq!(events.next().unwrap().name, "change");
    }
    assert_eq!(other.next().unwrap().name, "change");
}

/// A journal that never gets a commit onto its disk while it is shut, and tells of each.
pub(crate) struct Slow {
    is_shut: AtomicBool,
    came: Sender<()>,
    /// Whose other end is dropped to have it go on.
    opens: Mutex<Receiver<()>>,
}

impl Journal for Slow {
    fn append(&self, _record: &CommitRecord) -> Result<(), JournalError> {
        Ok(())
    }

    fn wait(&self, _revision: Revision, durability: Durability) -> Result<(), JournalError> {
        // What need not last waits for no disk.
        if durability != Durability::Memory && self.is_shut.load(Ordering::SeqCst) {
            let _ = self.came.send(());
            let _ = self.opens.lock().unwrap_or_else(PoisonError::into_inner).recv();
        }
        Ok(())
    }
}

/// What holds the disk of a server while it is shut.
pub(crate) struct Held {
    pub(crate) journal: Arc<Slow>,
    /// Tells of each commit that waits for it.
    comes: Receiver<()>,
    /// Dropped to have all of them go on.
    _open: Sender<()>,
}

impl Held {
    pub(crate) fn new() -> Held {
        let ((came, comes), (open, opens)) = (channel(), channel());
        let journal = Slow { is_shut: AtomicBool::new(false), came, opens: Mutex::new(opens) };
        Held { journal: Arc::new(journal), comes, _open: open }
    }

    /// A server whose disk is shut, with so many turns, and room for so many commits that take
    /// long: the tree `t` has something on its branch `draft`, and `u` something to take back.
    fn serve(turns: usize, commits: usize) -> (Served, Held) {
        let held = Held::new();
        let journal = Arc::clone(&held.journal);
        let jungle = Jungle::builder().clock(SystemClock).journal(journal).build();
        let options = Options {
            proxies: vec!["127.0.0.1".parse().unwrap()],
            limits: limits(|limits| {
                limits.long_reads_max = turns;
                limits.commits_max = commits;
                limits.line_time = Duration::ZERO;
            }),
            ..Options::default()
        };
        let served = Served::start(Data::Memory(jungle.unwrap()), options).tree("t").tree("u");
        let [tree, other] = ["t", "u"].map(|name| served.server.jungle().open_tree(name).unwrap());
        let draft = tree.branch("draft", tree.snapshot().revision()).unwrap();
        draft.update(|tx| tx.put_attribute(&[], "n", 1)).unwrap();
        other.update(|tx| tx.put_attribute(&[], "n", 1)).unwrap();
        held.shut();
        (served, held)
    }

    pub(crate) fn shut(&self) {
        self.journal.is_shut.store(true, Ordering::SeqCst);
    }

    /// Waits until another commit waits for the disk.
    #[track_caller]
    pub(crate) fn await_commit(&self) {
        self.comes.recv_timeout(PATIENCE).unwrap();
    }
}

fn from(address: &str) -> [(&'static str, &str); 1] {
    [("x-forwarded-for", address)]
}

fn search(served: &Served, address: &str) -> Answer {
    served.send("GET", "/api/v1/trees/t/search?attribute=n", &from(address), None)
}

fn merge(served: &Served, address: &str) -> Answer {
    let body = Some(r#"{"from":"draft"}"#);
    served.send("POST", "/api/v1/trees/t/merges", &from(address), body)
}

/// Takes the newest revision of `u` back.
fn revert(served: &Served, address: &str) -> Answer {
    let tree = served.server.jungle().open_tree("u").unwrap();
    let body = format!(r#"{{"revision":{}}}"#, tree.snapshot().revision());
    served.send("POST", "/api/v1/trees/u/reverts", &from(address), Some(&body))
}

#[test]
fn who_waits_for_a_disk_has_no_turn() {
    for wait in [merge, revert] {
        let (served, held) = Held::serve(1, 1);
        thread::scope(|scope| {
            // It is dropped before the other thread is waited for, whatever happens.
            let held: Held = held;
            let waiting = scope.spawn(|| wait(&served, "192.0.2.1"));
            held.await_commit();
            search(&served, "192.0.2.1").expect(200);
            drop(held);
            waiting.join().unwrap().expect(200);
        });
    }
}

#[test]
fn nobody_has_more_than_half_of_the_line() {
    let (served, held) = Held::serve(2, 1);
    thread::scope(|scope| {
        let held: Held = held;
        let merged = scope.spawn(|| merge(&served, "192.0.2.3"));
        held.await_commit();
        // There is no room for another commit that waits: it keeps one of two turns.
        let reverted = scope.spawn(|| revert(&served, "192.0.2.1"));
        held.await_commit();
        assert_eq!(search(&served, "192.0.2.1").problem(), "too-many");
        search(&served, "192.0.2.2").expect(200);
        drop(held);
        for done in [merged, reverted] {
            done.join().unwrap().expect(200);
        }
    });
    search(&served, "192.0.2.1").expect(200);
}

#[test]
fn proxy_elsewhere_may_have_connections_for_all_its_clients() {
    let test = "crowding::proxy_elsewhere_may_have_connections_for_all_its_clients";
    Machines::run(test, 1, |machines| {
        let served = exposed(Some(machines.hub()));
        let port = served.address().port();
        let mut held: Vec<Client> =
            (0..4 * CONNECTIONS).map(|_| Client::new(&machines.hub(), port)).collect();
        for (at, client) in held.iter_mut().enumerate() {
            for _ in 0..3 {
                let answer = client.ask_for(&format!("X-Forwarded-For: 192.0.2.{at}\r\n"));
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            }
        }
    });
}
