//! What holds whatever befalls a cluster whose clients change and read the same trees on all
//! servers at once:
//!
//! - *Bank*: transfers between subtrees and between trees neither make nor lose money, and no
//!   snapshot of any server, taken at any time, shows half of one.
//! - *Set*: what was added and acknowledged is in every read that asks for the newest and begins
//!   after that, and is there in the end, once; what was refused never is.
//! - *Long fork*: no two reads, wherever they are made, tell of two additions in different orders.
//! - *Watch order*: who watches is told of each commit once, in the order of the log, also where a
//!   server was lost and the watch goes on on the one that took its place.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use jungle_db::{
    CommitOptions, EditTreesError, Jungle, NotWritten, Revision, TreeHandle, UpdateError,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Change, Node, Path};

use crate::schedule::{PATIENCE, SERVERS, Schedule, Server};
use crate::support::{SCHEDULES, SEED, reads_are_stale, told};

const CLIENTS: usize = 6;
const OPERATIONS: u64 = 150;

/// The trees of the bank, the accounts in each, and what is in each account at first.
const BANKS: [&str; 2] = ["current", "savings"];
const ACCOUNTS: u64 = 4;
const DEPOSIT: i64 = 50;

/// How often the balance is looked at in one go.
const LOOKS: u32 = 2_000;

/// The nodes that additions are spread over, so that most commits are in places of their own.
const SHELVES: i64 = 5;

type Elements = BTreeSet<i64>;

#[test]
fn money_additions_and_watches_hold_through_kills_and_pauses() {
    let (schedules, first) = (told(SCHEDULES, 3), told(SEED, 0));
    for_each_seed(schedules, |rng| {
        let rng = &mut Rng::new(first + rng.seed());
        let world = World::new();
        world.schedule.run(rng, CLIENTS, OPERATIONS, |client, rng| world.work(client, rng));
        let newcomer = world.schedule.end();
        world.check(&newcomer);
        println!("seed {}: {}", rng.seed(), world.counted());
    });
}

struct World {
    schedule: Schedule,
    next: AtomicI64,
    seen: Mutex<Seen>,
    /// One for each server, who goes on with the server that takes its place.
    watchers: Vec<Mutex<Watcher>>,
}

/// What clients were told.
#[derive(Default)]
struct Seen {
    acknowledged: Elements,
    /// Of which nobody knows.
    undecided: Elements,
    reads: Vec<Elements>,
    transfers: u64,
}

struct Watcher {
    seen: Revision,
    told: Vec<(Revision, i64)>,
}

/// What came of a commit.
#[derive(PartialEq)]
enum Outcome<T> {
    Done(T),
    Undecided,
    Refused,
}

impl World {
    fn new() -> World {
        let schedule = Schedule::new(|jungle| {
            for bank in BANKS {
                let tree = jungle.create_tree(bank).unwrap();
                tree.update(|tx| {
                    (0..ACCOUNTS).try_for_each(|at| {
                        tx.insert_child(&[], &account(at)[0])?;
                        tx.put_attribute(&account(at), "balance", DEPOSIT).map(drop)
                    })
                })
                .unwrap();
            }
            let set = jungle.create_tree("set").unwrap();
            set.update(|tx| (0..SHELVES).try_for_each(|at| tx.insert_child(&[], &shelf(at)[0])))
                .unwrap();
        });
        let begun = set(&schedule.server(0)).snapshot().revision();
        let watcher = |_| Mutex::new(Watcher { seen: begun, told: Vec::new() });
        World {
            schedule,
            next: AtomicI64::new(1),
            seen: Mutex::default(),
            watchers: (0..SERVERS).map(watcher).collect(),
        }
    }

    /// One operation of a client, on its server.
    fn work(&self, client: usize, rng: &mut Rng) {
        let server = self.schedule.server(client);
        match rng.below(8) {
            0 | 1 => self.transfer(&server.jungle, rng),
            // So that some of them fall into a commit.
            2 => (0..LOOKS).for_each(|_| check_balance(&server.jungle)),
            3 | 4 => self.add(&server),
            5 => self.read(&server),
            6 => {
                self.add(&server);
                drop(server);
                // Where what was acknowledged just now may not have come yet.
                self.read_newest(&self.schedule.server(client + 1));
            }
            _ => self.watch(client % SERVERS, &server),
        }
    }

    fn transfer(&self, jungle: &Jungle, rng: &mut Rng) {
        let [from, to] = [(); 2].map(|()| (*rng.pick(&BANKS), account(rng.below(ACCOUNTS))));
        let amount = i64::try_from(rng.range(1..30)).unwrap();
        let moved = jungle.update(&CommitOptions::default(), |tx| {
            let mut pay = |(bank, account): &(&str, Path), amount: i64| {
                let draft = tx.tree(bank)?;
                let balance = draft.attribute(account, "balance")?.and_then(|value| value.as_int());
                let after = balance.unwrap() + amount;
                if after >= 0 {
                    draft.put_attribute(account, "balance", after)?;
                }
                Ok::<_, EditTreesError>(after >= 0)
            };
            // Who has not enough pays nothing, and nothing comes of it.
            Ok::<_, EditTreesError>(pay(&from, -amount)? && pay(&to, amount)?)
        });
        if outcome(moved.map(|moved| moved.value)) == Outcome::Done(true) {
            self.seen.lock().unwrap().transfers += 1;
        }
    }

    fn add(&self, server: &Server) {
        let element = self.next.fetch_add(1, Ordering::Relaxed);
        let shelf = shelf(element % SHELVES);
        let added = set(server).update(|tx| tx.put_attribute(&shelf, &element.to_string(), true));
        let mut seen = self.seen.lock().unwrap();
        match outcome(added.map(|added| added.value)) {
            Outcome::Done(_) => seen.acknowledged.insert(element),
            Outcome::Undecided => seen.undecided.insert(element),
            Outcome::Refused => false,
        };
    }

    /// What this server has, be it old.
    fn read(&self, server: &Server) {
        let read = elements(set(server).snapshot().root());
        self.seen.lock().unwrap().reads.push(read);
    }

    fn read_newest(&self, server: &Server) {
        let before = self.seen.lock().unwrap().acknowledged.clone();
        // A read that failed has said nothing.
        if !reads_are_stale() && server.cluster.linearize(PATIENCE).is_err() {
            return;
        }
        let read = elements(set(server).snapshot().root());
        let missing: Vec<_> = before.difference(&read).collect();
        assert!(missing.is_empty(), "{missing:?} were acknowledged before this read began");
        self.seen.lock().unwrap().reads.push(read);
    }

    /// All that there is to tell by now.
    fn watch(&self, at: usize, server: &Server) {
        let mut watcher = self.watchers[at].lock().unwrap();
        let set = set(server);
        // The server that took the place of a lost one may not have come as far as that yet.
        if set.snapshot().revision() < watcher.seen {
            return;
        }
        let mut watch = set.watch(&[], watcher.seen);
        while let Some(event) = watch.next().unwrap() {
            let [Change::AttributePut { key, .. }] = &event.changes[..] else {
                panic!("more than one addition: {}", event.changes)
            };
            watcher.told.push((event.info.revision, key.parse().unwrap()));
        }
        watcher.seen = watch.seen();
    }

    fn check(&self, newcomer: &Server) {
        check_balance(&newcomer.jungle);
        let there = elements(set(newcomer).snapshot().root());
        for at in 0..SERVERS {
            self.watch(at, &self.schedule.server(at));
        }
        let seen = self.seen.lock().unwrap();
        assert!(there.is_superset(&seen.acknowledged), "what was acknowledged is lost");
        let possible: Elements = seen.acknowledged.union(&seen.undecided).copied().collect();
        assert!(there.is_subset(&possible), "what was refused is there");
        let reads = seen.reads.iter().chain([&there]);
        assert_eq!(forked(reads), None, "two reads tell of additions in different orders");
        let told = &self.watchers[0].lock().unwrap().told;
        for watcher in &self.watchers[1..] {
            assert_eq!(&watcher.lock().unwrap().told, told, "watches differ");
        }
        // The first one made the shelves, before anybody watched; the one before that, the tree.
        let history = set(newcomer).history(..).rev().skip(2);
        let history = history.map(|info| info.unwrap().revision);
        assert!(history.eq(told.iter().map(|(revision, _)| *revision)), "{told:?}");
        let once: Elements = told.iter().map(|(_, element)| *element).collect();
        assert_eq!((once.len(), &once), (told.len(), &there), "an addition is told twice");
    }

    /// What came of it all. Who could do next to nothing has shown nothing.
    fn counted(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let (added, reads) = (seen.acknowledged.len(), seen.reads.len());
        assert!(added > 20 && reads > 20 && seen.transfers > 10, "{added} {reads}");
        format!("{} transfers, {added} additions, {reads} reads of them", seen.transfers)
    }
}

fn outcome<T, E: Debug>(result: Result<T, UpdateError<E>>) -> Outcome<T> {
    match result {
        Ok(value) => Outcome::Done(value),
        Err(UpdateError::NotWritten(NotWritten::Undecided(_))) => Outcome::Undecided,
        Err(UpdateError::NotWritten(NotWritten::Refused(_))) => Outcome::Refused,
        Err(error) => panic!("{error:?}"),
    }
}

fn account(at: u64) -> Path {
    [format!("account-{at}").as_str()].into()
}

fn shelf(at: i64) -> Path {
    [format!("shelf-{at}").as_str()].into()
}

fn set(server: &Server) -> TreeHandle {
    server.jungle.open_tree("set").unwrap()
}

fn elements(root: Node<'_>) -> Elements {
    let shelves = root.children();
    shelves.flat_map(|(_, shelf)| shelf.attributes().map(|(key, _)| key.parse().unwrap())).collect()
}

/// One snapshot of all trees has all the money there is, and nobody owes any.
fn check_balance(jungle: &Jungle) {
    let snapshot = jungle.snapshot();
    let accounts = BANKS.iter().flat_map(|bank| snapshot.tree(bank).unwrap().root().children());
    let balances: Vec<i64> = accounts
        .map(|(_, account)| account.attribute("balance").and_then(|value| value.as_int()).unwrap())
        .collect();
    let accounts = i64::try_from(ACCOUNTS).unwrap() * BANKS.len() as i64;
    assert_eq!(balances.iter().sum::<i64>(), accounts * DEPOSIT, "{balances:?}");
    assert!(balances.iter().all(|balance| *balance >= 0), "{balances:?}");
}

/// Two reads of which each has something that the other has not: in one order of all additions,
/// one of any two reads has all that the other has.
fn forked<'r>(reads: impl Iterator<Item = &'r Elements>) -> Option<(&'r Elements, &'r Elements)> {
    let mut reads: Vec<&Elements> = reads.collect();
    reads.sort_by_key(|read| read.len());
    let pairs = reads.windows(2).map(|pair| (pair[0], pair[1]));
    pairs.into_iter().find(|(fewer, more)| !fewer.is_subset(more))
}

#[test]
fn a_fork_is_found() {
    let read = |elements: &[i64]| elements.iter().copied().collect::<Elements>();
    let one_order = [read(&[1, 2, 3]), read(&[]), read(&[2]), read(&[1, 2]), read(&[2])];
    assert_eq!(forked(one_order.iter()), None);
    let fork = [read(&[1, 2, 3]), read(&[2]), read(&[1]), read(&[])];
    assert!(forked(fork.iter()).is_some());
    let fork = [read(&[1, 2, 3]), read(&[4]), read(&[1, 2])];
    assert!(forked(fork.iter()).is_some());
}
