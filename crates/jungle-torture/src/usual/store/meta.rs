//! What must not matter does not: the same commits under other settings, with the folder closed and
//! opened in between, copied, collected, or with no folder at all, give the same contents and the
//! same history. And children give the same tree in whatever order and portions they come.

use std::fmt::Write;
use std::sync::Arc;

use jungle_db::{Jungle, Revision, TreeHandle};
use jungle_store::disk::sim::{Keep, SimDisk};
use jungle_store::{Durability, EraseQuery, OpenOptions, Store};
use jungle_testkit::Rng;
use jungle_tree::{Arena, ArenaOptions, Editor, Key, Tree, loading};

use super::secrets::as_it_is;
use super::workload::{Kinds, Manner, step};

/// Settings under which the same is done as without any.
pub const SETTINGS: u64 = 6;

/// What is done beside the commits.
#[derive(Clone, Debug)]
struct Setting {
    segment_bytes: u64,
    durability: Durability,
    spill: bool,
    /// Each is done before one of so many steps, in the mean; never if 0.
    checkpoint_one_in: u64,
    reopen_one_in: u64,
    collect_one_in: u64,
    compact_one_in: u64,
    /// The folder is copied, and the copy gone on with.
    copy_one_in: u64,
}

impl Setting {
    fn random(rng: &mut Rng) -> Setting {
        let one_in = |rng: &mut Rng| if rng.chance(1, 2) { 0 } else { rng.range(2..12) };
        let durabilities = [Durability::Sync, Durability::Buffered, Durability::Memory];
        Setting {
            segment_bytes: *rng.pick(&[256, 700, 4096, 1 << 20]),
            durability: *rng.pick(&durabilities),
            spill: rng.chance(1, 8),
            checkpoint_one_in: one_in(rng),
            reopen_one_in: one_in(rng),
            collect_one_in: one_in(rng),
            compact_one_in: one_in(rng),
            copy_one_in: one_in(rng),
        }
    }

    fn options(&self) -> OpenOptions {
        let spill = self.spill.then(std::env::temp_dir);
        let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill };
        let options = OpenOptions::new().segment_bytes(self.segment_bytes).arena(arena);
        options.checkpoint_every(u64::MAX).durability(self.durability)
    }
}

/// One list of commits, under some settings; tells how many those were.
pub fn run(rng: &mut Rng) -> u64 {
    let (seed, steps) = (rng.next_u64(), rng.range(4..60));
    let plain = plainly(seed, steps);
    for _ in 0..SETTINGS {
        let setting = Setting::random(rng);
        if std::env::var_os("JUNGLE_TRACE").is_some() {
            eprintln!("{steps} steps from {seed} under {setting:?}");
        }
        under(&setting, (seed, steps), &plain, rng);
    }
    any_order(rng);
    SETTINGS
}

/// What all must come to: what is done in memory only.
fn plainly(seed: u64, steps: u64) -> String {
    let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None };
    let jungle = Jungle::builder().arena(arena).build().expect("address range");
    let manner = Manner::new(Durability::Memory, Kinds::Unshared);
    let mut rng = Rng::new(seed);
    for at in 0..steps {
        // Nothing refuses it; what cannot be done is not.
        let _ = step(&jungle, at, &mut rng, manner);
    }
    everything(&jungle)
}

fn under(setting: &Setting, (seed, steps): (u64, u64), plain: &str, dice: &mut Rng) {
    let mut folder = Folder::open(setting, SimDisk::new());
    let manner = Manner::new(setting.durability, Kinds::Unshared);
    let mut rng = Rng::new(seed);
    for at in 0..steps {
        folder = folder.disturbed(dice);
        let done = || step(&folder.store, at, &mut rng, manner);
        // What cannot be done is not.
        let _ = loading(done).expect("nothing is damaged");
    }
    assert_same(&everything(&folder.store), plain, setting, "at the end");
    let disk = folder.close();
    let folder = Folder::open(setting, disk);
    assert_same(&everything(&folder.store), plain, setting, "opened again");
    let verified = folder.store.verify();
    verified.unwrap_or_else(|error| panic!("{setting:?}: {error}"));
    let disk = folder.close();
    erase_nothing(setting, &disk);
    let whole_log = setting.options().without_checkpoint().open_on(Arc::new(disk.clone()));
    match whole_log {
        Ok(store) => assert_same(&everything(&store), plain, setting, "from the log alone"),
        // Where something is not kept, the log is not complete.
        Err(error) => assert!(setting.checkpoint_one_in > 0, "{setting:?}: {error}"),
    }
}

/// Erasing what never was changes nothing; where the log is complete, not one file.
fn erase_nothing(setting: &Setting, disk: &SimDisk) {
    let seen = || {
        let store = setting.options().read_only().open_on(Arc::new(disk.clone()));
        as_it_is(&store.unwrap_or_else(|error| panic!("{setting:?}: refused, {error}")))
    };
    let ought = seen();
    for tree in ["first", "no such tree"] {
        let before = disk.files();
        let query = EraseQuery::new(tree, "/never/there".parse().expect("a path"));
        let erased = setting.options().erase_on(Arc::new(disk.clone()), &query, |_, _| ());
        let report = erased.ok();
        assert!(report.as_ref().is_none_or(|report| report.erased.commits == 0));
        let is_made_again = report.is_some_and(|report| !report.log_was_complete);
        assert!(is_made_again || disk.files() == before, "{setting:?}: files were changed");
    }
    assert!(seen() == ought, "{setting:?}: erasing nothing changed something");
}

/// A folder that is open.
struct Folder<'s> {
    setting: &'s Setting,
    disk: SimDisk,
    store: Store,
}

impl<'s> Folder<'s> {
    fn open(setting: &'s Setting, disk: SimDisk) -> Folder<'s> {
        let store = setting.options().open_on(Arc::new(disk.clone()));
        let store = store.unwrap_or_else(|error| panic!("{setting:?}: refused, {error}"));
        Folder { setting, disk, store }
    }

    fn close(self) -> SimDisk {
        self.store.close().expect("an undisturbed disk");
        self.disk
    }

    /// What is done between two commits, and must not be seen.
    fn disturbed(self, dice: &mut Rng) -> Folder<'s> {
        let setting = self.setting;
        let mut now = |one_in: u64| one_in > 0 && dice.chance(1, one_in);
        let before = self.store.revision();
        if now(setting.checkpoint_one_in) {
            trace(before, "checkpoint");
            self.store.checkpoint().expect("an undisturbed disk");
        }
        if now(setting.collect_one_in) {
            trace(before, "collect");
            self.store.collect().expect("nothing is damaged");
        }
        if now(setting.compact_one_in) {
            trace(before, "compact");
            self.store.compact().expect("an undisturbed disk");
        }
        if now(setting.copy_one_in) {
            trace(before, "copy");
            let copy = SimDisk::new();
            self.store.backup_on(Arc::new(copy.clone())).expect("an undisturbed disk");
            drop(self);
            return Folder::open(setting, copy);
        }
        if !now(setting.reopen_one_in) {
            return self;
        }
        trace(before, "open again");
        let Folder { disk, store, .. } = self;
        // Closed, or with the process gone: what was synced, or all that was written, is there.
        if setting.durability == Durability::Sync && dice.chance(1, 2) {
            let keep = if dice.chance(1, 2) { Keep::Nothing } else { Keep::All };
            let left = disk.world().crash(keep, &mut |below| dice.below(below));
            return Folder::open(setting, left);
        }
        store.close().expect("an undisturbed disk");
        Folder::open(setting, disk)
    }
}

fn trace(revision: Revision, what: &str) {
    if std::env::var_os("JUNGLE_TRACE").is_some() {
        eprintln!("at revision {revision}: {what}");
    }
}

fn assert_same(is: &str, ought: &str, setting: &Setting, when: &str) {
    assert!(is == ought, "{when}, {setting:?}:\n{is}and not\n{ought}");
}

/// All that can be seen of a Jungle: each kept revision of each branch, and what it shows.
fn everything(jungle: &Jungle) -> String {
    loading(|| {
        let mut seen = format!("revision {}\n", jungle.revision());
        for name in jungle.list_trees() {
            let main = jungle.open_tree(&name).expect("it is listed");
            for branch in main.list_branches() {
                see(&main.on_branch(&branch).expect("it is listed"), &mut seen);
            }
            for (tag, revision) in main.list_tags() {
                let hash = main.at_tag(&tag).expect("it is listed").root().content_hash();
                writeln!(seen, "{name} {tag} {revision} {hash}").expect("memory takes it");
            }
        }
        seen
    })
    .expect("nothing is damaged")
}

fn see(branch: &TreeHandle, seen: &mut String) {
    let (name, label, keeps) = (branch.name(), branch.branch_name(), branch.retention());
    writeln!(seen, "{name} {label} keeps {keeps:?}").expect("memory takes it");
    for info in branch.history(..) {
        let info = info.expect("nothing is damaged");
        let snapshot = branch.at(info.revision).expect("it is listed");
        let (hash, next) = (snapshot.root().content_hash(), snapshot.root().next_position());
        writeln!(seen, "  {info:?} {hash} {next}").expect("memory takes it");
    }
}

/// The shape of a tree follows from its keys: not from the order in which they came, in how many
/// edits, or what was there meanwhile.
fn any_order(rng: &mut Rng) {
    let count = *rng.pick(&[3, 15, 17, 40, 300]);
    let mut names: Vec<Key> =
        (0..count).map(|_| Key::from(format!("{:x}", rng.below(1 << 16)).as_str())).collect();
    names.sort_unstable();
    names.dedup();
    let hashes: Vec<_> = (0..3).map(|_| shuffled(&mut names, rng)).collect();
    assert!(hashes.windows(2).all(|two| two[0] == two[1]), "another order, another tree");
}

fn shuffled(names: &mut [Key], rng: &mut Rng) -> String {
    rng.shuffle(names);
    let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None };
    let mut tree = Tree::new(&Arena::with_options(&arena).expect("address range"));
    let mut left = &*names;
    while !left.is_empty() {
        let (now, later) = left.split_at(rng.range(1..left.len() as u64 + 1) as usize);
        let edited = tree.edit(|editor| now.iter().try_for_each(|key| add(editor, key, rng)));
        edited.expect("each is added once");
        left = later;
    }
    tree.read().root().content_hash().to_string()
}

/// Adds a child, now and then beside one that does not stay.
fn add(editor: &mut Editor, key: &Key, rng: &mut Rng) -> Result<(), jungle_tree::EditError> {
    let passing = Key::from("passing");
    let passes = rng.chance(1, 4);
    if passes {
        editor.insert_child(&[], &passing)?;
    }
    editor.insert_child(&[], key)?;
    editor.put_attribute(std::slice::from_ref(key), "key", &*key.to_string())?;
    if passes { editor.remove(std::slice::from_ref(&passing)) } else { Ok(()) }
}
