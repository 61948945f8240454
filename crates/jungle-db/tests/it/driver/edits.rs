//! Updates and transactions, some of them on versions that are no longer the newest.

use std::collections::BTreeMap;
use std::rc::Rc;

use jungle_db::{
    BranchId, CommitError, CommitMeta, CommitOptions, Committed, CommittedTrees, Draft, Isolation,
    NotWritten, RequestId, UpdateError,
};
use jungle_testkit::Rng;

use super::branch::{Branch, Version};
use super::op::Source;
use super::sketch::Sketch;
use super::{Now, Open, OpenMulti, World, content, some_meta, trace};

/// A branch of a transaction, what it should be there, and whether it edited anything.
type Part<'s> = (BranchId, &'s Sketch, bool);

/// Updates inside of updates go no deeper.
const DEPTH_MAX: u32 = 2;

fn some_options(rng: &mut Rng) -> CommitOptions {
    let isolation = if rng.chance(1, 10) { Isolation::Snapshot } else { Isolation::Serializable };
    let mut meta = some_meta(rng);
    if rng.chance(1, 4) {
        // So few that some are sent again, and some have the key of another.
        meta = meta.asked_by(RequestId { key: rng.below(12), fingerprint: rng.below(8) / 7 });
    }
    CommitOptions { isolation, meta, ..CommitOptions::default() }
}

/// A request was refused: was it, or another with its key, committed before?
#[track_caller]
fn refused(branch: &Branch, meta: &CommitMeta, error: &NotWritten) {
    let request = meta.request().unwrap_or_else(|| panic!("{error}"));
    match (error, branch.known(request)) {
        (NotWritten::Repeated { revision }, Some(known)) => assert_eq!(known, (request, *revision)),
        (NotWritten::KeyInUse { revision }, Some((other, at))) => {
            assert!(other != request && at == *revision, "{request:?}: {other:?} in {at}");
        }
        (error, known) => panic!("{error}, where {known:?} is known"),
    }
}

/// Says another time, perhaps, who makes a commit.
fn described(rng: &mut Rng, draft: &mut Draft) -> Option<CommitMeta> {
    let meta = rng.chance(1, 6).then(|| some_meta(rng))?;
    draft.describe(meta.clone());
    Some(meta)
}

/// A draft of a branch was committed: the branch should now hold what it comes to there.
#[track_caller]
fn landed(
    now: &mut Now,
    branch: &mut Branch,
    sketch: &Sketch,
    meta: CommitMeta,
    done: &Committed<()>,
) {
    let known = meta.request().and_then(|request| branch.known(request));
    assert_eq!(known, None, "it was asked for before");
    let expected = sketch.on(branch, &done.renamed);
    let content = expected.unwrap_or_else(|| content::whole(&branch.handle.snapshot()));
    assert_eq!(done.revision, now.next());
    let time = now.time().max(branch.newest().time);
    let (revision, content) = (done.revision, Rc::new(content));
    let (carried, written) = (sketch.carries(), sketch.written(branch));
    branch.committed(Version { revision, time, meta, content, carried, written });
}

/// An update, perhaps with others inside that come before it.
pub(super) fn update(
    now: &mut Now,
    branch: &mut Branch,
    rng: &mut Rng,
    sources: &[Source],
    depth: u32,
) {
    let (handle, options) = (branch.handle.clone(), some_options(rng));
    let mut runs: Vec<(Sketch, bool)> = Vec::new();
    let mut meta = CommitMeta::new();
    trace(&("update", depth, &options));
    let done = handle.update_with(&options, |tx| {
        let mut sketch = Sketch::new(branch.newest(), options.isolation);
        assert_eq!(content::of(tx.base().root()), *branch.newest().content, "the base");
        (0..rng.range(1..6)).for_each(|_| sketch.step(rng, tx, sources));
        if runs.is_empty() && depth < DEPTH_MAX && rng.chance(1, 3) {
            (0..rng.range(1..3)).for_each(|_| update(now, branch, rng, sources, depth + 1));
        }
        runs.push((sketch, tx.is_changed()));
        meta = described(rng, tx).unwrap_or_else(|| options.meta.clone());
        if rng.chance(1, 12) { Err("given up") } else { Ok(()) }
    });
    trace(&("updated", depth, &done));
    if let Err(UpdateError::NotWritten(error)) = &done {
        return refused(branch, &options.meta, error);
    }
    let (sketch, is_changed) = runs.last().expect("it ran");
    if let [(first, _), _] = &runs[..] {
        assert!(!first.is_free(branch), "it ran again for nothing");
    }
    match done {
        Err(UpdateError::Closure(_)) => {}
        Err(error) => panic!("{error}"),
        Ok(done) if *is_changed => landed(now, branch, sketch, meta, &done),
        Ok(done) => unchanged(branch, sketch, &done),
    }
}

/// Nothing was changed: it looked at what it began with, or at the newest if it put what was there.
fn unchanged(branch: &Branch, sketch: &Sketch, done: &Committed<()>) {
    let seen = [sketch.began_at, branch.newest().revision];
    assert!(seen.contains(&done.revision), "nothing was changed, and not in {}", done.revision);
}

impl World {
    pub fn update(&mut self, rng: &mut Rng) {
        let sources = self.sources(rng);
        let tree = rng.index(self.trees.len());
        let branches = &mut self.trees[tree].branches;
        let at = rng.index(branches.len());
        let branch = branches.values_mut().nth(at).expect("counted");
        update(&mut self.now, branch, rng, &sources, 0);
    }

    pub fn begin(&mut self, rng: &mut Rng) {
        if self.open.len() < 4 {
            let options = some_options(rng);
            let branch = self.some_branch(rng);
            let tx = branch.handle.begin(options.clone());
            let sketch = Sketch::new(branch.newest(), options.isolation);
            assert_eq!(tx.began_at(), sketch.began_at);
            let id = branch.handle.branch_id();
            self.open.push(Open { tx, sketch, options, branch: id });
        }
        self.edit_open(rng);
    }

    pub fn edit_open(&mut self, rng: &mut Rng) {
        let sources = self.sources(rng);
        if !self.open.is_empty() {
            let at = rng.index(self.open.len());
            let Open { tx, sketch, options, .. } = &mut self.open[at];
            (0..rng.range(1..4)).for_each(|_| sketch.step(rng, tx, &sources));
            if let Some(meta) = described(rng, tx) {
                options.meta = meta;
            }
        }
    }

    pub fn commit_open(&mut self, rng: &mut Rng) {
        if self.open.is_empty() {
            return;
        }
        let open = self.open.swap_remove(rng.index(self.open.len()));
        let Open { tx, sketch, options, branch } = open;
        if rng.chance(1, 10) {
            return tx.abort();
        }
        let is_changed = tx.is_changed();
        let done = tx.commit();
        trace(&("committed", &done));
        let mut branches = self.trees.iter_mut().flat_map(|tree| tree.branches.values_mut());
        let Some(branch) = branches.find(|it| it.handle.branch_id() == branch) else {
            return assert!(!is_changed || is_over(&done), "the branch is gone: {done:?}");
        };
        match done {
            Ok(done) if is_changed => {
                landed(&mut self.now, branch, &sketch, options.meta, &done);
            }
            Ok(done) => unchanged(branch, &sketch, &done),
            Err(CommitError::Conflict(conflicts)) => {
                let is_free = sketch.is_free(branch);
                assert!(!is_free, "refused for nothing: {conflicts}");
                assert!(conflicts.changes().next().is_some(), "its changes are lost");
            }
            Err(CommitError::NotWritten(error)) => refused(branch, &options.meta, &error),
            Err(error) => panic!("{error}"),
        }
    }

    pub fn begin_multi(&mut self) {
        if self.multi.len() < 2 {
            let tx = self.jungle.begin(CommitOptions::default());
            assert_eq!(tx.began_at(), self.now.revision);
            let began = self.trees.iter().map(|tree| {
                let main = &tree.branches["main"];
                (tree.name.clone(), (main.handle.clone(), main.newest().clone()))
            });
            let began = began.collect();
            self.multi.push(OpenMulti { tx, began, sketches: BTreeMap::new() });
        }
    }

    pub fn edit_multi(&mut self, rng: &mut Rng) {
        let sources = self.sources(rng);
        if self.multi.is_empty() {
            return;
        }
        let at = rng.index(self.multi.len());
        let any = rng.chance(1, 3).then(|| {
            let began_at = self.multi[at].tx.began_at();
            let branch = self.some_branch(rng);
            let base = branch.at(began_at).unwrap_or(branch.newest());
            (branch.handle.clone(), base.clone())
        });
        let OpenMulti { tx, began, sketches } = &mut self.multi[at];
        if rng.chance(1, 10) {
            assert_eq!(*tx.tree("never there").expect_err("it is not there").name, *"never there");
        }
        let (handle, base) = match any {
            Some((handle, base)) => {
                let id = handle.branch_id();
                let main = began.values().find(|(main, _)| main.branch_id() == id);
                (handle, main.map_or(base, |(_, main)| main.clone()))
            }
            None => {
                let name = began.keys().nth(rng.index(began.len())).expect("counted");
                tx.tree(name).expect("it was there as it began");
                began[name].clone()
            }
        };
        let begin = || (handle.clone(), Sketch::new(&base, Isolation::Serializable));
        let (_, sketch) = sketches.entry(handle.branch_id()).or_insert_with(begin);
        assert_eq!(tx.revision_of(&handle), sketch.began_at, "what it looks at");
        let draft = tx.on(&handle);
        (0..rng.range(1..4)).for_each(|_| sketch.step(rng, draft, &sources));
    }

    pub fn commit_multi(&mut self, rng: &mut Rng) {
        if self.multi.is_empty() {
            return;
        }
        let multi = self.multi.swap_remove(rng.index(self.multi.len()));
        let OpenMulti { mut tx, sketches, .. } = multi;
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (id, (handle, sketch)) in &sketches {
            parts.push((*id, sketch, tx.on(handle).is_changed()));
        }
        let seen = parts.iter().map(|(_, sketch, _)| sketch.began_at).max();
        let seen = seen.unwrap_or_default().max(tx.began_at());
        let done = tx.commit();
        trace(&("committed many", &done));
        if let Ok(done) = &done
            && !parts.iter().any(|(_, _, is_changed)| *is_changed)
        {
            // It looked at what it began with, or at the newest if it put what was there.
            let there = parts.iter().filter_map(|(id, ..)| self.branch(*id));
            let newest = there.map(|branch| branch.newest().revision).max();
            let newest = newest.unwrap_or_default().max(seen);
            return assert!([seen, newest].contains(&done.revision), "{}", done.revision);
        }
        if parts.iter().any(|(id, ..)| self.branch(*id).is_none()) {
            return assert!(is_over(&done), "a branch is gone: {done:?}");
        }
        let there = |id: &BranchId| self.branch(*id).expect("looked at before");
        match done {
            Ok(done) => {
                let heads = parts.iter().map(|(id, ..)| there(id).newest().time);
                let time = heads.max().unwrap_or_default().max(self.now.time());
                self.landed_in_many(&parts, time, &done);
            }
            Err(CommitError::Conflict(conflicts)) => {
                let is_free = |(id, sketch, _): &Part<'_>| sketch.is_free(there(id));
                assert!(!parts.iter().all(is_free), "refused for nothing: {conflicts}");
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn landed_in_many(
        &mut self,
        parts: &[Part<'_>],
        time: jungle_db::Timestamp,
        done: &CommittedTrees<()>,
    ) {
        let revision = self.now.next();
        assert_eq!(done.revision, revision);
        for (id, sketch, is_changed) in parts {
            let mut branches = self.trees.iter_mut().flat_map(|tree| tree.branches.values_mut());
            let branch = branches.find(|it| it.handle.branch_id() == *id);
            let branch = branch.expect("looked at before");
            let renamed = done.renamed.get(id);
            let expected = sketch.on(branch, renamed.map_or(&[], Vec::as_slice));
            if *is_changed {
                let content = expected.unwrap_or_else(|| content::whole(&branch.handle.snapshot()));
                let meta = CommitMeta::new();
                let content = Rc::new(content);
                let (carried, written) = (sketch.carries(), sketch.written(branch));
                branch.committed(Version { revision, time, meta, content, carried, written });
            }
        }
    }

    fn branch(&self, id: BranchId) -> Option<&Branch> {
        let mut branches = self.trees.iter().flat_map(|tree| tree.branches.values());
        branches.find(|it| it.handle.branch_id() == id)
    }
}

/// Was it refused since the branch is gone? A conflict with its last commits may be found first,
/// and so may that it was asked for before.
fn is_over<T>(done: &Result<T, CommitError>) -> bool {
    use CommitError::{Conflict, NotWritten as Refused};
    use NotWritten::{Deleted, KeyInUse, Repeated};
    matches!(done, Err(Refused(Deleted | KeyInUse { .. } | Repeated { .. }) | Conflict(_)))
}
