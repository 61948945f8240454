//! Patches: what `jungle diff --json` prints, done to a tree.
//!
//! Paths of a patch are those of the document after; what was removed is at its key in what its
//! parent is after, and `from` says where something was before. So all that leaves a place does so
//! first, by the paths before, and what comes follows, by the paths after: moves may form chains
//! and swap places.

mod check;
mod line;
mod perform;
mod told;
mod value;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};

use jungle_tree::{Editor, Key, Path};
use jungle_words::differences::Moves;

pub(crate) use check::Conflict;
pub(crate) use told::Differences;

use crate::document::{reader, shown};
use crate::failure::{Exit, Failure};
use crate::output::count;
use value::{Told, Values};

/// A patch is held in memory, so it has an end.
const PATCH_BYTES_MAX: u64 = 1 << 30;

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Patch {
    /// What its file is called in messages.
    file: String,
    depth_max: usize,
    /// In the order of their paths; what was moved before what else became of it.
    steps: Vec<Step>,
    moves: Moves,
    /// What is put whole, by the path after: something that is moved there may be in it already.
    put: BTreeSet<Path>,
}

/// One line of it.
#[derive(Debug)]
struct Step {
    line: u64,
    path: Path,
    what: What,
}

#[derive(Debug)]
enum What {
    Add(Told),
    Remove(Told),
    Change {
        old: Told,
        new: Told,
    },
    /// It was here before.
    Move(Path),
}

impl Patch {
    /// Reads a patch; documents in it may be this deep.
    pub(crate) fn read(file: &str, depth_max: usize) -> Result<Patch, Failure> {
        let (reader, _) = reader(file)?;
        let steps = read(shown(file), BufReader::new(reader), PATCH_BYTES_MAX)?;
        Patch::new(shown(file).into(), depth_max, steps)
    }

    fn new(file: String, depth_max: usize, mut steps: Vec<Step>) -> Result<Patch, Failure> {
        let is_moved = |step: &Step| matches!(step.what, What::Move(_));
        steps.sort_by(|a, b| (&a.path, !is_moved(a)).cmp(&(&b.path, !is_moved(b))));
        let (mut moves, mut put) = (Moves::default(), BTreeSet::new());
        for step in &steps {
            match &step.what {
                What::Move(from) => {
                    moves.add(step.path.clone(), from.clone());
                }
                What::Add(_) | What::Change { .. } => {
                    put.insert(step.path.clone());
                }
                What::Remove(_) => {}
            }
        }
        let patch = Patch { file, depth_max, steps, moves, put };
        patch.check_places()?;
        Ok(patch)
    }

    /// Each place is left once, and taken once; what is changed where it is does both.
    fn check_places(&self) -> Result<(), Failure> {
        let (mut left, mut taken) = (BTreeSet::new(), BTreeSet::new());
        let mut changed = BTreeSet::new();
        for step in &self.steps {
            let is_new = match &step.what {
                What::Add(_) => taken.insert(&step.path),
                // What was moved may be another value, too.
                What::Change { .. } if self.moves.from(&step.path).is_some() => {
                    changed.insert(&step.path)
                }
                What::Change { .. } => {
                    taken.insert(&step.path) && left.insert(self.moves.before(&step.path))
                }
                What::Remove(_) => left.insert(self.moves.place_before(&step.path)),
                What::Move(from) => taken.insert(&step.path) && left.insert(from.clone()),
            };
            if !is_new {
                let path = &step.path;
                return Err(self.wrong(step, format_args!("another line is about {path}, too")));
            }
        }
        Ok(())
    }

    /// The patch that takes back what this one does.
    pub(crate) fn reversed(self) -> Result<Patch, Failure> {
        let Patch { file, depth_max, steps, moves, .. } = self;
        let reversed = steps.into_iter().map(|Step { line, path, what }| {
            let (path, what) = match what {
                What::Add(value) => (moves.place_before(&path), What::Remove(value)),
                What::Remove(old) => (moves.place_before(&path), What::Add(old)),
                What::Change { old, new } => {
                    (moves.before(&path), What::Change { old: new, new: old })
                }
                What::Move(from) => (from, What::Move(path)),
            };
            Step { line, path, what }
        });
        Patch::new(file, depth_max, reversed.collect())
    }

    /// Does all of it, if the tree is as the patch says; else `conflicts` has the places in which
    /// it is not. An editor that a failure came from must be dropped.
    pub(crate) fn apply(
        &self,
        editor: &mut Editor,
        conflicts: &mut Vec<Conflict>,
    ) -> Result<(), Failure> {
        let mut values = Values::new(self.depth_max)?;
        let base = editor.base().clone();
        *conflicts = check::conflicts(self, base.root(), &mut values)?;
        if conflicts.is_empty() {
            return perform::perform(self, editor, base.root(), &mut values);
        }
        let number = count(conflicts.len() as u64, "place");
        let verb = if conflicts.len() == 1 { "is" } else { "are" };
        let message = format_args!("{number} {verb} not as the patch says; nothing was changed");
        Err(Failure::new(Exit::Conflict, message).with_hint(
            "a patch fits the version that it was made from; a branch of that can be merged",
        ))
    }

    /// Is this in something that the patch puts whole?
    fn is_in_put(&self, path: &[Key]) -> bool {
        (0..path.len()).any(|length| self.put.contains(&path[..length]))
    }

    fn wrong(&self, step: &Step, what: impl std::fmt::Display) -> Failure {
        Failure::new(Exit::Error, format_args!("{}, line {}: {what}", self.file, step.line))
    }

    /// What the tree says against a step.
    fn refused(&self, step: &Step, what: impl std::fmt::Display) -> Failure {
        Failure::new(Exit::Conflict, format_args!("{}, line {}: {what}", self.file, step.line))
    }
}

fn read(file: &str, reader: impl BufRead, bytes_max: u64) -> Result<Vec<Step>, Failure> {
    let mut reader = reader.take(bytes_max + 1);
    let mut text = String::new();
    let mut steps = Vec::new();
    for line in 1_u64.. {
        text.clear();
        let wrong = |what: &dyn std::fmt::Display| {
            Failure::new(Exit::Error, format_args!("{file}, line {line}: {what}"))
        };
        let read = reader.read_line(&mut text).map_err(|error| wrong(&error))?;
        if reader.limit() == 0 {
            return Err(wrong(&format_args!("a patch has at most {bytes_max} bytes")));
        }
        match read {
            0 => break,
            _ if text.trim().is_empty() => continue,
            _ => {}
        }
        let (path, what) = line::parse(&text).map_err(|error| {
            wrong(&error).with_hint("a patch is what `jungle diff --json` prints")
        })?;
        steps.push(Step { line, path, what });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_that_is_too_long_is_refused() {
        let patch = "{\"op\":\"add\",\"path\":\"/a\",\"value\":1}\n\n";
        assert_eq!(read("p", patch.as_bytes(), patch.len() as u64).expect("it fits").len(), 1);
        let refused = read("p", patch.as_bytes(), patch.len() as u64 - 2);
        let refused = refused.expect_err("it does not fit");
        assert_eq!(refused.exit(), Exit::Error);
        assert!(format!("{refused:?}").contains("line 1: a patch has at most 34 bytes"));
    }
}
