//! The values of a patch: read, made again as they lay in their tree, and compared.

use std::fmt;

use jungle_json::{
    ImportError, ImportOptions, Limits, Member, Shape, base64, import, shape, value_at,
};
use jungle_tree::{
    EditError, Editor, Key, Node, ParsePathError, Path, Snapshot, Subtree, Tree, Value,
};

use crate::document::new_tree;
use crate::failure::Failure;
use crate::member::New;

/// A value as a line tells it.
#[derive(Debug)]
pub(super) struct Told {
    /// The field it is in.
    pub(super) name: &'static str,
    pub(super) json: Box<str>,
    /// How exactly it lies in a tree, where that is told.
    pub(super) tree: Option<Box<str>>,
}

/// Why a value cannot be made.
#[derive(Debug)]
pub(super) enum ValueError {
    Json(ImportError),
    Key(ParsePathError),
    Edit(EditError),
    /// It is none of what stands for a node, or for a scalar.
    Node,
    Scalar,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::Json(error) => error.fmt(f),
            ValueError::Key(error) => error.fmt(f),
            ValueError::Edit(error) => error.fmt(f),
            ValueError::Node => {
                f.write_str(r#"a node is `{"$attributes":{…},"$children":{…}}`, and no more"#)
            }
            ValueError::Scalar => {
                f.write_str(r#"an attribute is a scalar, `{"$bytes":"…"}` or `{"$float":"…"}`"#)
            }
        }
    }
}

/// A place in which values are read, one after the other.
pub(super) struct Values {
    tree: Tree,
    depth_max: usize,
}

impl Values {
    pub(super) fn new(depth_max: usize) -> Result<Values, Failure> {
        Ok(Values { tree: new_tree()?, depth_max })
    }

    /// A tree that is the value.
    pub(super) fn read(&mut self, told: &Told) -> Result<Snapshot, ValueError> {
        let Some(tree) = &told.tree else {
            return self.json(&told.json, self.depth_max);
        };
        // Each node takes two levels, and its values may take one more.
        let form = self.json(tree, self.depth_max.saturating_mul(2).saturating_add(2))?;
        let mut exact = Tree::new(&self.tree.arena());
        exact.edit(|editor| make(editor, form.root()))?;
        Ok(exact.snapshot())
    }

    fn json(&mut self, text: &str, depth_max: usize) -> Result<Snapshot, ValueError> {
        let limits = Limits { depth_max, bytes_max: u64::MAX, ..Limits::default() };
        let options = ImportOptions { limits, ..ImportOptions::default() };
        let read =
            |editor: &mut Editor| import(text.as_bytes(), editor, &[], &options, &mut |_| ());
        self.tree.edit(read).map_err(ValueError::Json)?;
        Ok(self.tree.snapshot())
    }
}

impl From<EditError> for ValueError {
    fn from(error: EditError) -> ValueError {
        ValueError::Edit(error)
    }
}

/// What is to be put for a value that was read.
pub(super) fn new(value: &Snapshot) -> New {
    match member(value.root()) {
        Member::Value(scalar) => New::Scalar(scalar.to_value()),
        Member::Node(_) => New::Tree(Subtree::new(value, &[]).expect("every tree has a root")),
    }
}

pub(super) fn member(node: Node<'_>) -> Member<'_> {
    value_at(node, &[]).expect("a node is there")
}

/// Makes what a form stands for.
fn make(editor: &mut Editor, form: Node<'_>) -> Result<(), ValueError> {
    if let Ok(value) = scalar(member(form)) {
        return Ok(editor.put_attribute(&[], jungle_json::VALUE_KEY, &value)?);
    }
    let mut open = vec![(member(form), Path::root())];
    while let Some((form, path)) = open.pop() {
        for (part, member) in members(form).ok_or(ValueError::Node)? {
            let inner = members(member).ok_or(ValueError::Node)?;
            match part {
                "$attributes" => {
                    for (name, member) in inner {
                        editor.put_attribute(&path, name, &scalar(member)?)?;
                    }
                }
                "$children" => {
                    for (key, form) in inner {
                        let key: Key = key.parse().map_err(ValueError::Key)?;
                        editor.insert_child(&path, &key)?;
                        open.push((form, path.join(key)));
                    }
                }
                _ => return Err(ValueError::Node),
            }
        }
    }
    Ok(())
}

fn members(member: Member<'_>) -> Option<jungle_json::Members<'_>> {
    match member {
        Member::Node(node) => match shape(node) {
            Shape::Object(members) => Some(members),
            _ => None,
        },
        Member::Value(_) => None,
    }
}

/// The scalar that a form stands for.
fn scalar(form: Member<'_>) -> Result<Value, ValueError> {
    if let Member::Value(value) = form {
        return Ok(value.to_value());
    }
    let mut members = members(form).ok_or(ValueError::Scalar)?;
    let (Some((kind, Member::Value(text))), None) = (members.next(), members.next()) else {
        return Err(ValueError::Scalar);
    };
    let value = match (kind, text.as_text().ok_or(ValueError::Scalar)?) {
        ("$bytes", text) => base64::decode(text).map(Value::from),
        ("$float", "NaN") => Some(Value::Float(f64::NAN)),
        ("$float", "inf") => Some(Value::Float(f64::INFINITY)),
        ("$float", "-inf") => Some(Value::Float(f64::NEG_INFINITY)),
        _ => None,
    };
    value.ok_or(ValueError::Scalar)
}

/// Are both the same document? The order of members, and which positions elements have, is no
/// difference.
pub(super) fn is_same(left: Member<'_>, right: Member<'_>) -> bool {
    let mut open = vec![(left, right)];
    while let Some(pair) = open.pop() {
        let (left, right) = match pair {
            (Member::Value(left), Member::Value(right)) if left == right => continue,
            (Member::Node(left), Member::Node(right)) => (left, right),
            _ => return false,
        };
        match (shape(left), shape(right)) {
            (Shape::Array(lefts), Shape::Array(rights)) => {
                if left.child_count() != right.child_count() {
                    return false;
                }
                open.extend(lefts.zip(rights).map(|((_, l), (_, r))| (member(l), member(r))));
            }
            (Shape::Object(lefts), Shape::Object(rights)) => {
                let mut count = 0;
                for (name, right) in rights {
                    let Some(left) = value_at(left, &[Key::from(name)]) else { return false };
                    open.push((left, right));
                    count += 1;
                }
                if lefts.count() != count {
                    return false;
                }
            }
            (Shape::Mixed, Shape::Mixed) => {
                let has_same_keys =
                    left.children().map(|(key, _)| key).eq(right.children().map(|(key, _)| key));
                if !left.attributes().eq(right.attributes()) || !has_same_keys {
                    return false;
                }
                let children = left.children().zip(right.children());
                open.extend(children.map(|((_, l), (_, r))| (member(l), member(r))));
            }
            _ => return false,
        }
    }
    true
}
