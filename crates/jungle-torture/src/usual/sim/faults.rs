//! What goes wrong.

use jungle_testkit::Rng;

use super::world::{Event, World};

/// How long things are as they should not be.
fn a_while(rng: &mut Rng) -> u64 {
    match rng.below(3) {
        0 => rng.range(500..5_000),
        1 => rng.range(5_000..40_000),
        _ => rng.range(40_000..180_000),
    }
}

impl World {
    /// Something goes wrong; it is mended later.
    pub fn fault(&mut self) -> String {
        let server = self.rng.index(self.servers.len());
        let (replicas, lasts) = (self.engine.state().replica_count(), a_while(&mut self.rng));
        match self.rng.below(11) {
            0 | 1 => self.down(server, lasts, "killed", |server, rng| server.kill(rng)),
            2 => self.down(server, lasts, "stopped", |server, _| server.stop()),
            3 if self.servers[server].running().is_some() => {
                let of_it = self.told.local.iter_mut().filter(|entry| entry.server == server);
                of_it.for_each(|entry| entry.is_lost = true);
                self.down(server, lasts, "wiped", |server, _| server.wipe())
            }
            4 => self.split(lasts),
            5 => {
                let is_it = |node| u64::from(node == replicas + server);
                self.engine.state().split(is_it);
                self.queue.push(self.now() + lasts, Event::Whole);
                format!("s{server} is cut off for {lasts} ms")
            }
            6 | 7 => {
                let leader = self.engine.state().leader();
                let at = leader.unwrap_or_else(|| self.rng.index(replicas));
                self.fail(at, lasts);
                format!("replica {at} is down for {lasts} ms")
            }
            8 => {
                (0..replicas).for_each(|at| {
                    let lasts = self.rng.range(500..30_000);
                    self.fail(at, lasts);
                });
                "all replicas lose their power".to_owned()
            }
            9 => {
                let loses = self.rng.range(2..12);
                self.engine.state().loses = loses;
                self.queue.push(self.now() + lasts, Event::Clear);
                format!("one call of {loses} is lost for {lasts} ms")
            }
            _ => {
                self.slow[server] = true;
                self.queue.push(self.now() + lasts, Event::Quick(server));
                format!("s{server} is slow for {lasts} ms")
            }
        }
    }

    fn down(
        &mut self,
        at: usize,
        lasts: u64,
        how: &str,
        down: impl FnOnce(&mut super::server::Server, &mut Rng),
    ) -> String {
        if self.servers[at].running().is_none() {
            return format!("s{at} is down already");
        }
        down(&mut self.servers[at], &mut self.rng);
        self.queue.push(self.now() + lasts, Event::Start(at));
        format!("s{at} is {how} for {lasts} ms")
    }

    fn fail(&mut self, at: usize, lasts: u64) {
        self.engine.state().fail(at);
        self.queue.push(self.now() + lasts, Event::Power(at));
    }

    /// Everybody is on one of two sides.
    fn split(&mut self, lasts: u64) -> String {
        let mut sides = Vec::new();
        let rng = &mut self.rng;
        self.engine.state().split(|_| {
            sides.push(rng.below(2));
            sides[sides.len() - 1]
        });
        self.queue.push(self.now() + lasts, Event::Whole);
        format!("split for {lasts} ms: {sides:?}")
    }
}
