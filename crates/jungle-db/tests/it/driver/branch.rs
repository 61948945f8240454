//! One branch as it should be: all versions it ever had, and which of them are kept.

use std::rc::Rc;

use jungle_db::{
    CommitMeta, NoSuchRevision, RequestId, Retention, Revision, Snapshot, Timestamp, TreeHandle,
    Watch, WatchError,
};
use jungle_testkit::Rng;
use jungle_tree::{Editor, Path, Renumbered, Tree, apply};

use super::content::{self, Content};
use super::plain::{self, Outcome, Rules};

/// One revision of a branch.
#[derive(Clone)]
pub struct Version {
    pub revision: Revision,
    pub time: Timestamp,
    pub meta: CommitMeta,
    pub content: Rc<Content>,
    /// Was something carried from one place to another, or may have been?
    pub carried: bool,
    /// Where something was written, or may have been, all the way down.
    pub written: Rc<[Path]>,
}

impl Version {
    /// Of a commit that was not made by a transaction: anything may have gone anywhere.
    pub fn anywhere() -> Version {
        Version {
            revision: Revision::default(),
            time: Timestamp::default(),
            meta: CommitMeta::new(),
            content: Rc::default(),
            carried: true,
            written: Rc::new([Path::root()]),
        }
    }
}

/// Where a step goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    Undo,
    Redo,
}

/// A branch, with all versions it ever had.
pub struct Branch {
    pub handle: TreeHandle,
    pub versions: Vec<Version>,
    /// Which of them each stands at: an undo, or a redo, at where it went, any other at itself.
    stands: Vec<usize>,
    /// Older ones are not kept.
    first_kept: usize,
    retention: Retention,
    watches: Vec<(Watch, Path)>,
    pub origin: Option<Origin>,
}

/// The branch that one left, and what the two have in common.
#[derive(Clone)]
pub struct Origin {
    pub from: String,
    pub base: Snapshot,
    /// Was one merged into the other at the base?
    pub is_merged: bool,
    /// Is the base a version of that branch?
    pub is_of_it: bool,
    /// The nodes of the base that have other keys on the other one.
    pub renumbered: Vec<Renumbered>,
}

impl Origin {
    /// What a merge of ours into theirs should come to, where plain maps say it, and each node has
    /// the same key on both.
    pub fn merged(&self, [ours, theirs]: [&Branch; 2], rules: &Rules) -> Option<Outcome> {
        if !self.renumbered.is_empty() {
            return None;
        }
        let base = content::of(self.base.root());
        let [ours, theirs] =
            [ours, theirs].map(|side| (side.handle.snapshot(), &*side.newest().content));
        let (ours, theirs) = ((&ours.0, ours.1), (&theirs.0, theirs.1));
        plain::says((&self.base, &base), ours, theirs, !self.is_merged)
            .then(|| plain::merged(&base, ours.1, theirs.1, rules))
    }
}

impl Branch {
    pub fn new(handle: TreeHandle, first: Version, retention: Retention) -> Branch {
        let (versions, stands) = (vec![first], vec![0]);
        let (first_kept, watches, origin) = (0, Vec::new(), None);
        Branch { handle, versions, stands, first_kept, retention, watches, origin }
    }

    pub fn newest(&self) -> &Version {
        self.versions.last().expect("there is always one")
    }

    pub fn kept(&self) -> &[Version] {
        &self.versions[self.first_kept..]
    }

    /// Of those that are kept, the newest up to a revision.
    pub fn at(&self, revision: Revision) -> Option<&Version> {
        self.kept().iter().rfind(|version| version.revision <= revision)
    }

    /// The newest request with the key of this one that was committed, and when.
    pub fn known(&self, request: RequestId) -> Option<(RequestId, Revision)> {
        let asked = self.kept().iter().rev();
        let mut asked = asked.filter_map(|it| Some((it.meta.request()?, it.revision)));
        asked.find(|(other, _)| other.key == request.key)
    }

    /// Is everything kept that there ever was?
    pub fn is_whole(&self) -> bool {
        self.first_kept == 0
    }

    /// A commit was made; what it should hold is compared with what it does.
    #[track_caller]
    pub fn committed(&mut self, version: Version) {
        let snapshot = self.handle.snapshot();
        assert_eq!(snapshot.revision(), version.revision, "the newest revision");
        assert_eq!(content::whole(&snapshot), *version.content, "{}", version.revision);
        let time = version.time;
        self.stands.push(self.versions.len());
        self.versions.push(version);
        self.retain(time);
    }

    /// An undo, or a redo, to one of the versions was committed.
    #[track_caller]
    pub fn stepped(&mut self, to: usize, version: Version) {
        self.committed(version);
        *self.stands.last_mut().expect("it was committed") = to;
    }

    /// The version that so many steps lead to, and the revisions that they go past; or how many
    /// steps there are. All versions are kept.
    pub fn course(&self, way: Way, steps: usize) -> Result<(usize, Vec<Revision>), usize> {
        let before = |&at: &usize| Some(self.stands[at.checked_sub(1)?]);
        let line = |newest| std::iter::successors(Some(newest), before).collect::<Vec<usize>>();
        let newest = self.stands.len() - 1;
        let here = self.stands[newest];
        let (line, from, to) = match way {
            Way::Undo => (line(here), 0, Some(steps)),
            Way::Redo => {
                let is_no_step = |at: &usize| self.stands[*at] == *at;
                let line = line((0..=newest).rfind(is_no_step).expect("the first is none"));
                let from = line.iter().position(|at| *at == here).expect("it was undone to there");
                (line, from, from.checked_sub(steps))
            }
        };
        let possible = if way == Way::Undo { line.len() - 1 } else { from };
        let to = to.filter(|to| *to < line.len()).ok_or(possible)?;
        let mut past = line[from.min(to)..from.max(to)].to_vec();
        if way == Way::Redo {
            past.reverse();
        }
        let past = past.into_iter().map(|at| self.versions[at].revision);
        Ok((line[to], past.collect()))
    }

    pub fn set_retention(&mut self, retention: Retention, now: Timestamp) {
        self.handle.set_retention(retention).expect("all is in memory");
        assert_eq!(self.handle.retention(), retention);
        self.retention = retention;
        self.retain(now);
    }

    /// Without a time where the commits alone say what is dropped.
    pub fn apply_retention(&mut self, now: Option<Timestamp>) {
        self.handle.apply_retention().expect("all is in memory");
        now.into_iter().for_each(|now| self.retain(now));
    }

    fn retain(&mut self, now: Timestamp) {
        match self.retention {
            Retention::All => {}
            Retention::Last(count) => {
                let beyond = self.versions.len().saturating_sub(count.max(1));
                self.first_kept = self.first_kept.max(beyond);
            }
            Retention::ByAge(age) => {
                let limit = now.max(self.newest().time).before(age);
                let is_old = |version: &Version| version.time <= limit;
                while self.versions.get(self.first_kept + 1).is_some_and(is_old) {
                    self.first_kept += 1;
                }
            }
        }
    }

    /// The history lists what is kept, from both ends.
    pub fn check_history(&self) {
        let past = || self.handle.history(..).map(|info| info.expect("all is in memory"));
        let listed = past().map(|info| (info.revision, info.time, info.meta));
        let kept = self.kept().iter().rev();
        assert!(listed.eq(kept.map(|it| (it.revision, it.time, it.meta.clone()))), "the history");
        let oldest = past().next_back().map(|info| info.revision);
        assert_eq!(oldest, Some(self.kept()[0].revision), "the oldest");
    }

    /// The tree as it was at some revision, or why there is none.
    pub fn check_at(&self, revision: Revision, newest: Revision) {
        let found = self.handle.at(revision);
        if revision > newest {
            assert_eq!(found.err(), Some(NoSuchRevision::NotYet { newest }));
            return;
        }
        self.check_found(found, content::whole, |version| version.revision <= revision);
    }

    /// The tree as it was at some time. That it is whole is looked at by its revision.
    pub fn check_at_time(&self, time: Timestamp) {
        let content = |snapshot: &Snapshot| content::of(snapshot.root());
        self.check_found(self.handle.at_time(time), content, |version| version.time <= time);
    }

    #[track_caller]
    fn check_found(
        &self,
        found: Result<Snapshot, NoSuchRevision>,
        content: impl Fn(&Snapshot) -> Content,
        fits: impl Fn(&Version) -> bool,
    ) {
        let oldest = self.kept()[0].revision;
        match self.kept().iter().rfind(|version| fits(version)) {
            Some(version) => {
                let found = found.expect("it is kept");
                assert_eq!(found.revision(), version.revision);
                assert_eq!(content(&found), *version.content, "{}", version.revision);
            }
            None if self.first_kept > 0 => {
                assert_eq!(found.err(), Some(NoSuchRevision::TooOld { oldest }));
            }
            None => assert_eq!(found.err(), Some(NoSuchRevision::NotBorn { first: oldest })),
        }
    }

    /// What differs between two that are kept, applied to the one, gives the other.
    pub fn check_diff(&self, rng: &mut Rng) {
        let (from, to) = (rng.pick(self.kept()), rng.pick(self.kept()));
        let changes = self.handle.diff(from.revision, to.revision).expect("both are kept");
        let from = self.handle.at(from.revision).expect("it is kept");
        let mut tree = Tree::from_snapshot(&from);
        let mut editor = Editor::new(tree.snapshot());
        apply(&mut editor, &changes).expect("it was done before");
        tree.publish(editor);
        assert_eq!(content::of(tree.read().root()), *to.content, "a diff applied");
    }

    pub fn watch(&mut self, rng: &mut Rng) {
        if self.watches.len() < 3 {
            let after = rng.pick(self.kept());
            let path = super::op::path(rng, &after.content);
            self.watches.push((self.handle.watch(&path, after.revision), path));
        }
    }

    /// Watchers are told of everything, in order.
    pub fn check_watches(&mut self, is_deleted: bool) {
        let mut watches = std::mem::take(&mut self.watches);
        for (watch, path) in &mut watches {
            while self.check_watch(watch, path, is_deleted) {}
        }
        self.watches = watches;
    }

    /// The next event of a watch; is there one?
    fn check_watch(&self, watch: &mut Watch, path: &Path, is_deleted: bool) -> bool {
        let seen = watch.seen();
        let oldest = self.kept()[0].revision;
        if seen < oldest && self.first_kept > 0 {
            assert_eq!(watch.next().err(), Some(WatchError::TooOld { seen, oldest }));
            *watch = self.handle.watch(path, oldest);
            return true;
        }
        let index = self.versions.iter().rposition(|version| version.revision <= seen);
        let index = index.unwrap_or(0);
        let same = |from: usize, to: usize| {
            let [from, to] = [from, to].map(|at| &*self.versions[at].content);
            content::is_same_below(from, to, path)
        };
        let nothing_until = |end: usize| {
            for at in index + 1..end {
                assert!(same(at - 1, at), "{} was not told", self.versions[at].revision);
            }
        };
        let looks = 1 + (seen.number() % 4) as usize;
        let mut left = looks;
        let event = match watch.next_within(&mut left) {
            Ok(Some(event)) => event,
            Ok(None) if left == 0 => {
                nothing_until(index + looks + 1);
                assert_eq!(watch.seen(), self.versions[index + looks].revision, "as far as asked");
                return true;
            }
            Ok(None) => {
                assert!(!is_deleted, "it was deleted");
                assert_eq!(looks - left, self.versions.len() - 1 - index, "revisions looked at");
                nothing_until(self.versions.len());
                return false;
            }
            Err(error) => {
                assert!(is_deleted && error == WatchError::Deleted, "{error}");
                nothing_until(self.versions.len());
                return false;
            }
        };
        let is_it = |version: &Version| version.revision == event.info.revision;
        let at = self.versions.iter().position(is_it).expect("it is one of the branch");
        assert!(at > index && !event.changes.is_empty());
        assert_eq!(looks - left, at - index, "revisions looked at");
        nothing_until(at);
        let version = &self.versions[at];
        assert_eq!((event.info.time, &event.info.meta), (version.time, &version.meta));
        assert_eq!(content::of(event.snapshot.root()), *version.content);
        true
    }
}
