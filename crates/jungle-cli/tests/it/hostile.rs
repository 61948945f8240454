//! Hostile load, at the time-outs that a server has by itself: connections that only take up room
//! are closed by it, JSON that is too deep or too much and tokens that are wrong are refused, and
//! somebody who means well is served meanwhile as before. `cargo xtask torture hostile` runs it
//! alone, and measures.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Folder;
use super::serving::{Client, Serving, send};

/// Says that nothing else runs. Where other tests do, on a machine that does much else, every time
/// may be so many times as long.
const ALONE: &str = "JUNGLE_HOSTILE_ALONE";
const SLACK: u32 = 5;

/// Each connection of the crowd is closed so long after it was opened, at the latest.
const CLOSED_WITHIN: Duration = Duration::from_secs(15);

/// How long somebody asks alone, to know how long answers take, and how often.
const QUIET: Duration = Duration::from_secs(2);
const ASK_EVERY: Duration = Duration::from_millis(5);

/// A pause of those who are slow, and the most that an answer may be later for them, besides three
/// times.
const PAUSE: Duration = Duration::from_millis(20);

/// How much memory the server may have more at any time than before all of this.
const MEMORY_MORE_MAX: u64 = 64 << 20;

/// Threads for the crowd: each goes on with its part of it about once a second.
const THREADS: usize = 32;

/// Bodies of JSON that is none, or too much; and how many send them at a time.
const BODIES: usize = 100;
const SENDERS: usize = 2;

/// How often somebody tries a token.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// Who connects, and what is wrong with them.
#[derive(Clone, Copy, Debug)]
enum Hostile {
    /// They say nothing.
    Idle,
    /// They ask once, and stay.
    Lingering,
    /// They begin a head.
    HalfOpen,
    /// They send a head, byte by byte.
    SlowHead,
    /// They send a body, byte by byte.
    SlowBody,
    /// They ask for much, and read nothing of it.
    Deaf,
}

/// How many there are of each.
const CROWD: [(Hostile, usize); 6] = [
    (Hostile::Idle, 500),
    (Hostile::Lingering, 50),
    (Hostile::HalfOpen, 500),
    (Hostile::SlowHead, 50),
    (Hostile::SlowBody, 200),
    (Hostile::Deaf, 20),
];

const NODE: &str = "GET /api/v1/trees/t/node";
const COMMIT: &str = "POST /api/v1/trees/t/commits";
const HEAD: &str = "GET /health HTTP/1.1\r\nHost: localhost\r\n";

impl Hostile {
    /// What is sent at once, by somebody who may write.
    fn first(self, token: &str) -> String {
        match self {
            Hostile::Idle => String::new(),
            Hostile::Lingering => format!("{HEAD}\r\n"),
            Hostile::HalfOpen | Hostile::SlowHead => HEAD.to_owned(),
            Hostile::SlowBody => format!(
                "{COMMIT} HTTP/1.1\r\nHost: localhost\r\n{token}\
                 Content-Type: application/json\r\nContent-Length: 10000\r\n\r\n{{"
            ),
            Hostile::Deaf => {
                "GET /explorer/explorer.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200)
            }
        }
    }

    /// What is sent again and again.
    fn more(self) -> &'static [u8] {
        match self {
            Hostile::Idle | Hostile::Lingering | Hostile::HalfOpen | Hostile::Deaf => b"",
            Hostile::SlowHead => b"x",
            Hostile::SlowBody => b" ",
        }
    }
}

/// One connection of the crowd.
struct Connection {
    stream: TcpStream,
    hostile: Hostile,
    opened: Instant,
}

impl Connection {
    fn open(served: &Guarded, hostile: Hostile) -> Connection {
        let mut stream = TcpStream::connect(served.serving.address()).unwrap();
        stream.set_read_timeout(Some(PAUSE)).unwrap();
        stream.set_write_timeout(Some(PAUSE)).unwrap();
        // What the server does not take any more, it need not.
        let _ = stream.write_all(hostile.first(&served.token).as_bytes());
        Connection { stream, hostile, opened: Instant::now() }
    }

    /// Goes on for a moment; is it closed?
    fn is_closed(&mut self) -> bool {
        let is_over = |error: &std::io::Error| {
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        };
        if let Hostile::Deaf = self.hostile {
            // Nothing is read: what was sent would be taken otherwise.
            return self.stream.take_error().unwrap().is_some()
                || self.stream.write(b"\r\n").is_err_and(|error| is_over(&error));
        }
        let sent = self.stream.write(self.hostile.more());
        // An answer, and the end behind it.
        let mut reads = std::iter::repeat_with(|| self.stream.read(&mut [0; 4096]));
        match reads.find(|read| !matches!(read, Ok(1..))) {
            Some(Err(error)) => is_over(&error) || sent.is_err_and(|error| is_over(&error)),
            _ => true,
        }
    }
}

/// A server that asks who is there, and how somebody says it who may do everything.
struct Guarded {
    serving: Serving,
    token: String,
}

impl Guarded {
    fn start(folder: &Folder) -> Guarded {
        let token = folder.run(&["access", "add-token", "data", "good"]);
        token.check_code(0);
        folder.run(&["access", "grant", "data", "good", "*", "admin"]).check_code(0);
        let serving = Serving::start(folder, &["--data", "data"]);
        let token = format!("Authorization: Bearer {}\r\n", token.out.trim());
        let served = Guarded { serving, token };
        let made = served.send("POST /api/v1/trees", r#"{"name":"t"}"#);
        assert!(made.starts_with("HTTP/1.1 201 "), "{made}");
        served
    }

    fn send(&self, head: &str, body: &str) -> String {
        self.serving.send_with(head, &self.token, body)
    }

    /// Asks again and again, as somebody who means well; gives the times, the shortest first.
    fn ask(&self, is_over: impl Fn() -> bool) -> Vec<Duration> {
        let mut client = Client::new(self.serving.address()).unwrap().saying(&self.token);
        let mut times = Vec::new();
        every(ASK_EVERY, is_over, || {
            let began = Instant::now();
            assert_eq!(client.ask(NODE, "text/plain", ""), Some(200));
            times.push(began.elapsed());
        });
        times.sort();
        times
    }

    /// Sends JSON that must be refused, one of four kinds after the other.
    fn send_bodies(&self, numbers: Range<usize>) {
        for number in numbers {
            let (head, body) = match number % 4 {
                0 => (COMMIT, format!("{{\"edits\":{}", "[".repeat(1 << 20))),
                1 => (COMMIT, format!("{{\"edits\":[{}", r#"{"op":"append"},"#.repeat(120_000))),
                2 => (COMMIT, " ".repeat(4 << 20)),
                _ => ("PUT /api/v1/trees/t/document", "[".repeat(4 << 20)),
            };
            let answer = self.send(head, &body);
            assert!(answer.starts_with("HTTP/1.1 4"), "body {number}: {answer}");
        }
    }

    /// Tries tokens that nobody has; gives how many.
    fn try_tokens(&self, is_over: impl Fn() -> bool) -> usize {
        let mut tried = 0;
        every(TRY_EVERY, is_over, || {
            let token = format!("Authorization: Bearer jungle_{tried:043}\r\n");
            let answer = send(self.serving.address(), NODE, &token, "");
            assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
            tried += 1;
        });
        tried
    }
}

/// Tells that it is over, also when something fails: nobody else would end.
struct End<'o>(&'o AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Does something so often, until it is over.
fn every(step: Duration, is_over: impl Fn() -> bool, mut act: impl FnMut()) {
    let (_never, pause) = channel::<()>();
    let (begun, mut due) = (Instant::now(), Duration::ZERO);
    while !is_over() {
        act();
        due += step;
        // The rate is the load: each is due at its own time.
        let _ = pause.recv_timeout(due.saturating_sub(begun.elapsed()));
    }
}

/// Goes on with each until it is closed, in time; gives how long that took at most.
fn hold(mut group: Vec<Connection>, within: Duration) -> Duration {
    let mut longest = Duration::ZERO;
    while !group.is_empty() {
        group.retain_mut(|connection| {
            let is_closed = connection.is_closed();
            let (since, hostile) = (connection.opened.elapsed(), connection.hostile);
            assert!(since < within, "{hostile:?} is there after {since:?}");
            longest = longest.max(since);
            !is_closed
        });
    }
    longest
}

/// What 99 of 100 answers are quicker than.
fn p99(times: &[Duration]) -> Duration {
    times[times.len() * 99 / 100]
}

/// The crowd takes as many files here as it does there; a child has the limit that this has.
fn take_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

#[test]
fn hostile_load_is_refused_and_others_are_served() {
    take_files();
    let slack = if std::env::var_os(ALONE).is_some() { 1 } else { SLACK };
    let folder = Folder::new("hostile");
    let served = Guarded::start(&folder);
    let quiet = Instant::now();
    let alone = served.ask(|| quiet.elapsed() > QUIET);
    let before = served.serving.memory("VmRSS:");
    let count: usize = CROWD.iter().map(|(_, count)| count).sum();
    let mut groups: Vec<Vec<Connection>> = (0..THREADS).map(|_| Vec::new()).collect();
    let crowd = CROWD.iter().flat_map(|&(hostile, count)| std::iter::repeat_n(hostile, count));
    for (number, hostile) in crowd.enumerate() {
        groups[number % THREADS].push(Connection::open(&served, hostile));
    }
    let over = AtomicBool::new(false);
    let (beside, tried, longest) = thread::scope(|scope| {
        let (served, over) = (&served, &over);
        let is_over = move || over.load(Ordering::SeqCst);
        let end = End(over);
        let asks = scope.spawn(move || served.ask(is_over));
        let tries = scope.spawn(move || served.try_tokens(is_over));
        let each = BODIES / SENDERS;
        let sends = |at| scope.spawn(move || served.send_bodies(at * each..(at + 1) * each));
        let sends: Vec<_> = (0..SENDERS).map(sends).collect();
        let hold = move |group| scope.spawn(move || hold(group, CLOSED_WITHIN * slack));
        let holds = groups.into_iter().map(hold);
        let holds: Vec<_> = holds.collect();
        let longest = holds.into_iter().map(|thread| thread.join().unwrap()).max();
        sends.into_iter().for_each(|thread| thread.join().unwrap());
        drop(end);
        (asks.join().unwrap(), tries.join().unwrap(), longest.unwrap())
    });
    let more = served.serving.memory("VmHWM:").saturating_sub(before);
    let (quiet, busy) = (p99(&alone), p99(&beside));
    println!(
        "{count} connections were closed after at most {:.1} s, {BODIES} bodies and {tried} tokens \
         refused, with {} KiB more; p99 of {} good answers beside them {} us, of {} alone {} us",
        longest.as_secs_f64(),
        more >> 10,
        beside.len(),
        busy.as_micros(),
        alone.len(),
        quiet.as_micros(),
    );
    assert!(busy <= (quiet * 3 + PAUSE) * slack, "{busy:?} beside, {quiet:?} alone");
    assert!(more <= MEMORY_MORE_MAX, "{more} bytes more");
    // For the ledger.
    let points = count + BODIES + tried;
    println!("hostile: {points} points from seed 0\n{points} passed, 0 failed");
}
