//! Load that is held: requests arrive at a fixed rate, whether or not the last one was answered.
//! Nothing is lost, and what the server takes of the machine levels off.
//! `cargo xtask torture soak --minutes N` holds it longer.

use std::fs;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use jungle_testkit::Rng;
use serde_json::Value as Json;

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

/// A load that is held so long has a line fitted to the memory instead, of its tops in pieces of so
/// many looks each, and an hour of it may take so much more, as a part of what is taken.
const LONG: Duration = Duration::from_secs(300);
const LOOKS: usize = 60;
const GROWTH_OF_HOUR_MAX: f64 = 0.01;

/// Texts of 64 KiB that are there besides, so that what the folder takes is mostly what lives in
/// it.
const TEXTS: usize = 512;

/// Segments of the log that are there however little is in them: the one that is written, the one
/// ahead of it, and one that a checkpoint has not let go of yet.
const SEGMENTS_BYTES: u64 = 48 << 20;

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
    plant(&folder, length);
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
    let (live, disk) = (serving.live(), serving.taken(&folder).disk);
    println!("soak: {} MiB live, {} MiB on disk", live >> 20, disk >> 20);
    assert!(disk <= 2 * live + SEGMENTS_BYTES, "{disk} bytes on disk of {live} live ones");
}

/// A folder with a tree that keeps only so much, and for a long load one that is large.
fn plant(folder: &Folder, length: Duration) {
    let serving = Serving::start(folder, &["--data", "data"]);
    serving.send("POST /api/v1/trees", r#"{"name":"t"}"#);
    let nodes = vec![r#"{"op":"append"}"#; NODES as usize].join(",");
    serving.edit(format_args!("[{nodes}]"));
    if length >= LONG {
        let mut rng = Rng::new(0);
        let texts: Vec<String> = (0..TEXTS).map(|_| text(&mut rng)).collect();
        serving.send("POST /api/v1/trees", r#"{"name":"large"}"#);
        let texts = serde_json::to_string(&texts).unwrap();
        let made = serving.send("PUT /api/v1/trees/large/document", &texts);
        assert!(made.starts_with("HTTP/1.1 200 "), "{made}");
    }
    drop(serving);
    folder.run(&["keep", "data", "t", KEPT]).check_code(0);
}

/// 64 KiB that cannot be written shorter by much.
fn text(rng: &mut Rng) -> String {
    (0..4096).map(|_| format!("{:016x}", rng.next_u64())).collect()
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
    if length >= LONG {
        let (growth, error) = growth(taken, length);
        println!("soak: memory grows by {growth:.4} of it in an hour, give or take {error:.4}");
        assert!(growth - 2.0 * error <= GROWTH_OF_HOUR_MAX, "{taken:?}");
    } else {
        assert!(last.memory <= middle.memory + middle.memory / 10 + MEMORY_SLACK, "{taken:?}");
    }
    assert!(last.files <= middle.files + CLIENTS as usize, "{taken:?}");
    assert!(last.disk <= middle.disk + middle.disk / 10 + DISK_SLACK, "{taken:?}");
    assert!(late <= early * 3 + LATER, "{late:?} at the end, {early:?} in the middle");
}

/// By which part of it the memory grows in an hour, by least squares behind the first third, and
/// the standard error of that.
fn growth(taken: &[Taken], length: Duration) -> (f64, f64) {
    let hours = length.as_secs_f64() / 3600.0 * LOOKS as f64 / taken.len() as f64;
    // What is given back and taken again within a piece is no growth.
    let pieces = taken[taken.len() / 3..].chunks_exact(LOOKS);
    let tops = pieces.filter_map(|piece| piece.iter().map(|taken| taken.memory).max());
    let points = tops.enumerate().map(|(at, top)| (at as f64 * hours, top as f64));
    let points: Vec<(f64, f64)> = points.collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (time, memory) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - time).powi(2)).sum();
    let slope = points.iter().map(|(x, y)| (x - time) * (y - memory)).sum::<f64>() / spread;
    let off = points.iter().map(|(x, y)| (y - memory - slope * (x - time)).powi(2)).sum::<f64>();
    let error = (off / (count - 2.0) / spread).sqrt();
    (slope / memory, error / memory)
}

impl Serving {
    /// Has the folder rid of what is not kept, and tells how many bytes live in it.
    fn live(&self) -> u64 {
        self.done("gc", r#"{"compact":true}"#);
        let space = self.done("du", "");
        let of = |space: &Json, part: &str| space[part].as_u64().unwrap();
        let of_tree =
            |tree| of(tree, "newest_bytes") + of(tree, "named_bytes") + of(tree, "older_bytes");
        let trees: u64 = space["trees"].as_array().unwrap().iter().map(of_tree).sum();
        trees + of(&space, "shared_bytes")
    }

    /// Has something done with the folder, and tells what came of it.
    fn done(&self, work: &str, asked: &str) -> Json {
        let begun = self.send(&format!("POST /api/v1/folder/{work}"), asked);
        assert!(begun.starts_with("HTTP/1.1 202 "), "{begun}");
        let told = self.get(&format!("/api/v1/folder/{work}?wait=50"));
        assert_eq!(told["state"], "done", "{told}");
        told["result"].clone()
    }

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
