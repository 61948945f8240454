//! Whether a tree is as a patch says.

use std::collections::BTreeSet;
use std::io::{self, Write};

use jungle_json::{Member, Shape, shape, value_at};
use jungle_tree::{Key, Node, Path};
use serde_json::Value;

use super::value::{Told, Values, is_same, member};
use super::{Patch, Step, What};
use crate::differences::both;
use crate::failure::Failure;
use crate::output::{Format, short};

/// Longer values are cut.
const VALUE_CHARS_MAX: usize = 100;

/// A place of the tree that is not as the patch says.
#[derive(Debug)]
pub(crate) struct Conflict {
    /// Where, before anything is done.
    path: Path,
    /// What is expected to be there, as text that is cut where it is long.
    expected: String,
    found: String,
}

impl Conflict {
    pub(crate) fn print(&self, out: &mut impl Write, format: Format) -> io::Result<()> {
        let Conflict { path, expected, found } = self;
        match format {
            Format::Text => {
                writeln!(out, "! {path}: not as the patch says")?;
                writeln!(out, "  expected  {expected}\n  found     {found}")
            }
            Format::Json => {
                let [path, expected, found] =
                    [path.to_string(), expected.clone(), found.clone()].map(Value::from);
                writeln!(out, r#"{{"conflict":{path},"expected":{expected},"found":{found}}}"#)
            }
        }
    }
}

/// All places that are not as the patch says, in the order of its paths.
pub(super) fn conflicts(
    patch: &Patch,
    root: Node<'_>,
    values: &mut Values,
) -> Result<Vec<Conflict>, Failure> {
    let left = patch.steps.iter().filter_map(|step| match &step.what {
        What::Remove(_) => Some(patch.moves.place_before(&step.path)),
        What::Move(from) => Some(from.clone()),
        _ => None,
    });
    let mut check = Check { patch, root, left: left.collect(), conflicts: Vec::new() };
    for step in &patch.steps {
        match &step.what {
            What::Add(_) => check.is_free(&step.path),
            What::Remove(old) => {
                check.holds(step, patch.moves.place_before(&step.path), old, values)?;
            }
            What::Change { old, .. } => {
                check.holds(step, patch.moves.before(&step.path), old, values)?;
            }
            What::Move(from) => {
                if value_at(root, from).is_none() {
                    check.conflict(from.clone(), "something", None);
                }
                check.is_free(&step.path);
            }
        }
    }
    Ok(check.conflicts)
}

struct Check<'p> {
    patch: &'p Patch,
    root: Node<'p>,
    /// What goes away, by the paths before.
    left: BTreeSet<Path>,
    conflicts: Vec<Conflict>,
}

impl Check<'_> {
    /// Is this value there?
    fn holds(
        &mut self,
        step: &Step,
        path: Path,
        old: &Told,
        values: &mut Values,
    ) -> Result<(), Failure> {
        let told = values.read(old);
        let told =
            told.map_err(|error| self.patch.wrong(step, format_args!("`{}`: {error}", old.name)))?;
        let told = member(told.root());
        match value_at(self.root, &path) {
            Some(there) if is_same(there, told) => {}
            Some(there) => {
                let (expected, found) = both(told, there);
                self.conflicts.push(Conflict { path, expected, found });
            }
            None => self.conflict(path, &short(told, VALUE_CHARS_MAX), None),
        }
        Ok(())
    }

    /// Can something come here, which nothing else has, or has no more?
    fn is_free(&mut self, path: &[Key]) {
        // What it is in comes with the patch.
        if self.patch.is_in_put(path) {
            return;
        }
        let Some((key, parent)) = path.split_last() else { return };
        let parent = self.patch.moves.before(parent);
        let wanted = match key {
            Key::Name(_) => "an object",
            Key::Position(_) => "an array",
        };
        match value_at(self.root, &parent) {
            Some(Member::Node(node)) if takes(node, key) => {}
            found => return self.conflict(parent, wanted, found),
        }
        let place = parent.join(key.clone());
        if !self.left.contains(&place)
            && let Some(found) = value_at(self.root, &place)
        {
            self.conflict(place, "nothing", Some(found));
        }
    }

    fn conflict(&mut self, path: Path, expected: &str, found: Option<Member<'_>>) {
        let found = found.map_or_else(|| "nothing".into(), |it| short(it, VALUE_CHARS_MAX));
        self.conflicts.push(Conflict { path, expected: expected.into(), found });
    }
}

/// Can a node have a member under this key? In a tree that does not come from JSON, elements may be
/// beside names.
pub(super) fn takes(node: Node<'_>, key: &Key) -> bool {
    match shape(node) {
        Shape::Array(_) => matches!(key, Key::Position(_)),
        Shape::Scalar(_) => false,
        _ => true,
    }
}
