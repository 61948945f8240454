//! The editing calls as values: made at random, done to a tree and to the model, compared.

use std::sync::Arc;

use jungle_testkit::{MODEL_POSITIONS, ModelError, ModelKey, ModelNode, ModelValue, Rng};
use jungle_tree::{EditError, Editor, Key, Place, Signature, Snapshot, Tree, copy_subtree};

use super::convert;
use super::random::{self, ModelPath};

/// A subtree of a version that is held, to be put in elsewhere.
#[derive(Clone)]
pub struct Source {
    pub snapshot: Snapshot,
    pub path: ModelPath,
    /// What the whole version should be.
    of: Arc<ModelNode>,
}

impl Source {
    fn model(&self) -> ModelNode {
        at(&self.of, &self.path).clone()
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of version {}", self.path, self.snapshot.version())
    }
}

/// One editing call.
#[derive(Clone, Debug)]
pub enum Op {
    Add(ModelPath),
    AddWith(ModelPath, Vec<(String, ModelValue)>),
    /// Adds what the other call would, at a position of this drawing.
    Signed(Box<Op>, Signature),
    Insert(ModelPath, ModelKey),
    Before(ModelPath, ModelKey),
    After(ModelPath, ModelKey),
    Remove(ModelPath),
    Put(ModelPath, String, ModelValue),
    Unput(ModelPath, String),
    At(ModelPath, u64),
    Move(ModelPath, ModelPath, ModelKey),
    Set(ModelPath, Source),
    /// Node by node, as between arenas.
    Copy(ModelPath, Source),
    Graft(ModelPath, ModelKey, Source),
    Push(ModelKey),
    Pop(ModelPath),
}

/// What a call gives besides the change.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    Nothing,
    Key(ModelKey),
    Was(bool),
}

type Outcome = Result<Done, EditError>;

impl Op {
    /// Any call; `sources` are what can be put in.
    pub fn random(rng: &mut Rng, model: &ModelNode, sources: &[Source]) -> Op {
        match rng.below(15) {
            0 if !sources.is_empty() => Op::Set(path_below(rng, model), rng.pick(sources).clone()),
            1 if !sources.is_empty() => {
                let path = random::path(rng, model);
                let key = random::key(rng, at(model, &path));
                Op::Graft(path, key, rng.pick(sources).clone())
            }
            2 => Op::At(random::path_or_not(rng, model), rng.below(10)),
            3 | 4 => {
                let to = random::path(rng, model);
                let key = random::key(rng, at(model, &to));
                Op::Move(path_below(rng, model), to, key)
            }
            12 => Op::AddWith(random::path_or_not(rng, model), attributes(rng)),
            13 => Op::random_signed(rng, model),
            14 if !sources.is_empty() => {
                let mut path = random::path(rng, model);
                if rng.chance(1, 2) {
                    path.push(random::key(rng, at(model, &path)));
                }
                Op::Copy(path, rng.pick(sources).clone())
            }
            5 if rng.chance(1, 3) => Op::Push(random::key(rng, model)),
            6 if rng.chance(1, 8) || model.depth() > 12 => Op::Pop(path_below(rng, model)),
            _ => Op::random_single(rng, model),
        }
    }

    fn random_signed(rng: &mut Rng, model: &ModelNode) -> Op {
        let path = random::path_or_not(rng, model);
        let sibling = random::child(rng, model.at(&path).unwrap_or(model)).unwrap_or(name());
        let op = match rng.below(4) {
            0 => Op::Add(path),
            1 => Op::Before(path, sibling),
            2 => Op::After(path, sibling),
            _ => Op::At(path, rng.below(10)),
        };
        Op::Signed(Box::new(op), Signature::new(rng.below(3), rng.next_u64()))
    }

    /// A call that a tree has, too.
    pub fn random_single(rng: &mut Rng, model: &ModelNode) -> Op {
        let path = random::path_or_not(rng, model);
        let node = model.at(&path);
        match rng.below(16) {
            0 | 1 => Op::Add(path),
            2 | 3 => {
                let key = random::key(rng, node.unwrap_or(model));
                Op::Insert(path, key)
            }
            4 => Op::Before(path, random::child(rng, node.unwrap_or(model)).unwrap_or(name())),
            5 => Op::After(path, random::child(rng, node.unwrap_or(model)).unwrap_or(name())),
            6..9 => Op::Remove(path),
            9 | 10 => Op::Unput(path, random::attribute(rng)),
            _ => Op::Put(path, random::attribute(rng), random::value(rng)),
        }
    }

    /// Does it to a tree, if a tree has this call.
    pub fn to_tree(&self, tree: &mut Tree) -> Option<Outcome> {
        Some(match self {
            Op::Add(at) => given(tree.add_child(&convert::path(at))),
            Op::Insert(at, key) => {
                nothing(tree.insert_child(&convert::path(at), &convert::key(key)))
            }
            Op::Before(at, sibling) => {
                given(tree.insert_before(&convert::path(at), &convert::position(sibling)?))
            }
            Op::After(at, sibling) => {
                given(tree.insert_after(&convert::path(at), &convert::position(sibling)?))
            }
            Op::Remove(at) => nothing(tree.remove(&convert::path(at))),
            Op::Put(at, key, value) => {
                nothing(tree.put_attribute(&convert::path(at), key, convert::value(value)))
            }
            Op::Unput(at, key) => tree.remove_attribute(&convert::path(at), key).map(Done::Was),
            _ => return None,
        })
    }

    /// Does it in an editor; a sibling that is no position is skipped.
    pub fn to_editor(&self, editor: &mut Editor) -> Option<Outcome> {
        Some(match self {
            Op::Add(at) => given(editor.add_child(&convert::path(at))),
            Op::AddWith(at, attributes) => {
                let attributes: Vec<_> =
                    attributes.iter().map(|(key, it)| (&**key, convert::value(it))).collect();
                given(editor.add_child_with(&convert::path(at), &attributes))
            }
            Op::Signed(op, signature) => given(op.signed(editor, signature)?),
            Op::Insert(at, key) => {
                nothing(editor.insert_child(&convert::path(at), &convert::key(key)))
            }
            Op::Before(at, sibling) => {
                given(editor.insert_before(&convert::path(at), &convert::position(sibling)?))
            }
            Op::After(at, sibling) => {
                given(editor.insert_after(&convert::path(at), &convert::position(sibling)?))
            }
            Op::At(at, index) => given(editor.insert_at(&convert::path(at), *index)),
            Op::Remove(at) => nothing(editor.remove(&convert::path(at))),
            Op::Put(at, key, value) => {
                nothing(editor.put_attribute(&convert::path(at), key, convert::value(value)))
            }
            Op::Unput(at, key) => editor.remove_attribute(&convert::path(at), key).map(Done::Was),
            Op::Move(from, to, key) => nothing(editor.move_node(
                &convert::path(from),
                &convert::path(to),
                &convert::key(key),
            )),
            Op::Set(at, source) => {
                let node = source.snapshot.root();
                let node = node.at(&convert::path(&source.path)).expect("the model has it");
                nothing(editor.set_subtree(&convert::path(at), node))
            }
            Op::Copy(at, source) => {
                let node = source.snapshot.root();
                let node = node.at(&convert::path(&source.path)).expect("the model has it");
                nothing(copy_subtree(editor, &convert::path(at), node))
            }
            Op::Graft(at, key, source) => {
                let node = source.snapshot.root();
                let node = node.at(&convert::path(&source.path)).expect("the model has it");
                nothing(editor.insert_subtree(&convert::path(at), &convert::key(key), node))
            }
            Op::Push(key) => nothing(editor.push_root(&convert::key(key))),
            Op::Pop(at) => nothing(editor.pop_root(&convert::path(at))),
        })
    }

    /// Adds a child in the place that a call names, unless that is a sibling that is no position.
    fn signed(&self, editor: &mut Editor, by: &Signature) -> Option<Result<Key, EditError>> {
        let sibling = match self {
            Op::Before(_, sibling) | Op::After(_, sibling) => Some(convert::position(sibling)?),
            _ => None,
        };
        let (at, place) = match (self, &sibling) {
            (Op::Before(at, _), Some(sibling)) => (at, Place::Before(sibling)),
            (Op::After(at, _), Some(sibling)) => (at, Place::After(sibling)),
            (Op::At(at, index), _) => (at, Place::Index(*index)),
            (Op::Add(at), _) => (at, Place::Last),
            _ => return None,
        };
        Some(editor.add(&convert::path(at), place, Some(by)))
    }

    /// Does it to the model, which must agree with what the tree said.
    #[track_caller]
    pub fn to_model(&self, model: &mut ModelNode, said: Outcome) {
        let expected = match self {
            Op::Add(at) => add(model, at, &said),
            Op::AddWith(at, attributes) => add_with(model, at, attributes, &said),
            Op::Signed(op, _) => signed(model, op, &said),
            Op::Insert(at, key) => none(model.insert(at, key, ModelNode::default())),
            Op::Before(at, sibling) => beside(model, at, sibling, true, &said),
            Op::After(at, sibling) => beside(model, at, sibling, false, &said),
            Op::At(at, index) => at_index(model, at, *index, &said, add),
            Op::Remove(at) => none(model.remove(at).map(drop)),
            Op::Put(at, key, value) => none(model.put(at, key, value.clone())),
            Op::Unput(at, key) => model.unput(at, key).map(Done::Was),
            Op::Move(from, to, key) => none(model.move_node(from, to, key)),
            Op::Set(at, source) => none(model.set(at, source.model())),
            Op::Copy(at, source) => none(copy(model, at, &source.model())),
            Op::Graft(at, key, source) => none(model.insert(at, key, source.model())),
            Op::Push(key) => none(model.push_root(key)),
            Op::Pop(at) => none(model.pop_root(at)),
        };
        let said = said.map_err(|error| match convert::error(&error) {
            Some(said) => said,
            None => panic!("{self:?}: {error}"),
        });
        assert_eq!(said, expected, "{self:?}");
    }
}

fn name() -> ModelKey {
    ModelKey::Name(String::new())
}

fn at<'m>(model: &'m ModelNode, path: &[ModelKey]) -> &'m ModelNode {
    model.at(path).expect("picked from there")
}

fn attributes(rng: &mut Rng) -> Vec<(String, ModelValue)> {
    (0..rng.below(5)).map(|_| (random::attribute(rng), random::value(rng))).collect()
}

/// As [`random::path`], but seldom the root.
fn path_below(rng: &mut Rng, model: &ModelNode) -> ModelPath {
    let mut path = random::path(rng, model);
    if path.is_empty() && rng.chance(9, 10) {
        path.extend(random::child(rng, model));
    }
    path
}

fn nothing(result: Result<(), EditError>) -> Outcome {
    result.map(|()| Done::Nothing)
}

fn none(result: Result<(), ModelError>) -> Result<Done, ModelError> {
    result.map(|()| Done::Nothing)
}

pub fn given(result: Result<Key, EditError>) -> Outcome {
    result.map(|key| Done::Key(convert::model_key(key.as_ref())))
}

/// Which key is right beside a sibling is the tree's choice, within the rules.
#[track_caller]
fn beside(
    model: &mut ModelNode,
    path: &[ModelKey],
    sibling: &ModelKey,
    before: bool,
    said: &Outcome,
) -> Result<Done, ModelError> {
    let node = model.at(path).ok_or(ModelError::NoSuchNode)?;
    if !node.children.contains_key(sibling) {
        return Err(ModelError::NoSuchNode);
    }
    let key = match said {
        Ok(Done::Key(key)) => key.clone(),
        // Only in front of the first position there is no room.
        Err(EditError::Key(_)) if before && *sibling == ModelKey::at(*MODEL_POSITIONS.start()) => {
            return Err(ModelError::Key);
        }
        other => panic!("beside {sibling:?}: {other:?}"),
    };
    let ModelKey::Position(index, _) = key else { panic!("{key:?} is no position") };
    let is_position = |key: &&ModelKey| matches!(key, ModelKey::Position(..));
    let mut below = node.children.range(..sibling.clone()).map(|(key, _)| key);
    let mut above = node.children.range(sibling.clone()..).map(|(key, _)| key).skip(1);
    if before {
        assert!(key < *sibling, "{key:?} is not in front of {sibling:?}");
        match below.next_back() {
            Some(left) => assert!(*left < key, "{key:?} is not behind {left:?}"),
            // Behind the first whole position there are fractions.
            None if node.low == *MODEL_POSITIONS.start() => assert_eq!(index, node.low),
            None => assert!(index < node.low, "{key:?} may have been used before"),
        }
    } else {
        assert!(key > *sibling, "{key:?} is not behind {sibling:?}");
        match above.next().filter(is_position) {
            Some(right) => assert!(*right > key, "{key:?} is not in front of {right:?}"),
            // Beyond the last whole position there are fractions.
            None if node.next > *MODEL_POSITIONS.end() => assert_eq!(index, node.next - 1),
            None => assert!(index >= node.next, "{key:?} may have been used before"),
        }
    }
    assert!(!node.taken.contains(&key), "{key:?} was used before");
    model.insert(path, &key, ModelNode::default())?;
    Ok(Done::Key(key))
}

fn at_index(
    model: &mut ModelNode,
    path: &[ModelKey],
    index: u64,
    said: &Outcome,
    last: fn(&mut ModelNode, &[ModelKey], &Outcome) -> Result<Done, ModelError>,
) -> Result<Done, ModelError> {
    let node = model.at(path).ok_or(ModelError::NoSuchNode)?;
    match node.children.keys().nth(index as usize) {
        Some(sibling @ ModelKey::Position(..)) => {
            let sibling = sibling.clone();
            beside(model, path, &sibling, true, said)
        }
        _ => last(model, path, said),
    }
}

/// A child at a position of a drawing is where one without it would be.
#[track_caller]
fn signed(model: &mut ModelNode, op: &Op, said: &Outcome) -> Result<Done, ModelError> {
    if let Ok(Done::Key(key)) = said {
        let is_signed = convert::position(key).is_some_and(|position| position.is_signed());
        assert!(is_signed, "{key:?} is not signed");
    }
    match op {
        Op::Before(at, sibling) => beside(model, at, sibling, true, said),
        Op::After(at, sibling) => beside(model, at, sibling, false, said),
        Op::At(at, index) => at_index(model, at, *index, said, add_signed),
        Op::Add(at) => add_signed(model, at, said),
        other => panic!("{other:?} is not signed"),
    }
}

/// The drawing is behind the number that comes next.
#[track_caller]
fn add_signed(
    model: &mut ModelNode,
    path: &[ModelKey],
    said: &Outcome,
) -> Result<Done, ModelError> {
    let node = model.at(path).ok_or(ModelError::NoSuchNode)?;
    if node.next > *MODEL_POSITIONS.end() {
        return add(model, path, said);
    }
    let Ok(Done::Key(key @ ModelKey::Position(index, _))) = said else {
        panic!("behind all that ever were: {said:?}");
    };
    assert_eq!(*index, node.next, "{key:?}");
    model.insert(path, key, ModelNode::default())?;
    Ok(Done::Key(key.clone()))
}

#[track_caller]
fn add_with(
    model: &mut ModelNode,
    path: &[ModelKey],
    attributes: &[(String, ModelValue)],
    said: &Outcome,
) -> Result<Done, ModelError> {
    let done = add(model, path, said)?;
    if let Done::Key(key) = &done {
        let child = [path, std::slice::from_ref(key)].concat();
        for (name, value) in attributes {
            model.put(&child, name, value.clone())?;
        }
    }
    Ok(done)
}

/// Everything that is there goes, one by one, and everything of the source comes.
fn copy(model: &mut ModelNode, path: &[ModelKey], source: &ModelNode) -> Result<(), ModelError> {
    match (model.at(path).cloned(), path.split_last()) {
        (Some(node), _) => {
            for key in node.children.keys() {
                model.remove(&[path, std::slice::from_ref(key)].concat())?;
            }
            for key in node.attributes.keys() {
                model.unput(path, key)?;
            }
        }
        (None, Some((key, parent))) => model.insert(parent, key, ModelNode::default())?,
        (None, None) => panic!("there is always a root"),
    }
    let mut todo = vec![(path.to_vec(), source)];
    while let Some((path, source)) = todo.pop() {
        for (key, value) in &source.attributes {
            model.put(&path, key, value.clone())?;
        }
        for (key, child) in &source.children {
            model.insert(&path, key, ModelNode::default())?;
            todo.push(([&path[..], std::slice::from_ref(key)].concat(), child));
        }
    }
    Ok(())
}

/// Behind the last whole position, which key comes next is the tree's choice, too.
#[track_caller]
fn add(model: &mut ModelNode, path: &[ModelKey], said: &Outcome) -> Result<Done, ModelError> {
    let node = model.at(path).ok_or(ModelError::NoSuchNode)?;
    if node.next <= *MODEL_POSITIONS.end() {
        return model.add_child(path).map(Done::Key);
    }
    let Ok(Done::Key(key)) = said else { panic!("behind the last position: {said:?}") };
    assert!(!node.taken.contains(key), "{key:?} was used before");
    let end = ModelKey::at(*MODEL_POSITIONS.end());
    let last = node.children.keys().rfind(|key| matches!(key, ModelKey::Position(..)));
    assert!(*key > end && last.is_none_or(|last| key > last), "{key:?} is not behind {last:?}");
    model.insert(path, key, ModelNode::default())?;
    Ok(Done::Key(key.clone()))
}

/// What `sources` are made of.
pub fn source(rng: &mut Rng, snapshot: &Snapshot, model: &Arc<ModelNode>) -> Source {
    Source { snapshot: snapshot.clone(), path: random::path(rng, model), of: Arc::clone(model) }
}
