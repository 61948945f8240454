//! Folders that are right, taken apart, and put together again with something else in them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use jungle_db::{
    CommitRecord, Draft, Durability, Journal, JournalError, Jungle, MAIN_BRANCH, Retention,
    Revision,
};
use jungle_store::disk::sim::SimDisk;
use jungle_store::pages::{EnginePages, Pages, PagesOptions, Table};
use jungle_store::{encode, write_checkpoint};
use jungle_testkit::Rng;
use jungle_tree::{ArenaOptions, EditError, Key};

use super::mutate::varint;
use crate::usual::store::workload::{Kinds, Manner, open, step};

pub type Files = BTreeMap<String, Vec<u8>>;

/// What is in a checkpoint, by table and key.
pub type Values = BTreeMap<(Table, u64), Vec<u8>>;

/// What all targets begin with.
pub struct Base {
    /// Some records, one after the other, from the first revision on.
    pub records: Vec<Vec<u8>>,
    /// A folder with a checkpoint and a log behind it; and one whose log was cut off before it.
    pub folders: [Files; 2],
    /// What is in their checkpoints, by table and key.
    pub values: [Values; 2],
    /// A folder whose log has nothing behind the checkpoint, and what is in that.
    pub still: (Files, Values),
    /// One whose log goes on with edits of all that the checkpoint has.
    pub tail: (Files, Values),
    /// A checkpoint as a stream.
    pub stream: Vec<u8>,
}

pub fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let [whole, cut] =
            [Retention::All, Retention::Last(700)].map(|retention| folder(retention, Behind::More));
        let still = folder(Retention::All, Behind::Nothing);
        let [still, tail] = [still, edited()].map(|files| {
            let values = values(&SimDisk::with_files(&files));
            (files, values)
        });
        let values = [&whole, &cut].map(|files| values(&SimDisk::with_files(files)));
        let (records, stream) = (records(), stream());
        Base { records, folders: [whole, cut], values, still, tail, stream }
    })
}

/// Keeps each record as bytes.
#[derive(Default)]
struct Keeper(Mutex<Vec<Vec<u8>>>);

impl Journal for Keeper {
    fn append(&self, record: &CommitRecord) -> Result<(), JournalError> {
        let mut bytes = Vec::new();
        encode(record, &mut bytes).expect("a record of a few bytes");
        self.0.lock().expect("nothing panics while it is held").push(bytes);
        Ok(())
    }

    fn wait(&self, _: Revision, _: Durability) -> Result<(), JournalError> {
        Ok(())
    }
}

fn records() -> Vec<Vec<u8>> {
    let keeper = Arc::new(Keeper::default());
    let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None };
    let builder = Jungle::builder().arena(arena).journal(Arc::clone(&keeper));
    commits(&builder.build().expect("address range"), 60);
    let mut records = keeper.0.lock().expect("nothing panics while it is held");
    std::mem::take(&mut *records)
}

fn stream() -> Vec<u8> {
    let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None };
    let jungle = Jungle::builder().arena(arena).build().expect("address range");
    commits(&jungle, 30);
    let mut bytes = Vec::new();
    write_checkpoint(&jungle, &jungle.checkpoint(), &mut bytes).expect("memory takes everything");
    bytes
}

/// Makes commits of every kind, the same each time.
pub fn commits(jungle: &Jungle, steps: u64) {
    let mut rng = Rng::new(1);
    for at in 0..steps {
        // What cannot be done is not.
        let _ = step(jungle, at, &mut rng, Manner::new(Durability::Memory, Kinds::All));
    }
}

/// What the log has behind the checkpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Nothing,
    More,
}

/// A folder with several pieces of a history.
fn folder(retention: Retention, behind: Behind) -> Files {
    let disk = SimDisk::new();
    let store = open(&disk, 16 << 10).expect("an undisturbed disk");
    commits(&store, 30);
    let tree = store.create_tree("long").expect("an undisturbed disk");
    for n in 0..1_200 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).expect("an undisturbed disk");
    }
    tree.set_retention(retention).expect("an undisturbed disk");
    store.checkpoint().expect("an undisturbed disk");
    if behind == Behind::More {
        tree.update(|tx| tx.put_attribute(&[], "more", true)).expect("an undisturbed disk");
    }
    assert_eq!(tree.branch_name(), MAIN_BRANCH);
    drop(tree);
    store.close().expect("an undisturbed disk");
    disk.files()
}

/// A folder of a tree with children of all kinds, all of which are edited behind the checkpoint.
fn edited() -> Files {
    let disk = SimDisk::new();
    let store = open(&disk, 16 << 10).expect("an undisturbed disk");
    let tree = store.create_tree("edited").expect("an undisturbed disk");
    let mut rng = Rng::new(2);
    tree.update(|tx| (0..400).try_for_each(|n| edit(tx, &mut rng, n)))
        .expect("an undisturbed disk");
    let before = tree.snapshot().revision();
    // So nothing of the older version is in the newest one.
    let clear = |tx: &mut Draft| {
        let keys: Vec<Key> = tx.child_keys(&[]).into_iter().flatten().collect();
        keys.into_iter().try_for_each(|key| tx.remove(&[key]))
    };
    tree.update(|tx| clear(tx)).expect("an undisturbed disk");
    for n in 400..450 {
        tree.update(|tx| edit(tx, &mut rng, n)).expect("an undisturbed disk");
    }
    store.checkpoint().expect("an undisturbed disk");
    for n in 450..600 {
        tree.update(|tx| edit(tx, &mut rng, n)).expect("an undisturbed disk");
    }
    let branch = tree.branch("old", before).expect("an undisturbed disk");
    for n in 600..750 {
        branch.update(|tx| edit(tx, &mut rng, n)).expect("an undisturbed disk");
    }
    drop((tree, branch));
    store.close().expect("an undisturbed disk");
    disk.files()
}

/// An edit of a child, or a grandchild: one is added by name or position, changed, removed, moved.
fn edit(draft: &mut Draft, rng: &mut Rng, n: u64) -> Result<(), EditError> {
    let keys: Vec<Key> = draft.child_keys(&[]).into_iter().flatten().collect();
    if keys.is_empty() {
        return draft.append(&[]).map(drop);
    }
    let (one, other) = (rng.pick(&keys).clone(), rng.pick(&keys).clone());
    let name = Key::from(format!("{} of {n}", "x".repeat(rng.index(30))).as_str());
    let parent = [vec![], vec![one.clone()]][rng.index(2)].clone();
    match rng.below(10) {
        0..3 => draft.append(&parent).map(drop),
        3..6 => draft.insert_child(&parent, &name),
        6 => draft.insert_at(&parent, 0).map(drop),
        7 => draft.put_attribute(&[one], "text", "y".repeat(rng.index(40)).as_str()),
        8 if one != other => draft.move_node(&[one], &[other], &name),
        8 => Ok(()),
        _ => draft.remove(&[one]),
    }
}

fn values(disk: &SimDisk) -> Values {
    let pages = EnginePages::open(Arc::new(disk.clone()), PagesOptions::default());
    let pages = pages.expect("it was closed");
    let mut values = BTreeMap::new();
    for table in Table::ALL {
        for key in pages.keys(table, 0..=u64::MAX).expect("it is whole") {
            let value = pages.get(table, key).expect("it is whole").expect("it is listed");
            values.insert((table, key), value);
        }
    }
    values
}

/// Puts a value into a folder's checkpoint, with all hashes as they should be.
pub fn put(files: &Files, table: Table, key: u64, value: &[u8]) -> SimDisk {
    let disk = SimDisk::with_files(files);
    let pages = EnginePages::open(Arc::new(disk.clone()), PagesOptions::default());
    let pages = pages.expect("it was closed");
    let mut writing = pages.begin().expect("an undisturbed disk");
    writing.put(table, key, value).expect("an undisturbed disk");
    writing.commit().expect("an undisturbed disk");
    disk
}

/// Records as a group has them.
pub fn group(records: &[Vec<u8>]) -> Vec<u8> {
    records
        .iter()
        .flat_map(|record| [varint(record.len() as u64), record.clone()].concat())
        .collect()
}

/// A folder whose log has two groups, the second with this in it; as `docs/format.md` says.
pub fn log(records: &[Vec<u8>], second: &[u8]) -> SimDisk {
    let mut bytes = b"JUNGLOG\n".to_vec();
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    let check = crc32c::crc32c(&bytes);
    bytes.extend(check.to_le_bytes());
    let check = add_frame(&mut bytes, check, 1, &group(records));
    add_frame(&mut bytes, check, 1 + records.len() as u64, second);
    bytes.extend([0; 64]);
    let name = "log/00000000000000000001.log".to_owned();
    SimDisk::with_files(&Files::from([(name, bytes), ("LOCK".into(), Vec::new())]))
}

fn add_frame(bytes: &mut Vec<u8>, previous: u32, first: u64, records: &[u8]) -> u32 {
    let len = (24 + records.len() as u32).to_le_bytes();
    let mut rest = [previous.to_le_bytes(), 0_u32.to_le_bytes()].concat();
    rest.extend(first.to_le_bytes());
    rest.extend(records);
    let check = crc32c::crc32c_append(crc32c::crc32c(&len), &rest);
    bytes.extend(len);
    bytes.extend(check.to_le_bytes());
    bytes.extend(rest);
    check
}
