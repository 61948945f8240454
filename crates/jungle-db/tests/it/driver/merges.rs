//! Branches that are merged again and again, in either direction and by rules, and of which
//! revisions are taken back: plain maps say what each comes to. Nodes have names, and none is
//! moved, so that all of it can be said.

use std::collections::btree_map::Entry;

use jungle_db::{CommitMeta, Draft, Jungle, Revision, TreeHandle};
use jungle_testkit::Rng;
use jungle_tree::{ArenaOptions, Change, ConflictKind, EditError, Resolution, Value};

use super::content::{self, Attributes, Content};
use super::plain::{self, How, Rules};
use super::trace;

const NAMES: [&str; 3] = ["a", "b", "c"];
/// Of the first there is never a rule.
const KEYS: [&str; 4] = ["plain", "counter", "set", "mixed"];
const BRANCHES: [&str; 3] = ["one", "two", "three"];
/// Nodes are no deeper: so what can be added in one place is told node by node.
const DEPTH_MAX: usize = 2;

/// A branch, and what it should hold.
struct Side {
    handle: TreeHandle,
    content: Content,
    /// The one that it left, and what both had in common last.
    origin: Option<(usize, Content)>,
    /// What it held at each of its revisions, and where it began.
    past: Vec<(Revision, Content)>,
}

impl Side {
    fn new(handle: TreeHandle, content: Content, origin: Option<(usize, Content)>) -> Side {
        let past = vec![(handle.snapshot().revision(), content.clone())];
        Side { handle, content, origin, past }
    }

    /// Something was done, if it made a revision.
    fn went(&mut self, content: Content) {
        let newest = self.handle.snapshot().revision();
        if self.past.iter().all(|(revision, _)| *revision < newest) {
            self.past.push((newest, content.clone()));
        }
        self.content = content;
    }

    #[track_caller]
    fn check(&self) {
        let newest = content::whole(&self.handle.snapshot());
        assert_eq!(newest, self.content, "the branch {}", self.handle.branch_name());
    }
}

/// Runs one case; panics at the first thing that is wrong.
pub fn run(rng: &mut Rng, steps: u64) {
    let arena =
        ArenaOptions { structure_bytes: 64 << 20, payload_bytes: 64 << 20, ..Default::default() };
    let jungle = Jungle::builder().arena(arena).build().expect("address range");
    let handle = jungle.create_tree("t").expect("there is none");
    let mut sides = vec![Side::new(handle, content::bare(), None)];
    for _ in 0..steps {
        match rng.below(10) {
            0 if sides.len() <= BRANCHES.len() => branch(rng, &mut sides),
            1..5 if sides.len() > 1 => merge(rng, &mut sides),
            5 => {
                let at = rng.index(sides.len());
                revert(rng, &mut sides[at]);
            }
            _ => {
                let at = rng.index(sides.len());
                edit(rng, &mut sides[at]);
            }
        }
    }
    sides.iter().for_each(Side::check);
}

fn branch(rng: &mut Rng, sides: &mut Vec<Side>) {
    let from = rng.index(sides.len());
    let (parent, content) = (&sides[from].handle, sides[from].content.clone());
    let name = BRANCHES[sides.len() - 1];
    let handle = parent.branch(name, parent.snapshot().revision()).expect("there is none");
    let origin = Some((from, content.clone()));
    trace(&(name, "left", from));
    sides.push(Side::new(handle, content, origin));
}

/// Some edits in one commit.
fn edit(rng: &mut Rng, side: &mut Side) {
    let Side { handle, content, .. } = side;
    let edits = rng.range(1..6);
    let edited = handle.update(|tx| (0..edits).try_for_each(|_| change(rng, tx, content)));
    edited.expect("only what can be done is asked for");
    trace(&(handle.branch_name(), &*content));
    let content = content.clone();
    side.went(content);
    side.check();
}

fn change(rng: &mut Rng, tx: &mut Draft, content: &mut Content) -> Result<(), EditError> {
    let at = content.keys().nth(rng.index(content.len())).expect("counted").clone();
    let (key, name) = (*rng.pick(&KEYS), *rng.pick(&NAMES));
    match rng.below(8) {
        0..3 if at.len() < DEPTH_MAX => {
            let child = at.join(name);
            if let Entry::Vacant(vacant) = content.entry(child) {
                tx.insert_child(&at, &name.into())?;
                vacant.insert(Attributes::new());
            }
        }
        3 if !at.is_empty() => {
            tx.remove(&at)?;
            content::remove(content, &at);
        }
        4 => {
            let was = content.get_mut(&at).and_then(|node| node.remove(key));
            assert_eq!(tx.remove_attribute(&at, key)?, was.is_some());
        }
        _ => {
            let number = Value::from(rng.below(16) as i64);
            let value = if rng.chance(1, 16) { Value::from("text") } else { number };
            tx.put_attribute(&at, key, &value)?;
            content.entry(at).or_default().insert(key.to_owned(), value);
        }
    }
    Ok(())
}

fn some_rules(rng: &mut Rng) -> Rules {
    let resolutions = [Resolution::Ours, Resolution::Theirs, Resolution::Symmetric];
    let resolution = *rng.pick(&resolutions);
    let of = [(KEYS[1], How::Counter), (KEYS[2], How::Set), (KEYS[3], How::Mixed)];
    Rules { resolution, of: of.into_iter().filter(|_| rng.chance(3, 4)).collect() }
}

/// Merges a branch into the one that it left, or the other way round.
fn merge(rng: &mut Rng, sides: &mut [Side]) {
    let child = 1 + rng.index(sides.len() - 1);
    let (parent, base) = sides[child].origin.clone().expect("only the first has left none");
    let (from, into) = if rng.chance(1, 2) { (child, parent) } else { (parent, child) };
    let (ours, theirs) = (sides[from].content.clone(), &sides[into]);
    let rules = some_rules(rng);
    let mut expected = plain::merged(&base, &ours, &theirs.content, &rules);
    let said = format!("{rules:?}\nbase: {base:?}\nours: {ours:?}\ntheirs: {:?}", theirs.content);
    trace(&said);
    let merge = theirs.handle.merge(sides[from].handle.branch_name(), &rules.options());
    let mut merge = merge.expect("both are there");
    assert_eq!(content::of(merge.base().root()), base, "what both have in common");
    assert_eq!(plain::told(merge.conflicts()), expected.conflicts, "{said}");
    assert!(merge.renamed().is_empty(), "{said}");
    if rng.chance(1, 5) {
        return theirs.check(); // It was only looked at.
    }
    if rng.chance(1, 5) {
        // Somebody settles something by hand.
        let (at, node) = expected.content.iter_mut().next_back().expect("there is a root");
        let value = Value::from("by hand");
        let edited = merge.edit(|editor| editor.put_attribute(at, KEYS[0], &value));
        merge = edited.expect("there is room");
        node.insert(KEYS[0].to_owned(), value);
    }
    let meta = CommitMeta::new();
    let done = match rng.chance(1, 4) {
        true => merge.compare_and_commit(&meta),
        false => merge.commit(&meta),
    };
    done.expect("nobody came between");
    let newest = content::whole(&theirs.handle.snapshot());
    assert_eq!(newest, expected.content, "{said}");
    sides[into].went(expected.content);
    sides[child].origin = Some((parent, ours));
}

/// Takes back what a revision did, and settles some of what contradicts that by hand.
fn revert(rng: &mut Rng, side: &mut Side) {
    if side.past.len() < 2 {
        return;
    }
    let at = 1 + rng.index(side.past.len() - 1);
    let (before, (revision, base)) = (side.past[at - 1].1.clone(), side.past[at].clone());
    let rules = some_rules(rng);
    let mut expected = plain::merged(&base, &before, &side.content, &rules);
    let now = &side.content;
    let said = format!("{rules:?}\nmade: {base:?}\nfound: {before:?}\nnow: {now:?}");
    trace(&(revision, &said));
    let revert = side.handle.prepare_revert(revision, &rules.options()).expect("it is kept");
    let versions = [revert.base(), revert.ours(), revert.theirs()];
    assert_eq!(
        versions.map(|it| content::of(it.root())),
        [&base, &before, now].map(Content::clone)
    );
    assert_eq!(plain::told(revert.conflicts()), expected.conflicts, "{said}");
    let mut settled = Vec::new();
    for conflict in revert.conflicts() {
        let (Change::AttributePut { key, .. } | Change::AttributeRemoved { key, .. }) =
            &conflict.ours
        else {
            continue;
        };
        if conflict.kind != ConflictKind::Attribute || rng.chance(1, 2) {
            continue;
        }
        let of = if rng.chance(1, 2) { &before } else { now };
        let value = of.get(&conflict.path).and_then(|node| node.get(&**key)).cloned();
        let node = expected.content.entry(conflict.path.clone()).or_default();
        match &value {
            Some(value) => node.insert(key.to_string(), value.clone()),
            None => node.remove(&**key),
        };
        settled.push((conflict.path.clone(), key.clone(), value));
    }
    let edited = revert.edit(|editor| {
        settled.iter().try_for_each(|(path, key, value)| match value {
            Some(value) => editor.put_attribute(path, key, value),
            None => editor.remove_attribute(path, key).map(drop),
        })
    });
    let (revert, meta) = (edited.expect("there is room"), CommitMeta::new());
    let done = match rng.chance(1, 4) {
        true => revert.compare_and_commit(&meta),
        false => revert.commit(&meta),
    };
    done.expect("nobody came between");
    side.went(expected.content);
    assert_eq!(content::whole(&side.handle.snapshot()), side.content, "{said}");
}
