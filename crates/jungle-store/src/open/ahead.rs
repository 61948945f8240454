//! Loading ahead what is probably looked at first, while the rest of a folder is opened.

use std::thread::{Builder, JoinHandle};

use jungle_tree::Arena;

/// A thread that loads a few slabs and ends. Whoever drops this waits for that.
pub(crate) struct Ahead(Option<JoinHandle<()>>);

impl Ahead {
    /// `None` where there is nothing to load, or no thread to be had: then it is loaded as it is
    /// looked at.
    pub(crate) fn start(arena: &Arena) -> Option<Ahead> {
        let (arena, newest) = (arena.clone(), arena.newest_absent());
        if newest.is_empty() {
            return None;
        }
        // What cannot be loaded is told to whoever looks at it.
        let load = move || drop(arena.load_ahead(&newest));
        let thread = Builder::new().name("ahead".into()).spawn(load).ok()?;
        Some(Ahead(Some(thread)))
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // Even a panic says nothing that whoever looks at the same is not told.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use jungle_tree::Key;
    use tempfile::TempDir;

    use super::*;
    use crate::OpenOptions;

    /// A folder with a checkpoint, in which this was committed last.
    fn folder() -> (TempDir, [Key; 1]) {
        let (folder, path) = (tempfile::tempdir().unwrap(), [Key::from(70)]);
        let store = OpenOptions::new().checkpoint_every(u64::MAX).open(folder.path()).unwrap();
        let tree = store.create_tree("t").unwrap();
        tree.update(|tx| (0..100).try_for_each(|_| tx.add_child(&[]).map(drop))).unwrap();
        tree.update(|tx| tx.put_attribute(&path, "n", 1)).unwrap();
        assert!(Ahead::start(store.arena()).is_none(), "all is there");
        store.checkpoint().unwrap();
        drop(tree);
        store.close().unwrap();
        (folder, path)
    }

    #[test]
    fn what_was_committed_last_is_loaded_ahead() {
        let (folder, path) = folder();
        // Nothing is done in the background.
        let store = OpenOptions::new().checkpoint_every(u64::MAX).open(folder.path()).unwrap();
        let newest = store.arena().newest_absent();
        drop(Ahead::start(store.arena()).expect("the newest is not loaded yet"));
        let left = store.arena().newest_absent();
        assert!(!newest.iter().any(|slab| left.contains(slab)), "{left:?} of {newest:?}");
        let tree = store.open_tree("t").unwrap();
        let read = tree.read().root().at(&path).unwrap().attribute("n").unwrap().as_int();
        assert_eq!(read, Some(1));
    }

    #[test]
    fn opening_a_folder_begins_it_and_closing_waits_for_it() {
        let (folder, _) = folder();
        let store = OpenOptions::new().open(folder.path()).unwrap();
        let jungle = store.jungle().clone();
        store.close().unwrap();
        assert!(jungle.arena().newest_absent().is_empty());
    }
}
