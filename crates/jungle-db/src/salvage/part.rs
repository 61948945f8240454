//! What can be read of a version that cannot be read as a whole.
//!
//! What does not load is found out node by node: its attributes in their order up to the first one
//! that is not there, its children from the first one on, and then from the last one back. So of
//! a list with one hole all is kept but that; of one with several, what is between the outermost
//! is left out.

use std::fmt;

use jungle_tree::{Editor, Key, Node, Path, Snapshot, Value};

use super::copies::read;
use crate::erase::copy::CopyError;

/// So many children are looked at, at a time.
const CHILDREN: usize = 1024;

/// So many places are told of a version at most: each has its whole path.
const MISSING_MAX: usize = 1000;

/// A place in a tree where something is missing.
pub(super) struct MissingPart {
    /// The node.
    pub(super) path: Path,
    /// So many of its children, if that is known; nothing where it is some of its attributes.
    pub(super) children: Option<u64>,
}

impl MissingPart {
    /// The whole tree.
    pub(super) fn all() -> MissingPart {
        MissingPart { path: Path::root(), children: Some(0) }
    }
}

impl fmt::Display for MissingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.children {
            None => write!(f, "{}: some of its values", self.path),
            Some(0) => write!(f, "{}: what is below it", self.path),
            Some(1) => write!(f, "{}: 1 of its children", self.path),
            Some(count) => write!(f, "{}: {count} of its children", self.path),
        }
    }
}

/// From which end children are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
    Done,
}

/// A node whose children are being copied.
struct Level<'a> {
    node: Node<'a>,
    /// How it is called; the root has no key.
    key: Option<Key>,
    /// Those that were read and are to be copied, the next one last.
    ready: Vec<(Key, Node<'a>)>,
    from: End,
    /// The last one that was read from the front, and the last one at all.
    front: Option<Key>,
    last: Option<Key>,
    read: u64,
    /// How many there are; none where nobody can tell.
    count: Option<u64>,
}

/// Copies into an empty tree what can be read; tells what is missing (the first [`MISSING_MAX`]
/// places), and whether there is anything at all.
pub(super) fn copy_part(
    editor: &mut Editor,
    old: &Snapshot,
) -> Result<(Vec<MissingPart>, bool), CopyError> {
    let (mut missing, mut is_anything) = (Vec::new(), false);
    let mut cursor = editor.cursor(&[])?;
    let mut levels: Vec<Level<'_>> = Vec::new();
    let Some(root) = read(|| old.root())? else {
        return Ok((vec![MissingPart::all()], false));
    };
    let mut next = Some((None, root));
    loop {
        if let Some((key, node)) = next.take() {
            if let Some(key) = &key {
                cursor.insert_child(key)?;
                cursor.enter(key)?;
                is_anything = true;
            }
            let level = Level::new(key, node)?;
            let (found, is_all) = attributes(node)?;
            for (key, value) in found {
                cursor.put_attribute(&key, value.as_ref())?;
                is_anything = true;
            }
            levels.push(level);
            if !is_all {
                note(&mut missing, &levels, None);
            }
        }
        let Some(level) = levels.last_mut() else { return Ok((missing, is_anything)) };
        next = level.next()?;
        if next.is_none() {
            if let Some(children) = level.missing() {
                note(&mut missing, &levels, Some(children));
            }
            if levels.pop().is_some_and(|level| level.key.is_some()) {
                cursor.leave();
            }
        }
    }
}

fn path_of(levels: &[Level<'_>]) -> Path {
    let keys: Vec<Key> = levels.iter().filter_map(|level| level.key.clone()).collect();
    (&*keys).into()
}

/// Notes one more place, of which the first are enough to tell.
fn note(missing: &mut Vec<MissingPart>, levels: &[Level<'_>], children: Option<u64>) {
    if missing.len() < MISSING_MAX {
        missing.push(MissingPart { path: path_of(levels), children });
    }
}

/// Some attributes.
type Values = Vec<(Box<str>, Value)>;

/// The attributes up to the first that cannot be read, and whether these are all.
fn attributes(node: Node<'_>) -> Result<(Values, bool), CopyError> {
    let mut found = Vec::new();
    let all = read(|| {
        node.attributes().for_each(|(key, value)| found.push((key.into(), value.to_value())));
    })?;
    Ok((found, all.is_some()))
}

impl<'a> Level<'a> {
    fn new(key: Option<Key>, node: Node<'a>) -> Result<Level<'a>, CopyError> {
        let count = read(|| node.child_count())?;
        let from = if count.is_some() { End::Front } else { End::Done };
        let (front, last, read, ready) = (None, None, 0, Vec::new());
        Ok(Level { node, key, ready, from, front, last, read, count })
    }

    fn next(&mut self) -> Result<Option<(Option<Key>, Node<'a>)>, CopyError> {
        while self.ready.is_empty() && self.from != End::Done {
            self.read_some()?;
        }
        Ok(self.ready.pop().map(|(key, node)| (Some(key), node)))
    }

    /// Reads some children more.
    fn read_some(&mut self) -> Result<(), CopyError> {
        let Level { node, from, front, last, .. } = self;
        let mut found = Vec::new();
        let all = read(|| {
            let begin = last.as_ref().map(Key::as_ref);
            let children = match (*from, begin) {
                (End::Front, None) => node.children(),
                (End::Front, Some(key)) => node.children_from(key),
                (_, None) => node.children_backward(),
                (_, Some(key)) => node.children_backward_from(key),
            };
            let is_known = |key: &Key| last.as_ref() == Some(key);
            let is_behind = |key: &Key| *from == End::Front || Some(key) > front.as_ref();
            let fresh = children.map(|(key, node)| (key.to_key(), node));
            let fresh = fresh.filter(|(key, _)| !is_known(key));
            fresh
                .take_while(|(key, _)| is_behind(key))
                .take(CHILDREN)
                .for_each(|it| found.push(it));
        })?;
        self.read += found.len() as u64;
        let is_over = all.is_none() || found.is_empty();
        if let Some((key, _)) = found.last() {
            self.last = Some(key.clone());
        }
        match self.from {
            End::Front => {
                self.front.clone_from(&self.last);
                if is_over {
                    // What lies behind the hole is reached from the end.
                    self.from = if all.is_none() { End::Back } else { End::Done };
                    self.last = None;
                }
            }
            _ if is_over => self.from = End::Done,
            _ => {}
        }
        found.reverse();
        self.ready = found;
        Ok(())
    }

    /// How many children could not be read, 0 if nobody can tell.
    fn missing(&self) -> Option<u64> {
        match self.count {
            None => Some(0),
            Some(count) => count.checked_sub(self.read).filter(|&missing| missing > 0),
        }
    }
}
