//! E4 and E5: the board on one server and on three, ours and one that is kept in Cassandra behind
//! the same web front, under the load tool of the originals; all take turns.

mod nodes;

use std::time::{Duration, Instant};

use jungle_testkit::NatsServers;

use self::nodes::Nodes;
use super::super::Options;
use super::super::commit::Floor;
use super::super::folder::Folder;
use super::e3::{Count, SHOWN, furnish, messages};
use super::load::Asking;
use super::server::Serving;
use super::share::{cluster, wait_for};
use crate::Failure;
use crate::sample::Sample;
use crate::stats::{deviation, mean, median};
use crate::systems::System;

/// A client of the originals: requests, and connections that are kept.
const REQUESTS: u64 = 20_000;
const CONNECTIONS: usize = 20;

/// So many of them ask the one server of E4; each of several has one.
const CLIENTS: usize = 10;

/// What so many clients of one server are called, as `15`.
macro_rules! more {
    ($clients:literal) => {
        More {
            clients: $clients,
            ours: [concat!("read-", $clients), concat!("write-", $clients)],
            theirs: [
                concat!("cassandra-read-one-", $clients),
                concat!("cassandra-write-one-", $clients),
            ],
        }
    };
}

/// And so many, as E4 goes on to 45.
const MORE_CLIENTS: [More; 7] =
    [more!(15), more!(20), more!(25), more!(30), more!(35), more!(40), more!(45)];

/// So many, together, send two fifths of what the ten send: a turn of all seven takes about as long
/// as three of the ten.
const MORE_SEND: (u64, u64) = (2, 5);

/// At least so many requests are sent on a connection.
const LEAST: u64 = 10;

/// A JVM is slow at first: nothing is counted for so long.
const WARM_UP: Duration = Duration::from_secs(90);

/// How long the disk's syncs are counted after each turn.
const FLOOR: Duration = Duration::from_millis(500);

/// Posts of a task where syncs are counted. A node syncs for itself as well when it starts, and not
/// always as often: the posts must be many more.
const TASK_POSTS: u64 = 25;

/// Pages may differ by one byte in so many.
const LENGTHS: usize = 50;

/// How a message is posted.
const POST: &str = "post?board=w&author=somebody&text=hello";

/// Answers a second of all servers together, as many as `threads` says: `read` and `write` of ours,
/// `read-newest` of several shows all that was acknowledged anywhere before it was asked for, and
/// `cassandra-read-one` and so on of Cassandra, at ONE and, where there are several nodes, at
/// QUORUM; of one server also with as many clients as the name ends in; each is the median of the
/// turns, `-mean` is their mean, `-deviation` their standard deviation over that. Both sync before
/// they answer, or neither does; `bytes` and `cassandra-bytes` = of the page that is shown. Of
/// several servers of ours there are as many more that post at level local: `write-local` is what
/// these answer, `write-local-settled` the same until all of them show all; `floor` = syncs a
/// second of a bare file. Where Cassandra fails, its numbers are left out, and it is told why.
pub fn sample(is_synced: bool, options: Options, peers: &[System]) -> Result<Sample, Failure> {
    let (folder, servers) = (Folder::new("cassandra")?, options.threads);
    let turns = if options.tiny { 1 } else { 4 };
    let load = Size::of(options, turns);
    let mut floor = Floor::new(&folder.0)?;
    let mut theirs = Theirs::Absent;
    if peers.contains(&System::Cassandra) {
        theirs = Theirs::start(&folder, servers, is_synced, options.tiny);
    }
    let engine = (servers > 1).then(|| match is_synced {
        true => NatsServers::start(servers),
        false => NatsServers::start_unsynced(servers),
    });
    let mut boards = vec![Board::ours(&folder, engine.as_ref(), is_synced, servers)?];
    if let Some(engine) = &engine {
        boards.push(Board::local(&folder, engine, is_synced, servers)?);
    }
    let shown = boards[0].bytes.1;
    theirs.each(|board| match board.bytes.1 {
        length if length.abs_diff(shown) * LENGTHS <= shown => Ok(()),
        length => Err(format!("it shows {length} bytes, and ours {shown}").into()),
    });
    boards.iter_mut().try_for_each(|board| board.warm_up(load))?;
    theirs.each(|board| board.warm_up(load));
    for turn in 1..=turns {
        eprintln!("turn {turn} of {turns}");
        // Neither is always the first.
        if turn % 2 == 1 {
            boards.iter_mut().try_for_each(|board| board.turn(load))?;
        }
        theirs.each(|board| board.turn(load));
        if turn % 2 == 0 {
            boards.iter_mut().try_for_each(|board| board.turn(load))?;
        }
        floor.overwrite(FLOOR)?;
    }
    let sample = Sample::value(median(&boards[0].loads[0].rates), "1/s");
    let sample = sample.with("floor", floor.rate());
    let sample = boards.iter().fold(sample, |all, board| board.told(all));
    let lost = boards.iter().map(Board::lost).sum::<Result<u64, Failure>>()?;
    Ok(theirs.told(sample).check_none(lost, "posts are lost or doubled"))
}

/// How many posts one client makes durable in one node of Cassandra, one after the other; somebody
/// else counts the syncs.
///
/// # Errors
/// When Cassandra is not there, or does not do what it should.
pub fn syncs(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("cassandra-syncs")?;
    let nodes = Nodes::start(&folder.0, 1, true)?;
    let mut board = Board::theirs(&nodes, 1, options.tiny)?;
    let posts = options.tasks * TASK_POSTS;
    let size = Size { requests: posts, connections: 1 };
    let mut loads = board.loads.iter_mut();
    let load = loads.find(|load| load.path.contains(POST)).ok_or("nothing is posted")?;
    let rate = load.run(&board.servers, size)?;
    let sample = Sample::rate(posts as f64 / rate, posts);
    Ok(sample.check_none(board.lost()?, "posts are lost or doubled"))
}

/// Cassandra, and the board that is kept in it; ours go on where it fails.
enum Theirs {
    Absent,
    There(Box<(Board, Nodes)>),
    Failed(String),
}

impl Theirs {
    fn start(folder: &Folder, servers: usize, is_synced: bool, is_tiny: bool) -> Theirs {
        let start = || {
            let nodes = Nodes::start(&folder.0, servers, is_synced)?;
            let board = Board::theirs(&nodes, servers, is_tiny)?;
            Ok::<_, Failure>((board, nodes))
        };
        match start() {
            Ok(there) => Theirs::There(Box::new(there)),
            Err(error) => Theirs::Failed(error.to_string()),
        }
    }

    /// Does this with it, unless it has failed.
    fn each(&mut self, what: impl FnOnce(&mut Board) -> Result<(), Failure>) {
        if let Theirs::There(there) = self
            && let Err(error) = what(&mut there.0)
        {
            *self = Theirs::Failed(error.to_string());
        }
    }

    /// Adds what it reached, or why there is nothing of it.
    fn told(mut self, sample: Sample) -> Sample {
        self.each(|board| match board.lost()? {
            0 => Ok(()),
            lost => Err(format!("{lost} posts are lost or doubled").into()),
        });
        match self {
            Theirs::Absent => sample,
            Theirs::There(there) => there.0.told(sample),
            Theirs::Failed(why) => sample.with_failed(System::Cassandra.name(), why),
        }
    }
}

/// More clients of one server: what reading and posting is called then.
struct More {
    clients: usize,
    ours: [&'static str; 2],
    theirs: [&'static str; 2],
}

/// What each server is asked at once.
#[derive(Clone, Copy)]
struct Size {
    requests: u64,
    connections: usize,
}

impl Size {
    fn of(options: Options, turns: u64) -> Size {
        let clients = if options.threads == 1 { CLIENTS } else { 1 };
        let part = match (options.tiny, options.quick) {
            (true, _) => 100,
            (_, true) => 10,
            _ => 1,
        };
        let requests = clients as u64 * REQUESTS / part / turns;
        Size { requests, connections: clients * CONNECTIONS }
    }
}

/// Servers with two boards: `b` is shown, `w` is posted to.
struct Board {
    servers: Vec<Serving>,
    count: Count,
    loads: Vec<Load>,
    /// How long it is asked before anything is counted, at least once.
    warm_up: Duration,
    /// Of the page that is shown.
    bytes: (&'static str, usize),
}

/// What is asked again and again.
struct Load {
    name: &'static str,
    path: String,
    /// Of how many clients, unless of as many as all.
    clients: Option<usize>,
    header: Option<&'static str>,
    posted: u64,
    rates: Vec<f64>,
    /// The rates until all servers show everything, where they answer before that.
    settled: Option<(&'static str, Vec<f64>)>,
}

impl Load {
    fn new(name: &'static str, path: impl Into<String>) -> Load {
        let (path, rates) = (path.into(), Vec::new());
        Load { name, path, clients: None, header: None, posted: 0, rates, settled: None }
    }

    /// These paths of one server, each by more clients.
    fn of_more(names: fn(&More) -> [&'static str; 2], paths: [&str; 2]) -> Vec<Load> {
        let of = |more: &More| {
            let clients = Some(more.clients);
            let load = |(name, path)| Load { clients, ..Load::new(name, path) };
            names(more).into_iter().zip(paths).map(load).collect::<Vec<_>>()
        };
        MORE_CLIENTS.iter().flat_map(of).collect()
    }

    /// What is asked of each server, with enough on each connection that its making counts little.
    fn size(&self, size: Size) -> Size {
        let (connections, requests) = match self.clients {
            None => (size.connections, size.requests),
            Some(clients) => (clients * CONNECTIONS, size.requests * MORE_SEND.0 / MORE_SEND.1),
        };
        let requests = requests.max(LEAST * connections as u64);
        Size { requests, connections }
    }

    /// Asks all servers at once: answers a second of all together, until the last has ended.
    fn run(&mut self, servers: &[Serving], size: Size) -> Result<f64, Failure> {
        let Size { requests, connections } = self.size(size);
        let ask = |server: &Serving| {
            let url = format!("http://{}{}", server.address, self.path);
            let asking = Asking { header: self.header, ..Asking::of(url) };
            asking.run(requests, connections)
        };
        let rates = std::thread::scope(|scope| {
            let asking: Vec<_> =
                servers.iter().map(|server| scope.spawn(move || ask(server))).collect();
            let joined = asking.into_iter().map(|client| client.join());
            joined.map(|rate| rate.map_err(|_| "a client panicked")?).collect::<Result<Vec<_>, _>>()
        })?;
        let all = requests * servers.len() as u64;
        self.posted += if self.path.contains(POST) { all } else { 0 };
        let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(slowest * servers.len() as f64)
    }
}

impl Board {
    fn ours(
        folder: &Folder,
        engine: Option<&NatsServers>,
        is_synced: bool,
        count: usize,
    ) -> Result<Board, Failure> {
        // A server of a cluster waits for its own folder as well.
        let level = if is_synced { "sync" } else { "buffered" };
        let durability = ["--durability", level];
        let servers = match engine {
            None => {
                let data = folder.0.join("one").display().to_string();
                let server = Serving::jungle(&[&["--data", &data], &durability[..]].concat())?;
                furnish(&server)?;
                vec![server]
            }
            Some(engine) => {
                let unsynced: &[&str] = if is_synced { &[] } else { &["--cluster-unsynced"] };
                cluster(engine, folder, ("quorum", count), &[&durability, unsynced].concat())?
            }
        };
        let paths = ["/boards/b", &format!("/bench/{POST}")];
        let mut loads = vec![Load::new("read", paths[0]), Load::new("write", paths[1])];
        if count == 1 {
            loads.extend(Load::of_more(|more| more.ours, paths));
        } else {
            let newest = Load::new("read-newest", paths[0]);
            loads.push(Load { header: Some("Jungle-Consistency: linearizable"), ..newest });
        }
        let (warm_up, bytes) = (Duration::ZERO, ("bytes", 0));
        Board { servers, count: messages, loads, warm_up, bytes }.shown("/boards/b")
    }

    /// Ours at level local: what is answered is in an outbox, which is synced where the logs are.
    fn local(
        folder: &Folder,
        engine: &NatsServers,
        is_synced: bool,
        count: usize,
    ) -> Result<Board, Failure> {
        let options: &[&str] = match is_synced {
            true => &["--local", "--boards-at", "local", "--durability", "sync"],
            false => {
                let unsynced = ["--durability", "buffered", "--cluster-unsynced"];
                &[&["--local", "--boards-at", "local"], &unsynced[..]].concat()
            }
        };
        let servers = cluster(engine, folder, ("local", count), options)?;
        let mut load = Load::new("write-local", format!("/bench/{POST}"));
        load.settled = Some(("write-local-settled", Vec::new()));
        let (loads, warm_up, bytes) = (vec![load], Duration::ZERO, ("local-bytes", 0));
        Board { servers, count: messages, loads, warm_up, bytes }.shown("/boards/b")
    }

    fn theirs(nodes: &Nodes, count: usize, is_tiny: bool) -> Result<Board, Failure> {
        let front = |at| Serving::cassandra(&nodes.address(at), count);
        let servers = (0..count).map(front).collect::<Result<Vec<Serving>, Failure>>()?;
        for _ in 0..SHOWN {
            servers[0].ask("GET /quorum/post?board=b&author=somebody&text=hello", "")?;
        }
        let paths = ["/one/board?board=b", &format!("/one/{POST}")];
        let mut loads = vec![
            Load::new("cassandra-read-one", paths[0]),
            Load::new("cassandra-write-one", paths[1]),
        ];
        if count == 1 {
            loads.extend(Load::of_more(|more| more.theirs, paths));
        } else {
            loads.push(Load::new("cassandra-read-quorum", "/quorum/board?board=b"));
            loads.push(Load::new("cassandra-write-quorum", format!("/quorum/{POST}")));
        }
        let count = |server: &Serving, board: &str| {
            Ok(server.ask(&format!("GET /count?board={board}"), "")?.trim().parse()?)
        };
        let warm_up = if is_tiny { Duration::ZERO } else { WARM_UP };
        let board = Board { servers, count, loads, warm_up, bytes: ("cassandra-bytes", 0) };
        // At ONE, a replica may be asked that a post has not come to yet.
        board.shown("/quorum/board?board=b")
    }

    /// Looks whether all servers show all messages, and how long the page is.
    fn shown(mut self, path: &str) -> Result<Board, Failure> {
        for server in &self.servers {
            let page = server.ask(&format!("GET {path}"), "")?;
            let shown = page.matches("<li class=\"message\"").count() as u64;
            if shown != SHOWN {
                return Err(format!("{path} shows {shown} messages").into());
            }
            self.bytes.1 = page.len();
        }
        Ok(self)
    }

    /// Asks everything without counting.
    fn warm_up(&mut self, size: Size) -> Result<(), Failure> {
        let begun = Instant::now();
        loop {
            for load in &mut self.loads {
                load.run(&self.servers, size)?;
                if load.settled.is_some() {
                    let there = |server| wait_for(server, self.count, "w", load.posted);
                    self.servers.iter().try_for_each(there)?;
                }
            }
            if begun.elapsed() >= self.warm_up {
                return Ok(());
            }
        }
    }

    fn turn(&mut self, size: Size) -> Result<(), Failure> {
        for load in &mut self.loads {
            let begun = Instant::now();
            let rate = load.run(&self.servers, size)?;
            let posted = load.size(size).requests * self.servers.len() as u64;
            eprintln!("{}: {rate:.0}/s", load.name);
            load.rates.push(rate);
            if let Some((name, rates)) = &mut load.settled {
                let all = load.posted;
                let there = |server| wait_for(server, self.count, "w", all);
                self.servers.iter().try_for_each(there)?;
                let rate = posted as f64 / begun.elapsed().as_secs_f64();
                eprintln!("{name}: {rate:.0}/s");
                rates.push(rate);
            }
        }
        Ok(())
    }

    /// Adds what it reached.
    fn told(&self, sample: Sample) -> Sample {
        let sample = sample.with(self.bytes.0, self.bytes.1 as f64);
        self.loads.iter().fold(sample, |all, load| {
            let (name, rates) = (load.name, &load.rates);
            let all = all
                .with(name, median(rates))
                .with(&format!("{name}-mean"), mean(rates))
                .with(&format!("{name}-deviation"), deviation(rates));
            match &load.settled {
                Some((name, rates)) => all.with(name, median(rates)),
                None => all,
            }
        })
    }

    /// How many of the posts are not there, or too many.
    fn lost(&self) -> Result<u64, Failure> {
        let posted: u64 = self.loads.iter().map(|load| load.posted).sum();
        let lost = |server| {
            wait_for(server, self.count, "w", posted)?;
            let (shown, found) = ((self.count)(server, "b")?, (self.count)(server, "w")?);
            Ok(posted.abs_diff(found) + SHOWN.abs_diff(shown))
        };
        self.servers.iter().map(lost).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{CONNECTIONS, Load, MORE_CLIENTS, Size};
    use crate::plan::{self, Number};

    #[test]
    fn what_more_clients_reach_is_asked_for_under_its_name() {
        let cases = plan::cases("cassandra").unwrap();
        let has = |name: &str| {
            cases.iter().any(|case| matches!(case.number, Number::Named(it) if it == name))
        };
        for more in &MORE_CLIENTS {
            for name in more.ours.iter().chain(&more.theirs) {
                for end in ["", "-mean", "-deviation"] {
                    assert!(has(&format!("{name}{end}")), "{name}{end}");
                }
            }
        }
    }

    #[test]
    fn more_clients_send_less_each() {
        let size = Size { requests: 50_000, connections: 200 };
        let few = Load::new("read", "/").size(size);
        assert_eq!((few.requests, few.connections), (50_000, 200));
        let loads = Load::of_more(|more| more.ours, ["/", "/"]);
        assert_eq!(loads.len(), 2 * MORE_CLIENTS.len());
        let last = loads[loads.len() - 1].size(size);
        assert_eq!((last.requests, last.connections), (20_000, 45 * CONNECTIONS));
        // However few there are to be, a connection is not for one alone.
        let few = loads[0].size(Size { requests: 100, ..size });
        assert_eq!(few.requests, 10 * few.connections as u64);
    }
}
