//! Registers that several servers write, read and compare-and-set while servers of the engine are
//! killed and paused, and servers of ours leave and return. All servers are equal in the end.
//! `cargo xtask torture lin` writes the histories down, and has them checked for linearizability.

use std::fmt::Write as _;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use jungle_db::{NotWritten, Snapshot, TreeHandle, UpdateError};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::EditError;
use serde_json::json;

use crate::schedule::{PATIENCE, Schedule, Server};
use crate::support::{SCHEDULES, SEED, int, reads_are_stale, told};

/// The folder for histories; without it they are not written.
const HISTORIES: &str = "CLUSTER_HISTORIES";

const REGISTERS: u64 = 3;
const CLIENTS: usize = 6;
const OPERATIONS: u64 = 120;

#[test]
fn acknowledged_writes_survive_kills_and_pauses() {
    let (schedules, first) = (told(SCHEDULES, 3), told(SEED, 0));
    for_each_seed(schedules, |rng| {
        let rng = &mut Rng::new(first + rng.seed());
        let world = World::new();
        world.schedule.run(rng, CLIENTS, OPERATIONS, |client, rng| world.work(client, rng));
        world.note_last(&world.schedule.end());
        world.write_history(rng.seed());
    });
}

struct World {
    schedule: Schedule,
    begun: Instant,
    /// What was done, a line of JSON each.
    history: Mutex<String>,
    /// No value is written twice.
    next: AtomicI64,
    stale: Mutex<Option<Snapshot>>,
}

fn tree(server: &Server) -> TreeHandle {
    server.jungle.open_tree("t").unwrap()
}

fn name(register: u64) -> String {
    format!("r{register}")
}

impl World {
    fn new() -> World {
        let schedule = Schedule::new(|jungle| {
            let tree = jungle.create_tree("t").unwrap();
            tree.update(|tx| (0..REGISTERS).try_for_each(|at| tx.put_attribute(&[], &name(at), 0)))
                .unwrap();
        });
        World {
            schedule,
            begun: Instant::now(),
            history: Mutex::default(),
            next: AtomicI64::new(1),
            stale: Mutex::default(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap()
    }

    /// One operation of a client, on its server.
    fn work(&self, client: usize, rng: &mut Rng) {
        let server = self.schedule.server(client);
        let tree = tree(&server);
        let register = rng.below(REGISTERS);
        let key = name(register);
        let call = self.now();
        let told = match rng.below(3) {
            0 => {
                // A read that failed has said nothing.
                server.cluster.linearize(PATIENCE).ok().and_then(|_| {
                    let read = self.seen(tree.snapshot())?;
                    let value = read.root().attribute(&key)?.as_int();
                    Some(json!({"kind": "read", "value": value, "known": true}))
                })
            }
            kind => {
                let value = self.next.fetch_add(1, Ordering::Relaxed);
                let compared = (kind == 1).then(|| int(&tree, "/", &key).unwrap());
                self.write(&tree, &key, value, compared)
            }
        };
        let back = self.now();
        if let Some(mut told) = told {
            told["client"] = client.into();
            told["register"] = register.into();
            told["call"] = call.into();
            told["return"] = back.into();
            writeln!(self.history.lock().unwrap(), "{told}").unwrap();
        }
    }

    /// What a read looks at: a stale one at what somebody else's has seen.
    fn seen(&self, newest: Snapshot) -> Option<Snapshot> {
        if !reads_are_stale() {
            return Some(newest);
        }
        self.stale.lock().unwrap().replace(newest)
    }

    /// Writes, if the register has what it is compared with; tells what is to be noted of that.
    fn write(
        &self,
        tree: &TreeHandle,
        key: &str,
        value: i64,
        compared: Option<i64>,
    ) -> Option<serde_json::Value> {
        let written = tree.update(|tx| {
            let there = tx.attribute(&[], key)?.and_then(|value| value.as_int());
            // One that finds something else has no place in the log, so it may have seen what is
            // old: it says nothing.
            if compared.is_some_and(|compared| there != Some(compared)) {
                return Ok(false);
            }
            tx.put_attribute(&[], key, value)?;
            Ok(true)
        });
        let is_known = match written {
            Ok(commit) if commit.value => true,
            Ok(_) => return None,
            Err(UpdateError::NotWritten(NotWritten::Undecided(_))) => false,
            Err(UpdateError::<EditError>::NotWritten(NotWritten::Refused(_))) => return None,
            Err(error) => panic!("{error:?}"),
        };
        let kind = if compared.is_some() { "cas" } else { "write" };
        Some(json!({"kind": kind, "value": value, "compared": compared, "known": is_known}))
    }

    /// The last word of every register: what was acknowledged is not lost.
    fn note_last(&self, newcomer: &Server) {
        for register in 0..REGISTERS {
            let (call, read) = (self.now(), int(&tree(newcomer), "/", &name(register)));
            let told = json!({
                "kind": "read", "value": read, "known": true, "client": CLIENTS,
                "register": register, "call": call, "return": self.now(),
            });
            writeln!(self.history.lock().unwrap(), "{told}").unwrap();
        }
    }

    fn write_history(&self, seed: u64) {
        let history = self.history.lock().unwrap();
        let operations = history.lines().count() as u64;
        assert!(operations > OPERATIONS, "only {operations} operations came to anything");
        println!("seed {seed}: {operations} operations");
        if let Some(folder) = std::env::var_os(HISTORIES) {
            let file = std::path::Path::new(&folder).join(format!("{seed}.jsonl"));
            fs::write(file, &*history).unwrap();
        }
    }
}
