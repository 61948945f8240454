//! What is done with the folder while it is served: it is copied, verified, rid of what is not
//! kept, and measured; and all that is in it is written as a checkpoint of the cluster.
//!
//! Each kind of work has a thread of its own while it is done, apart from those that serve, and is
//! done once at a time. It goes on whether or not whoever began it stays, who asks how far it is,
//! and may have it given up, which takes as long as its next step. A server that stops has all of
//! it given up, and waits for that, since nobody may have the folder when it is closed.
//!
//! A backup may go to a client as well (`sending.rs`): that is given up when the client goes away.

pub(crate) mod collector;
mod place;
mod sending;
mod shelf;
mod steps;
mod work;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use jungle::{Clock, LogStats, Store, SystemClock, Timestamp, loading};
use jungle_words::time;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::app::Stopping;
use crate::metrics::{Counter, kind, line};
use crate::options::StartError;
use crate::problem::{Kind, Problem};

pub(crate) use sending::Sending;
pub(crate) use shelf::Shelf;
pub(crate) use steps::{Steps, Undone};
pub(crate) use work::{Du, Gc, back_up, checkpoint, du, gc, verify};

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Backup,
    Verify,
    Gc,
    Du,
    Checkpoint,
}

impl Work {
    const ALL: [Work; 5] = [Work::Backup, Work::Verify, Work::Gc, Work::Du, Work::Checkpoint];

    /// As it is called in metrics, and at the end of its address.
    fn name(self) -> &'static str {
        match self {
            Work::Backup => "backup",
            Work::Verify => "verify",
            Work::Gc => "gc",
            Work::Du => "du",
            Work::Checkpoint => "checkpoint",
        }
    }

    /// Where it is asked how it stands.
    fn address(self) -> String {
        let whose = if self == Work::Checkpoint { "cluster" } else { "folder" };
        format!("/api/v1/{whose}/{}", self.name())
    }
}

/// All that is done with a folder.
#[derive(Debug)]
pub(crate) struct Upkeep {
    /// Until the server stops.
    store: Mutex<Option<Arc<Store>>>,
    /// Held while something is read in the folder, which is closed no sooner.
    reading: RwLock<()>,
    /// In which folder backups are, if there may be any.
    backups: Option<PathBuf>,
    places: [Place; Work::ALL.len()],
    panics: Arc<Counter>,
}

/// Where one kind of work is done.
#[derive(Debug)]
struct Place {
    state: Arc<watch::Sender<State>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How a kind of work stands: what was last begun, and what came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    phase: Phase,
    asked: Value,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
    succeeded: Option<Timestamp>,
    steps: Steps,
    result: Value,
    error: Option<String>,
    hint: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Phase {
    #[default]
    Never,
    Running,
    Done,
    Failed,
    GivenUp,
}

/// What is told of a kind of work; the names of the fields are those of the JSON form.
#[derive(Serialize)]
pub(crate) struct Told {
    state: Phase,
    asked: Value,
    began: Option<String>,
    ended: Option<String>,
    done: u64,
    of: u64,
    result: Value,
    error: Option<String>,
    hint: Option<&'static str>,
}

impl Upkeep {
    pub(crate) fn new(
        store: &Arc<Store>,
        backups: Option<&Path>,
        panics: Arc<Counter>,
    ) -> Result<Upkeep, StartError> {
        let made = |folder: &Path| place::make(folder);
        let backups = backups.map(made).transpose().map_err(StartError::Backups)?;
        let store = Mutex::new(Some(Arc::clone(store)));
        let (reading, places) = (RwLock::default(), Default::default());
        Ok(Upkeep { store, reading, backups, places, panics })
    }

    /// Where the backup of this name is, or will be.
    pub(crate) fn backup_place(&self, name: &str) -> Result<PathBuf, Problem> {
        let backups = self.backups.as_deref().ok_or_else(no_backups)?;
        place::of(backups, name).map_err(|why| Problem::bad(why).within("name"))
    }

    /// The backups that there are.
    pub(crate) fn backups(&self) -> Result<Shelf, Problem> {
        let backups = self.backups.as_deref().ok_or_else(no_backups)?;
        Shelf::of(backups).map_err(|error| {
            Problem::new(Kind::Failed, format_args!("the backups cannot be listed: {error}"))
        })
    }

    /// What the folder's log has written since the start; none once the server stops.
    pub(crate) fn log_stats(&self) -> Option<LogStats> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.as_ref().map(|store| store.log_stats())
    }

    /// Whether the folder's trees may be larger than memory; none once the server stops.
    fn spills(&self) -> Option<bool> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.as_ref().map(|store| store.report().spilling.spills)
    }

    /// Reads in the folder, off the threads that serve; refused once the server stops.
    pub(crate) fn read<T>(
        &self,
        f: impl FnOnce(&Store) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let _reading = self.reading.read().unwrap_or_else(PoisonError::into_inner);
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let store = store.ok_or_else(stops)?;
        f(&store)
    }

    /// Begins something, unless that is being done.
    pub(crate) fn begin(
        &self,
        work: Work,
        asked: Value,
        f: impl FnOnce(&Store, &Steps) -> Result<Value, Undone> + Send + 'static,
    ) -> Result<Told, Problem> {
        self.begin_then(work, asked, f, || ())
    }

    /// As [`Upkeep::begin`]; `then` is done when it is under way no more.
    pub(crate) fn begin_then(
        &self,
        work: Work,
        asked: Value,
        f: impl FnOnce(&Store, &Steps) -> Result<Value, Undone> + Send + 'static,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<Told, Problem> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(opened) = store.clone() else {
            return Err(stops());
        };
        let place = &self.places[work as usize];
        if place.state.borrow().phase == Phase::Running {
            let detail = format_args!("{} was begun before and has not ended", work.name());
            let hint = format_args!("GET {} tells how far it is", work.address());
            return Err(Problem::new(Kind::UnderWay, detail).hint(hint));
        }
        let steps = Steps::default();
        let state = place.state.borrow().begun(asked, steps.clone());
        let told = state.told();
        place.state.send_replace(state);
        let (told_to, panics) = (Arc::clone(&place.state), Arc::clone(&self.panics));
        let run = move || {
            let done = done(&panics, || f(&opened, &steps));
            // Whoever hears that it has ended may close the folder.
            drop(opened);
            told_to.send_modify(|state| state.end(work, done));
            then();
        };
        let thread = Builder::new().name(work.name().to_owned()).spawn(run).inspect_err(|_| {
            let refused = Undone::failed("the system refused a thread");
            place.state.send_modify(|state| state.end(work, Err(refused)));
        })?;
        // The one before has ended.
        *place.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        drop(store);
        Ok(told)
    }

    /// Has something given up that is being done, and tells how it stands: it ends at its next
    /// step.
    pub(crate) fn give_up(&self, work: Work) -> Result<Told, Problem> {
        let state = self.places[work as usize].state.borrow();
        if state.phase != Phase::Running {
            let detail = format_args!("no {} is under way", work.name());
            let hint = format_args!("GET {} tells how it ended", work.address());
            return Err(Problem::new(Kind::NotUnderWay, detail).hint(hint));
        }
        state.steps.give_up();
        Ok(state.told())
    }

    /// How it stands, when it has ended or so much time is over.
    pub(crate) async fn look(&self, work: Work, wait: Duration, mut stopping: Stopping) -> Told {
        let mut state = self.places[work as usize].state.subscribe();
        tokio::select! {
            _ = state.wait_for(|state| state.phase != Phase::Running) => {}
            () = tokio::time::sleep(wait) => {}
            () = stopping.wait() => {}
        }
        state.borrow().told()
    }

    /// Has all of it given up, and waits until nobody has the folder.
    pub(crate) fn stop(&self) {
        // From here on nothing is begun.
        drop(self.store.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.places.iter().for_each(|place| place.state.borrow().steps.give_up());
        for place in &self.places {
            let thread = place.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            // What it says is in its state, even a panic.
            let _ = thread.map(JoinHandle::join);
        }
        // Whoever reads has it still.
        drop(self.reading.write().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn metrics(&self, text: &mut String) {
        if let Some(stats) = self.log_stats() {
            let name = "jungle_log_no_room_ahead";
            let help = "Whether the disk had no room for the next segment of the folder's log.";
            kind(text, name, "gauge", help);
            line(text, name, "", u64::from(stats.has_no_room_ahead));
        }
        if let Some(spills) = self.spills() {
            let name = "jungle_memory_spills";
            kind(text, name, "gauge", "Whether the folder's trees may be in a file, too.");
            line(text, name, "", u64::from(spills));
        }
        let mut gauge = |name, help, value: fn(&State) -> u64| {
            kind(text, name, "gauge", help);
            for work in Work::ALL {
                let value = value(&self.places[work as usize].state.borrow());
                line(text, name, &format!("work=\"{}\"", work.name()), value);
            }
        };
        gauge("jungle_upkeep_running", "Whether it is being done.", |state| {
            (state.phase == Phase::Running).into()
        });
        gauge("jungle_upkeep_failed", "Whether it came to a bad end.", |state| {
            (state.phase == Phase::Failed).into()
        });
        let help = "When it was last done well; 0 when it was not since the start.";
        gauge("jungle_upkeep_last_success_timestamp_seconds", help, |state| {
            state.succeeded.map_or(0, seconds)
        });
    }
}

impl Default for Place {
    fn default() -> Place {
        Place { state: Arc::new(watch::Sender::default()), thread: Mutex::default() }
    }
}

fn stops() -> Problem {
    Problem::new(Kind::Stopped, "the server stops")
}

fn no_backups() -> Problem {
    Problem::new(Kind::NoSuchAddress, "this server has no folder for backups")
        .hint("start it with `jungle serve --backups DIR`")
}

/// Does it; a bug in it ends nothing else.
fn done(panics: &Counter, f: impl FnOnce() -> Result<Value, Undone>) -> Result<Value, Undone> {
    let done = || {
        let _watched = panics.on_unwind();
        loading(f)
    };
    match catch_unwind(AssertUnwindSafe(done)) {
        Ok(Ok(done)) => done,
        Ok(Err(damaged)) => Err(damaged.into()),
        Err(_) => Err(Undone::failed("a bug ended it")),
    }
}

/// Seconds since 1970.
pub(crate) fn seconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_micros() / 1_000_000).unwrap_or(0)
}

impl State {
    /// What is begun now.
    fn begun(&self, asked: Value, steps: Steps) -> State {
        State {
            phase: Phase::Running,
            asked,
            began: Some(SystemClock.now()),
            succeeded: self.succeeded,
            steps,
            ..State::default()
        }
    }

    fn end(&mut self, work: Work, done: Result<Value, Undone>) {
        let now = SystemClock.now();
        self.ended = Some(now);
        match done {
            Ok(result) => {
                self.phase = Phase::Done;
                self.result = result;
                self.succeeded = Some(now);
                tracing::info!("{} is done", work.name());
            }
            Err(Undone::GivenUp) => {
                self.phase = Phase::GivenUp;
                tracing::info!("{} was given up", work.name());
            }
            Err(Undone::Failed { error, hint, result }) => {
                self.phase = Phase::Failed;
                tracing::error!(error, "{} failed", work.name());
                (self.error, self.hint, self.result) = (Some(error), hint, result);
            }
        }
    }

    fn told(&self) -> Told {
        let (done, of) = self.steps.get();
        Told {
            state: self.phase,
            asked: self.asked.clone(),
            began: self.began.map(time::text),
            ended: self.ended.map(time::text),
            done,
            of,
            result: self.result.clone(),
            error: self.error.clone(),
            hint: self.hint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bug_in_it_is_told_and_counted() {
        let panics = Counter::default();
        assert!(done(&panics, || panic!("a bug")).is_err());
        assert!(done(&panics, || Err(Undone::failed("a disk"))).is_err());
        assert_eq!(panics.get(), 1);
    }
}
