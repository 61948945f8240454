//! Trees, branches and tags come and go.

use std::collections::BTreeMap;
use std::rc::Rc;

use jungle_db::{
    BranchError, CommitMeta, CreateTreeError, IndexError, RenameTreeError, Timestamp, UpdateError,
};
use jungle_testkit::Rng;
use jungle_tree::Path;

use super::branch::{Branch, Origin, Version};
use super::op::ATTRIBUTES;
use super::{Tree, World, content};

const TREES: [&str; 4] = ["t", "u", "v", "w"];
const NAMES: [&str; 4] = ["one", "two", "three", "main"];

impl World {
    pub fn create_tree(&mut self, rng: &mut Rng) {
        let name = *rng.pick(&TREES);
        let is_taken = self.trees.iter().any(|tree| tree.name == name);
        match self.jungle.create_tree(name) {
            Ok(handle) => {
                assert!(!is_taken, "{name:?} is there twice");
                let first = Version {
                    revision: self.now.next(),
                    time: self.now.time(),
                    meta: CommitMeta::new(),
                    content: Rc::new(content::bare()),
                    carried: false,
                    written: Rc::default(),
                };
                let id = handle.id();
                let main = Branch::new(handle, first, self.retention);
                let branches = BTreeMap::from([("main".to_owned(), main)]);
                let name = name.to_owned();
                let (tags, indexes) = Default::default();
                self.trees.push(Tree { name, id, branches, tags, indexes });
            }
            Err(CreateTreeError::Exists { .. }) => assert!(is_taken),
            Err(error) => panic!("{error}"),
        }
        self.check_names();
    }

    pub fn rename_tree(&mut self, rng: &mut Rng) {
        let (tree, new) = (rng.index(self.trees.len()), *rng.pick(&TREES));
        let is_taken = self.trees.iter().any(|tree| tree.name == new);
        match self.jungle.rename_tree(&self.trees[tree].name, new) {
            Ok(()) => {
                assert!(!is_taken);
                self.now.next();
                self.trees[tree].name = new.to_owned();
            }
            Err(RenameTreeError::Exists { .. }) => assert!(is_taken),
            Err(error) => panic!("{error}"),
        }
        let nowhere = self.jungle.rename_tree("never there", "x");
        assert!(matches!(nowhere, Err(RenameTreeError::NoSuchTree(_))), "{nowhere:?}");
        self.check_names();
    }

    pub fn delete_tree(&mut self, rng: &mut Rng) {
        let mut tree = self.trees.swap_remove(rng.index(self.trees.len()));
        self.jungle.delete_tree(&tree.name).expect("it is there");
        self.now.next();
        for branch in tree.branches.values_mut() {
            branch.check_watches(true);
            let held = branch.handle.snapshot();
            assert_eq!(content::whole(&held), *branch.newest().content, "a deleted tree");
            let late = branch.handle.update(|tx| tx.append(&[]));
            assert!(matches!(late, Err(UpdateError::NotWritten(_))), "it is deleted");
        }
        self.check_names();
    }

    fn check_names(&self) {
        let mut names: Vec<&str> = self.trees.iter().map(|tree| &*tree.name).collect();
        names.sort();
        let listed = self.jungle.list_trees();
        assert!(listed.iter().map(|name| &**name).eq(names), "the names of trees: {listed:?}");
        for tree in &self.trees {
            let handle = self.jungle.open_tree(&tree.name).expect("it is there");
            assert_eq!((handle.id(), &*handle.name()), (tree.id, &*tree.name));
        }
    }

    pub fn create_branch(&mut self, rng: &mut Rng) {
        let name = *rng.pick(&NAMES);
        let retention = self.retention;
        let tree = rng.index(self.trees.len());
        let tree = &mut self.trees[tree];
        let from_name = tree.branches.keys().nth(rng.index(tree.branches.len()));
        let from_name = from_name.expect("counted").clone();
        let from = &tree.branches[&from_name];
        let first = rng.pick(from.kept()).clone();
        let is_taken = tree.branches.contains_key(name) || tree.tags.contains_key(name);
        match from.handle.branch(name, first.revision) {
            Ok(handle) => {
                assert!(!is_taken, "{name:?} is there twice");
                self.now.next();
                let base = handle.snapshot();
                assert_eq!(base.revision(), first.revision);
                let mut branch = Branch::new(handle, first, retention);
                let (is_merged, is_of_it, renumbered) = (false, true, Vec::new());
                let from = from_name;
                branch.origin = Some(Origin { from, base, is_merged, is_of_it, renumbered });
                tree.branches.insert(name.to_owned(), branch);
            }
            Err(BranchError::Exists { .. }) => assert!(is_taken),
            Err(error) => panic!("{error}"),
        }
        tree.check_names();
    }

    pub fn delete_branch(&mut self, rng: &mut Rng) {
        let (tree, name) = (rng.index(self.trees.len()), *rng.pick(&NAMES));
        let tree = &mut self.trees[tree];
        match tree.branches["main"].handle.delete_branch(name) {
            Ok(()) => {
                self.now.next();
                let mut branch = tree.branches.remove(name).expect("it was there");
                branch.check_watches(true);
                // Nothing is known any more of what those that left it have in common with it.
                for other in tree.branches.values_mut() {
                    other.origin.take_if(|origin| origin.from == name);
                }
            }
            Err(BranchError::Main) => assert_eq!(name, "main"),
            Err(error) => assert!(!tree.branches.contains_key(name), "{error}"),
        }
        tree.check_names();
    }

    pub fn tag(&mut self, rng: &mut Rng) {
        let (tree, name) = (rng.index(self.trees.len()), *rng.pick(&NAMES));
        let tree = &mut self.trees[tree];
        if tree.tags.contains_key(name) && rng.chance(1, 3) {
            tree.branches["main"].handle.delete_tag(name).expect("it is there");
            self.now.next();
            tree.tags.remove(name);
            return tree.check_names();
        }
        let at = rng.index(tree.branches.len());
        let branch = tree.branches.values().nth(at).expect("counted");
        let version = rng.pick(branch.kept());
        let is_taken = tree.branches.contains_key(name) || tree.tags.contains_key(name);
        match branch.handle.tag(name, version.revision) {
            Ok(()) => {
                assert!(!is_taken, "{name:?} is there twice");
                self.now.next();
                let tagged = (version.revision, Rc::clone(&version.content));
                tree.tags.insert(name.to_owned(), tagged);
            }
            Err(BranchError::Exists { .. }) => assert!(is_taken),
            Err(error) => panic!("{error}"),
        }
        tree.check_names();
    }

    pub fn index(&mut self, rng: &mut Rng) {
        let (tree, key) = (rng.index(self.trees.len()), *rng.pick(&ATTRIBUTES));
        let tree = &mut self.trees[tree];
        let (main, is_there) = (&tree.branches["main"].handle, tree.indexes.contains(key));
        if is_there && rng.chance(1, 3) {
            main.drop_index(key).expect("it is there");
            tree.indexes.remove(key);
        } else if is_there {
            let refused = main.create_index(key);
            assert!(matches!(refused, Err(IndexError::Exists { .. })));
            return;
        } else {
            main.create_index(key).expect("there is none");
            tree.indexes.insert(key);
        }
        self.now.next();
        tree.check_names();
    }

    /// Indexes of a version of each tree, the newest or an older one, find what is there.
    pub fn check_indexes(&self, rng: &mut Rng) {
        for tree in &self.trees {
            let at = rng.index(tree.branches.len());
            let branch = tree.branches.values().nth(at).expect("counted");
            let version = if rng.chance(1, 3) { rng.pick(branch.kept()) } else { branch.newest() };
            let snapshot = branch.handle.at(version.revision).expect("it is kept");
            for key in ATTRIBUTES {
                let index = branch.handle.index(key, &snapshot).expect("there is room");
                assert_eq!(index.is_some(), tree.indexes.contains(key));
                let Some(index) = index else { continue };
                let mut with = version.content.iter().filter(|(_, it)| it.contains_key(key));
                let mut found: Vec<Path> = index.range(..).collect();
                found.sort();
                assert!(found.iter().eq(with.clone().map(|(path, _)| path)), "index of {key}");
                if let Some((path, attributes)) = with.next_back() {
                    let value = attributes[key].as_ref();
                    assert_eq!(index.find(value).last().as_ref(), Some(path), "index of {key}");
                }
            }
        }
    }

    /// Every tag shows what it did when it was made.
    pub fn check_tags(&self) {
        for tree in &self.trees {
            tree.check_names();
            for (name, (revision, content)) in &tree.tags {
                let tagged = tree.branches["main"].handle.at_tag(name).expect("it is there");
                assert_eq!(tagged.revision(), *revision);
                assert_eq!(content::whole(&tagged), **content, "tag {name}");
            }
        }
    }

    /// The clock, for what has no branch.
    pub fn time(&self) -> Timestamp {
        self.now.time()
    }
}

impl Tree {
    fn check_names(&self) {
        let main = &self.branches["main"].handle;
        let mut names: Vec<&str> = self.branches.keys().map(|name| &**name).collect();
        names.sort_by_key(|name| (*name != "main", *name));
        assert!(main.list_branches().iter().map(|name| &**name).eq(names), "the branches");
        let tags = main.list_tags();
        let tags = tags.iter().map(|(name, revision)| (&**name, *revision));
        assert!(tags.eq(self.tags.iter().map(|(name, tag)| (&**name, tag.0))), "the tags");
        let indexes = main.list_indexes();
        assert!(indexes.iter().map(|key| &**key).eq(self.indexes.iter().copied()), "the indexes");
    }
}
