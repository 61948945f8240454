//! The integrity checker ends on any memory, and what passes it can be read.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{
    Arena, ArenaOptions, CheckReport, Key, SLAB_BYTES, SavedImage, SlabId, SlabSource, Snapshot,
    Tree, VersionId, loading,
};

/// Slabs in memory, by their numbers: those of payload have bit 32.
#[derive(Clone, Default)]
struct Slabs(BTreeMap<u64, Vec<u8>>);

impl SlabSource for Slabs {
    fn load(&self, id: SlabId, bytes: &mut [u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        bytes.copy_from_slice(self.0.get(&id.number()).ok_or("there is no such slab")?);
        Ok(())
    }
}

fn options() -> ArenaOptions {
    ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None }
}

/// An image with blocks and records of all kinds, and the version that is in it.
struct Image {
    saved: SavedImage,
    slabs: Slabs,
    id: VersionId,
}

impl Image {
    fn new() -> Image {
        let arena = Arena::with_options(&options()).expect("room for a small tree");
        let mut tree = Tree::new(&arena);
        for n in 0..40 {
            let child = tree.add_child(&[]).expect("room for a small tree");
            let at = [child];
            tree.put_attribute(&at, "n", n).expect("room for a small tree");
            tree.put_attribute(&at, "text", "x".repeat(n as usize * 20).as_str())
                .expect("room for a small tree");
            tree.edit(|editor| editor.cursor(&at)?.add_children(n as u64 * 9))
                .expect("room for a small tree");
        }
        for n in 0..200 {
            let name = ["a", "ab", "b\0"][n % 3].repeat(1 + n % 7);
            let _ = tree.insert_child(&[7.into()], &Key::from(name.as_str()));
            tree.insert_child(&[8.into()], &Key::from(format!("name {n}").as_str()))
                .expect("room for a small tree");
        }
        let mut slabs = Slabs::default();
        let saved = arena.save(&SavedImage::default(), |id, bytes| {
            slabs.0.insert(id.number(), bytes.expect("nothing was there before").to_vec());
            Ok::<_, std::convert::Infallible>(())
        });
        Image { saved: saved.expect("room for a small tree"), slabs, id: tree.version_id() }
    }

    /// Opens it with slabs that somebody changed, checks it, and reads what passes.
    fn check(&self, slabs: Slabs) -> Result<CheckReport, String> {
        let arena =
            Arena::reopen(&options(), &self.saved, Arc::new(slabs)).expect("room for a small tree");
        let tree = loading(|| Tree::from_version(&arena, self.id));
        let tree = tree.map_err(|error| error.to_string())?.ok_or("no such version")?;
        let snapshot = tree.snapshot();
        let report = loading(|| snapshot.check()).map_err(|error| error.to_string())?;
        let report = report.map_err(|error| error.to_string())?;
        assert_eq!(read(&snapshot), report.nodes, "it was found whole");
        Ok(report)
    }
}

/// Looks at everything; gives how many nodes there are.
fn read(snapshot: &Snapshot) -> u64 {
    let (mut nodes, mut walk) = (0, snapshot.root().walk());
    while let Some(node) = walk.next() {
        let path = walk.path();
        assert!(snapshot.root().at(&path).is_ok(), "{path} is found again");
        nodes += 1;
        node.attributes().for_each(drop);
    }
    let _ = snapshot.root().content_hash();
    nodes
}

fn word(slab: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(slab[at * 8..at * 8 + 8].try_into().expect("eight bytes"))
}

/// Changes one word of a slab to what could be mistaken for something.
fn forge(rng: &mut Rng, number: u64, slab: &mut [u8]) {
    let words = SLAB_BYTES / 8;
    let used: Vec<usize> = (0..words).filter(|&at| word(slab, at) != 0).collect();
    let at = *rng.pick(&used);
    let was = word(slab, at);
    // The handle of the block that it is in, or of one before or behind.
    let near = (number as usize % (1 << 32) * words + at) as u64 / 2;
    let handle = (near + rng.below(6)).saturating_sub(4);
    let half = rng.below(2) * 32;
    let now = match rng.below(6) {
        0 => was ^ 1 << rng.below(64),
        1 => word(slab, *rng.pick(&used)),
        2 => was & !(0xffff_ffff << half) | handle << half,
        3 => was & !(0xffff_ffff << half) | rng.below(1 << 14) << half,
        4 => was & !(0xff << 48) | rng.below(20) << 48,
        _ => [0, u64::MAX, was.wrapping_add(1), handle | handle << 32][rng.index(4)],
    };
    slab[at * 8..at * 8 + 8].copy_from_slice(&now.to_le_bytes());
}

#[test]
fn the_check_ends_on_any_memory_and_what_passes_can_be_read() {
    let image = Image::new();
    let whole = image.check(image.slabs.clone()).unwrap();
    let found = AtomicU64::new(0);
    for_each_seed(700, |rng| {
        let mut slabs = image.slabs.clone();
        let numbers: Vec<u64> = slabs.0.keys().copied().collect();
        for _ in 0..rng.range(1..4) {
            let number = *rng.pick(&numbers);
            forge(rng, number, slabs.0.get_mut(&number).unwrap());
        }
        if image.check(slabs).is_err() {
            found.fetch_add(1, Ordering::Relaxed);
        }
    });
    let found = found.into_inner();
    assert!(found > 150, "{found} of 700, which was {whole:?}");
}

#[test]
fn no_block_is_its_own_ancestor() {
    let image = Image::new();
    let words = SLAB_BYTES / 8;
    let mut forged = 0;
    for (&number, slab) in image.slabs.0.range(..1 << 32) {
        for at in (0..words).step_by(2) {
            let header = word(slab, at);
            let (kind, kids) = (header >> 48 & 0xff, (header >> 16 & 0xffff).count_ones());
            // Heights of dense blocks, branches and directories; not what lies behind a header.
            if kids == 0 || !matches!(kind, 0..=4 | 17..=18) || word(slab, at + 1) == 0 {
                continue;
            }
            let handle = (number as usize * words + at) as u64 / 2;
            let mut slabs = image.slabs.clone();
            let end = (at + 2 + kids.div_ceil(2) as usize).min(words);
            for entry in at + 2..end {
                let both = (handle | handle << 32).to_le_bytes();
                slabs.0.get_mut(&number).unwrap()[entry * 8..entry * 8 + 8].copy_from_slice(&both);
            }
            forged += u64::from(image.check(slabs).is_err());
        }
    }
    assert!(forged > 50, "{forged} were found");
}
