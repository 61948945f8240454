//! From the model's words to the tree's.

use jungle_testkit::{ModelError, ModelKey, ModelValue};
use jungle_tree::{EditError, Fraction, Key, KeyRef, Path, Position, ValueRef};

pub fn position(key: &ModelKey) -> Option<Position> {
    let ModelKey::Position(index, digits) = key else { return None };
    let fraction = Fraction::from_bytes(digits).expect("the model's fractions are right");
    Some(Position::with_fraction(*index, fraction).expect("the model's positions are right"))
}

pub fn key(key: &ModelKey) -> Key {
    match key {
        ModelKey::Name(name) => Key::from(name.as_str()),
        ModelKey::Position(..) => Key::Position(position(key).expect("it is one")),
    }
}

pub fn path(path: &[ModelKey]) -> Path {
    path.iter().map(key).collect()
}

pub fn model_key(key: KeyRef<'_>) -> ModelKey {
    match key {
        KeyRef::Name(name) => ModelKey::Name(name.to_owned()),
        KeyRef::Position(index, digits) => ModelKey::Position(index, digits.to_vec()),
    }
}

pub fn key_ref(key: &ModelKey) -> KeyRef<'_> {
    match key {
        ModelKey::Name(name) => KeyRef::Name(name),
        ModelKey::Position(index, digits) => KeyRef::Position(*index, digits),
    }
}

pub fn value(value: &ModelValue) -> ValueRef<'_> {
    match value {
        ModelValue::Null => ValueRef::Null,
        ModelValue::Bool(bool) => ValueRef::Bool(*bool),
        ModelValue::Int(int) => ValueRef::Int(*int),
        ModelValue::Float(float) => ValueRef::Float(*float),
        ModelValue::Text(text) => ValueRef::Text(text),
        ModelValue::Bytes(bytes) => ValueRef::Bytes(bytes),
    }
}

/// What the model would say; `None` for what the model cannot refuse.
pub fn error(error: &EditError) -> Option<ModelError> {
    match error {
        EditError::NoSuchNode { .. } => Some(ModelError::NoSuchNode),
        EditError::ChildExists { .. } => Some(ModelError::ChildExists),
        EditError::MoveIntoItself { .. } => Some(ModelError::MoveIntoItself),
        EditError::Root => Some(ModelError::Root),
        EditError::Key(_) => Some(ModelError::Key),
        _ => None,
    }
}
