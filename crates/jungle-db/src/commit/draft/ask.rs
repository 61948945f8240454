//! Reading through a draft, each question as narrow as it can be: what is asked is remembered.

use jungle_tree::{Attributes, Key, NoSuchNode, Node, ValueRef};

use super::Draft;
use crate::commit::read::Read;

impl Draft {
    /// Is there a node at `path`?
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| {
    ///     if !tx.exists(&["settings".into()]) {
    ///         tx.insert_child(&[], &"settings".into())?;
    ///     }
    ///     Ok::<_, jungle_tree::EditError>(())
    /// })?;
    /// assert!(tree.read().root().child("settings").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn exists(&self, path: &[Key]) -> bool {
        self.record(path, Read::Exists);
        self.editor.root().at(path).is_ok()
    }

    /// One attribute of the node at `path`.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("counter")?;
    /// for _ in 0..3 {
    ///     tree.update(|tx| {
    ///         let old = tx.attribute(&[], "n")?.and_then(|n| n.as_int()).unwrap_or(0);
    ///         tx.put_attribute(&[], "n", old + 1)
    ///     })?;
    /// }
    /// assert_eq!(tree.read().root().attribute("n"), Some(3.into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attribute(&self, path: &[Key], key: &str) -> Result<Option<ValueRef<'_>>, NoSuchNode> {
        let node = self.find(path)?;
        self.record(path, |path| Read::Attribute(path, key.into()));
        Ok(node.attribute(key))
    }

    /// All attributes of the node at `path`, in key order.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "hello"))?;
    /// let keys = tree.update(|tx| {
    ///     let attributes = tx.attributes(&[])?;
    ///     Ok::<_, jungle_tree::NoSuchNode>(attributes.map(|(key, _)| key.to_owned()).collect())
    /// })?;
    /// let keys: Vec<String> = keys.value;
    /// assert_eq!(keys, ["title"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attributes(&self, path: &[Key]) -> Result<Attributes<'_>, NoSuchNode> {
        let node = self.find(path)?;
        self.record(path, Read::Attributes);
        Ok(node.attributes())
    }

    /// The keys of the children of the node at `path`, in order.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// (0..3).try_for_each(|_| tree.update(|tx| tx.append(&[])).map(drop))?;
    /// tree.update(|tx| {
    ///     assert_eq!(tx.child_count(&[])?, 3);
    ///     let keys: Vec<_> = tx.child_keys(&[])?.collect();
    ///     keys.iter().try_for_each(|key| tx.put_attribute(&[key.clone()], "read", true))
    /// })?;
    /// let snapshot = tree.snapshot();
    /// assert!(snapshot.root().children().all(|(_, node)| node.has_attributes()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn child_keys(&self, path: &[Key]) -> Result<impl Iterator<Item = Key>, NoSuchNode> {
        let node = self.find(path)?;
        self.record(path, Read::Children);
        Ok(node.children().map(|(key, _)| key.to_key()))
    }

    /// The key of the child with the greatest position: the one of those there that was
    /// [added](Draft::add_child) last. Only another last child counts as a change of it.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let log = Jungle::new()?.create_tree("log")?;
    /// (0..3).try_for_each(|_| log.update(|tx| tx.append(&[])).map(drop))?;
    /// assert_eq!(log.update(|tx| tx.last_child(&[]))?.value, Some(2.into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last_child(&self, path: &[Key]) -> Result<Option<Key>, NoSuchNode> {
        let last = self.find(path)?.last_child().map(|(key, _)| key.to_key());
        let origin = self.origin_of(path);
        let then = origin.and_then(|origin| self.base().root().at(&origin).ok());
        let then = then.and_then(|then| then.last_child().map(|(key, _)| key.to_key()));
        // Behind what this draft took away, more than the last one there was makes the answer.
        self.record(path, if then == last { Read::LastChild } else { Read::Children });
        Ok(last)
    }

    /// How many children the node at `path` has.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn child_count(&self, path: &[Key]) -> Result<u64, NoSuchNode> {
        let node = self.find(path)?;
        self.record(path, Read::Children);
        Ok(node.child_count())
    }

    /// The node at `path`, with all below it.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("posts")?;
    /// tree.update(|tx| tx.insert_child(&[], &"open".into()))?;
    /// let mut tx = tree.begin(CommitOptions::default());
    /// let count = tx.get(&["open".into()])?.subtree_count();
    /// tx.put_attribute(&[], "nodes", count as i64)?;
    /// // What was counted is not so any more.
    /// tree.update(|theirs| theirs.append(&["open".into()]))?;
    /// assert!(tx.commit().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, path: &[Key]) -> Result<Node<'_>, NoSuchNode> {
        let node = self.find(path)?;
        self.record(path, Read::Subtree);
        Ok(node)
    }

    /// The root, with all below it: from now on a change anywhere is a change to what was read.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        self.record(&[], Read::Subtree);
        self.editor.root()
    }

    fn find(&self, path: &[Key]) -> Result<Node<'_>, NoSuchNode> {
        self.editor.root().at(path).inspect_err(|missing| self.record(&missing.path, Read::Exists))
    }
}
