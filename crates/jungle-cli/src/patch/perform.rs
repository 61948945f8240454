//! Doing what a patch says, to a tree that is as it says.

use std::collections::BTreeMap;

use jungle_json::{ARRAY_KEY, Member, Shape, shape, value_at};
use jungle_tree::{EditError, Editor, Key, KeyRef, Node, Path, Value};

use super::check::takes;
use super::value::{self, Told, Values};
use super::{Patch, Step, What};
use crate::failure::Failure;
use crate::member::{self, New};

pub(super) fn perform(
    patch: &Patch,
    editor: &mut Editor,
    base: Node<'_>,
    values: &mut Values,
) -> Result<(), Failure> {
    let mut work = Work { patch, editor, base, park: None, parked: BTreeMap::new() };
    work.take_away()?;
    for (index, step) in patch.steps.iter().enumerate() {
        match &step.what {
            What::Remove(_) => {}
            What::Move(_) => {
                work.check_parent(step)?;
                work.arrive(index, step)?;
            }
            What::Add(new) | What::Change { new, .. } => {
                work.check_parent(step)?;
                work.put(step, new, values)?;
            }
        }
    }
    let park = work.park.take();
    match park {
        // Where the root was put whole, it is gone.
        Some(park) if editor.root().child(&park).is_some() => {
            editor.remove(&[park]).map_err(crate::failure::failed)
        }
        _ => Ok(()),
    }
}

struct Work<'w, 'e> {
    patch: &'w Patch,
    editor: &'e mut Editor,
    /// The tree as it was.
    base: Node<'w>,
    /// Below this child of the root is what is on its way from one place to another.
    park: Option<Key>,
    /// What is not there: attributes on their way, by the step that moves them.
    parked: BTreeMap<usize, Value>,
}

impl Work<'_, '_> {
    /// Takes away all that leaves its place: what is deeper first, so that the paths before stay
    /// what they are.
    fn take_away(&mut self) -> Result<(), Failure> {
        let steps = self.patch.steps.iter().enumerate();
        let mut leaving: Vec<(Path, usize, &Step)> = steps
            .filter_map(|(index, step)| match &step.what {
                What::Remove(_) => Some((self.patch.moves.place_before(&step.path), index, step)),
                What::Move(from) => Some((from.clone(), index, step)),
                _ => None,
            })
            .collect();
        leaving.sort_by(|(a, ..), (b, ..)| b.cmp(a));
        for (path, index, step) in leaving {
            let gone = match step.what {
                What::Move(_) => self.depart(&path, index),
                _ => self.remove(&path),
            };
            gone.and_then(|()| self.keep_array(&path))
                .map_err(|error| self.patch.refused(step, error))?;
        }
        Ok(())
    }

    fn depart(&mut self, path: &Path, index: usize) -> Result<(), EditError> {
        if self.editor.root().at(path).is_err()
            && let Some(Member::Value(value)) = value_at(self.editor.root(), path)
        {
            self.parked.insert(index, value.to_value());
            return self.remove(path);
        }
        let park = match &self.park {
            Some(park) => park.clone(),
            None => self.make_park()?,
        };
        self.editor.move_node(path, &[park], &Key::from(index))
    }

    /// Adds a child that nothing else is called.
    fn make_park(&mut self) -> Result<Key, EditError> {
        let names = (0_u64..).map(|number| Key::from(format!("\0moved {number}")));
        let mut free = names.filter(|name| self.editor.root().child(name).is_none());
        let park = free.next().expect("a tree has fewer nodes than there are numbers");
        self.editor.insert_child(&[], &park)?;
        self.park = Some(park.clone());
        Ok(park)
    }

    fn remove(&mut self, path: &Path) -> Result<(), EditError> {
        match path.split_last() {
            Some((Key::Name(name), parent)) if self.editor.root().at(path).is_err() => {
                self.editor.remove_attribute(parent, name).map(drop)
            }
            _ => self.editor.remove(path),
        }
    }

    /// An array whose last element went away stays one.
    fn keep_array(&mut self, path: &Path) -> Result<(), EditError> {
        let Some((_, parent)) = path.split_last() else { return Ok(()) };
        let was = self.base.at(parent)?;
        let first = self.editor.root().at(parent)?.children().next().map(|(key, _)| key);
        let is_empty = !matches!(first, Some(KeyRef::Position(..)));
        if is_empty && matches!(shape(was), Shape::Array(_)) {
            self.editor.put_attribute(parent, ARRAY_KEY, &Value::Null)?;
        }
        Ok(())
    }

    /// What is put whole was not there to be looked at before.
    fn check_parent(&self, step: &Step) -> Result<(), Failure> {
        if let Some((key, parent)) = step.path.split_last()
            && self.patch.is_in_put(&step.path)
            && let Ok(node) = self.editor.root().at(parent)
            && !takes(node, key)
        {
            let parent = Path::from(parent);
            return Err(self.patch.refused(step, format_args!("{parent} has no place for {key}")));
        }
        Ok(())
    }

    /// Something that was moved comes to its new place.
    fn arrive(&mut self, index: usize, step: &Step) -> Result<(), Failure> {
        let path = &step.path;
        let is_there = value_at(self.editor.root(), path).is_some();
        // What was put whole had it already.
        let is_told = is_there && self.patch.is_in_put(path);
        if let Some(value) = self.parked.remove(&index) {
            let new = New::Scalar(value);
            let placed = if is_told { Ok(()) } else { member::place(self.editor, path, &new) };
            return placed.map_err(|error| self.patch.refused(step, error.message()));
        }
        let park = self.park.clone().expect("it was made for this");
        let parked = [park, Key::from(index)];
        let moved = match path.split_last() {
            _ if is_told && self.editor.root().at(&parked).is_err() => Ok(()),
            Some((key, parent)) if !is_told => self.move_to(&parked, parent, key),
            _ => self.editor.remove(&parked),
        };
        moved.map_err(|error| self.patch.refused(step, error))
    }

    fn move_to(&mut self, from: &[Key], parent: &[Key], key: &Key) -> Result<(), EditError> {
        if matches!(key, Key::Position(_)) {
            self.editor.remove_attribute(parent, ARRAY_KEY)?;
        }
        self.editor.move_node(from, parent, key)
    }

    fn put(&mut self, step: &Step, told: &Told, values: &mut Values) -> Result<(), Failure> {
        let value = values
            .read(told)
            .map_err(|error| self.patch.wrong(step, format_args!("`{}`: {error}", told.name)))?;
        if matches!(step.what, What::Add(_))
            && let Some(there) = value_at(self.editor.root(), &step.path)
        {
            // What was put whole may have it already.
            return match value::is_same(there, value::member(value.root())) {
                true => Ok(()),
                false => Err(self.patch.refused(step, format_args!("{} is there", step.path))),
            };
        }
        let placed = member::place(self.editor, &step.path, &value::new(&value));
        placed.map_err(|error| self.patch.refused(step, error.message()))
    }
}
