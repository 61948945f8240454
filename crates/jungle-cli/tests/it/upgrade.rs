//! The servers of a cluster are replaced one after the other by newer ones, and one of them by the
//! older one again, while clients post to all: nothing that was acknowledged is lost, and no server
//! is left behind by the others. `cargo xtask torture upgrade` begins with servers of an earlier
//! revision; by itself this test replaces them by themselves.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use jungle_testkit::{NatsServers, Tally};
use serde_json::Value as Json;

use super::Folder;
use super::numbers::{JSON, numbers, post_number};
use super::serving::{Client, Serving, json};

/// The `jungle` that is replaced.
const OLDER: &str = "UPGRADE_OLDER";

const SERVERS: usize = 3;
/// Who post to each.
const CLIENTS: usize = 2;
/// One makes one request in this time, if it can.
const PACE: Duration = Duration::from_millis(20);
/// How long anything may take: servers ask each other what they can read every half minute.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked whether something has come.
const TICK: Duration = Duration::from_millis(200);

#[test]
fn servers_are_replaced_while_others_post() {
    let mut points = Points { passed: 0 };
    let cluster = Cluster::new();
    thread::scope(|scope| {
        let _over = Over(&cluster);
        cluster.begin(scope);
        // Back again: as long as one is there that cannot read it, nothing new is written.
        for (at, build) in [(0, Build::Newer), (0, Build::Older), (0, Build::Newer)] {
            cluster.replace(at, build);
            points.passed += 1;
        }
        for at in 1..SERVERS {
            cluster.replace(at, Build::Newer);
            points.passed += 1;
        }
        // What only the newer ones know is used by and by.
        cluster.until("know a request again", || cluster.knows_requests());
        points.passed += 1;
    });
    cluster.check();
    points.passed += 1;
}

/// Says how many steps passed.
struct Points {
    passed: u64,
}

impl Drop for Points {
    fn drop(&mut self) {
        let failed = u64::from(thread::panicking());
        println!("upgrade: {} points from seed 0", self.passed + failed);
        println!("{} passed, {failed} failed", self.passed);
    }
}

#[derive(Clone, Copy, Debug)]
enum Build {
    Older,
    Newer,
}

struct Cluster {
    folder: Folder,
    /// Several threads may have only where it is.
    _engine: Mutex<NatsServers>,
    addresses: String,
    servers: [Mutex<Option<Serving>>; SERVERS],
    tally: Tally,
    is_over: AtomicBool,
}

impl Cluster {
    fn new() -> Cluster {
        let engine = NatsServers::start(3);
        let cluster = Cluster {
            folder: Folder::new("upgrade"),
            addresses: engine.addresses(),
            _engine: Mutex::new(engine),
            servers: [const { Mutex::new(None) }; SERVERS],
            tally: Tally::new(SERVERS),
            is_over: AtomicBool::new(false),
        };
        for at in 0..SERVERS {
            *cluster.server(at) = Some(cluster.start(at, Build::Older));
        }
        cluster.until("make trees", || {
            let made = ["t", "keyed"].map(|tree| format!(r#"{{"name":"{tree}"}}"#));
            made.iter().all(|tree| {
                matches!(cluster.ask(0, "POST /api/v1/trees", tree), Some((201 | 409, _)))
            })
        });
        for at in 0..SERVERS {
            cluster.until("have the tree", || {
                cluster.ask(at, "GET /api/v1/trees/t", "").is_some_and(|(status, _)| status == 200)
            });
        }
        cluster
    }

    fn server(&self, at: usize) -> MutexGuard<'_, Option<Serving>> {
        self.servers[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, at: usize, build: Build) -> Serving {
        let name = format!("s{at}");
        let mut command = self.folder.command(&["serve", "--json", "--listen", "127.0.0.1:0"]);
        if let (Build::Older, Some(older)) = (build, std::env::var_os(OLDER)) {
            let mut other = std::process::Command::new(older);
            other.current_dir(&self.folder.0).args(command.get_args());
            super::without_settings(&mut other);
            command = other;
        }
        command.args(["--data", &name, "--server-name", &name, "--cluster", &self.addresses]);
        let notes = self.folder.0.join(format!("{name}.err"));
        let notes = std::fs::File::options().create(true).append(true).open(notes).unwrap();
        Serving::noting(command, Stdio::from(notes))
    }

    /// Lets all clients begin.
    fn begin<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        for at in (0..SERVERS).flat_map(|at| [at; CLIENTS]) {
            scope.spawn(move || self.post(at));
        }
        self.back();
    }

    /// Posts to one server, wherever it listens, until all is over.
    fn post(&self, at: usize) {
        let (mut client, mut address) = (None, None);
        while !self.is_over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let here = self.address(at);
            if here != address {
                (client, address) = (None, here);
            }
            if let Some(address) = &address {
                let number = self.tally.begin();
                let outcome = post_number(&mut client, address, number);
                self.tally.note(at, number, outcome);
            }
            thread::park_timeout(PACE.saturating_sub(begun.elapsed()));
        }
    }

    /// Where a server listens, if it is there.
    fn address(&self, at: usize) -> Option<String> {
        self.server(at).as_ref().map(|serving| serving.address().to_owned())
    }

    /// Ends a server in order, and starts one of this build with its folder, which gets as far as
    /// the others. No other one minds.
    fn replace(&self, at: usize, build: Build) {
        let begun = Instant::now();
        let away = self.server(at).take().unwrap();
        away.end();
        assert!(self.tally.wait(10, PATIENCE), "no posts while s{at} is away\n{}", self.said());
        let back = self.start(at, build);
        *self.server(at) = Some(back);
        self.back();
        println!("  s{at} is {build:?} after {:.1?}: {:?}", begun.elapsed(), self.tally.counts());
    }

    /// Waits until there are posts on all servers, none of which has a fault.
    fn back(&self) {
        self.tally.heal();
        let back = self.tally.wait_back(PATIENCE);
        assert!(back.is_some(), "no posts on some server\n{}", self.said());
        assert!((0..SERVERS).all(|at| self.standing(at).is_some()), "{}", self.said());
    }

    /// How a server stands: what it has followed, and its revision.
    fn standing(&self, at: usize) -> Option<(u64, u64)> {
        let (_, health) = self.ask(at, "GET /health", "")?;
        let cluster = &serde_json::from_str::<Json>(&health).unwrap()["cluster"];
        assert!(cluster["fault"].is_null(), "s{at}: {cluster}\n{}", self.said());
        Some((cluster["followed"].as_u64()?, cluster["revision"].as_u64()?))
    }

    /// Does one server say the same of a request that another one has answered?
    fn knows_requests(&self) -> bool {
        let key = format!("Idempotency-Key: \"of {}\"\r\n", self.tally.begin());
        let posted = [0, 1].map(|at| {
            let server = self.server(at);
            let post = "POST /api/v1/trees/keyed/commits";
            let answer =
                server.as_ref().unwrap().send_with(post, &key, r#"{"edits":[{"op":"append"}]}"#);
            answer.starts_with("HTTP/1.1 200 ").then(|| json(&answer)["revision"].clone())
        });
        posted[0].is_some() && posted[0] == posted[1]
    }

    /// All servers are equal, and have what was acknowledged, also in their folders.
    fn check(&self) {
        for at in 0..SERVERS {
            let newest = format!("{JSON}\r\nJungle-Consistency: linearizable");
            self.until("have what is newest", || {
                let client = self.address(at).and_then(|address| Client::new(&address));
                let asked =
                    client.and_then(|mut client| client.ask("GET /api/v1/trees/t", &newest, ""));
                asked == Some(200)
            });
        }
        self.until("stand equal", || {
            let all: Vec<_> = (0..SERVERS).map(|at| self.standing(at)).collect();
            all[0].is_some() && all.iter().all(|one| *one == all[0])
        });
        let mut first = None;
        for at in 0..SERVERS {
            self.server(at).take().unwrap().end();
            let name = format!("s{at}");
            self.folder.run(&["verify", &name]).check_code(0);
            let has = numbers(&self.folder.0.join(&name));
            assert_eq!(self.tally.wrong(has.1.iter().copied()), [], "s{at}\n{}", self.said());
            let first = first.get_or_insert_with(|| has.clone());
            assert!(has == *first, "s{at} has {}, s0 {}", has.0, first.0);
        }
    }

    fn ask(&self, at: usize, head: &str, body: &str) -> Option<(u16, String)> {
        Client::new(&self.address(at)?)?.answer(head, JSON, body)
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE, "they do not {what}\n{}", self.said());
            self.tally.wait(u64::MAX, TICK);
        }
    }

    /// What the servers have said of late.
    fn said(&self) -> String {
        let last = |at| {
            let said = std::fs::read_to_string(self.folder.0.join(format!("s{at}.err")));
            let said = said.unwrap_or_default();
            let lines: Vec<&str> = said.lines().rev().take(12).collect();
            format!("s{at}: {}", lines.into_iter().rev().collect::<Vec<_>>().join("\n    "))
        };
        (0..SERVERS).map(last).collect::<Vec<_>>().join("\n")
    }
}

/// Ends the clients, also in a panic.
struct Over<'c>(&'c Cluster);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}
