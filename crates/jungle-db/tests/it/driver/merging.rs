//! A branch is merged into the one it left, or the other way round, at once or on top of what was
//! committed there since the merge was worked out.

use std::collections::BTreeSet;
use std::rc::Rc;

use jungle_db::CommitError;
use jungle_testkit::Rng;
use jungle_tree::{Change, MergeBase, Path, Resolution, merge_again};

use super::branch::{Origin, Version};
use super::content::{self, Content};
use super::plain::{self, How, Rules};
use super::{World, edits, some_meta};

/// A merge that is to be made.
struct Plan {
    tree: usize,
    /// The one of both that left the other.
    child: String,
    from: String,
    into: String,
    origin: Origin,
    base: MergeBase,
    rules: Rules,
}

impl World {
    fn some_merge(&self, rng: &mut Rng) -> Option<Plan> {
        let tree = rng.index(self.trees.len());
        let left = self.trees[tree].branches.iter();
        let left = left.filter_map(|(name, it)| Some((name.clone(), it.origin.clone()?)));
        let left: Vec<_> = left.collect();
        if left.is_empty() {
            return None;
        }
        let (child, origin) = rng.pick(&left).clone();
        let (from, into) = (child.clone(), origin.from.clone());
        let is_back = rng.chance(2, 3);
        let (from, into) = if is_back { (from, into) } else { (into, from) };
        let resolutions = [Resolution::Ours, Resolution::Theirs, Resolution::Symmetric];
        let resolution = *rng.pick(&resolutions);
        let counter = rng.chance(1, 2).then_some(("n", How::Counter));
        let rules = Rules { resolution, of: counter.into_iter().collect() };
        let base = match is_back != origin.is_of_it {
            _ if !origin.is_merged => Ok(MergeBase::new(&origin.base)),
            true => MergeBase::of_ours(&origin.base, &origin.renumbered),
            false => MergeBase::of_theirs(&origin.base, &origin.renumbered),
        };
        let base = base.expect("there is room");
        Some(Plan { tree, child, from, into, origin, base, rules })
    }

    pub fn merge(&mut self, rng: &mut Rng) {
        let (sources, meta) = (self.sources(rng), some_meta(rng));
        let Some(plan) = self.some_merge(rng) else { return };
        let Plan { tree, child, from, into, origin, base, rules } = plan;
        let branches = &mut self.trees[tree].branches;
        let [ours, theirs] = [&from, &into].map(|name| branches[name].handle.snapshot());
        let options = rules.options();
        let expected = merge_again(&base, &ours, &theirs, &options).expect("there is room");
        let preview = branches[&into].handle.merge(&from, &options).expect("both are there");
        let text = |conflicts: &[_]| format!("{conflicts:?}");
        assert_eq!(text(preview.conflicts()), text(&expected.conflicts), "the conflicts");
        assert_eq!(preview.changes().to_string(), expected.changes.to_string(), "the changes");
        // That conflicts were resolved is a revision, too, and so is that the base has moved.
        let is_news = !base.ours().root().is_equal(ours.root());
        let is_changed = expected.editor.is_changed() || !expected.conflicts.is_empty() || is_news;
        let mut line = jungle_tree::Tree::from_snapshot(&theirs);
        line.publish(expected.editor);
        let merged = content::of(line.read().root());
        let told = origin.merged([&from, &into].map(|name| &branches[name]), &rules);
        self.tried.merges.count(told.is_some());
        if let Some(told) = &told {
            assert_eq!(plain::told(preview.conflicts()), told.conflicts, "{rules:?}");
            assert!(preview.renamed().is_empty(), "{:?}", preview.renamed());
            assert_eq!(merged, told.content, "{rules:?}");
        }
        if rng.chance(1, 6) {
            return;
        }
        let target = branches.get_mut(&into).expect("looked at before");
        let (before, was) = (target.versions.len(), Rc::clone(&target.newest().content));
        if rng.chance(1, 4) {
            edits::update(&mut self.now, target, rng, &sources, 0);
        }
        let later = &target.versions[before..];
        let is_said = told.is_some() || later.is_empty();
        let said = if is_said { on_top(&was, &merged, later) } else { None };
        let own = preview.renamed().len();
        // What is set is shared: once the node is gone that it is a copy of, it is taken for moved.
        let sets = preview.changes().iter().any(|it| matches!(it, Change::SubtreeSet { .. }));
        let done = match preview.commit(&meta) {
            Ok(done) => done,
            Err(CommitError::Conflict(conflicts)) => {
                return assert!(said.is_none(), "refused for nothing: {conflicts}");
            }
            Err(error) => panic!("{error}"),
        };
        if !is_changed {
            return assert_eq!((done.revision, &merged), (theirs.revision(), &*was));
        }
        let revision = self.now.next();
        assert_eq!(done.revision, revision);
        let content = said.unwrap_or_else(|| content::whole(&target.handle.snapshot()));
        let (content, carried) = (Rc::new(content), told.is_none() || sets);
        let time = self.now.time().max(target.newest().time);
        let anywhere = Version::anywhere();
        target.committed(Version { revision, time, meta, content, carried, ..anywhere });
        // What is not written down moves nothing, so it is the same wherever the log is read.
        if origin.base.revision() < ours.revision() {
            let renumbered = expected.renumbering.then(&done.renamed[own..]);
            let (is_merged, is_of_it, parent) = (true, from == origin.from, origin.from);
            let moved = Origin { from: parent, base: ours, is_merged, is_of_it, renumbered };
            branches.get_mut(&child).expect("looked at before").origin = Some(moved);
        }
    }
}

/// What a merge comes to that is committed on top of later versions, if all that they did is
/// elsewhere than what it does.
fn on_top(was: &Content, merged: &Content, later: &[Version]) -> Option<Content> {
    let Some(newest) = later.last() else { return Some(merged.clone()) };
    let mut content = Content::clone(&newest.content);
    let places: BTreeSet<&Path> = was.keys().chain(merged.keys()).collect();
    for at in places.into_iter().filter(|at| was.get(*at) != merged.get(*at)) {
        let mut written = later.iter().flat_map(|version| version.written.iter());
        if written.any(|by| at.starts_with(by) || by.starts_with(at)) {
            return None;
        }
        match merged.get(at) {
            Some(attributes) => drop(content.insert(at.clone(), attributes.clone())),
            None => drop(content.remove(at)),
        }
    }
    Some(content)
}
