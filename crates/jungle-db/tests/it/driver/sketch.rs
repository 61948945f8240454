//! What a transaction has asked and done so far, and what it comes to on another version.

use std::rc::Rc;

use jungle_db::{Draft, Isolation, Revision};
use jungle_testkit::Rng;
use jungle_tree::{Key, Path};

use super::branch::{Branch, Version};
use super::content::{self, Content};
use super::op::{Answer, Op, Source};

/// A transaction on one branch, as it should be.
pub struct Sketch {
    pub began_at: Revision,
    /// The base with all edits so far.
    local: Content,
    steps: Vec<(Op, Answer)>,
    isolation: Isolation,
}

impl Sketch {
    pub fn new(base: &Version, isolation: Isolation) -> Sketch {
        Sketch {
            began_at: base.revision,
            local: Content::clone(&base.content),
            steps: Vec::new(),
            isolation,
        }
    }

    /// Asks or does something, in both.
    pub fn step(&mut self, rng: &mut Rng, tx: &mut Draft, sources: &[Source]) {
        let op = Op::random(rng, &self.local, sources);
        let said = op.to_draft(tx);
        super::trace(&(&op, &said));
        let expected = op.to_content(&mut self.local, key_of(&said));
        assert_eq!(said, expected, "{op:?}");
        self.steps.push((op, said));
    }

    /// What it makes of the newest version, as if it had been done there and then: every answer
    /// is the same again. `None` when that cannot be said from here.
    #[track_caller]
    pub fn on(&self, branch: &Branch, renamed: &[(Path, Path)]) -> Option<Content> {
        let removes = self.steps.iter().any(|(op, _)| matches!(op, Op::Remove(_)));
        let hides = removes || self.carries();
        let is_plain = self.isolation != Isolation::Snapshot && !self.follows(branch);
        if !is_plain || hides && !renamed.is_empty() {
            return None;
        }
        let mut content = Content::clone(&branch.newest().content);
        // The new nodes, where the transaction saw them and where they are.
        let mut new: Vec<(Path, Path)> = Vec::new();
        let (mut changed, mut made) = (false, Vec::new());
        for (index, (op, said)) in self.steps.iter().enumerate() {
            let mut moved = op.elsewhere(|path| elsewhere(&new, path));
            let key = op.new_child(said).map(|seen| {
                let parent = elsewhere(&new, &seen.parent().expect("no root"));
                let to = renamed.iter().find(|(from, _)| *from == seen).map(|(_, to)| to);
                let key = to.unwrap_or(&seen).last().expect("no root").clone();
                // Of what it removed again, nobody is told where it would have been.
                let free = content::free(&content, &parent);
                let is_taken = match op {
                    Op::Append(_) => key < free,
                    _ => content.contains_key(&parent.join(key.clone())),
                };
                let key = if is_taken { free } else { key };
                changed |= seen.last() != Some(&key);
                made.push(seen.clone());
                new.push((seen, parent.join(key.clone())));
                key
            });
            // Under a renamed key may be now what was not there for the transaction.
            if changed && (hides || !matches!(said, Answer::Done | Answer::Key(_))) {
                return None;
            }
            moved.rename(key.as_ref());
            let again = moved.to_content(&mut content, key.as_ref());
            if let Op::Graft(at, key, _) | Op::Insert(at, key) = op {
                made.push(at.join(key.clone()));
            }
            let is_same = match said {
                _ if self.is_undone(index, &made) => true,
                _ if matches!(op, Op::Remove(at) if made.contains(at)) => true,
                // Whether it is a key of its own that is taken now, is too much to ask.
                _ if changed && op.names_position() => return None,
                Answer::Key(_) if changed => again != Answer::Refused,
                _ => again == *said,
            };
            assert!(is_same, "{op:?} said {said:?}; where it was committed, {again:?}");
        }
        Some(content)
    }

    /// Is nothing left of what this step did, or of the own node that it looked at? Whether it
    /// could be done at all does not matter then.
    fn is_undone(&self, index: usize, made: &[Path]) -> bool {
        let (op, said) = &self.steps[index];
        let mut places = op.touches();
        places.extend(op.new_child(said));
        let mut later = self.steps[index + 1..].iter().filter(|it| it.1 != Answer::Refused);
        let is_own = places.iter().any(|at| made.iter().any(|own| at.starts_with(own)));
        (is_own || !op.only_looks())
            && later.any(|(later, _)| match later {
                Op::Remove(at) | Op::Set(at, _) => places.iter().any(|it| it.starts_with(at)),
                _ => false,
            })
    }

    /// Did it put what is somewhere somewhere else?
    pub fn carries(&self) -> bool {
        self.steps.iter().any(|(op, said)| op.carries() && *said != Answer::Refused)
    }

    /// Have others carried something since it began? What it edited follows the node then, whatever
    /// is at its path now.
    fn follows(&self, branch: &Branch) -> bool {
        branch.versions.iter().any(|it| it.revision > self.began_at && it.carried)
    }

    /// Where it wrote, or may have, all the way down, if it is committed now.
    pub fn written(&self, branch: &Branch) -> Rc<[Path]> {
        if self.follows(branch) {
            return Rc::new([Path::root()]);
        }
        let writes = self.steps.iter().filter(|(op, _)| !op.only_looks());
        writes.flat_map(|(op, _)| op.touches()).collect()
    }

    /// Could nothing that others did have been in its way?
    pub fn is_free(&self, branch: &Branch) -> bool {
        let later = branch.versions.iter().filter(|it| it.revision > self.began_at);
        let mut theirs = later.flat_map(|version| version.written.iter()).peekable();
        // Once something was carried, looking at a subtree counts as looking at everything.
        let looks = self.steps.iter().any(|(op, _)| matches!(op, Op::Count(_) | Op::Cursor(..)));
        if looks && self.carries() {
            return theirs.peek().is_none();
        }
        let ours: Vec<Path> = self.steps.iter().flat_map(|(op, _)| op.touches()).collect();
        let is_near = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
        !theirs.any(|theirs| ours.iter().any(|ours| is_near(ours, theirs)))
    }
}

/// The key that a new child got.
pub fn key_of(said: &Answer) -> Option<&Key> {
    match said {
        Answer::Key(key) => Some(key),
        _ => None,
    }
}

/// Where a path leads, with new nodes where they are instead of where they were seen.
pub fn elsewhere(new: &[(Path, Path)], path: &Path) -> Path {
    let nearest = new.iter().filter(|(seen, _)| path.starts_with(seen));
    match nearest.max_by_key(|(seen, _)| seen.len()) {
        Some((seen, is)) => Path::from([is, &path[seen.len()..]].concat()),
        None => path.clone(),
    }
}
