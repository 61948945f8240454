//! What a server takes of memory while it is held under load. It is the one that is not killed,
//! since one that is begins anew.

use std::fs;
use std::time::{Duration, Instant};

use super::world::World;

/// How often it is looked.
const OFTEN: Duration = Duration::from_secs(1);
/// How often it is told, after so many looks.
const TOLD: usize = 60;

pub(crate) struct Memory {
    /// The machine of which the server of ours is left alone.
    pub(crate) spared: usize,
    looked: Instant,
    /// In KiB, as they were found.
    taken: Vec<u64>,
}

impl Memory {
    pub(crate) fn new(spared: usize) -> Memory {
        Memory { spared, looked: Instant::now(), taken: Vec::new() }
    }

    pub(crate) fn look(&mut self, world: &World<'_>) {
        if self.looked.elapsed() < OFTEN {
            return;
        }
        self.looked = Instant::now();
        let process = world.server(self.spared).id().expect("it is not killed");
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        self.taken.push(resident.trim().trim_end_matches(" kB").parse().unwrap());
        if self.taken.len().is_multiple_of(TOLD) {
            println!("  {}: s{} has {resident}", world.progress(), self.spared);
        }
    }

    /// Holds the last third against the one in the middle; the first is to warm up.
    pub(crate) fn judge(&self) {
        let third = self.taken.len() / 3;
        let median = |from: usize| {
            let mut taken = self.taken[from..from + third].to_vec();
            taken.sort_unstable();
            taken[third / 2]
        };
        let [first, middle, last] = [0, third, 2 * third].map(median);
        let (at, most) = (self.spared, self.taken.iter().max().unwrap());
        println!("  s{at} had {first}, {middle}, {last} KiB in the thirds, {most} at most");
        assert!(last <= middle + middle / 10, "{first}, {middle}, {last} KiB: not level");
    }
}
