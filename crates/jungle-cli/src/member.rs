//! Members of a document in a tree: putting and removing them so that the tree stays the one that
//! an import of the document would make, as far as values go (`docs/json.md`).

use jungle_json::{
    ARRAY_KEY, ImportOptions, Limits, Member, SCALARS_MAX, Shape, VALUE_KEY, import, shape,
    value_at,
};
use jungle_tree::{Editor, Key, KeyRef, Node, Path, Subtree, Tree, Value, copy_subtree};

use crate::document::new_tree;
use crate::failure::{Exit, Failure, failed};
use crate::near;

/// What is put.
pub(crate) enum New {
    Scalar(Value),
    /// The text of an object or array.
    Document(String),
    /// What a node of another tree holds.
    Tree(Subtree),
}

impl New {
    /// What a text of JSON stands for.
    pub(crate) fn from_json(text: &str) -> Result<New, Failure> {
        let mut tree = new_tree()?;
        let read = read(&mut tree, text);
        read.map_err(|error| {
            Failure::new(Exit::Usage, format_args!("the value is not JSON: {error}"))
                .with_hint("text needs quotes, '\"like this\"', or --type text")
        })?;
        Ok(match shape(tree.snapshot().root()) {
            Shape::Scalar(value) => New::Scalar(value.to_value()),
            _ => New::Document(text.to_owned()),
        })
    }
}

fn read(tree: &mut Tree, text: &str) -> Result<(), jungle_json::ImportError> {
    tree.edit(|editor| import(text.as_bytes(), editor, &[], &options(), &mut |_| ()))?;
    Ok(())
}

fn options() -> ImportOptions {
    ImportOptions { limits: Limits::default(), ..ImportOptions::default() }
}

/// Which of the objects above a member may be missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parents {
    MustBeThere,
    Make,
}

/// Puts a member, in place of whatever is there.
pub(crate) fn put(
    editor: &mut Editor,
    path: &[Key],
    new: &New,
    parents: Parents,
) -> Result<(), Failure> {
    if let New::Scalar(value) = new
        && let Some(Member::Value(found)) = value_at(editor.root(), path)
        && found == value.as_ref()
    {
        // An editor puts what it is told to, and takes all else away first: another version.
        return Ok(());
    }
    let Some((key, parent)) = path.split_last() else {
        return put_whole(editor, &[], new);
    };
    if parents == Parents::Make {
        make_parents(editor, parent)?;
    }
    let root = editor.root();
    let node = root.at(parent).map_err(|_| near::not_found(root, parent))?;
    match (key, shape(node)) {
        (Key::Name(name), Shape::Object(_) | Shape::Mixed) => {
            put_name(editor, parent, key, name, new)
        }
        (Key::Position(_), Shape::Array(_) | Shape::Mixed) => put_element(editor, path, new),
        (_, shape) => Err(wrong_key(&Path::from(parent), key, &shape)),
    }
}

/// As [`put`], also at a position that is not the next one, and names and positions beside each
/// other.
pub(crate) fn place(editor: &mut Editor, path: &[Key], new: &New) -> Result<(), Failure> {
    let Some((key, parent)) = path.split_last() else {
        return put_whole(editor, &[], new);
    };
    let root = editor.root();
    let node = root.at(parent).map_err(|_| near::not_found(root, parent))?;
    match (key, shape(node)) {
        // An attribute of that name beside a child stays what it is.
        (Key::Name(name), Shape::Mixed)
            if node.child(key).is_some() && node.attribute(name).is_some() =>
        {
            put_whole(editor, path, new)
        }
        (Key::Name(name), Shape::Array(_) | Shape::Object(_) | Shape::Mixed) => {
            put_name(editor, parent, key, name, new)
        }
        (Key::Position(_), Shape::Array(_) | Shape::Object(_) | Shape::Mixed) => {
            if node.child(key).is_none() {
                editor.remove_attribute(parent, ARRAY_KEY).map_err(failed)?;
                editor.insert_child(parent, key).map_err(failed)?;
            }
            put_whole(editor, path, new)
        }
        (_, shape) => Err(wrong_key(&Path::from(parent), key, &shape)),
    }
}

fn wrong_key(parent: &Path, key: &Key, shape: &Shape<'_>) -> Failure {
    let what = match shape {
        Shape::Array(_) => "an array: its elements have positions, not names",
        Shape::Scalar(_) => "a scalar",
        _ => "an object: its members have names, not positions",
    };
    let failure = Failure::usage(format_args!("{parent} is {what}"));
    match key {
        Key::Position(position) => {
            failure.with_hint(format_args!("a name made of digits needs quotes: '\"{position}\"'"))
        }
        Key::Name(_) => failure,
    }
}

fn make_parents(editor: &mut Editor, path: &[Key]) -> Result<(), Failure> {
    for depth in 1..=path.len() {
        let here = &path[..depth];
        if value_at(editor.root(), here).is_none() {
            put(editor, here, &New::Document("{}".into()), Parents::MustBeThere)?;
        }
    }
    Ok(())
}

fn put_name(
    editor: &mut Editor,
    parent: &[Key],
    key: &Key,
    name: &str,
    new: &New,
) -> Result<(), Failure> {
    let path = Path::from(parent).join(key.clone());
    let node = editor.root().at(parent).map_err(failed)?;
    let (has_child, has_attribute) = (node.child(key).is_some(), node.attribute(name).is_some());
    if let New::Scalar(value) = new
        && is_attribute(node, name)
    {
        if !has_attribute
            && node.attributes().filter(|(key, _)| is_plain(key)).count() == SCALARS_MAX
        {
            become_dictionary(editor, parent)?;
        } else {
            if has_child {
                editor.remove(&path).map_err(failed)?;
            }
            return editor.put_attribute(parent, name, value).map_err(failed);
        }
    }
    // Attributes of other names are the mapping's own, such as what tells the order of members.
    if has_attribute && is_plain(name) {
        editor.remove_attribute(parent, name).map_err(failed)?;
    }
    if editor.root().at(&path).is_err() {
        editor.insert_child(parent, key).map_err(failed)?;
    }
    put_whole(editor, &path, new)
}

fn put_element(editor: &mut Editor, path: &[Key], new: &New) -> Result<(), Failure> {
    let (key, parent) = path.split_last().expect("an element has a parent");
    let node = editor.root().at(parent).map_err(failed)?;
    if node.child(key).is_none() {
        // Behind the last; or, where elements were removed there, at the position that nothing had.
        let behind = match node.last_child() {
            Some((KeyRef::Position(index, _), _)) => index.saturating_add(1),
            _ => 0,
        };
        let next = Key::try_position(behind).map_err(failed)?;
        let fresh = Key::try_position(node.next_position()).ok();
        if *key != next && Some(key) != fresh.as_ref() {
            let parent = Path::from(parent);
            return Err(Failure::new(
                Exit::NotFound,
                format_args!("there is no element {}", parent.join(key.clone())),
            )
            .with_hint(format_args!("the next one is {}", parent.join(next))));
        }
        editor.remove_attribute(parent, ARRAY_KEY).map_err(failed)?;
        editor.insert_child(parent, key).map_err(failed)?;
    }
    put_whole(editor, path, new)
}

/// Makes a node that is there stand for a value.
fn put_whole(editor: &mut Editor, path: &[Key], new: &New) -> Result<(), Failure> {
    match new {
        New::Document(text) => {
            import(text.as_bytes(), editor, path, &options(), &mut |_| ()).map_err(failed)?;
        }
        New::Tree(subtree) => copy_subtree(editor, path, subtree.node()).map_err(failed)?,
        New::Scalar(value) => {
            // Takes everything else away.
            import(&b"null"[..], editor, path, &options(), &mut |_| ()).map_err(failed)?;
            editor.put_attribute(path, VALUE_KEY, value).map_err(failed)?;
        }
    }
    Ok(())
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.starts_with('\0')
}

/// Is a scalar of this name an attribute here? In a dictionary it is a child.
fn is_attribute(node: Node<'_>, name: &str) -> bool {
    if !is_plain(name) {
        return false;
    }
    let is_scalar = |node: Node<'_>| matches!(shape(node), Shape::Scalar(_));
    node.attributes().any(|(key, _)| is_plain(key))
        || !node.children().any(|(key, child)| {
            matches!(key, KeyRef::Name(name) if is_plain(name)) && is_scalar(child)
        })
}

/// Too many scalars for attributes: they become children.
fn become_dictionary(editor: &mut Editor, path: &[Key]) -> Result<(), Failure> {
    let node = editor.root().at(path).map_err(failed)?;
    let plain = node.attributes().filter(|(key, _)| is_plain(key));
    let scalars: Vec<(Box<str>, Value)> =
        plain.map(|(key, value)| (key.into(), value.to_value())).collect();
    for (name, value) in scalars {
        let key = Key::from(&*name);
        editor.remove_attribute(path, &name).map_err(failed)?;
        editor.insert_child(path, &key).map_err(failed)?;
        let child = Path::from(path).join(key);
        editor.put_attribute(&child, VALUE_KEY, &value).map_err(failed)?;
    }
    Ok(())
}

/// Removes a member.
pub(crate) fn remove(editor: &mut Editor, path: &[Key]) -> Result<(), Failure> {
    let Some((key, parent)) = path.split_last() else {
        return Err(Failure::usage("the root cannot be removed")
            .with_hint("`put DIR TREE / {}` empties the tree, `trees DIR --delete` deletes it"));
    };
    let root = editor.root();
    if value_at(root, path).is_none() {
        return Err(near::not_found(root, path));
    }
    let node = root.at(parent).map_err(failed)?;
    if node.child(key).is_none()
        && let Key::Name(name) = key
    {
        editor.remove_attribute(parent, name).map_err(failed)?;
        return Ok(());
    }
    let was_array = matches!(shape(node), Shape::Array(_));
    editor.remove(path).map_err(failed)?;
    let node = editor.root().at(parent).map_err(failed)?;
    if was_array && !node.has_children() {
        // It stays an array, an empty one.
        editor.put_attribute(parent, ARRAY_KEY, &Value::Null).map_err(failed)?;
    }
    Ok(())
}
