//! Depth is no limit of the database either: all that it does is done at the end of a chain of a
//! million nodes, on a small stack.

use std::error::Error;
use std::sync::Arc;

use jungle_db::{CommitMeta, CommitOptions, Draft, Jungle, MemoryJournal, TreeHandle};
use jungle_tree::{EditError, Key, MergeOptions, Path};

const DEPTH: usize = 1_000_000;
const STACK_BYTES: usize = 256 << 10;

#[test]
fn a_chain_a_million_deep_needs_no_stack() {
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(|| all().expect("only what can be done is asked for"))
        .unwrap();
    thread.join().unwrap();
}

fn all() -> Result<(), Box<dyn Error>> {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
    let tree = jungle.create_tree("t")?;
    tree.update(|tx| {
        let mut cursor = tx.cursor(&[])?;
        for _ in 0..DEPTH {
            let key = cursor.add_child()?;
            cursor.enter(&key)?;
        }
        Ok::<_, EditError>(())
    })?;
    let path = Path::from(vec![Key::from(0); DEPTH]);
    let built = tree.snapshot();
    let mut watch = tree.watch(&path, built.revision());

    let side = tree.branch("side", built.revision())?;
    put(&side, &path, "side")?;
    put(&tree, &path, "main")?;
    let merge = tree.merge("side", &MergeOptions::new())?;
    assert!(merge.conflicts().is_empty());
    merge.commit(&CommitMeta::new())?;
    assert_eq!(tree.read().root().at(&path)?.attributes().count(), 2);
    assert!(watch.next()?.is_some() && watch.next()?.is_some() && watch.next()?.is_none());

    committed_after_another(&tree, &path)?;
    let newest = tree.snapshot();
    assert_eq!(tree.diff(built.revision(), newest.revision())?.len(), 4);
    tree.revert(newest.revision(), &CommitMeta::new())?;
    tree.restore(built.revision(), &CommitMeta::new())?;
    assert!(tree.read().root().is_equal(built.root()));
    tree.update(|tx| tx.remove(&[Key::from(0)]))?;

    let copy = Jungle::new()?;
    journal.records().iter().try_for_each(|record| copy.replay(record).map(drop))?;
    assert_eq!(copy.open_tree("t")?.read().root().subtree_count(), 1);
    Ok(())
}

fn put(tree: &TreeHandle, path: &Path, key: &str) -> Result<(), Box<dyn Error>> {
    tree.update(|tx: &mut Draft| tx.put_attribute(path, key, 1))?;
    Ok(())
}

/// What was read and changed is looked up anew, and rebased.
fn committed_after_another(tree: &TreeHandle, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut tx = tree.begin(CommitOptions::default());
    assert!(tx.attribute(path, "main")?.is_some());
    tx.append(path)?;
    put(tree, path, "other")?;
    tx.commit()?;
    Ok(())
}
