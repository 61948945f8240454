//! What a transaction asks and does, as values: done to a draft and to plain maps, with the
//! answers compared.

use jungle_db::Draft;
use jungle_testkit::Rng;
use jungle_tree::{EditError, Key, Path, Position, Snapshot, Value};

use super::content::{self, Attributes, Content};

const NAMES: [&str; 4] = ["a", "b", "c", ""];
pub const ATTRIBUTES: [&str; 2] = ["m", "n"];
/// More nodes than this are not added to.
const NODES_MAX: usize = 40;

/// A subtree of a version that is held, to be put in elsewhere.
#[derive(Clone)]
pub struct Source {
    pub snapshot: Snapshot,
    pub path: Path,
    pub content: Content,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of version {}", self.path, self.snapshot.version())
    }
}

/// One call of a draft.
#[derive(Clone, Debug)]
pub enum Op {
    Append(Path),
    /// As [`Op::Append`], but what it is told is the key in the end, too.
    Add(Path),
    Insert(Path, Key),
    Before(Path, Position),
    At(Path, u64),
    After(Path, Position),
    Remove(Path),
    Put(Path, &'static str, Value),
    Unput(Path, &'static str),
    /// Puts what is read in one place in another.
    Copy(Path, Path, &'static str),
    Move(Path, Path, Key),
    Set(Path, Source),
    Graft(Path, Key, Source),
    Push(Key),
    Pop(Path),
    Exists(Path),
    Attributes(Path),
    Keys(Path),
    Last(Path),
    Kids(Path),
    Count(Path),
    /// A put that counts as having read all there is.
    Bulk(Path, &'static str, Value),
    /// A put that counts as having read all below the node.
    Cursor(Path, &'static str, Value),
}

/// What a call said.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Refused,
    Done,
    Key(Key),
    Is(bool),
    Copied(Option<Value>),
    Attributes(Attributes),
    Keys(Vec<Key>),
    Last(Option<Key>),
    Count(u64),
}

impl Op {
    pub fn random(rng: &mut Rng, content: &Content, sources: &[Source]) -> Op {
        let path = path(rng, content);
        let name = *rng.pick(&ATTRIBUTES);
        if content.len() > NODES_MAX && rng.chance(1, 2) {
            return Op::Remove(path);
        }
        match rng.below(36) {
            0..4 => Op::Append(path),
            4 => Op::Add(path),
            5..8 => Op::Insert(path, key(rng)),
            8 => beside(rng, content, &path).map_or(Op::Append(path.clone()), |sibling| match rng
                .below(3)
            {
                0 => Op::Before(path, sibling),
                1 => Op::After(path, sibling),
                _ => Op::At(path, rng.below(6)),
            }),
            9..12 => Op::Remove(path),
            12..18 => Op::Put(path, name, value(rng)),
            18 => Op::Unput(path, name),
            19..22 => Op::Copy(path, self::path(rng, content), name),
            22 | 23 => Op::Move(path, self::path(rng, content), key(rng)),
            24 if !sources.is_empty() => Op::Set(path, rng.pick(sources).clone()),
            25 if !sources.is_empty() => Op::Graft(path, key(rng), rng.pick(sources).clone()),
            26 if rng.chance(1, 6) => Op::Push(key(rng)),
            26 if rng.chance(1, 6) => Op::Pop(path),
            27 => Op::Exists(path),
            28 => Op::Attributes(path),
            29 => Op::Keys(path),
            30 => Op::Count(path),
            31 if content.contains_key(&path) && rng.chance(1, 4) => {
                Op::Cursor(path, name, value(rng))
            }
            32 | 33 => Op::Last(path),
            34 => Op::Kids(path),
            35 if rng.chance(1, 4) => Op::Bulk(path, name, value(rng)),
            _ => Op::Put(path, name, value(rng)),
        }
    }

    /// Does it put what is somewhere somewhere else, or may that be told of what it did?
    pub fn carries(&self) -> bool {
        use Op::{Cursor, Graft, Move, Pop, Push, Set};
        matches!(self, Move(..) | Set(..) | Graft(..) | Push(_) | Pop(_) | Cursor(..))
    }

    pub fn only_looks(&self) -> bool {
        use Op::{Attributes, Count, Exists, Keys, Kids, Last};
        matches!(self, Exists(_) | Attributes(_) | Keys(_) | Last(_) | Kids(_) | Count(_))
    }

    /// All that it looks at or touches is at one of these paths, below or right above.
    pub fn touches(&self) -> Vec<Path> {
        match self {
            Op::Append(at) | Op::Add(at) | Op::Before(at, _) | Op::After(at, _) | Op::At(at, _) => {
                vec![at.clone()]
            }
            Op::Cursor(at, ..) => vec![at.clone()],
            Op::Insert(at, key) | Op::Graft(at, key, _) => vec![at.join(key.clone()), at.clone()],
            Op::Remove(at) | Op::Put(at, ..) | Op::Unput(at, _) | Op::Set(at, _) => {
                vec![at.clone()]
            }
            Op::Copy(from, to, _) => vec![from.clone(), to.clone()],
            Op::Move(from, to, key) => vec![from.clone(), to.join(key.clone()), to.clone()],
            Op::Push(_) | Op::Pop(_) | Op::Bulk(..) => vec![Path::root()],
            Op::Exists(at) | Op::Attributes(at) | Op::Keys(at) => vec![at.clone()],
            Op::Last(at) | Op::Kids(at) | Op::Count(at) => vec![at.clone()],
        }
    }

    /// Does it name a child by its position?
    pub fn names_position(&self) -> bool {
        matches!(self, Op::Insert(_, Key::Position(_)) | Op::Before(..) | Op::After(..))
    }

    /// The new child, where it has a position and so may be renamed.
    pub fn new_child(&self, said: &Answer) -> Option<Path> {
        match (self, said) {
            (
                Op::Append(at) | Op::Add(at) | Op::Before(at, _) | Op::After(at, _) | Op::At(at, _),
                Answer::Key(key),
            ) => Some(at.join(key.clone())),
            (Op::Insert(at, key @ Key::Position(_)), Answer::Done) => Some(at.join(key.clone())),
            _ => None,
        }
    }

    /// The same with this key for the new child, where the caller gives it.
    pub fn rename(&mut self, key: Option<&Key>) {
        if let (Op::Insert(_, own), Some(key)) = (self, key) {
            *own = key.clone();
        }
    }

    /// The same with other paths.
    pub fn elsewhere(&self, to: impl Fn(&Path) -> Path) -> Op {
        let mut op = self.clone();
        match &mut op {
            Op::Push(_) => {}
            Op::Copy(a, b, _) | Op::Move(a, b, _) => (*a, *b) = (to(a), to(b)),
            Op::Append(a)
            | Op::Add(a)
            | Op::Insert(a, _)
            | Op::Before(a, _)
            | Op::After(a, _)
            | Op::At(a, _)
            | Op::Remove(a)
            | Op::Put(a, ..)
            | Op::Unput(a, _)
            | Op::Set(a, _)
            | Op::Graft(a, ..)
            | Op::Pop(a)
            | Op::Exists(a)
            | Op::Attributes(a)
            | Op::Keys(a)
            | Op::Last(a)
            | Op::Kids(a)
            | Op::Count(a)
            | Op::Bulk(a, ..)
            | Op::Cursor(a, ..) => *a = to(a),
        }
        op
    }

    pub fn to_draft(&self, tx: &mut Draft) -> Answer {
        match self {
            Op::Append(at) => given(tx.append(at)),
            Op::Add(at) => given(tx.add_child(at)),
            Op::Insert(at, key) => done(tx.insert_child(at, key)),
            Op::Before(at, sibling) => given(tx.insert_before(at, sibling)),
            Op::After(at, sibling) => given(tx.insert_after(at, sibling)),
            Op::At(at, index) => given(tx.insert_at(at, *index)),
            Op::Remove(at) => done(tx.remove(at)),
            Op::Put(at, key, value) => done(tx.put_attribute(at, key, value)),
            Op::Unput(at, key) => tx.remove_attribute(at, key).map_or(Answer::Refused, Answer::Is),
            Op::Copy(from, to, key) => {
                let Ok(found) = tx.attribute(from, key) else { return Answer::Refused };
                let found = found.map(|value| value.to_value());
                match &found {
                    Some(value) if tx.put_attribute(to, key, value).is_err() => Answer::Refused,
                    _ => Answer::Copied(found),
                }
            }
            Op::Move(from, to, key) => done(tx.move_node(from, to, key)),
            Op::Set(at, source) => {
                let node = source.snapshot.root().at(&source.path).expect("it was there");
                done(tx.set_subtree(at, node))
            }
            Op::Graft(at, key, source) => {
                let node = source.snapshot.root().at(&source.path).expect("it was there");
                done(tx.insert_subtree(at, key, node))
            }
            Op::Push(key) => done(tx.push_root(key)),
            Op::Pop(at) => done(tx.pop_root(at)),
            Op::Exists(at) => Answer::Is(tx.exists(at)),
            Op::Attributes(at) => tx.attributes(at).map_or(Answer::Refused, |found| {
                Answer::Attributes(found.map(|(key, v)| (key.into(), v.to_value())).collect())
            }),
            Op::Keys(at) => {
                tx.child_keys(at).map_or(Answer::Refused, |keys| Answer::Keys(keys.collect()))
            }
            Op::Last(at) => tx.last_child(at).map_or(Answer::Refused, Answer::Last),
            Op::Kids(at) => tx.child_count(at).map_or(Answer::Refused, Answer::Count),
            Op::Bulk(at, key, value) => {
                done(tx.bulk(|editor| editor.put_attribute(at, key, value)))
            }
            Op::Cursor(at, key, value) => {
                done(tx.cursor(at).and_then(|mut cursor| cursor.put_attribute(key, value)))
            }
            Op::Count(at) => {
                tx.get(at).map_or(Answer::Refused, |node| Answer::Count(node.subtree_count()))
            }
        }
    }

    /// What it would say of this content, and does to it. Which key a new child gets is for the
    /// tree to say: `key` is that, and it must be a new one in the right place.
    #[track_caller]
    pub fn to_content(&self, content: &mut Content, key: Option<&Key>) -> Answer {
        let new = |content: &mut Content, at: &Path, key: &Key| {
            let twice = content.insert(at.join(key.clone()), Attributes::new());
            assert!(twice.is_none(), "{self:?}: {key:?} is taken");
            Answer::Key(key.clone())
        };
        let is_there = |content: &Content, at: &Path| content.contains_key(at);
        match self {
            Op::Append(at) | Op::Add(at) | Op::Before(at, _) | Op::After(at, _) | Op::At(at, _) => {
                if !is_there(content, at) || !self.has_sibling(content) {
                    return Answer::Refused;
                }
                let key = key.expect("the parent is there, and not said to be");
                self.is_in_place(content, key);
                new(content, at, key)
            }
            Op::Insert(at, key) => {
                if !is_there(content, at) || is_there(content, &at.join(key.clone())) {
                    return Answer::Refused;
                }
                new(content, at, key);
                Answer::Done
            }
            Op::Remove(at) if at.is_empty() || !is_there(content, at) => Answer::Refused,
            Op::Remove(at) => {
                content::remove(content, at);
                Answer::Done
            }
            Op::Move(from, to, key) => {
                let end = to.join(key.clone());
                let is_taken = end != *from && is_there(content, &end);
                let fits = !from.is_empty() && is_there(content, from) && is_there(content, to);
                if !fits || is_taken || to.starts_with(from) {
                    return Answer::Refused;
                }
                let node = content::cut(content, from);
                content::put(content, &end, node);
                Answer::Done
            }
            Op::Set(at, source) if is_there(content, at) => {
                content::remove(content, at);
                content::put(content, at, source.content.clone());
                Answer::Done
            }
            Op::Graft(at, key, source) if is_there(content, at) => {
                let end = at.join(key.clone());
                if is_there(content, &end) {
                    return Answer::Refused;
                }
                content::put(content, &end, source.content.clone());
                Answer::Done
            }
            Op::Push(key) => {
                let all = std::mem::replace(content, content::bare());
                content::put(content, std::slice::from_ref(key), all);
                Answer::Done
            }
            Op::Pop(at) if is_there(content, at) => {
                *content = content::below(content, at);
                Answer::Done
            }
            Op::Exists(at) => Answer::Is(is_there(content, at)),
            Op::Keys(at) if is_there(content, at) => Answer::Keys(content::keys(content, at)),
            Op::Count(at) if is_there(content, at) => Answer::Count(content::count(content, at)),
            _ => self.to_node(content),
        }
    }

    fn to_node(&self, content: &mut Content) -> Answer {
        match self {
            Op::Put(at, key, value) | Op::Bulk(at, key, value) | Op::Cursor(at, key, value) => {
                content.get_mut(at).map_or(Answer::Refused, |node| {
                    node.insert((*key).into(), value.clone());
                    Answer::Done
                })
            }
            Op::Last(at) | Op::Kids(at) if content.contains_key(at) => {
                let keys = content::keys(content, at);
                match self {
                    Op::Kids(_) => Answer::Count(keys.len() as u64),
                    // Names come behind positions, and none of them is the last.
                    _ => Answer::Last(keys.into_iter().rfind(|key| !matches!(key, Key::Name(_)))),
                }
            }
            Op::Unput(at, key) => content
                .get_mut(at)
                .map_or(Answer::Refused, |node| Answer::Is(node.remove(*key).is_some())),
            Op::Copy(from, to, key) => {
                let Some(node) = content.get(from) else { return Answer::Refused };
                let found = node.get(*key).cloned();
                match (&found, content.get_mut(to)) {
                    (Some(_), None) => return Answer::Refused,
                    (Some(value), Some(node)) => drop(node.insert((*key).into(), value.clone())),
                    _ => {}
                }
                Answer::Copied(found)
            }
            Op::Attributes(at) => {
                let found = content.get(at).cloned();
                found.map_or(Answer::Refused, Answer::Attributes)
            }
            _ => Answer::Refused,
        }
    }

    fn has_sibling(&self, content: &Content) -> bool {
        match self {
            Op::Before(at, sibling) | Op::After(at, sibling) => {
                content.contains_key(&at.join(Key::Position(sibling.clone())))
            }
            _ => true,
        }
    }

    /// Is the key that a new child got where it should be?
    #[track_caller]
    fn is_in_place(&self, content: &Content, key: &Key) {
        use Op::{Add, After, Append, At, Before};
        let (Append(at) | Add(at) | Before(at, _) | After(at, _) | At(at, _)) = self else {
            return;
        };
        let keys = content::keys(content, at);
        let mut positions = keys.iter().filter(|key| matches!(key, Key::Position(_)));
        assert!(matches!(key, Key::Position(_)), "{key:?} is no position");
        match self {
            Op::Before(_, sibling) => {
                let sibling = Key::Position(sibling.clone());
                let left = positions.rfind(|it| **it < sibling);
                assert!(*key < sibling && left.is_none_or(|left| left < key), "{key:?}");
            }
            Op::After(_, sibling) => {
                let sibling = Key::Position(sibling.clone());
                let right = positions.find(|it| **it > sibling);
                assert!(*key > sibling && right.is_none_or(|right| key < right), "{key:?}");
            }
            Op::At(_, index) => {
                let index = (*index as usize).min(positions.clone().count());
                assert_eq!(positions.filter(|it| *it < key).count(), index, "{key:?}");
            }
            _ => assert!(positions.all(|it| it < key), "{key:?} is not behind all"),
        }
    }
}

fn done(result: Result<(), EditError>) -> Answer {
    result.map_or(Answer::Refused, |()| Answer::Done)
}

fn given(result: Result<Key, EditError>) -> Answer {
    result.map_or(Answer::Refused, Answer::Key)
}

/// The path of a node that is there, seldom of one that may not be.
pub fn path(rng: &mut Rng, content: &Content) -> Path {
    if rng.chance(1, 8) {
        return (0..rng.below(4)).map(|_| key(rng)).collect();
    }
    let mut paths = content.keys();
    paths.nth(rng.index(content.len())).expect("counted").clone()
}

fn key(rng: &mut Rng) -> Key {
    match rng.below(6) {
        0 => Key::from(rng.below(5)),
        _ => Key::from(*rng.pick(&NAMES)),
    }
}

fn beside(rng: &mut Rng, content: &Content, path: &Path) -> Option<Position> {
    let keys = content::keys(content, path);
    let positions = keys.into_iter().filter_map(|key| match key {
        Key::Position(position) => Some(position),
        Key::Name(_) => None,
    });
    let positions: Vec<Position> = positions.collect();
    (!positions.is_empty()).then(|| rng.pick(&positions).clone())
}

fn value(rng: &mut Rng) -> Value {
    match rng.below(8) {
        0 => Value::from("text"),
        1 => Value::from("long ".repeat(60).as_str()),
        _ => Value::from(rng.below(10) as i64),
    }
}
