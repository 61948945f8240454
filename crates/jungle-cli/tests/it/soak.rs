//! Load that is held: requests arrive at a fixed rate, whether or not the last one was answered.
//! Nothing is lost, and what the server takes of the machine levels off.
//! `cargo xtask torture soak --minutes N` holds it longer.

use std::fs;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::Folder;
use super::serving::{Client, Serving};

/// How long the load is held, in seconds.
const SECONDS: &str = "JUNGLE_SOAK_SECONDS";

/// Connections, each with a request every so often: 400 a second in all.
const CLIENTS: u64 = 8;
const STEP: Duration = Duration::from_millis(20);

/// Who watch meanwhile.
const WATCHERS: usize = 20;

/// Nodes that are written to, again and again, and revisions that are kept.
const NODES: u64 = 500;
const KEPT: &str = "1000";

/// A connection is given up, and another made, after so many requests.
const REQUESTS_OF_CONNECTION: u64 = 50;

/// What may be taken more at the end than in the middle.
const MEMORY_SLACK: u64 = 16 << 20;
const DISK_SLACK: u64 = 16 << 20;

/// How much later 99 of 100 answers may come than in the middle, besides three times.
const LATER: Duration = Duration::from_millis(100);

/// What the server takes of the machine.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    memory: u64,
    files: usize,
    disk: u64,
}

/// What a client has done.
#[derive(Default)]
struct Done {
    /// When each was answered, and how long that took from when it was due.
    answers: Vec<(Duration, Duration)>,
    commits: i64,
}

#[test]
fn load_that_is_held_takes_no_more_and_no_more() {
    let seconds = std::env::var(SECONDS).map_or(12, |seconds| seconds.parse().expect("a number"));
    let length = Duration::from_secs(seconds);
    let folder = Folder::new("soak");
    plant(&folder);
    let serving = Serving::start(&folder, &["--data", "data"]);
    let watching: Vec<Client> = (0..WATCHERS).map(|_| serving.watch()).collect();
    let (stop, stopped) = channel();
    let (done, taken) = thread::scope(|scope| {
        let (server, data) = (&serving, &folder);
        let look = scope.spawn(move || look(server, data, &stopped));
        let begun = Instant::now();
        let address = serving.address();
        let load = |client| scope.spawn(move || load(address, client, begun, length));
        let loading: Vec<_> = (0..CLIENTS).map(load).collect();
        let done: Vec<Done> = loading.into_iter().map(|client| client.join().unwrap()).collect();
        drop(stop);
        (done, look.join().unwrap())
    });
    drop(watching);
    for (client, done) in done.iter().enumerate() {
        assert_eq!(serving.commits_of(client), done.commits, "client {client} has lost something");
    }
    judge(&done, &taken, length);
}

/// A folder with a tree that keeps only so much.
fn plant(folder: &Folder) {
    let serving = Serving::start(folder, &["--data", "data"]);
    serving.send("POST /api/v1/trees", r#"{"name":"t"}"#);
    let nodes = vec![r#"{"op":"append"}"#; NODES as usize].join(",");
    let made = serving.send("POST /api/v1/trees/t/commits", &format!(r#"{{"edits":[{nodes}]}}"#));
    assert!(made.starts_with("HTTP/1.1 200 "), "{made}");
    drop(serving);
    folder.run(&["keep", "data", "t", KEPT]).check_code(0);
}

/// Asks when it is due, for so long.
fn load(address: &str, client: u64, begun: Instant, length: Duration) -> Done {
    let (mut done, mut connection) = (Done::default(), Client::new(address).unwrap());
    let (_never, pause) = channel::<()>();
    for number in 0.. {
        let due = STEP * number as u32 + STEP * client as u32 / CLIENTS as u32;
        if due >= length {
            break;
        }
        // The rate is the load: each is due at its own time.
        let _ = pause.recv_timeout(due.saturating_sub(begun.elapsed()));
        if number % REQUESTS_OF_CONNECTION == REQUESTS_OF_CONNECTION - 1 {
            connection = Client::new(address).unwrap();
        }
        let node = (number * 7 + client * 61) % NODES;
        let status = match number % 4 {
            0 => {
                done.commits += 1;
                let count = done.commits;
                let edits = format!(
                    r#"{{"edits":[{{"op":"put","path":"/{node}","attribute":"n","value":{number}}},
                    {{"op":"put","attribute":"c{client}","value":{count}}}]}}"#
                );
                connection.ask("POST /api/v1/trees/t/commits", "application/json", &edits)
            }
            1 => connection.ask("GET /api/v1/trees/t/children?limit=50", "text/plain", ""),
            2 => connection.ask("GET /api/v1/trees/t/revisions?limit=10", "text/plain", ""),
            _ => {
                let path = format!("GET /api/v1/trees/t/node?path=/{node}");
                connection.ask(&path, "text/plain", "")
            }
        };
        assert_eq!(status, Some(200), "request {number} of client {client}");
        done.answers.push((due, begun.elapsed().saturating_sub(due)));
    }
    done
}

/// Looks at the process from time to time.
fn look(serving: &Serving, folder: &Folder, stopped: &Receiver<()>) -> Vec<Taken> {
    let mut all = Vec::new();
    let often = Duration::from_millis(250);
    while stopped.recv_timeout(often) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        all.push(serving.taken(folder));
    }
    all
}

/// Holds the last third against the one in the middle; the first is to warm up.
fn judge(done: &[Done], taken: &[Taken], length: Duration) {
    let third = taken.len() / 3;
    let most = |taken: &[Taken]| Taken {
        memory: taken.iter().map(|taken| taken.memory).max().unwrap_or_default(),
        files: taken.iter().map(|taken| taken.files).max().unwrap_or_default(),
        disk: taken.iter().map(|taken| taken.disk).max().unwrap_or_default(),
    };
    let (middle, last) = (most(&taken[third..2 * third]), most(&taken[2 * third..]));
    let p99 = |from: Duration, to: Duration| {
        let answers = done.iter().flat_map(|done| &done.answers);
        let answers = answers.filter(|(due, _)| (from..to).contains(due));
        let mut times: Vec<Duration> = answers.map(|(_, time)| *time).collect();
        times.sort();
        times[times.len() * 99 / 100]
    };
    let (early, late) = (p99(length / 3, length * 2 / 3), p99(length * 2 / 3, length));
    let requests: usize = done.iter().map(|done| done.answers.len()).sum();
    println!("soak: {} s, {requests} requests; in the middle, at the end:", length.as_secs());
    println!("soak: memory {} {} MiB", middle.memory >> 20, last.memory >> 20);
    println!("soak: files {} {}", middle.files, last.files);
    println!("soak: disk {} {} MiB", middle.disk >> 20, last.disk >> 20);
    println!("soak: p99 {} {} us", early.as_micros(), late.as_micros());
    // For the ledger.
    println!("soak: {requests} points from seed 0\n{requests} passed, 0 failed");
    assert!(last.memory <= middle.memory + middle.memory / 10 + MEMORY_SLACK, "{taken:?}");
    assert!(last.files <= middle.files + CLIENTS as usize, "{taken:?}");
    assert!(last.disk <= middle.disk + middle.disk / 10 + DISK_SLACK, "{taken:?}");
    assert!(late <= early * 3 + LATER, "{late:?} at the end, {early:?} in the middle");
}

impl Serving {
    /// Begins to watch the tree, and reads nothing: it is not to be waited for.
    fn watch(&self) -> Client {
        let mut client = Client::new(self.address()).unwrap();
        client.begin("GET /api/v1/trees/t/watch");
        client
    }

    fn commits_of(&self, client: usize) -> i64 {
        let node = self.get("/api/v1/trees/t/node");
        node["attributes"][format!("c{client}")]["value"].as_i64().unwrap_or(0)
    }

    fn taken(&self, folder: &Folder) -> Taken {
        let files = fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count();
        Taken { memory: self.memory("VmRSS:"), files, disk: size(&folder.0.join("data")) }
    }
}

/// Bytes that the disk has given for what is in a folder.
fn size(folder: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.blocks() * 512,
        // It has just been removed.
        Err(_) => 0,
    });
    sizes.sum()
}
