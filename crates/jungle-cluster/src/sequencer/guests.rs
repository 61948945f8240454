//! Commits of other servers that are appended along with one's own.
//!
//! The log has one place after the other, so servers that all append to it would wait for each
//! other. What stands wherever it comes ([`Sequencer::sequence_anywhere`]) need not: its server,
//! the *guest*, sends it to whoever appended the newest message, the *host*, which takes it along
//! in its next one. That a message has it is what tells the guest; it waits for no other answer.
//!
//! No batch has two places. The log takes a message only from who has followed all before, and in
//! these is what a host has to know: which batches were taken, and that a guest has appended
//! something itself, as it does when it waits no longer; what it sent before is void then. And a
//! batch says up to which message it may be taken: who has followed that, and has not found it,
//! knows that it has no place.
//!
//! [`Sequencer::sequence_anywhere`]: jungle_db::Sequencer::sequence_anywhere

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use jungle_db::{
    BranchEdit, BranchId, CommitRecord, Event, Jungle, Revision, Timestamp, TreeHandle,
};
use jungle_tree::{Arena, Editor, apply, loading};

use crate::cluster::survey::Role;
use crate::engine::log::LogId;
use crate::local::adds_one;
use crate::message::{self, Carried, Input, MARK_BYTES_MAX};

/// A batch may be taken by so many messages, counted from the newest that its server had followed.
const TAKEN_WITHIN: u64 = 4;
/// Who has appended nothing for so long is no host.
const HOST_FOR: Duration = Duration::from_secs(1);
/// Who was taken along by one of so many messages is likely to come again.
const EXPECTED_FOR: u64 = 3;
/// Batches have no more bytes than this, and no more records.
const BATCH_BYTES_MAX: usize = 256 << 10;
const RECORDS_MAX: usize = 1024;
/// So many batches wait here at most, and of so many servers is remembered what they did.
const WAITING_MAX: usize = 64;
const SERVERS_MAX: usize = 256;

const MAGIC: &[u8; 4] = b"JGG\x01";

/// Batches that wait here, and what is known of all that may come.
#[derive(Default)]
pub(crate) struct Guests {
    state: Mutex<State>,
    /// One has come, or no more will be taken.
    came: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Arc<Guest>>,
    /// All messages from here on were seen,
    since: u64,
    /// and up to here.
    sequence: u64,
    servers: BTreeMap<String, Seen>,
    /// Who appended the newest message that had records, and when that was seen.
    host: Option<(String, Instant)>,
    /// This server, and what was taken of it last.
    own: String,
    own_taken: Option<Carried>,
    has_ended: bool,
}

/// What a server did, as the log says.
#[derive(Default)]
struct Seen {
    /// Its newest message.
    message: u64,
    /// The number of the newest batch of it that was taken,
    batch: u64,
    /// and the message that has that.
    carried: u64,
}

/// A batch of another server.
#[derive(Debug)]
pub(crate) struct Guest {
    mark: String,
    /// Its number among the batches of its server, which are counted from 1.
    number: u64,
    /// The newest message that its server had followed.
    after: u64,
    records: Vec<CommitRecord>,
}

/// A batch that is sent to a host.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) number: u64,
    pub(crate) after: u64,
}

/// What a host takes along.
#[derive(Default)]
pub(crate) struct Hosted {
    /// How many of the records are its own.
    pub(crate) own: usize,
    pub(crate) records: Vec<CommitRecord>,
    pub(crate) encoded: Vec<Vec<u8>>,
    pub(crate) carried: Vec<Carried>,
}

impl Visit {
    /// The batch as it is sent; `None` if it is too long.
    ///
    /// ```text
    /// "JGG"  version 1: 1 byte
    /// what the log is known by: 16
    /// its server, as in messages; number of the batch 8; newest message that was followed 8
    /// how many records: 4, and for each: length 4 + that many, as in messages
    /// BLAKE3 hash of all before: 32
    /// ```
    pub(crate) fn write(&self, log: LogId, mark: &str, records: &[Vec<u8>]) -> Option<Bytes> {
        let bytes = records.iter().map(|record| record.len() + 4).sum::<usize>();
        if records.len() > RECORDS_MAX || bytes > BATCH_BYTES_MAX {
            return None;
        }
        let mut out = BytesMut::with_capacity(bytes + 2 * MARK_BYTES_MAX);
        out.put_slice(MAGIC);
        out.put_slice(&log.0);
        message::put_mark(&mut out, mark);
        out.put_u64_le(self.number);
        out.put_u64_le(self.after);
        message::put_records(&mut out, records);
        Some(message::end(out))
    }
}

impl Guest {
    /// Reads a batch; `None` if it is none of this log, or damaged: then it never came.
    fn read(bytes: &[u8], log: LogId, arena: &Arena) -> Option<Guest> {
        let (body, hash) = bytes.split_last_chunk::<32>()?;
        if bytes.len() > BATCH_BYTES_MAX + 1024 || blake3::hash(body).as_bytes() != hash {
            return None;
        }
        let mut input = Input(body.strip_prefix(MAGIC)?.strip_prefix(&log.0)?);
        let mark = input.mark().ok()?.to_owned();
        let (number, after) = (input.u64().ok()?, input.u64().ok()?);
        let records = input.records().ok()?;
        if !input.0.is_empty() || records.len() > RECORDS_MAX {
            return None;
        }
        let decode = |bytes| jungle_store::decode(bytes, Revision::default(), arena).ok();
        let records: Vec<CommitRecord> = records.into_iter().map(decode).collect::<Option<_>>()?;
        let is_guest = records.iter().all(|record| edit_of(record).is_some());
        (is_guest && !records.is_empty()).then_some(Guest { mark, number, after, records })
    }
}

impl Guests {
    /// Says which server this is, once, and up to where the log is known.
    pub(crate) fn set_own(&self, mark: &str) {
        mark.clone_into(&mut self.lock().own);
    }

    pub(crate) fn own(&self) -> String {
        self.lock().own.clone()
    }

    /// Nothing is known of the log before this message.
    pub(crate) fn begin(&self, sequence: u64) {
        let mut state = self.lock();
        let (own, has_ended) = (std::mem::take(&mut state.own), state.has_ended);
        *state = State { own, has_ended, since: sequence, sequence, ..State::default() };
    }

    /// A batch has come.
    pub(crate) fn came(&self, bytes: &[u8], log: LogId, arena: &Arena) {
        let Some(guest) = Guest::read(bytes, log, arena) else { return };
        let mut state = self.lock();
        if state.waiting.len() < WAITING_MAX && state.is_valid(&guest) {
            state.waiting.push(Arc::new(guest));
            drop(state);
            self.came.notify_all();
        }
    }

    /// A message was followed.
    pub(crate) fn passed(&self, sequence: u64, mark: &str, has_records: bool, taken: &[Carried]) {
        let mut state = self.lock();
        state.sequence = sequence;
        state.seen(mark).message = sequence;
        for taken in taken {
            let seen = state.seen(&taken.mark);
            (seen.batch, seen.carried) = (taken.number, sequence);
            if taken.mark == state.own {
                state.own_taken = Some(taken.clone());
            }
        }
        if has_records {
            state.host = Some((mark.to_owned(), Instant::now()));
        }
        let mut waiting = std::mem::take(&mut state.waiting);
        waiting.retain(|guest| state.is_valid(guest));
        state.waiting = waiting;
        drop(state);
        self.came.notify_all();
    }

    /// Waits for those who were taken along just before, for at most so long: they are likely to
    /// come again.
    pub(crate) fn gather(&self, within: Duration) {
        let are_missing =
            |state: &mut State| state.waiting.len() < state.expected() && !state.has_ended;
        drop(self.came.wait_timeout_while(self.lock(), within, are_missing));
    }

    /// Waits so long, or until nobody waits any more.
    pub(crate) fn rest(&self, within: Duration) {
        let are_waiting = |state: &mut State| !state.waiting.is_empty() && !state.has_ended;
        drop(self.came.wait_timeout_while(self.lock(), within, are_waiting));
    }

    /// Who is to take along what this server has, if somebody is.
    pub(crate) fn host(&self) -> Option<String> {
        let state = self.lock();
        let (host, since) = state.host.as_ref()?;
        (*host != state.own && since.elapsed() < HOST_FOR).then(|| host.clone())
    }

    /// What this server does.
    pub(crate) fn role(&self) -> Role {
        let state = self.lock();
        match &state.host {
            Some((_, since)) if since.elapsed() >= HOST_FOR => Role::Follows,
            Some((host, _)) if *host == state.own => Role::Appends,
            Some(_) if state.servers.get(&state.own).is_some_and(|own| state.is_expected(own)) => {
                Role::Guest
            }
            _ => Role::Follows,
        }
    }

    /// Nobody is known to take anything along.
    pub(crate) fn forget_host(&self) {
        self.lock().host = None;
    }

    /// What has become of a batch of this server's: `None` while it may still be taken, and then
    /// which revision its first record is, and how many of them have their places.
    pub(crate) fn outcome(&self, visit: &Visit) -> Option<(Revision, usize)> {
        let mut state = self.lock();
        if let Some(taken) = state.own_taken.as_ref().filter(|it| it.number == visit.number) {
            return Some((taken.first, taken.count));
        }
        let own = std::mem::take(&mut state.own);
        let is_void = state.seen(&own).message > visit.after;
        state.own = own;
        let is_over = state.sequence >= visit.after + TAKEN_WITHIN;
        (is_void || is_over).then(|| (Revision::default(), 0))
    }

    /// Waits until a batch is there, for at most `within`; `false` when no more will be taken.
    pub(crate) fn wait(&self, within: Duration) -> bool {
        let is_idle = |state: &mut State| state.waiting.is_empty() && !state.has_ended;
        let waited = self.came.wait_timeout_while(self.lock(), within, is_idle);
        !waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    pub(crate) fn are_waiting(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
        self.came.notify_all();
    }

    /// What is in a message behind the server's own records, which are to be the next revisions: of
    /// those that stand anywhere as many as do, and what guests have.
    pub(crate) fn host_all(
        &self,
        jungle: &Jungle,
        own: &[CommitRecord],
        encoded: &[Vec<u8>],
        anywhere: &[CommitRecord],
    ) -> Hosted {
        let waiting = self.lock().waiting.clone();
        let bytes = encoded.iter().map(|record| record.len() + 4).sum();
        let room = message::RECORDS_BYTES_MAX.saturating_sub(bytes);
        let next = Revision::new(jungle.revision().number() + 1 + own.len() as u64);
        let mut hosting = Hosting { jungle, own, branches: BTreeMap::new(), next, room };
        let mut hosted = Hosted::default();
        hosted.own = hosting.take(anywhere, &mut hosted);
        for (index, guest) in waiting.iter().enumerate() {
            let (first, before) = (hosting.next, hosted.records.len());
            // What cannot be read here is not taken. It keeps back nothing that others have.
            if loading(|| hosting.take(&guest.records, &mut hosted)).is_err() {
                hosting.close(&guest.records);
            }
            let count = hosted.records.len() - before;
            if count > 0 {
                let (mark, number) = (guest.mark.clone(), guest.number);
                hosted.carried.push(Carried { mark, number, first, count });
            } else if index == 0 && own.is_empty() && hosted.records.is_empty() {
                // Nothing was in its way, so it cannot be taken at all: it never came.
                self.lock().waiting.retain(|waiting| !Arc::ptr_eq(waiting, guest));
            }
        }
        hosted
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// May it be taken, as far as is known? What is not known any more is taken to say no.
    fn is_valid(&self, guest: &Guest) -> bool {
        let seen = self.servers.get(&guest.mark);
        guest.after >= self.since
            && self.sequence < guest.after.saturating_add(TAKEN_WITHIN)
            && seen.is_none_or(|seen| seen.message <= guest.after && seen.batch < guest.number)
    }

    /// How many guests were taken along just before.
    fn expected(&self) -> usize {
        self.servers.values().filter(|seen| self.is_expected(seen)).count()
    }

    /// Was it?
    fn is_expected(&self, seen: &Seen) -> bool {
        let oldest = (self.sequence + 1).saturating_sub(EXPECTED_FOR);
        seen.carried > 0 && seen.carried >= oldest
    }

    /// What is remembered of a server.
    fn seen(&mut self, mark: &str) -> &mut Seen {
        if self.servers.len() >= SERVERS_MAX && !self.servers.contains_key(mark) {
            self.servers.clear();
            self.since = self.sequence;
        }
        self.servers.entry(mark.to_owned()).or_default()
    }
}

/// A message that batches are taken into.
struct Hosting<'h> {
    jungle: &'h Jungle,
    own: &'h [CommitRecord],
    /// Branches as they are with what is in the message already, and the newest time there.
    branches: BTreeMap<BranchId, Option<(Editor, Timestamp)>>,
    next: Revision,
    /// So many bytes are left.
    room: usize,
}

impl Hosting<'_> {
    /// Takes records up to the first that cannot be; tells how many.
    fn take(&mut self, records: &[CommitRecord], hosted: &mut Hosted) -> usize {
        let before = hosted.records.len();
        for record in records {
            let Some((record, encoded)) = self.placed(record) else { break };
            self.room -= encoded.len() + 4;
            self.next = Revision::new(self.next.number() + 1);
            hosted.records.push(record);
            hosted.encoded.push(encoded);
        }
        self.room = self.room.saturating_sub(MARK_BYTES_MAX + 12);
        hosted.records.len() - before
    }

    /// Takes nothing more for the branches of these, whose editors may have half of something.
    fn close(&mut self, records: &[CommitRecord]) {
        for edit in records.iter().filter_map(edit_of) {
            self.branches.insert(edit.branch, None);
        }
    }

    /// A record as it is in this message, if it stands.
    fn placed(&mut self, record: &CommitRecord) -> Option<(CommitRecord, Vec<u8>)> {
        let edit = edit_of(record)?;
        let (jungle, own) = (self.jungle, self.own);
        let branch = self.branches.entry(edit.branch);
        let (editor, time) = branch.or_insert_with(|| begin(jungle, edit, own)).as_mut()?;
        if !adds_one(&edit.changes, editor.root()) {
            return None;
        }
        let record = CommitRecord {
            revision: self.next,
            time: record.time.max(*time),
            meta: record.meta.clone(),
            event: record.event.clone(),
        };
        let mut encoded = Vec::new();
        jungle_store::encode(&record, &mut encoded).ok()?;
        if encoded.len() + 4 > self.room {
            return None;
        }
        *time = record.time;
        if apply(editor, &edit.changes).is_err() {
            // It may be changed in part.
            self.branches.insert(edit.branch, None);
            return None;
        }
        Some((record, encoded))
    }
}

/// A branch with all that one's own records do to it, and the newest time there.
fn begin(jungle: &Jungle, edit: &BranchEdit, own: &[CommitRecord]) -> Option<(Editor, Timestamp)> {
    let handle = jungle.branch_with_id(edit.tree, edit.branch)?;
    let head = handle.snapshot();
    // A message says what its branches had. Where that cannot be read, it is found out by this.
    let _ = head.root().content_hash();
    let mut time = newest_time(&handle, head.revision())?;
    let mut editor = Editor::new((*head).clone());
    for record in own {
        let Event::Edited(edits) = &record.event else { return None };
        for own in edits.iter().filter(|own| own.branch == edit.branch) {
            apply(&mut editor, &own.changes).ok()?;
        }
        time = time.max(record.time);
    }
    Some((editor, time))
}

/// The time of the newest revision of a branch; the earliest there is, where there is none.
fn newest_time(branch: &TreeHandle, head: Revision) -> Option<Timestamp> {
    match branch.history(head..).next() {
        Some(info) => Some(info.ok()?.time),
        None => Some(Timestamp::from_micros(i64::MIN)),
    }
}

/// What a record of a guest does; `None` of one that is not taken.
fn edit_of(record: &CommitRecord) -> Option<&BranchEdit> {
    let Event::Edited(edits) = &record.event else { return None };
    let [edit] = &edits[..] else { return None };
    (edit.merged.is_none() && record.meta.request().is_none()).then_some(edit)
}

#[cfg(test)]
mod tests {
    use jungle_db::CommitMeta;
    use jungle_store::disk::Disk;
    use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
    use jungle_store::{OpenOptions, Store};
    use jungle_testkit::Rng;
    use jungle_tree::{Change, ChangeSet, Path};

    use super::*;

    /// More than the engine below keeps of what it reads as it opens a file.
    const NODES: i64 = 60_000;

    fn open(disk: &SimDisk) -> Store {
        let options = OpenOptions::new().checkpoint_every(u64::MAX);
        options.open_on(Arc::new(disk.clone()) as Arc<dyn Disk>).unwrap()
    }

    /// Else nothing is appended with it, also nothing of the host's own, as long as it waits: that
    /// may be for ever, where its server has gone.
    #[test]
    fn what_guests_have_for_a_branch_that_cannot_be_read_is_not_taken() {
        let (disk, mut rng) = (SimDisk::new(), Rng::new(1));
        {
            let store = open(&disk);
            let tree = store.create_tree("t").unwrap();
            let filled = tree.update(|tx| {
                (0..NODES).try_for_each(|_| {
                    let key = tx.append(&[])?;
                    // Longer than a few bytes, and not to be made shorter.
                    let text = [(); 8].map(|()| format!("{:x}", rng.below(u64::MAX))).concat();
                    tx.put_attribute(&[key], "text", &*text)
                })
            });
            filled.unwrap();
            store.checkpoint().unwrap();
        }
        let store = open(&disk);
        let tree = store.open_tree("t").unwrap();
        disk.watch(|call, _| match (call.kind, call.name) {
            (CallKind::Read, "pages") => Fate::Fail(5),
            _ => Fate::Go,
        });
        let changes = ChangeSet::from(vec![Change::ChildAdded { path: Path::root().join("new") }]);
        let (tree, branch, merged) = (tree.id(), tree.branch_id(), None);
        let event = Event::Edited(vec![BranchEdit { tree, branch, changes, merged }]);
        let (revision, time, meta) = <(_, _, CommitMeta)>::default();
        let mut encoded = Vec::new();
        jungle_store::encode(&CommitRecord { revision, time, meta, event }, &mut encoded).unwrap();
        let (guests, log) = (Guests::default(), LogId::default());
        let visit = Visit { number: 1, after: 0 };
        let batch = visit.write(log, "guest#0000000000000001", &[encoded]).unwrap();
        guests.came(&batch, log, store.arena());
        assert!(guests.are_waiting());
        let hosted = guests.host_all(&store, &[], &[], &[]);
        assert!(hosted.records.is_empty() && hosted.carried.is_empty());
        assert!(!guests.are_waiting());
    }
}
