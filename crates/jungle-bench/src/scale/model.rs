//! How fast a cluster is, worked out from what its parts take.
//!
//! Of a **commit** of which `g` are in one message (times in microseconds, sizes in bytes):
//! ```text
//! bytes(g)   = message_bytes + g record_bytes
//! publish(g) = publish + publish_byte (bytes(g) - bytes(1))       a majority has it
//! apply(g)   = receive + message + g record                       a server that follows has it,
//!                                                                 once its thread runs: wake
//! work(g)    = prepare for g = 1, else g joined                   where it is committed
//! ```
//!
//! **On machines of their own** ([`predict`]), a network's hop is `h`, and to pass a message on to
//! one more takes `s(g) = max(copy, 8 bytes(g) / bandwidth)`; `k` is the fan-out:
//! ```text
//!        up          down to the last                            half-way down
//! star   h           2 h + (ceil((n-1)/3) + 2) s                 1.5 h + half of these s
//! tree   d h         d (h + k s), n ≤ k + k² + … + k^d           d (h + k s / 2)
//! ring   n/4 h       ceil(n/2) (h + s) + s                       half of that
//! mesh   h           h + n s                                     h + n s / 2
//!
//! seen      = work(1) + up + publish(1) + 2 h + deliver + down + apply(1) + 2 wake
//! cycle(g)  = work(g) + up + publish(g) + 2 h + deliver + half-way down + apply(g) + 2 wake
//! commits/s = min(g / cycle(g), g / (out s(g)), 1 / (apply(g) / g))
//! reads/s   = n (cores - commits/s apply(g) / g) / read
//! bytes/s   = commits/s bytes(g) / g on each link, `out` times that from the busiest sender
//! ```
//! `2 h` is the engine's own round trip, which is in `publish` on one machine, but without a
//! network. There is one message under way at a time, since each says which one it comes after; the
//! next one is sent by a server half-way down, which has followed the one before: its thread that
//! follows is woken, and then the one that waits for it. `out` is how many servers the busiest
//! sender passes a message on to.
//!
//! **On the cores of one machine** ([`Here`]), which all servers and the engine share, `n` servers
//! do, for each message,
//! ```text
//! cpu(n, g) = engine + engine_byte (bytes(g) - bytes(1)) + n (copy + receive)
//!           + g joined + (n - 1) (message + g record)
//! beside(g) = (copy + wake + apply(g)) / cores       for each of the n - 1 others
//! seen      = work(1) + publish(1) + deliver + (n - 1) (beside(1) + wake / cores)
//!                                                            (n = 1: no deliver)
//! commits/s = g / max(publish(g) + g joined + (n - 1) beside(g), cpu(n, g) / cores)
//! ```
//! Nobody waits on those others for the commits, but for the lone one.
//! The engine's three servers keep the cores busy while a message is under way, so what follows
//! does not hide behind that.

use super::network::{FAN_OUT, Topology};

/// What the parts take on this machine, each measured apart from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Microseconds to work out, encode and do one commit of one's own, alone in its message.
    pub prepare_us: f64,
    /// Microseconds of processor for each of many that go into a message together, with the waking
    /// of their threads.
    pub joined_us: f64,
    /// Microseconds to follow a message, without its records.
    pub message_us: f64,
    /// Microseconds to follow each record in it.
    pub record_us: f64,
    /// Bytes of a message, without its records.
    pub message_bytes: f64,
    /// Bytes of each record.
    pub record_bytes: f64,
    /// Microseconds until a majority of the engine has a message of one record: the median.
    pub publish_us: f64,
    /// Nanoseconds more for each further byte.
    pub publish_byte_ns: f64,
    /// Microseconds until one who follows gets it, once a majority has it: the median.
    pub deliver_us: f64,
    /// Microseconds of processor that all of the engine's servers, and the client, need for it.
    pub engine_us: f64,
    /// Nanoseconds more for each further byte.
    pub engine_byte_ns: f64,
    /// Microseconds of processor that the engine needs for one more who follows.
    pub copy_us: f64,
    /// Microseconds of processor that the client of who follows needs.
    pub receive_us: f64,
    /// Microseconds until a thread that waits for a message, or for one who follows it, goes on.
    pub wake_us: f64,
    /// Nanoseconds of a read.
    pub read_ns: f64,
}

/// Where the servers are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// Microseconds from one machine to another, one way.
    pub hop_us: f64,
    /// Bits a second that a machine can send.
    pub bits_s: f64,
    /// Cores of each machine.
    pub cores: f64,
}

impl Default for Site {
    /// Machines of two cores in one data centre: 0.1 ms one way, 10 Gbit/s.
    fn default() -> Site {
        Site { hop_us: 100.0, bits_s: 10e9, cores: 2.0 }
    }
}

/// What a cluster does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Commits a second, of all servers together.
    pub commits_s: f64,
    /// Reads a second, of all servers together, while there are so many commits.
    pub reads_s: f64,
    /// Microseconds from the call of a lone commit until the last server shows it: the median.
    pub seen_us: f64,
    /// Bytes a second over each link.
    pub link_bytes_s: f64,
    /// Bytes a second from who passes each message on to most.
    pub out_bytes_s: f64,
}

impl Parameters {
    /// Bytes of a message of so many commits.
    pub fn bytes(&self, commits: f64) -> f64 {
        self.message_bytes + commits * self.record_bytes
    }

    /// Microseconds until a majority of the engine has it.
    pub fn publish(&self, commits: f64) -> f64 {
        self.publish_us + self.publish_byte_ns / 1e3 * (self.bytes(commits) - self.bytes(1.0))
    }

    /// Microseconds until a server that follows has done it.
    pub fn apply(&self, commits: f64) -> f64 {
        self.receive_us + self.message_us + commits * self.record_us
    }

    fn work(&self, commits: f64) -> f64 {
        if commits > 1.0 { commits * self.joined_us } else { self.prepare_us }
    }
}

/// How long the way is: microseconds.
struct Way {
    up: f64,
    down: f64,
    halfway: f64,
    /// How many the busiest sender passes a message on to.
    out: f64,
}

impl Way {
    /// `hop` of the network, `send` to pass a message on to one more.
    fn new(topology: Topology, servers: usize, hop: f64, send: f64) -> Way {
        let n = servers as f64;
        match topology {
            Topology::Star => {
                // The leader has the two other hubs, and a third of the servers.
                let out = (n / 3.0).ceil() + 2.0;
                let copies = (((n - 1.0) / 3.0).ceil() + 2.0) * send;
                Way { up: hop, down: 2.0 * hop + copies, halfway: 1.5 * hop + copies / 2.0, out }
            }
            Topology::Tree => {
                let (depth, k) = (f64::from(depth(servers)), FAN_OUT.min(servers) as f64);
                let (up, down) = (depth * hop, depth * (hop + k * send));
                Way { up, down, halfway: depth * (hop + k * send / 2.0), out: k }
            }
            Topology::Ring => {
                let down = (n / 2.0).ceil() * (hop + send) + send;
                Way { up: (n / 4.0).max(1.0) * hop, down, halfway: down / 2.0, out: n.min(2.0) }
            }
            Topology::Mesh => {
                Way { up: hop, down: hop + n * send, halfway: hop + n * send / 2.0, out: n }
            }
        }
    }
}

/// How many levels a tree of so many servers has.
fn depth(servers: usize) -> u32 {
    let (mut depth, mut level, mut reached) = (1, FAN_OUT, FAN_OUT);
    while reached < servers {
        level *= FAN_OUT;
        reached += level;
        depth += 1;
    }
    depth
}

/// What `servers`, each on a machine of its own, do with `group` commits in a message.
pub fn predict(
    parameters: &Parameters,
    site: &Site,
    topology: Topology,
    servers: usize,
    group: f64,
) -> Prediction {
    let send = |commits: f64| parameters.copy_us.max(8e6 * parameters.bytes(commits) / site.bits_s);
    let way = |commits: f64| Way::new(topology, servers, site.hop_us, send(commits));
    // From when it is committed until those who follow are told, with the engine's round trip.
    let placed = |commits: f64| {
        let engine = parameters.publish(commits) + 2.0 * site.hop_us + parameters.deliver_us;
        parameters.work(commits) + way(commits).up + engine
    };
    let woken = 2.0 * parameters.wake_us;
    let seen_us = placed(1.0) + way(1.0).down + parameters.apply(1.0) + woken;
    let Way { halfway, out, .. } = way(group);
    let apply = parameters.apply(group);
    let cycle = placed(group) + halfway + apply + woken;
    let commits_s = 1e6 * group / cycle.max(out * send(group)).max(apply);
    let following = (commits_s * apply / group / 1e6).min(site.cores);
    let reads_s = servers as f64 * (site.cores - following) * 1e9 / parameters.read_ns;
    let link_bytes_s = commits_s / group * parameters.bytes(group);
    Prediction { commits_s, reads_s, seen_us, link_bytes_s, out_bytes_s: out * link_bytes_s }
}

/// All servers, and the engine's three, on the cores of one machine.
#[derive(Clone, Copy, Debug)]
pub struct Here<'p> {
    /// What its parts take.
    pub parameters: &'p Parameters,
    /// How many there are.
    pub cores: f64,
}

impl Here<'_> {
    /// Microseconds of processor for a message of so many commits, with all that follows.
    fn cpu(&self, servers: f64, group: f64) -> f64 {
        let p = self.parameters;
        let further = p.bytes(group) - p.bytes(1.0);
        p.engine_us
            + p.engine_byte_ns / 1e3 * further
            + servers * (p.copy_us + p.receive_us)
            + group * p.joined_us
            + (servers - 1.0) * (p.message_us + group * p.record_us)
    }

    /// Microseconds until all others have done a message.
    fn others(&self, servers: usize, group: f64) -> f64 {
        let p = self.parameters;
        (servers as f64 - 1.0) * (p.copy_us + p.wake_us + p.apply(group)) / self.cores
    }

    /// Commits a second of `group` clients on one server, all of which all servers do.
    pub fn commits_s(&self, servers: usize, group: f64) -> f64 {
        let p = self.parameters;
        let cycle = p.publish(group) + group * p.joined_us + self.others(servers, group);
        1e6 * group / cycle.max(self.cpu(servers as f64, group) / self.cores)
    }

    /// Microseconds from the call of a lone commit until the last server shows it.
    pub fn seen_us(&self, servers: usize) -> f64 {
        let p = self.parameters;
        let deliver = if servers > 1 { p.deliver_us } else { 0.0 };
        let waiting = (servers as f64 - 1.0) * p.wake_us / self.cores;
        p.work(1.0) + p.publish(1.0) + deliver + self.others(servers, 1.0) + waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::SIMULATED;
    use super::{Here, Parameters, Site, depth, predict};
    use crate::scale::Topology;

    const SITE: Site = Site { hop_us: 100.0, bits_s: 1e9, cores: 2.0 };

    /// Times that are easy to add up.
    const EASY: Parameters = Parameters {
        prepare_us: 1.0,
        joined_us: 2.0,
        message_us: 3.0,
        record_us: 4.0,
        message_bytes: 100.0,
        record_bytes: 25.0,
        publish_us: 1_000.0,
        publish_byte_ns: 0.0,
        deliver_us: 8.0,
        engine_us: 400.0,
        engine_byte_ns: 0.0,
        copy_us: 10.0,
        receive_us: 5.0,
        wake_us: 0.0,
        read_ns: 1_000.0,
    };

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn a_commit_is_seen_after_its_way() {
        let seen = |topology, n| predict(&EASY, &SITE, topology, n, 1.0).seen_us;
        // Work 1, publish 1000, its round trip 200, deliver 8, apply 12; and the way up and down.
        let rest = 1.0 + 1_000.0 + 200.0 + 8.0 + 12.0;
        near(seen(Topology::Star, 10), rest + 100.0 + 200.0 + 5.0 * 10.0);
        near(seen(Topology::Tree, 10), rest + 100.0 + 100.0 + 10.0 * 10.0);
        near(seen(Topology::Tree, 1_000), rest + 300.0 + 3.0 * (100.0 + 10.0 * 10.0));
        near(seen(Topology::Ring, 1_000), rest + 25_000.0 + 500.0 * 110.0 + 10.0);
        near(seen(Topology::Mesh, 1_000), rest + 100.0 + 100.0 + 1_000.0 * 10.0);
    }

    #[test]
    fn commits_are_as_many_as_the_narrowest_part_lets_through() {
        let commits =
            |p: &Parameters, topology, n, group| predict(p, &SITE, topology, n, group).commits_s;
        // One message at a time: half-way down a mesh of ten.
        let cycle = 1.0 + 100.0 + 1_000.0 + 208.0 + (100.0 + 50.0) + 12.0;
        near(commits(&EASY, Topology::Mesh, 10, 1.0), 1e6 / cycle);
        // A leader that passes 1,000 copies on, 10 µs each.
        near(commits(&EASY, Topology::Mesh, 1_000, 1.0), 1e6 / 10_000.0);
        // Followers that take longer than anything else.
        let slow = Parameters { record_us: 1e6, ..EASY };
        assert!(commits(&slow, Topology::Star, 10, 1.0) < 1.0);
        // Many a message are more a second.
        assert!(commits(&EASY, Topology::Star, 10, 64.0) > 30.0 * 1e6 / 2_000.0);
    }

    #[test]
    fn a_narrow_link_is_what_a_copy_takes() {
        let slow = Site { bits_s: 1e6, ..SITE };
        // 125 bytes at 1 Mbit/s are 1 ms each.
        let seen = predict(&EASY, &slow, Topology::Mesh, 10, 1.0).seen_us;
        near(seen, 1_221.0 + 200.0 + 10.0 * 1_000.0);
    }

    #[test]
    fn reads_grow_with_the_servers_less_what_they_follow() {
        let of = |n| predict(&EASY, &SITE, Topology::Star, n, 1.0);
        let (ten, thousand) = (of(10), of(1_000));
        let busy = ten.commits_s * 12.0 / 1e6;
        near(ten.reads_s, 10.0 * (2.0 - busy) * 1e6);
        assert!(thousand.reads_s > 99.0 * ten.reads_s);
        near(ten.link_bytes_s, ten.commits_s * 125.0);
        near(ten.out_bytes_s, 6.0 * ten.link_bytes_s);
    }

    #[test]
    fn on_one_machine_all_share_the_cores() {
        let here = Here { parameters: &EASY, cores: 2.0 };
        near(here.seen_us(1), 1_001.0);
        near(here.seen_us(5), 1_009.0 + 4.0 * 22.0 / 2.0);
        // One server waits for the engine, and for the others: 10 + 5 + 3 + 256 each.
        near(here.commits_s(1, 64.0), 64e6 / (1_000.0 + 128.0));
        near(here.commits_s(21, 64.0), 64e6 / (1_128.0 + 20.0 * 274.0 / 2.0));
        // An engine that needs the cores for longer than a message takes.
        let busy = Parameters { engine_us: 10_000.0, ..EASY };
        let here = Here { parameters: &busy, cores: 2.0 };
        near(here.commits_s(1, 64.0), 64e6 / ((10_000.0 + 15.0 + 128.0) / 2.0));
    }

    #[test]
    fn threads_are_woken_by_a_message_and_by_who_has_followed_it() {
        let (still, woken) = (EASY, Parameters { wake_us: 6.0, ..EASY });
        let of = |p: &Parameters| predict(p, &SITE, Topology::Star, 10, 1.0);
        near(of(&woken).seen_us, of(&still).seen_us + 12.0);
        near(1e6 / of(&woken).commits_s, 1e6 / of(&still).commits_s + 12.0);
        let here = |parameters| Here { parameters, cores: 2.0 };
        near(here(&woken).seen_us(1), here(&still).seen_us(1));
        near(here(&woken).seen_us(5), here(&still).seen_us(5) + 4.0 * 12.0 / 2.0);
        let cycle = |here: Here<'_>| 64e6 / here.commits_s(5, 64.0);
        near(cycle(here(&woken)), cycle(here(&still)) + 4.0 * 6.0 / 2.0);
    }

    #[test]
    fn nothing_is_odd_at_the_ends() {
        for topology in Topology::ALL {
            for n in [1, 2, 10, 1_000, 100_000] {
                let p = predict(&SIMULATED, &Site::default(), topology, n, 64.0);
                let all = [p.commits_s, p.reads_s, p.seen_us, p.link_bytes_s, p.out_bytes_s];
                assert!(all.iter().all(|x| x.is_finite() && *x > 0.0), "{topology:?} {n}: {p:?}");
            }
        }
        assert_eq!([1, 10, 11, 110, 111, 1_110, 1_111].map(depth), [1, 1, 2, 2, 3, 3, 4]);
    }
}
