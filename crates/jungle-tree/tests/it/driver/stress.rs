//! One writer and some readers: whatever a reader holds stays as it was when it looked first.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jungle_testkit::Rng;
use jungle_tree::{Arena, ArenaOptions, EditError, Key, Snapshot, Tree, TreeReader};

/// The writer keeps the sum of the attributes of all children at this.
const SUM: i64 = 1000;
const CHILDREN: usize = 12;

/// Runs until the writer has made `edits` versions and each reader has seen a few of them.
///
/// The tree is small, so that blocks are reused all the time. Each version satisfies what the
/// readers check, so a block that is reused too early is seen whatever it holds then.
pub fn run(rng: &mut Rng, readers: usize, edits: u64) {
    let options =
        ArenaOptions { structure_bytes: 16 << 20, payload_bytes: 16 << 20, ..Default::default() };
    let arena = Arena::with_options(&options).expect("address range");
    let mut tree = Tree::new(&arena);
    tree.edit(begin).expect("there is room");
    let (reader, seen, done) = (tree.reader(), AtomicU64::new(0), AtomicBool::new(false));
    let mut rngs: Vec<Rng> = (0..readers).map(|_| rng.fork()).collect();
    std::thread::scope(|scope| {
        let (seen, done) = (&seen, &done);
        for rng in &mut rngs {
            let reader = reader.clone();
            scope.spawn(move || {
                let _stop = Stop(done);
                while !done.load(Ordering::Relaxed) {
                    look(rng, &reader);
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _stop = Stop(done);
        let enough = 10 * readers as u64;
        let mut made = 0;
        while (made < edits || seen.load(Ordering::Relaxed) < enough)
            && !done.load(Ordering::Relaxed)
        {
            write(rng, &mut tree);
            made += 1;
            if rng.chance(1, 500) {
                arena.collect();
            }
        }
    });
}

/// Ends the others too, when one of them fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn begin(editor: &mut jungle_tree::Editor) -> Result<(), EditError> {
    editor.cursor(&[])?.add_children(CHILDREN as u64)?;
    for child in 0..CHILDREN {
        editor.put_attribute(&[child.into()], "n", if child == 0 { SUM } else { 0 })?;
    }
    Ok(())
}

/// Moves some of the sum from one child to another; long texts come and go beside it.
fn write(rng: &mut Rng, tree: &mut Tree) {
    let (from, to) = (Key::from(rng.index(CHILDREN)), Key::from(rng.index(CHILDREN)));
    let by = rng.below(10) as i64;
    let text = char::from(b'a' + rng.below(26) as u8).to_string();
    let text = text.repeat(if rng.chance(1, 3) { 300 } else { 10 });
    match rng.below(8) {
        0..4 => tree.put_attribute(&[from], "text", text.as_str()).expect("there is room"),
        4 => drop(tree.remove_attribute(&[from], "text").expect("the child is there")),
        5 => {
            let name = Key::from(text.as_str());
            if tree.insert_child(std::slice::from_ref(&from), &name).is_err() {
                tree.remove(&[from, name]).expect("it is there");
            }
        }
        6 => {
            let older = tree.snapshot();
            let edited = tree.edit(|editor| {
                let node = older.root().at(std::slice::from_ref(&to)).expect("there");
                editor.insert_subtree(&[], &Key::from("copy"), node)
            });
            if edited.is_err() {
                tree.remove(&[Key::from("copy")]).expect("it is there");
            }
        }
        _ => {
            let moved = tree.edit(|editor| {
                for (child, by) in [(from, -by), (to, by)] {
                    let was = n(editor.root().at(std::slice::from_ref(&child))?);
                    editor.put_attribute(&[child], "n", was + by)?;
                }
                Ok::<_, EditError>(())
            });
            moved.expect("there is room");
        }
    }
}

fn n(node: jungle_tree::Node<'_>) -> i64 {
    node.attribute("n").and_then(|value| value.as_int()).expect("each child has a number")
}

/// Holds some versions for a while, on and off, and looks at each more than once.
fn look(rng: &mut Rng, reader: &TreeReader) {
    {
        let reading = reader.read();
        assert_eq!(sum(reading.root()), SUM, "a short read");
    }
    let mut held: Vec<(Snapshot, jungle_tree::ContentHash)> = Vec::new();
    for _ in 0..rng.range(1..6) {
        let snapshot = if held.is_empty() || rng.chance(3, 4) {
            reader.snapshot()
        } else {
            rng.pick(&held).0.clone()
        };
        whole(&snapshot);
        let hash = snapshot.root().content_hash();
        held.push((snapshot, hash));
    }
    rng.shuffle(&mut held);
    for (snapshot, hash) in held {
        whole(&snapshot);
        assert_eq!(snapshot.root().content_hash(), hash, "hash of version {}", snapshot.version());
    }
}

fn sum(root: jungle_tree::Node<'_>) -> i64 {
    root.children().filter(|(key, _)| *key != Key::from("copy").as_ref()).map(|(_, it)| n(it)).sum()
}

fn whole(snapshot: &Snapshot) {
    snapshot.check().unwrap_or_else(|error| panic!("version {}: {error}", snapshot.version()));
    let root = snapshot.root();
    assert_eq!(sum(root), SUM, "version {}", snapshot.version());
    for (_, child) in root.children() {
        if let Some(text) = child.attribute("text").and_then(|value| value.as_text()) {
            assert!(text.len() == 10 || text.len() == 300, "text of {} bytes", text.len());
            let first = text.as_bytes()[0];
            assert!(text.bytes().all(|byte| byte == first), "torn text {text:?}");
        }
    }
}
