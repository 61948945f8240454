//! A Jungle in a folder, in this process.

use std::ops::Range;

use jungle::{Change, EditError, Key, Revision, Store as Folders, TreeHandle, ValueRef};

use super::draws::{DEPTH, KEY, TREE, WARM, is_first, step, value_of};
use super::{Store, User};
use crate::Failure;
use crate::experiments::folder::{Folder, options};

pub struct Embedded {
    store: Folders,
    trees: [(&'static str, TreeHandle); 2],
}

impl Embedded {
    pub fn open(folder: &Folder) -> Result<Embedded, Failure> {
        let store = options().open(&folder.0)?;
        let trees = [(WARM, store.create_tree(WARM)?), (TREE, store.create_tree(TREE)?)];
        Ok(Embedded { store, trees })
    }
}

impl Store for Embedded {
    fn user(&self) -> Result<Box<dyn User + '_>, Failure> {
        Ok(Box::new(Thread(self)))
    }

    fn close(self) -> Result<(), Failure> {
        drop(self.trees);
        Ok(self.store.close()?)
    }
}

struct Thread<'s>(&'s Embedded);

impl Thread<'_> {
    fn tree(&self, name: &str) -> Result<&TreeHandle, Failure> {
        let found = self.0.trees.iter().find(|(here, _)| *here == name);
        found.map(|(_, tree)| tree).ok_or_else(|| format!("there is no tree {name}").into())
    }
}

impl User for Thread<'_> {
    fn load(&mut self, tree: &str, leaves: Range<u32>) -> Result<(), Failure> {
        self.tree(tree)?.update(|tx| {
            for leaf in leaves.clone() {
                let path = path(leaf);
                for depth in (1..=DEPTH).filter(|depth| is_first(leaf, *depth)) {
                    let above = depth as usize - 1;
                    tx.insert_child(&path[..above], &path[above])?;
                }
                tx.put_attribute(&path, KEY, value_of(leaf, 0).as_str())?;
            }
            Ok::<_, EditError>(())
        })?;
        Ok(())
    }

    fn put(&mut self, tree: &str, leaf: u32, value: &str) -> Result<u64, Failure> {
        let path = path(leaf);
        let put = self.tree(tree)?.update(|tx| tx.put_attribute(&path, KEY, value))?;
        Ok(put.revision.number())
    }

    fn read(&mut self, tree: &str, leaf: u32, at: Option<u64>) -> Result<String, Failure> {
        let tree = self.tree(tree)?;
        let snapshot = match at {
            Some(revision) => tree.at(Revision::new(revision))?,
            None => tree.snapshot(),
        };
        let value = snapshot.root().at(&path(leaf))?.attribute(KEY);
        let text = value.and_then(ValueRef::as_text).ok_or("a leaf has no value")?;
        Ok(text.to_owned())
    }

    fn is_change(
        &mut self,
        tree: &str,
        revision: u64,
        leaf: u32,
        value: &str,
    ) -> Result<bool, Failure> {
        let [before, after] = [revision - 1, revision].map(Revision::new);
        let changes = self.tree(tree)?.diff(before, after)?;
        let is_it = |change: &Change| match change {
            Change::AttributePut { path: at, value: put, .. } => {
                at[..] == path(leaf) && put.as_ref() == ValueRef::Text(value)
            }
            _ => false,
        };
        Ok(changes.len() == 1 && changes.iter().all(is_it))
    }
}

fn path(leaf: u32) -> [Key; DEPTH as usize] {
    std::array::from_fn(|level| Key::from(u64::from(step(leaf, level as u32 + 1))))
}
