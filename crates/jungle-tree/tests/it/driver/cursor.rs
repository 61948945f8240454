//! A walk of a cursor that edits where it stands.

use jungle_testkit::{MODEL_POSITIONS, ModelKey, ModelNode, Rng};
use jungle_tree::{EditError, Editor};

use super::op::{Op, given};
use super::{convert, random};

/// Edits with a cursor, and the model the same way.
#[track_caller]
pub fn walk(rng: &mut Rng, editor: &mut Editor, model: &mut ModelNode) {
    let mut at = random::path(rng, model);
    let mut cursor = editor.cursor(&convert::path(&at)).expect("the model has it");
    for _ in 0..rng.range(1..20) {
        let node = model.at(&at).expect("the cursor stands there");
        let what = rng.below(15);
        super::trace(&("cursor", what, &at, node.children.len()));
        match what {
            0..3 => {
                let key = random::child(rng, node).unwrap_or(random::key(rng, node));
                let entered = cursor.enter(&convert::key(&key));
                assert_eq!(entered.is_ok(), node.children.contains_key(&key), "enter {key:?}");
                if entered.is_ok() {
                    at.push(key);
                }
            }
            3 | 4 => {
                cursor.leave();
                at.pop();
            }
            5 => Op::Add(at.clone()).to_model(model, given(cursor.add_child())),
            6 => {
                let count = rng.below(40);
                match cursor.add_children(count) {
                    Ok(first) => (first..first + count as i64).for_each(|position| {
                        assert_eq!(model.add_child(&at), Ok(ModelKey::at(position)));
                    }),
                    Err(EditError::Key(_)) => {
                        assert!(node.next + count as i64 > *MODEL_POSITIONS.end())
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            14 if node.next + 40 < *MODEL_POSITIONS.end() => {
                many_leaves(rng, &mut cursor, model, &at);
            }
            7 | 8 => many_names(rng, &mut cursor, model, &at),
            9 => {
                let keys: Vec<_> = node.children.keys().cloned().collect();
                for key in keys.iter().take(rng.below(40) as usize) {
                    assert_eq!(cursor.remove_child(&convert::key(key)), Ok(true), "{key:?}");
                    let removed = model.remove(&[&*at, std::slice::from_ref(key)].concat());
                    removed.expect("it is there");
                }
                let absent = ModelKey::Name("never there".to_owned());
                assert_eq!(cursor.remove_child(&convert::key(&absent)), Ok(false));
            }
            10 => {
                let key = random::attribute(rng);
                assert_eq!(cursor.remove_attribute(&key).ok(), model.unput(&at, &key).ok());
            }
            _ => {
                let (key, value) = (random::attribute(rng), random::value(rng));
                cursor.put_attribute(&key, convert::value(&value)).expect("within the limits");
                model.put(&at, &key, value).expect("the cursor stands there");
            }
        }
        assert_eq!(cursor.path(), convert::path(&at), "where the cursor stands");
    }
}

fn many_names(
    rng: &mut Rng,
    cursor: &mut jungle_tree::Cursor<'_>,
    model: &mut ModelNode,
    at: &[ModelKey],
) {
    let most = if rng.chance(1, 20) { 300 } else { 24 };
    for _ in 0..rng.below(most) {
        let key = random::key(rng, model);
        match cursor.insert_child(&convert::key(&key)) {
            Ok(()) => assert_eq!(model.insert(at, &key, ModelNode::default()), Ok(())),
            Err(error) => {
                let refused = model.insert(at, &key, ModelNode::default()).err();
                assert_eq!(refused, convert::error(&error), "{key:?}: {error}");
            }
        }
    }
}

/// Children that come with their attributes.
fn many_leaves(
    rng: &mut Rng,
    cursor: &mut jungle_tree::Cursor<'_>,
    model: &mut ModelNode,
    at: &[ModelKey],
) {
    let mut leaf = || {
        let leaf = (0..rng.below(4)).map(|_| (random::attribute(rng), random::value(rng)));
        leaf.collect::<Vec<_>>()
    };
    let leaves: Vec<_> = (0..leaf().len() * 13).map(|_| leaf()).collect();
    let attributes: Vec<Vec<_>> = leaves
        .iter()
        .map(|leaf| leaf.iter().map(|(key, value)| (&**key, convert::value(value))).collect())
        .collect();
    let first = cursor.add_children_with(attributes.iter().map(|leaf| &**leaf));
    let first = first.expect("within the limits");
    for (position, leaf) in (first..).zip(leaves) {
        let key = ModelKey::at(position);
        assert_eq!(model.add_child(at), Ok(key.clone()));
        for (name, value) in leaf {
            model.put(&[at, std::slice::from_ref(&key)].concat(), &name, value).expect("is there");
        }
    }
}
