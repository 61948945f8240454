//! What the originals published, with the machine it was taken on. Nothing here was measured by us.

/// A curve over processors.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// What was measured, and by whom.
    pub name: &'static str,
    /// How a number becomes a rate.
    pub scale: Scale,
    /// Processors (E7: clients), and the number.
    pub points: &'static [(f64, f64)],
}

/// How the numbers were given.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// Seconds for so many operations.
    Seconds(f64),
    /// Operations a second.
    Rate,
}

/// Where E1 to E3 were taken.
pub const ORIGINALS: &str = "Published for the Haskell Jungle: 2 × Xeon X5650 2.67 GHz, 12 cores, \
    24 threads, 126 GB, GHC 7.6.3; E3 with weighttp on a second such machine";

/// Where that can be looked up.
pub const ORIGINALS_SOURCE: &str = "The slides of a master's thesis on it (University of the \
    Ryukyus, 2014, firefly.cr.ie.u-ryukyu.ac.jp/hg/Papers/2014/toma-master/annotate/0b1a059c49fa/\
    slides/master.html) say 10.37 × at 12 cores, and 3.25 × and 3.78 × over the Java board; the \
    seconds drawn here come to 10.77 ×, 1.87 × and 2.3 ×";

/// What they say of E1.
pub const READ_QUOTED: &str = "They quote 98.96 % parallel, from the point at 12 alone";

/// What they say of E2.
pub const WRITE_QUOTED: &str = "They quote 80.8 % parallel, from the point at 12 alone";

/// Where E7 was taken.
pub const POSTGRES: &str = "Published: pgbench -S on PostgreSQL 9.2.4, 16 cores";

/// E1: 1,000 walks through 800,000 nodes.
pub const READ: Published = Published {
    name: "Haskell Jungle (published)",
    scale: Scale::Seconds(1_000.0 * 800_000.0),
    points: &[
        (1.0, 59.77),
        (2.0, 33.36),
        (4.0, 15.63),
        (8.0, 8.10),
        (12.0, 5.55),
        (16.0, 5.65),
        (20.0, 5.23),
        (24.0, 5.77),
    ],
};

/// E2: 1,000 trees of 10,000 nodes.
pub const WRITE: Published = Published {
    name: "Haskell Jungle (published)",
    scale: Scale::Seconds(1_000.0 * 10_000.0),
    points: &[
        (1.0, 52.68),
        (2.0, 33.92),
        (4.0, 20.11),
        (8.0, 15.31),
        (12.0, 13.62),
        (16.0, 14.92),
        (20.0, 18.62),
        (24.0, 16.63),
    ],
};

/// E3: 1,000,000 requests of each kind.
pub const BOARD: [Published; 5] = [
    Published {
        name: "Warp read (published)",
        scale: Scale::Seconds(1e6),
        points: &[(1.0, 60.72), (2.0, 37.74), (4.0, 28.97), (8.0, 27.73), (12.0, 28.33)],
    },
    Published {
        name: "Warp write (published)",
        scale: Scale::Seconds(1e6),
        points: &[
            (1.0, 54.16),
            (2.0, 36.71),
            (4.0, 31.74),
            (8.0, 31.58),
            (10.0, 32.64),
            (12.0, 32.68),
        ],
    },
    Published {
        name: "Warp hello (published)",
        scale: Scale::Seconds(1e6),
        points: &[(1.0, 49.28), (2.0, 35.45), (4.0, 25.70), (8.0, 27.90), (12.0, 29.23)],
    },
    Published {
        name: "Java Jungle on Jetty 6, read (published)",
        scale: Scale::Seconds(1e6),
        points: &[(12.0, 53.13)],
    },
    Published {
        name: "Java Jungle on Jetty 6, write (published)",
        scale: Scale::Seconds(1e6),
        points: &[(12.0, 76.4)],
    },
];

/// E7: transactions over clients, the other cores idle.
pub const IDLE_TRAP: Published = Published {
    name: "PostgreSQL 9.2.4 (published)",
    scale: Scale::Rate,
    points: &[
        (1.0, 6_611.74),
        (2.0, 12_777.12),
        (4.0, 24_969.75),
        (8.0, 47_909.13),
        (12.0, 74_015.65),
        (14.0, 86_452.66),
        (16.0, 100_139.74),
    ],
};

/// E7 again, with the idle cores kept busy: what was 47,909.13 before.
pub const IDLE_TRAP_OCCUPIED: Published = Published {
    name: "PostgreSQL 9.2.4, idle cores busy (published)",
    scale: Scale::Rate,
    points: &[(8.0, 51_022.18)],
};

/// Where the figures of servers beyond this machine are from.
pub const BEYOND: [&str; 3] = [
    "ZooKeeper, all reads and all writes, requests of 1 KiB, 250 clients, each server a machine of \
     its own (two Xeons of 2.1 GHz, gigabit network): P. Hunt, M. Konar, F. Junqueira, B. Reed, \
     ZooKeeper: Wait-free coordination for Internet-scale systems, USENIX ATC 2010, table 1",
    "etcd 2.2.0, values of 64 bytes, 256 clients at all three servers, each on a machine of its \
     own (GCE n1-highcpu-2): etcd.io/docs, Benchmarking etcd v2.2.0",
    "Networks: a round trip of 0.09 ms in one room (ZooKeeper's wiki, ServiceLatencyOverview), up \
     to several hundred microseconds in one data centre (etcd.io/docs, Performance): the model \
     takes 0.1 ms one way",
];

/// ZooKeeper and etcd over servers.
pub const SERVERS: [Published; 4] = [
    Published {
        name: "ZooKeeper reads (published)",
        scale: Scale::Rate,
        points: &[(3.0, 87e3), (5.0, 165e3), (7.0, 257e3), (9.0, 296e3), (13.0, 460e3)],
    },
    Published {
        name: "ZooKeeper writes (published)",
        scale: Scale::Rate,
        points: &[(3.0, 21e3), (5.0, 18e3), (7.0, 14e3), (9.0, 12e3), (13.0, 8e3)],
    },
    Published {
        name: "etcd 2.2.0 reads (published)",
        scale: Scale::Rate,
        points: &[(3.0, 46_592.0)],
    },
    Published {
        name: "etcd 2.2.0 writes (published)",
        scale: Scale::Rate,
        points: &[(3.0, 4_461.0)],
    },
];

/// A published figure beside a case of ours, both in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What was measured.
    pub what: &'static str,
    /// Before and after their change.
    pub published: [f64; 2],
    /// The case that is nearest to it, and how many of them make up the published one.
    pub ours: (&'static str, f64),
    /// How many of our case's unit are a microsecond.
    pub units: f64,
}

/// Where E6 was taken.
pub const ALICE: &str = "published for Alice: 12 cores, mean of 100 runs";

/// E6.
pub const FIGURES: [Figure; 3] = [
    Figure {
        what: "10,000 code segments, each fetches a data segment",
        published: [27_720.0, 7_530.0],
        ours: ("chain", 1.0),
        units: 1.0,
    },
    Figure {
        what: "a data segment added 10,000 times: put → flip (ours is taken again as well)",
        published: [65_240.0, 61_120.0],
        ours: ("flip-take-8", 10_000.0),
        units: 1_000.0,
    },
    Figure {
        what: "bitonic sort of 1,000,000 elements in 10 splits",
        published: [199_380.0, 184_640.0],
        ours: ("network", 1.0),
        units: 1.0,
    },
];

impl Published {
    /// Operations a second over processors.
    pub fn rates(&self) -> Vec<(f64, f64)> {
        let rate = |number: f64| match self.scale {
            Scale::Seconds(operations) => operations / number,
            Scale::Rate => number,
        };
        self.points.iter().map(|(at, number)| (*at, rate(*number))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fit::parallel_of_ratio;
    use super::{BOARD, READ, WRITE};

    /// The rates and ratios that were published beside the seconds.
    #[test]
    fn the_curves_are_those_that_were_published() {
        let (read, write) = (READ.rates(), WRITE.rates());
        assert!((read[0].1 / 13.4e6 - 1.0).abs() < 0.005, "{read:?}");
        assert!((write[0].1 / 190e3 - 1.0).abs() < 0.005, "{write:?}");
        let twelve = read[4].1 / read[0].1;
        assert!((twelve - 10.77).abs() < 0.005, "{twelve}");
        let parallel = parallel_of_ratio(12.0, twelve);
        assert!((parallel - 0.9896).abs() < 0.0001, "Amdahl's from one point: {parallel}");
        assert!((write[4].1 / write[0].1 - 3.86).abs() < 0.01);
        let last = |board: usize| *BOARD[board].rates().last().unwrap();
        let over_java = |ours: usize, java: usize| {
            assert_eq!((last(ours).0, last(java).0), (12.0, 12.0), "both at 12 processors");
            last(ours).1 / last(java).1
        };
        assert!((over_java(0, 3) - 1.87).abs() < 0.01 && (over_java(1, 4) - 2.3).abs() < 0.05);
    }
}
