//! Looking back, and going back; and whether a replay of the journal gives the same.

use std::collections::BTreeMap;
use std::rc::Rc;

use jungle_db::{
    CommitMeta, Jungle, NoSuchRevision, RevertError, Revision, SetRootError, Timestamp, UndoError,
};
use jungle_testkit::Rng;
use jungle_tree::{Resolution, merge};

use super::branch::{Branch, Version, Way};
use super::content::Content;
use super::plain::{self, Rules};
use super::{Now, World, content, some_meta, some_retention};

impl World {
    pub fn hold(&mut self, rng: &mut Rng) {
        if self.held.len() > 4 {
            let (snapshot, held) = self.held.swap_remove(rng.index(self.held.len()));
            assert_eq!(content::whole(&snapshot), *held, "what was held");
        }
        let branch = self.some_branch(rng);
        let version = rng.pick(branch.kept());
        let snapshot = branch.handle.at(version.revision).expect("it is kept");
        let held = (snapshot, Rc::clone(&version.content));
        self.held.push(held);
    }

    pub fn set_retention(&mut self, rng: &mut Rng) {
        let (now, retention) = (self.time(), some_retention(rng));
        let follows = self.follower.is_some();
        let branch = self.some_branch(rng);
        if rng.chance(1, 3) {
            branch.apply_retention((!follows).then_some(now));
            branch.check_history();
        } else {
            let is_news = follows || branch.handle.retention() != retention;
            branch.set_retention(retention, now);
            branch.check_history();
            if is_news {
                self.now.next();
            }
        }
    }

    pub fn look_back(&mut self, rng: &mut Rng) {
        if rng.chance(1, 4) {
            self.check_indexes(rng);
        }
        let newest = self.now.revision;
        let branch = self.some_branch(rng);
        let revision = Revision::new(rng.below(newest.number() + 3));
        branch.check_at(revision, newest);
        let near = rng.pick(&branch.versions).time.as_micros() + rng.below(3) as i64 - 1;
        branch.check_at_time(Timestamp::from_micros(near));
        branch.check_diff(rng);
        branch.check_history();
        branch.check_watches(false);
    }

    /// All trees at once.
    pub fn check_snapshot(&self) {
        let snapshot = self.jungle.snapshot();
        assert_eq!(snapshot.revision(), self.now.revision);
        assert_eq!(snapshot.iter().count(), self.trees.len());
        for tree in &self.trees {
            let newest = tree.branches["main"].newest();
            let found = snapshot.tree(&tree.name).expect("it is there");
            assert_eq!(found.revision(), newest.revision);
            assert_eq!(content::of(found.root()), *newest.content);
        }
    }

    /// All trees at once, as they were at some revision.
    pub fn check_then(&self, rng: &mut Rng) {
        let newest = self.now.revision;
        let revision = Revision::new(rng.below(newest.number() + 3));
        let found = self.jungle.at(revision);
        if revision > newest {
            return assert_eq!(found.err(), Some(NoSuchRevision::NotYet { newest }));
        }
        let mains = self.trees.iter().map(|tree| (&*tree.name, &tree.branches["main"]));
        let mains: Vec<(&str, &Branch)> = mains.collect();
        if mains.iter().any(|(_, main)| main.at(revision).is_none() && !main.is_whole()) {
            let error = found.err();
            return assert!(matches!(error, Some(NoSuchRevision::TooOld { .. })), "{error:?}");
        }
        let found = found.expect("all of it is kept");
        let there = mains.into_iter().filter_map(|(name, main)| Some((name, main.at(revision)?)));
        let there: Vec<(&str, &Version)> = there.collect();
        assert_eq!(found.iter().count(), there.len(), "the trees at {revision}");
        for (name, version) in there {
            let tree = found.tree(name).expect("it was there then");
            assert_eq!(tree.revision(), version.revision);
            assert_eq!(content::of(tree.root()), *version.content, "{name} at {revision}");
        }
    }

    /// Makes a version that is held, or an old one, the newest.
    pub fn set_root(&mut self, rng: &mut Rng) {
        let meta = some_meta(rng);
        let is_held = !self.held.is_empty() && rng.chance(2, 3);
        let held = is_held.then(|| rng.pick(&self.held).clone());
        let tree = rng.index(self.trees.len());
        let branches = &mut self.trees[tree].branches;
        let at = rng.index(branches.len());
        let branch = branches.values_mut().nth(at).expect("counted");
        let old = rng.pick(branch.kept()).clone();
        let (revision, content) = match held {
            Some((snapshot, content)) if rng.chance(1, 2) => {
                let newest = branch.newest().revision;
                let expected = branch.handle.at(old.revision).expect("it is kept");
                let done = branch.handle.compare_and_set_root(&expected, &snapshot, &meta);
                match done {
                    Ok(done) => (done.revision, content),
                    Err(SetRootError::Changed { newest: found }) => {
                        assert!(newest == found && old.revision != newest);
                        return;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            Some((snapshot, content)) => {
                let done = branch.handle.set_root(&snapshot, &meta).expect("there is room");
                (done.revision, content)
            }
            None if rng.chance(1, 2) => {
                let (newest, seen) = (branch.newest().revision, rng.pick(branch.kept()).revision);
                let expected = branch.handle.at(seen).expect("it is kept");
                match branch.handle.compare_and_restore(&expected, old.revision, &meta) {
                    Ok(done) => (done.revision, old.content),
                    Err(RevertError::Changed { newest: found }) => {
                        return assert!(newest == found && seen != newest);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            None => {
                let done = branch.handle.restore(old.revision, &meta).expect("it is kept");
                (done.revision, old.content)
            }
        };
        if revision == branch.newest().revision {
            assert_eq!(content, branch.newest().content, "nothing was done");
        } else {
            assert_eq!(revision, self.now.next());
            went(&self.now, branch, revision, meta, content);
        }
    }

    /// Takes back what one revision did.
    pub fn revert(&mut self, rng: &mut Rng) {
        let meta = some_meta(rng);
        let tree = rng.index(self.trees.len());
        let branches = &mut self.trees[tree].branches;
        let at = rng.index(branches.len());
        let branch = branches.values_mut().nth(at).expect("counted");
        if branch.kept().len() < 2 {
            let only = branch.kept()[0].revision;
            let done = branch.handle.revert(only, &meta);
            return assert!(matches!(done, Err(RevertError::NoSuchRevision(_))), "{done:?}");
        }
        let at = 1 + rng.index(branch.kept().len() - 1);
        let (before, after) = (branch.kept()[at - 1].clone(), branch.kept()[at].clone());
        let [was, is] =
            [&before, &after].map(|it| branch.handle.at(it.revision).expect("it is kept"));
        let now = branch.handle.snapshot();
        let rules = Rules { resolution: Resolution::Theirs, of: BTreeMap::new() };
        let merged = merge(&is, &was, &now, &rules.options()).expect("there is room");
        let (base, ours) = ((&is, &*after.content), (&was, &*before.content));
        let theirs = (&now, &*branch.newest().content);
        let told = plain::says(base, ours, theirs, true)
            .then(|| plain::merged(base.1, ours.1, theirs.1, &rules));
        self.tried.reverts.count(told.is_some());
        if let Some(told) = &told {
            assert_eq!(plain::told(&merged.conflicts), told.conflicts, "{}", after.revision);
            assert!(merged.renamed.is_empty(), "{:?}", merged.renamed);
        }
        let done = match rng.chance(1, 3) {
            true => branch.handle.compare_and_revert(&now, after.revision, &meta),
            false => branch.handle.revert(after.revision, &meta),
        };
        // It would be beside itself.
        let is_back = merged.renamed.iter().any(|(was, is)| {
            let (key, parent) = (was.last().expect("no root"), is.parent().expect("no root"));
            now.root().at(&parent.join(key.clone())).is_ok()
        });
        if is_back || !merged.conflicts.is_empty() {
            let Err(RevertError::Conflict(told)) = done else {
                panic!("{done:?} though {:?}", merged.conflicts)
            };
            return assert_eq!(told.list().len(), merged.conflicts.len());
        }
        let is_newest = after.revision == branch.newest().revision;
        let is_changed = merged.editor.is_changed();
        let mut line = jungle_tree::Tree::from_snapshot(&now);
        line.publish(merged.editor);
        let content = content::of(line.read().root());
        assert!(!is_newest || content == *before.content, "it takes back all of it");
        assert!(told.is_none_or(|told| told.content == content), "by plain maps");
        let revision = done.expect("nothing contradicts it").revision;
        if !is_changed {
            assert_eq!(revision, branch.newest().revision, "nothing was done");
        } else {
            assert_eq!(revision, self.now.next());
            went(&self.now, branch, revision, meta, Rc::new(content));
        }
    }

    /// Undoes some revisions of a branch, or does them again.
    pub fn undo(&mut self, rng: &mut Rng) {
        let (meta, steps) = (some_meta(rng), rng.range(1..4) as usize);
        let way = if rng.chance(3, 5) { Way::Undo } else { Way::Redo };
        let tree = rng.index(self.trees.len());
        let branches = &mut self.trees[tree].branches;
        let at = rng.index(branches.len());
        let branch = branches.values_mut().nth(at).expect("counted");
        if !branch.is_whole() {
            return; // How far it goes back then is not said here.
        }
        let course = branch.course(way, steps);
        let done = match way {
            Way::Undo => branch.handle.undo(steps, &meta),
            Way::Redo => branch.handle.redo(steps, &meta),
        };
        let possible = |error| match error {
            UndoError::NothingToUndo { possible } | UndoError::NothingToRedo { possible } => {
                possible
            }
            error => panic!("{way:?} of {steps}: {error}"),
        };
        match (course, done.map_err(possible)) {
            (Ok((to, past)), Ok(done)) => {
                let revision = self.now.next();
                assert_eq!((done.revision, done.value), (revision, past), "{way:?} of {steps}");
                let newest = branch.handle.history(..).next().expect("it was committed");
                // It says in its own words what it did.
                let meta_told = newest.expect("all is in memory").meta;
                assert_eq!(meta_told.author_name(), meta.author_name());
                let time = self.now.time().max(branch.newest().time);
                let (content, meta) = (Rc::clone(&branch.versions[to].content), meta_told);
                let version = Version { revision, time, meta, content, ..Version::anywhere() };
                branch.stepped(to, version);
            }
            (Err(possible), Err(told)) => assert_eq!(told, possible, "{way:?} of {steps}"),
            (course, done) => panic!("{way:?} of {steps}: {done:?} where it is {course:?}"),
        }
    }

    /// Everything that can be seen.
    pub fn check_all(&mut self, rng: &mut Rng) {
        let newest = self.now.revision;
        self.check_snapshot();
        self.check_tags();
        self.check_indexes(rng);
        for (snapshot, held) in &self.held {
            assert_eq!(content::whole(snapshot), **held, "what was held");
        }
        for branch in self.trees.iter_mut().flat_map(|tree| tree.branches.values_mut()) {
            for at in 0..branch.versions.len() {
                branch.check_at(branch.versions[at].revision, newest);
                branch.check_at_time(branch.versions[at].time);
            }
            branch.check_diff(rng);
            branch.check_history();
            branch.check_watches(false);
        }
    }

    /// A Jungle made from the journal, that keeps everything, has the same past.
    pub fn check_replay(&self, rng: &mut Rng) {
        let Some(journal) = &self.journal else { return };
        let arena = jungle_tree::ArenaOptions {
            structure_bytes: 64 << 20,
            payload_bytes: 64 << 20,
            ..Default::default()
        };
        let copy = Jungle::builder().arena(arena).build().expect("address range");
        for record in journal.records() {
            copy.replay(&record).unwrap_or_else(|error| panic!("{record:?}: {error}"));
        }
        assert_eq!(
            (copy.revision(), copy.list_trees()),
            (self.now.revision, self.jungle.list_trees())
        );
        for tree in &self.trees {
            let main = copy.open_tree(&tree.name).expect("listed");
            for (name, branch) in &tree.branches {
                let copy = main.on_branch(name).expect("it was written down");
                let newest = content::whole(&copy.snapshot());
                assert_eq!(newest, *branch.newest().content, "{name} as replayed");
                let past = copy.history(..).map(|info| info.expect("all is in memory"));
                let past = past.map(|info| (info.revision, info.time, info.meta));
                let versions = branch.versions.iter().rev();
                let versions = versions.map(|it| (it.revision, it.time, it.meta.clone()));
                assert!(past.eq(versions), "the history of {name} as replayed");
                let old = rng.pick(&branch.versions);
                let found = content::of(copy.at(old.revision).expect("all is kept").root());
                assert_eq!(found, *old.content, "{name} at {} as replayed", old.revision);
            }
            let tags = main.list_tags();
            let tags = tags.iter().map(|(name, revision)| (&**name, *revision));
            assert!(tags.eq(tree.tags.iter().map(|(name, tag)| (&**name, tag.0))), "tags");
            let indexes = main.list_indexes();
            assert!(indexes.iter().map(|key| &**key).eq(tree.indexes.iter().copied()), "indexes");
        }
    }
}

/// A commit that was not made by a transaction is there.
#[track_caller]
fn went(
    now: &Now,
    branch: &mut Branch,
    revision: Revision,
    meta: CommitMeta,
    content: Rc<Content>,
) {
    let time = now.time().max(branch.newest().time);
    branch.committed(Version { revision, time, meta, content, ..Version::anywhere() });
}
