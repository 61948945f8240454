//! Checkpoints come back as they were put.

use std::collections::BTreeMap;
use std::sync::Arc;

use jungle_store::Progress;
use jungle_store::disk::{Disk, FolderDisk};
use jungle_store::pages::{
    EnginePages, PageDamage, PagedSlabs, Pages, PagesError, PagesOptions, Table,
};
use jungle_testkit::Rng;
use jungle_tree::{
    Arena, ArenaOptions, Key, SavedImage, SlabId, SlabSource, Tree, VersionId, loading,
};

use crate::support::Folder;

/// What is in the tables.
pub type State = BTreeMap<(Table, u64), Vec<u8>>;

/// A checkpoint: what it puts, and removes.
pub type Batch = Vec<(Table, u64, Option<Vec<u8>>)>;

pub fn open(disk: impl Disk + 'static) -> Result<EnginePages, PagesError> {
    EnginePages::open(Arc::new(disk), PagesOptions::default())
}

/// Some checkpoints, with values from nothing to some pages of the engine.
pub fn batches(rng: &mut Rng, count: usize, values: u64) -> Vec<Batch> {
    let value = |rng: &mut Rng| {
        let len = *rng.pick(&[0, 9, 300, 3_000, 9_000, 20_000]) as usize;
        let random = rng.chance(1, 2);
        let byte = |_| if random { rng.below(256) as u8 } else { rng.below(2) as u8 };
        (0..len).map(byte).collect::<Vec<u8>>()
    };
    let change = |rng: &mut Rng| {
        let (table, key) = (*rng.pick(&Table::ALL), rng.below(40) * rng.below(40));
        let removed = rng.chance(1, 5);
        (table, key, (!removed).then(|| value(rng)))
    };
    (0..count).map(|_| (0..=rng.below(values)).map(|_| change(rng)).collect()).collect()
}

/// The state after each checkpoint, from that of none.
pub fn states(batches: &[Batch]) -> Vec<State> {
    let mut states = vec![State::new()];
    for batch in batches {
        let mut state = states.last().unwrap().clone();
        for (table, key, value) in batch {
            match value {
                Some(value) => drop(state.insert((*table, *key), value.clone())),
                None => drop(state.remove(&(*table, *key))),
            }
        }
        states.push(state);
    }
    states
}

pub fn write(pages: &dyn Pages, batch: &Batch) -> Result<u64, PagesError> {
    let mut checkpoint = pages.begin()?;
    for (table, key, value) in batch {
        match value {
            Some(value) => checkpoint.put(*table, *key, value)?,
            None => checkpoint.remove(*table, *key)?,
        }
    }
    checkpoint.commit()
}

pub fn read(pages: &dyn Pages) -> Result<State, PagesError> {
    let mut state = State::new();
    for table in Table::ALL {
        for key in pages.keys(table, 0..=u64::MAX)? {
            state.insert((table, key), pages.get(table, key)?.unwrap());
        }
    }
    Ok(state)
}

fn round_trip(reopened: impl Fn() -> EnginePages) {
    let batches = batches(&mut Rng::new(1), 12, 60);
    let states = states(&batches);
    let mut pages = reopened();
    for (i, batch) in batches.iter().enumerate() {
        assert_eq!(write(&pages, batch).unwrap(), i as u64 + 1);
        assert_eq!(read(&pages).unwrap(), states[i + 1]);
        if i % 3 == 2 {
            drop(pages);
            pages = reopened();
            assert_eq!(pages.checkpoint().unwrap(), i as u64 + 1);
            assert_eq!(read(&pages).unwrap(), states[i + 1]);
        }
    }
    assert_eq!(pages.check(&Progress::default()).unwrap(), states[12].len() as u64);
    assert_eq!(pages.get(Table::State, u64::MAX).unwrap(), None);
    let some: Vec<u64> =
        states[12].keys().filter(|key| key.0 == Table::State).map(|key| key.1).collect();
    assert_eq!(pages.keys(Table::State, some[1]..=some[3]).unwrap(), some[1..=3]);
}

#[test]
fn checkpoints_come_back_from_a_real_folder() {
    let folder = Folder::new();
    FolderDisk::create(folder.path()).unwrap();
    round_trip(|| open(FolderDisk::new(folder.path())).unwrap());
}

#[cfg(feature = "sim")]
#[test]
fn checkpoints_come_back_from_a_simulated_disk() {
    let disk = jungle_store::disk::sim::SimDisk::new();
    round_trip(|| open(disk.clone()).unwrap());
}

#[test]
fn readers_see_the_checkpoint_before_until_it_is_committed() {
    let folder = Folder::new();
    let pages = open(FolderDisk::create(folder.path()).unwrap()).unwrap();
    write(&pages, &vec![(Table::State, 1, Some(b"old".to_vec()))]).unwrap();
    let mut checkpoint = pages.begin().unwrap();
    checkpoint.put(Table::State, 1, b"new").unwrap();
    checkpoint.put(Table::State, 2, b"more").unwrap();
    assert_eq!(pages.get(Table::State, 1).unwrap().unwrap(), b"old");
    drop(checkpoint);
    assert_eq!(pages.get(Table::State, 1).unwrap().unwrap(), b"old");
    assert_eq!(pages.get(Table::State, 2).unwrap(), None);
    let mut checkpoint = pages.begin().unwrap();
    checkpoint.remove(Table::State, 1).unwrap();
    assert_eq!(checkpoint.commit().unwrap(), 2);
    assert_eq!(read(&pages).unwrap(), State::new());
}

#[test]
fn an_empty_file_is_no_empty_checkpoint() {
    let folder = Folder::new();
    let disk = FolderDisk::create(folder.path()).unwrap();
    std::fs::write(folder.path().join("pages"), "").unwrap();
    assert!(matches!(open(disk), Err(PagesError::Engine { .. })));
}

fn arena_options() -> ArenaOptions {
    ArenaOptions { structure_bytes: 64 << 20, payload_bytes: 256 << 20, ..Default::default() }
}

/// Saves what has changed; gives how many slabs that were.
fn save(pages: &dyn Pages, arena: &Arena, image: &mut SavedImage, head: VersionId) -> usize {
    let mut checkpoint = pages.begin().unwrap();
    let mut count = 0;
    let saved = arena.save(image, |id, bytes| {
        count += 1;
        match bytes {
            Some(bytes) => checkpoint.put(Table::Slabs, id.number(), bytes),
            None => checkpoint.remove(Table::Slabs, id.number()),
        }
    });
    *image = saved.unwrap();
    checkpoint.put(Table::Image, 0, &image.to_bytes()).unwrap();
    let head = format!("{head:?}");
    checkpoint.put(Table::State, 0, head.as_bytes()).unwrap();
    checkpoint.commit().unwrap();
    count
}

fn an_arena_comes_back(reopened: impl Fn() -> EnginePages) {
    let arena = Arena::with_options(&arena_options()).unwrap();
    let (mut tree, mut image) = (Tree::new(&arena), SavedImage::default());
    let pages = reopened();
    let mut hash = tree.read().root().content_hash();
    let mut head = tree.snapshot().version_id();
    for round in 0..4 {
        tree.edit(|editor| {
            let text = format!("text of round {round} ").repeat(20);
            let child = [("text", (&*text).into())];
            editor.cursor(&[])?.add_children_with((0..2_000).map(|_| &child[..])).map(drop)
        })
        .unwrap();
        tree.put_attribute(&[Key::from(round * 3)], "large", &*"large ".repeat(30_000)).unwrap();
        let held = tree.snapshot();
        (head, hash) = (held.version_id(), held.root().content_hash());
        assert!(save(&pages, &arena, &mut image, head) > 1);
    }
    drop((tree, arena, pages));

    let pages: Arc<dyn Pages> = Arc::new(reopened());
    let described = pages.get(Table::Image, 0).unwrap().unwrap();
    let described = SavedImage::from_bytes(&described).unwrap();
    assert_eq!(described, image);
    let source: Arc<dyn SlabSource> = Arc::new(PagedSlabs(Arc::clone(&pages)));
    let arena = Arena::reopen(&arena_options(), &described, source).unwrap();
    let tree = Tree::from_version(&arena, head).expect("the image holds it");
    assert_eq!(loading(|| tree.read().root().content_hash()).unwrap(), hash);
    tree.snapshot().check().unwrap();

    let source = PagedSlabs(pages);
    let error = source.load(SlabId::from_number(1 << 31).unwrap(), &mut [0; 9]).unwrap_err();
    let error = error.downcast_ref::<PagesError>();
    let missing = PageDamage::Missing;
    assert!(
        matches!(error, Some(PagesError::Damaged { table: "slabs", what, .. }) if *what == missing)
    );
}

#[test]
fn an_arena_comes_back_from_a_real_folder() {
    let folder = Folder::new();
    FolderDisk::create(folder.path()).unwrap();
    an_arena_comes_back(|| open(FolderDisk::new(folder.path())).unwrap());
}

#[cfg(feature = "sim")]
#[test]
fn an_arena_comes_back_from_a_simulated_disk() {
    let disk = jungle_store::disk::sim::SimDisk::new();
    an_arena_comes_back(|| open(disk.clone()).unwrap());
}

#[test]
fn compacted_pages_are_smaller_and_the_same() {
    let folder = Folder::new();
    let disk = || FolderDisk::create(folder.path()).unwrap();
    let pages = open(disk()).unwrap();
    let mut rng = Rng::new(1);
    let value = |rng: &mut Rng| (0..30_000).map(|_| rng.below(256) as u8).collect::<Vec<u8>>();
    let many: Batch = (0..300).map(|key| (Table::Slabs, key, Some(value(&mut rng)))).collect();
    let few: Batch = (0..297).map(|key| (Table::Slabs, key, None)).collect();
    write(&pages, &many).unwrap();
    write(&pages, &few).unwrap();
    let bytes = || std::fs::metadata(folder.path().join("pages")).unwrap().len();
    let (before, kept) = (bytes(), pages.get(Table::Slabs, 299).unwrap());
    assert!(before > 6_000_000 && kept.is_some());
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    let progress = Progress::new(move |done, total| telling.lock().unwrap().push((done, total)));
    pages.compact(&progress).unwrap();
    assert_eq!(*told.lock().unwrap(), [(1, 3), (2, 3), (3, 3)]);
    assert!(bytes() < 1_600_000, "{} of {before}", bytes());
    assert_eq!((pages.checkpoint().unwrap(), pages.check(&Progress::default()).unwrap()), (2, 3));
    assert_eq!(pages.get(Table::Slabs, 299).unwrap(), kept);
    write(&pages, &vec![(Table::State, 0, Some(b"more".to_vec()))]).unwrap();
    drop(pages);
    // One that was interrupted leaves a file, which goes.
    std::fs::write(folder.path().join("pages.next"), b"begun").unwrap();
    let pages = EnginePages::open_if_there(Arc::new(disk()), PagesOptions::default());
    let pages = pages.unwrap().unwrap();
    assert_eq!((pages.checkpoint().unwrap(), pages.check(&Progress::default()).unwrap()), (3, 4));
    assert_eq!(pages.get(Table::Slabs, 299).unwrap(), kept);
    assert!(!folder.path().join("pages.next").exists());
}
