//! Durable segments, while machines with the engine's servers and with takers are cut off from each
//! other by the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::LONG;
use crate::kill::{DONE, JOBS, Taker, options};
use alice_nats::{Durable, Engine, NotReceived, Options};
use jungle_testkit::{Machines, NatsServers, Rng, for_each_seed};

const MACHINES: usize = 3;
/// How long a fault lasts: the others have chosen a leader meanwhile.
const LASTS: Duration = Duration::from_secs(6);
/// So many results must come after it.
const BACK: usize = 30;
/// How many jobs may be under way.
const AHEAD: usize = 60;

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// One is on no network.
    Unplugged,
    /// One and the others lose what they send each other.
    Parted,
    /// What one sends to another is lost; what it is sent arrives.
    Unheard,
}

#[test]
fn nothing_is_lost_or_done_twice_while_machines_are_cut_off() {
    let test = "network::nothing_is_lost_or_done_twice_while_machines_are_cut_off";
    Machines::run(test, MACHINES, |machines| {
        for_each_seed(1, |rng| {
            let servers = NatsServers::start_on(machines);
            let takers = (0..MACHINES).map(|at| {
                let program = std::env::current_exe().unwrap();
                Taker::start_by(machines.command(at, program), &servers.address(at))
            });
            let _takers: Vec<Taker> = takers.collect();
            let mut farm = Farm::new(&servers);
            farm.work_until(|farm| farm.results() >= BACK);
            for fault in [Fault::Parted, Fault::Unheard, Fault::Unplugged] {
                farm.suffer(fault, &servers, machines, rng);
            }
            farm.check();
        });
    });
}

/// Who puts jobs, and receives what comes of them.
struct Farm {
    engine: Engine,
    jobs: Durable<u64>,
    done: Durable<u64>,
    next: u64,
    /// For each job whether it is known to have been put.
    put: BTreeMap<u64, bool>,
    /// By the index of the result, which may come again.
    came: BTreeMap<u64, u64>,
}

impl Farm {
    fn new(servers: &NatsServers) -> Farm {
        // It notices soon that a server is not there any more.
        let client = async_nats::ConnectOptions::new().ping_interval(Duration::from_secs(1));
        let options = Options { client, ..options() };
        let engine = Engine::connect(&servers.addresses(), options).unwrap();
        let (jobs, done) = (engine.peer("farm").durable(&JOBS), engine.peer("home").durable(&DONE));
        Farm { engine, jobs, done, next: 0, put: BTreeMap::new(), came: BTreeMap::new() }
    }

    fn results(&self) -> usize {
        self.came.len()
    }

    fn work_until(&mut self, is_enough: impl Fn(&Farm) -> bool) {
        let begun = Instant::now();
        while !is_enough(self) {
            let results = self.results();
            assert!(begun.elapsed() < 2 * LONG, "{results} results of {} jobs", self.next);
            if self.next < (results + AHEAD) as u64 {
                let jobs = self.next..self.next + 20;
                self.next = jobs.end;
                let put = self.jobs.put_all(jobs.clone());
                self.put.extend(jobs.zip(put.iter().map(Result::is_ok)));
            }
            self.receive(Duration::from_millis(100));
        }
    }

    /// What is there, and at least one if that comes within this time.
    fn receive(&mut self, within: Duration) {
        match self.done.take_up_to(AHEAD, within) {
            Ok(taken) => {
                let results = taken.iter().map(|it| (it.index(), *it.open().unwrap()));
                self.came.extend(results);
                // What is not confirmed comes again, under the same index.
                drop(alice_nats::Taken::done_all(taken));
            }
            Err(NotReceived::TimedOut | NotReceived::Engine(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }

    fn suffer(&mut self, fault: Fault, servers: &NatsServers, machines: &Machines, rng: &mut Rng) {
        let leader = self.engine.leader().ok().flatten();
        let leader = leader.and_then(|leader| servers.position(&leader));
        let at = leader.unwrap_or_else(|| rng.index(MACHINES));
        let others: Vec<usize> = (0..MACHINES).filter(|&other| other != at).collect();
        match fault {
            Fault::Unplugged => machines.unplug(at),
            Fault::Parted => machines.part(&[at], &others),
            Fault::Unheard => machines.lose(at, *rng.pick(&others)),
        }
        let (begun, before) = (Instant::now(), self.results());
        self.work_until(|_| begun.elapsed() > LASTS);
        let (healed, meanwhile) = (Instant::now(), self.results() - before);
        machines.mend();
        if let Fault::Unplugged = fault {
            machines.plug(at);
        }
        let wanted = self.results() + BACK;
        self.work_until(|farm| farm.results() >= wanted);
        println!("{fault:?}: {meanwhile} results, then {BACK} in {:.1?}", healed.elapsed());
    }

    /// Each job that was put has one result, and each that may have been has at most one.
    fn check(&mut self) {
        let begun = Instant::now();
        let is_there = |farm: &Farm, job: u64| farm.came.values().any(|&result| result == 2 * job);
        let is_missing =
            |farm: &Farm| farm.put.iter().any(|(&job, &is_put)| is_put && !is_there(farm, job));
        while is_missing(self) {
            assert!(begun.elapsed() < LONG, "some are lost");
            self.receive(Duration::from_millis(100));
        }
        // Whatever is there twice has come by now, or is behind what comes last.
        let last = self.next;
        self.jobs.put(last).unwrap();
        while !is_there(self, last) {
            assert!(begun.elapsed() < 2 * LONG, "the last one is lost");
            self.receive(Duration::from_millis(100));
        }
        let all: BTreeSet<u64> = self.came.values().copied().collect();
        assert_eq!(all.len(), self.came.len(), "some are there twice");
        assert!(all.iter().all(|result| *result <= 2 * last && result % 2 == 0));
        let undecided = self.put.values().filter(|is_put| !**is_put).count();
        println!("{} results, {undecided} puts not known to be there", self.came.len());
    }
}
