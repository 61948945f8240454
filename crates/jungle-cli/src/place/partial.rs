//! As much of a tree of a server as somebody looks at, in a tree of our own. What is in it lies as
//! it lies there; what is not in it is missing, or is marked.

use jungle_json::{ImportOptions, Limits, import, value_at};
use jungle_server::{RemoteError, value_of};
use jungle_tree::{Key, Path, Snapshot, Tree, Value, ValueRef};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::On;
use super::server::{Asked, PAGE, Server};
use crate::document::new_tree;
use crate::failure::{Exit, Failure, failed};

/// The attribute of a node that has children which are not here. JSON makes no such attribute, and
/// an import over the node removes it.
pub(super) const UNKNOWN: &str = "\0unknown";

/// A part of a version.
pub(super) struct Partial<'s> {
    server: &'s Server,
    on: On<'s>,
    /// Which version; once something of it was seen, its number.
    at: Option<String>,
    /// The node of which only some children are here.
    cut: Option<Path>,
    tree: Tree,
}

#[derive(Deserialize)]
struct Node {
    revision: u64,
    attributes: Map<String, Json>,
    attributes_next: Option<String>,
    child_count: u64,
    next_position: i64,
}

#[derive(Deserialize)]
struct Children {
    children: Vec<Child>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Child {
    key: String,
    attributes: Map<String, Json>,
    #[serde(default)]
    attributes_left_out: usize,
    child_count: u64,
}

impl<'s> Partial<'s> {
    /// Nothing of a version so far.
    pub(super) fn new(
        server: &'s Server,
        on: On<'s>,
        at: Option<String>,
    ) -> Result<Partial<'s>, Failure> {
        Ok(Partial { server, on, at, cut: None, tree: new_tree()? })
    }

    /// What there is of it.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.tree.snapshot()
    }

    /// All that is at `path` and below, as far as its JSON tells; if no node is there, what is
    /// around it.
    pub(super) fn whole(&mut self, path: &Path) -> Result<(), Failure> {
        let document = match self.get("document", path, &[]) {
            Ok(document) => document,
            Err(error) if is_no_node(&error) => return self.attribute_or_all(path),
            Err(error) => return Err(self.refused(&error)),
        };
        self.reach(path)?;
        // It is a document by the server's rules already.
        let limits = Limits { depth_max: usize::MAX, bytes_max: u64::MAX, ..Limits::default() };
        let options = ImportOptions { limits, ..ImportOptions::default() };
        self.tree.edit(|editor| {
            import(&document[..], editor, path, &options, &mut |_| ()).map(drop).map_err(failed)
        })
    }

    /// The node at `path`, its children, and the keys of theirs; if no node is there, what is
    /// around it.
    pub(super) fn members(&mut self, path: &Path) -> Result<(), Failure> {
        let Some(node) = self.node(path)? else {
            return self.attribute_or_all(path);
        };
        self.reach(path)?;
        self.fill_node(path, node)?;
        for child in self.all_children(path)? {
            let place = self.add(path, &child)?;
            if child.child_count > 0 {
                for below in self.all_children(&place)? {
                    self.tree.insert_child(&place, &key(&below)?).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// An attribute, if that is at `path`; else what tells that nothing is, and what is beside.
    fn attribute_or_all(&mut self, path: &Path) -> Result<(), Failure> {
        self.around(path)?;
        if value_at(self.snapshot().root(), path).is_none() {
            self.complete()?;
        }
        Ok(())
    }

    /// The nearest node above `path`, with as many of its children as tell what kind it is of, and
    /// the one on the way among them; of the root the root itself.
    pub(super) fn around(&mut self, path: &Path) -> Result<(), Failure> {
        for depth in (0..path.depth().max(1)).rev() {
            let here = Path::from(&path[..depth]);
            let Some(node) = self.node(&here)? else { continue };
            let (next_position, has_children) = (node.next_position, node.child_count > 0);
            self.reach(&here)?;
            self.fill_node(&here, node)?;
            return match path.get(depth) {
                Some(key) => self.add_around(&here, key, next_position),
                None if has_children => self.mark_unknown(&here),
                None => Ok(()),
            };
        }
        Err(self.refused(&self.server.unexpected()))
    }

    /// The children of a node of which it was not known what they are.
    pub(super) fn expand(&mut self, path: &Path) -> Result<(), Failure> {
        self.tree.remove_attribute(path, UNKNOWN).map_err(failed)?;
        for child in self.all_children(path)? {
            self.add_marked(path, &child)?;
        }
        Ok(())
    }

    /// The other children of the node of which only some are here; `false` if there is none such.
    pub(super) fn complete(&mut self) -> Result<bool, Failure> {
        let Some(path) = self.cut.take() else { return Ok(false) };
        for child in self.all_children(&path)? {
            self.add_marked(&path, &child)?;
        }
        Ok(true)
    }

    /// Of many children those of the first page, the last one and the one that is asked for: by
    /// these it is seen whether a node is a list, or a dictionary.
    fn add_around(&mut self, path: &Path, asked: &Key, next_position: i64) -> Result<(), Failure> {
        let limit = PAGE.to_string();
        let Children { mut children, next } = self.children(path, &[("limit", &*limit)])?;
        if next.is_some() {
            self.cut = Some(path.clone());
            let last = [("order", "backward"), ("limit", "1")];
            children.extend(self.children(path, &last)?.children);
            let asked = asked.to_string();
            children.extend(self.children(path, &[("from", &*asked), ("to", &*asked)])?.children);
        }
        for child in &children {
            self.add_marked(path, child)?;
        }
        self.pass_positions(path, next_position)
    }

    /// A position that a child had is not free, also when it is gone.
    fn pass_positions(&mut self, path: &Path, next: i64) -> Result<(), Failure> {
        let here = self.snapshot().root().at(path).map_err(failed)?.next_position();
        if here >= next {
            return Ok(());
        }
        let last = Key::try_position(next - 1).map_err(failed)?;
        self.tree.insert_child(path, &last).map_err(failed)?;
        self.tree.remove(&path.join(last)).map_err(failed)
    }

    /// Makes the nodes down to `path`.
    fn reach(&mut self, path: &Path) -> Result<(), Failure> {
        for depth in 0..path.depth() {
            self.tree.insert_child(&path[..depth], &path[depth]).map_err(failed)?;
        }
        Ok(())
    }

    fn add_marked(&mut self, parent: &Path, child: &Child) -> Result<(), Failure> {
        let place = self.add(parent, child)?;
        if child.child_count > 0 { self.mark_unknown(&place) } else { Ok(()) }
    }

    fn mark_unknown(&mut self, path: &Path) -> Result<(), Failure> {
        self.tree.put_attribute(path, UNKNOWN, ValueRef::Null).map_err(failed)
    }

    /// Makes a child with its attributes, unless it is there; gives where it is.
    fn add(&mut self, parent: &Path, child: &Child) -> Result<Path, Failure> {
        let key = key(child)?;
        let path = parent.join(key.clone());
        if self.snapshot().root().at(&path).is_ok() {
            return Ok(path);
        }
        self.tree.insert_child(parent, &key).map_err(failed)?;
        if child.attributes_left_out == 0 {
            self.fill(&path, &child.attributes)?;
        } else if let Some(node) = self.node(&path)? {
            self.fill_node(&path, node)?;
        }
        Ok(path)
    }

    fn fill_node(&mut self, path: &Path, node: Node) -> Result<(), Failure> {
        self.fill(path, &node.attributes)?;
        let mut next = node.attributes_next;
        while let Some(after) = next {
            let more = self.ask::<Node>("node", path, &[("attributes_after", &*after)])?;
            self.fill(path, &more.attributes)?;
            next = more.attributes_next;
        }
        Ok(())
    }

    /// Puts the attributes that are told; of what is told in part all is asked for.
    fn fill(&mut self, path: &Path, told: &Map<String, Json>) -> Result<(), Failure> {
        for (key, told) in told {
            let value = match value_of(told) {
                Some(value) => value,
                None => self.long_value(path, key, told)?,
            };
            self.tree.put_attribute(path, key, &value).map_err(failed)?;
        }
        Ok(())
    }

    fn long_value(&self, path: &Path, key: &str, told: &Json) -> Result<Value, Failure> {
        let bytes = self.get("value", path, &[("attribute", key)]);
        let bytes = bytes.map_err(|error| self.refused(&error))?;
        let value = match told["type"].as_str() {
            Some("bytes") => Some(Value::from(bytes)),
            Some("text") => String::from_utf8(bytes).ok().map(Value::from),
            _ => None,
        };
        value.ok_or_else(|| self.refused(&self.server.unexpected()))
    }

    fn node(&mut self, path: &Path) -> Result<Option<Node>, Failure> {
        let told = self.get("node", path, &[]);
        if told.as_ref().is_err_and(is_no_node) {
            return Ok(None);
        }
        let node: Node = self.read(told)?;
        self.at = Some(node.revision.to_string());
        Ok(Some(node))
    }

    fn all_children(&self, path: &Path) -> Result<Vec<Child>, Failure> {
        let limit = PAGE.to_string();
        let mut page = self.children(path, &[("limit", &*limit)])?;
        let mut all = page.children;
        while let Some(after) = page.next {
            page = self.children(path, &[("limit", &*limit), ("after", &*after)])?;
            all.append(&mut page.children);
        }
        Ok(all)
    }

    fn children(&self, path: &Path, more: &[(&str, &str)]) -> Result<Children, Failure> {
        self.ask("children", path, more)
    }

    fn ask<T: DeserializeOwned>(
        &self,
        what: &str,
        path: &Path,
        more: &[(&str, &str)],
    ) -> Result<T, Failure> {
        self.read(self.get(what, path, more))
    }

    fn read<T: DeserializeOwned>(&self, told: Result<Vec<u8>, RemoteError>) -> Result<T, Failure> {
        let told = told.and_then(|told| self.server.read(&told));
        told.map_err(|error| self.refused(&error))
    }

    /// What is told of a node of this version.
    fn get(&self, what: &str, path: &Path, more: &[(&str, &str)]) -> Result<Vec<u8>, RemoteError> {
        let path = path.to_string();
        let mut parameters = vec![("path", &*path)];
        parameters.extend(self.on.branch.map(|branch| ("branch", branch)));
        parameters.extend(self.at.as_deref().map(|at| ("at", at)));
        parameters.extend_from_slice(more);
        self.server.get(&["trees", self.on.tree, what], &parameters)
    }

    fn refused(&self, error: &RemoteError) -> Failure {
        self.server.refused(error, Asked { on: self.on, rev: self.at.as_deref() })
    }
}

fn is_no_node(error: &RemoteError) -> bool {
    error.kind() == Some("no-such-node")
}

fn key(child: &Child) -> Result<Key, Failure> {
    child.key.parse::<Key>().map_err(|error| Failure::new(Exit::Error, error))
}
