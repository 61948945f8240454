//! Editing through a draft: each edit is logged, and what it depends on counts as read.

use jungle_tree::{
    Change, Cursor, EditError, Editor, Key, Node, Path, Place, Position, Signature, ValueRef,
};

use super::{Draft, Signer};
use crate::commit::log::Log;
use crate::commit::read::Read;

impl Draft {
    /// Adds an empty child to the node at `path` and tells its position, which is the position it
    /// will have: so this counts as a read of which position comes next there, and another's new
    /// child in the same place is an overlap. [`append`](Draft::append) avoids that.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_db::{CommitError, CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut ours = tree.begin(CommitOptions::default());
    /// assert_eq!(ours.add_child(&[])?, 0.into());
    /// tree.update(|tx| tx.append(&[]))?;
    /// // It was told that it is /0, and it would not be.
    /// assert!(matches!(ours.commit(), Err(CommitError::Conflict(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_child(&mut self, path: &[Key]) -> Result<Key, EditError> {
        self.record(path, Read::NextPosition);
        let signature = self.sign();
        self.add(path, Place::Last, signature)
    }

    /// Adds an empty child to the node at `path`, behind whatever is there when this commits. The
    /// key is good for further edits in this transaction; if others appended there meanwhile, both
    /// children are kept and the final key is in [`Committed::renamed`](crate::Committed::renamed).
    /// Where others are appending to the same [log](crate::Sequencer::signs_as) it is signed, and
    /// stays what it is.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_db::{CommitOptions, Jungle};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let mut ours = tree.begin(CommitOptions::default());
    /// let ours_at = ours.append(&[])?;
    /// let theirs_at = tree.update(|tx| tx.append(&[]))?.value;
    /// assert_eq!(ours_at, theirs_at);
    /// assert_eq!(ours.commit()?.renamed, [([0].into(), [1].into())]);
    /// assert_eq!(tree.read().root().child_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append(&mut self, path: &[Key]) -> Result<Key, EditError> {
        let signature = self.signer.as_ref().map(Signer::sign);
        self.add(path, Place::Last, signature)
    }

    fn add(
        &mut self,
        parent: &[Key],
        place: Place<'_>,
        signature: Option<Signature>,
    ) -> Result<Key, EditError> {
        let key = self.edit(|editor| editor.add(parent, place, signature.as_ref()))?;
        self.log.added(parent, &key);
        Ok(key)
    }

    /// Adds an empty child with a key of the caller's.
    ///
    /// # Errors
    /// When there is no such node, the key is taken or beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.insert_child(&[], &"settings".into()))?;
    /// let again = tree.update(|tx| tx.insert_child(&[], &"settings".into()));
    /// assert_eq!(again.unwrap_err().to_string(), "there is a node at /settings already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_child(&mut self, path: &[Key], key: &Key) -> Result<(), EditError> {
        let to = Path::from(path).join(key.clone());
        self.puts(&to);
        self.edit(|editor| editor.insert_child(path, key))?;
        self.log.added(path, key);
        self.replaced(&to);
        Ok(())
    }

    /// Adds an empty child right in front of a sibling. Counts as a read of the children's keys.
    ///
    /// # Errors
    /// When there is no such node or sibling, or no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_tree::Position;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// (0..2).try_for_each(|_| tree.update(|tx| tx.append(&[])).map(drop))?;
    /// let second = Position::new(1)?;
    /// tree.update(|tx| tx.insert_before(&[], &second))?;
    /// let keys: Vec<_> = tree.snapshot().root().children().map(|c| c.0.to_string()).collect();
    /// assert_eq!(keys, ["0", "0.80", "1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_before(&mut self, parent: &[Key], sibling: &Position) -> Result<Key, EditError> {
        self.record(parent, Read::Children);
        let signature = self.sign();
        self.add(parent, Place::Before(sibling), signature)
    }

    /// Adds an empty child right behind a sibling. Counts as a read of the children's keys.
    ///
    /// # Errors
    /// When there is no such node or sibling, or no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_tree::Position;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// (0..2).try_for_each(|_| tree.update(|tx| tx.append(&[])).map(drop))?;
    /// let first = Position::new(0)?;
    /// let between = tree.update(|tx| tx.insert_after(&[], &first))?.value;
    /// let keys: Vec<_> = tree.snapshot().root().children().map(|c| c.0.to_key()).collect();
    /// assert_eq!(keys, [0.into(), between, 1.into()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_after(&mut self, parent: &[Key], sibling: &Position) -> Result<Key, EditError> {
        self.record(parent, Read::Children);
        let signature = self.sign();
        self.add(parent, Place::After(sibling), signature)
    }

    /// Adds an empty child as the `index`-th position (0: the first). Counts as a read of the
    /// children's keys. Where children have children of their own it may cost as much as to look at
    /// each sixteenth in front of it: beside a sibling that is known it always costs the same.
    ///
    /// # Errors
    /// When there is no such node, or no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// tree.update(|tx| tx.append(&[]))?;
    /// let first = tree.update(|tx| tx.insert_at(&[], 0))?.value;
    /// let last = tree.update(|tx| tx.insert_at(&[], 2))?.value;
    /// assert_eq!((first.to_string(), last.to_string()), ("-1".to_owned(), "1".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_at(&mut self, parent: &[Key], index: u64) -> Result<Key, EditError> {
        self.record(parent, Read::Children);
        let signature = self.sign();
        self.add(parent, Place::Index(index), signature)
    }

    /// Removes the node at `path` and all below it. Its siblings keep their keys.
    ///
    /// # Errors
    /// When there is no such node, or it is the root.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.insert_child(&[], &"draft".into()))?;
    /// tree.update(|tx| tx.remove(&["draft".into()]))?;
    /// assert!(!tree.read().root().has_children());
    /// assert!(tree.update(|tx| tx.remove(&["draft".into()])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.takes(path);
        self.covers(path);
        self.edit(|editor| editor.remove(path))?;
        self.log.push(|| Change::ChildRemoved { path: path.into() });
        Ok(())
    }

    /// Puts an attribute of the node at `path`. One that has this very value already, of the same
    /// kind and bit for bit, is left as it is, which counts as a read of it: if there is nothing
    /// else to do, no revision is made. In a Jungle that has a [`Sequencer`](crate::Sequencer) it
    /// is put all the same, since others may have put another that is not known here yet; and
    /// [`bulk`](Draft::bulk) and [`cursor`](Draft::cursor) do as they are told.
    ///
    /// # Errors
    /// When there is no such node, the key or the value is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| {
    ///     tx.put_attribute(&[], "title", "hello")?;
    ///     tx.put_attribute(&[], "stars", 3)
    /// })?;
    /// assert_eq!(tree.read().root().attribute("stars"), Some(3.into()));
    /// let again = tree.update(|tx| tx.put_attribute(&[], "stars", 3))?;
    /// assert_eq!((again.revision, tree.history(..).count()), (tree.snapshot().revision(), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_attribute<'v>(
        &mut self,
        path: &[Key],
        key: &str,
        value: impl Into<ValueRef<'v>>,
    ) -> Result<(), EditError> {
        let value = value.into();
        let had = |root: Node<'_>, path: &[Key]| {
            root.at(path).is_ok_and(|node| node.attribute(key) == Some(value))
        };
        let origin = self.origin_of(path).filter(|origin| had(self.base().root(), origin));
        let origin = origin.map(|origin| Path::from(&*origin));
        if origin.is_some() && self.leaves_out && had(self.editor.root(), path) {
            self.has_left_out = true;
        } else {
            self.edit(|editor| editor.put_attribute(path, key, value))?;
            self.log.put(path, key, value);
        }
        if let Some(origin) = origin {
            // What was so before is no change, so it is remembered as something that must be so.
            self.push(Read::Attribute(origin, key.into()));
        }
        Ok(())
    }

    /// Removes an attribute of the node at `path`; `false` when it has none of this key, which
    /// makes no revision, but has to be so still when this commits. Counts as a read of that
    /// attribute.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.update(|tx| tx.put_attribute(&[], "draft", true))?;
    /// let removed = || tree.update(|tx| tx.remove_attribute(&[], "draft")).map(|done| done.value);
    /// assert_eq!((removed()?, removed()?), (true, false));
    /// assert_eq!(tree.history(..).count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_attribute(&mut self, path: &[Key], key: &str) -> Result<bool, EditError> {
        self.record(path, |path| Read::Attribute(path, key.into()));
        let removed = self.edit(|editor| editor.remove_attribute(path, key))?;
        if removed {
            self.log.push(|| Change::AttributeRemoved { path: path.into(), key: key.into() });
        } else {
            self.has_left_out |= self.leaves_out;
            let origin = self.origin_of(path);
            let origin = origin.filter(|origin| self.base().root().at(origin).is_ok());
            if let Some(origin) = origin {
                // As of a put that changes nothing, whatever the isolation.
                self.push(Read::Attribute(Path::from(&*origin), key.into()));
            }
        }
        Ok(removed)
    }

    /// Moves the node at `from`, with all below it, to be the child `key` of the node at `parent`.
    ///
    /// # Errors
    /// When one of them is not there, the key is taken, or the new parent lies below the node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// use jungle_tree::{EditError, Path};
    /// let tree = Jungle::new()?.create_tree("notes")?;
    /// tree.update(|tx| {
    ///     ["inbox", "done"].iter().try_for_each(|&name| tx.insert_child(&[], &name.into()))?;
    ///     let note = Path::root().join("inbox").join(tx.append(&["inbox".into()])?);
    ///     tx.put_attribute(&note, "text", "buy milk")?;
    ///     tx.move_node(&note, &["done".into()], &"milk".into())
    /// })?;
    /// let path: Path = "/done/milk".parse()?;
    /// let moved = tree.snapshot();
    /// assert_eq!(moved.root().at(&path)?.attribute("text"), Some("buy milk".into()));
    /// let below_itself = tree.update(|tx| tx.move_node(&["done".into()], &path, &0.into()));
    /// assert!(below_itself.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn move_node(&mut self, from: &[Key], parent: &[Key], key: &Key) -> Result<(), EditError> {
        let to = Path::from(parent).join(key.clone());
        self.takes(from);
        if let Some((_, parent)) = from.split_last() {
            // Of a new node nothing is left there to say that it could be made.
            self.record(parent, Read::Exists);
        }
        self.puts(&to);
        self.edit(|editor| editor.move_node(from, parent, key))?;
        self.log = Log::Incomplete;
        self.moved.extend(self.origin_of(from).map(|origin| (Path::from(&*origin), to.clone())));
        self.replaced(&to);
        self.origins.push(to, Some(from.into()));
        Ok(())
    }

    /// Replaces everything in the node at `path` by what `source` holds.
    ///
    /// # Errors
    /// When there is no such node, or no room, or the source is of another arena.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("page")?;
    /// tree.update(|tx| tx.append(&[]))?;
    /// tree.update(|tx| tx.put_attribute(&[0.into()], "text", "kept"))?;
    /// let old = tree.snapshot();
    /// tree.update(|tx| tx.put_attribute(&[0.into()], "text", "spoilt"))?;
    /// tree.update(|tx| tx.set_subtree(&[0.into()], old.root().child(0).unwrap()))?;
    /// assert!(tree.read().root().is_equal(old.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_subtree(&mut self, path: &[Key], source: Node<'_>) -> Result<(), EditError> {
        self.covers(path);
        self.edit(|editor| editor.set_subtree(path, source))?;
        self.log = Log::Incomplete;
        self.replaced(path);
        self.origins.push(path.into(), None);
        Ok(())
    }

    /// Adds a child `key` that holds what `source` holds.
    ///
    /// # Errors
    /// When there is no such node, the key is taken or beyond its limits, there is no room, or the
    /// source is of another arena.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let jungle = Jungle::new()?;
    /// let (template, site) = (jungle.create_tree("template")?, jungle.create_tree("site")?);
    /// template.update(|tx| tx.put_attribute(&[], "title", "Untitled"))?;
    /// let template = template.snapshot();
    /// site.update(|tx| tx.insert_subtree(&[], &"page".into(), template.root()))?;
    /// assert!(site.read().root().child("page").unwrap().is_equal(template.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_subtree(
        &mut self,
        parent: &[Key],
        key: &Key,
        source: Node<'_>,
    ) -> Result<(), EditError> {
        let to = Path::from(parent).join(key.clone());
        self.puts(&to);
        self.edit(|editor| editor.insert_subtree(parent, key, source))?;
        self.log = Log::Incomplete;
        self.replaced(&to);
        self.origins.push(to, None);
        Ok(())
    }

    /// Makes a new root whose only child, under `key`, is the root so far. That costs the same
    /// whatever is below; but a journal gets all of it anew, and whoever commits something else
    /// meanwhile contradicts it.
    ///
    /// # Errors
    /// When the key is beyond its limits, or there is no room.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("site")?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
    /// let before = tree.snapshot();
    /// tree.update(|tx| tx.push_root(&"old".into()))?;
    /// assert!(tree.read().root().child("old").unwrap().is_equal(before.root()));
    /// tree.update(|tx| tx.pop_root(&["old".into()]))?;
    /// assert!(tree.read().root().is_equal(before.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_root(&mut self, key: &Key) -> Result<(), EditError> {
        self.edit(|editor| editor.push_root(key))?;
        self.log = Log::Incomplete;
        self.replaced(&[]);
        self.origins.push([key.clone()].into(), Some(Path::root()));
        Ok(())
    }

    /// Makes the node at `path` the root; all else is removed.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("site")?;
    /// tree.update(|tx| {
    ///     tx.insert_child(&[], &"page".into())?;
    ///     tx.put_attribute(&["page".into()], "title", "Hello")?;
    ///     tx.pop_root(&["page".into()])
    /// })?;
    /// assert_eq!(tree.read().root().attribute("title"), Some("Hello".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_root(&mut self, path: &[Key]) -> Result<(), EditError> {
        self.edit(|editor| editor.pop_root(path))?;
        self.log = Log::Incomplete;
        self.replaced(&[]);
        self.origins.push(Path::root(), Some(path.into()));
        Ok(())
    }

    /// A cursor at the node at `path`, for many edits near each other. Counts as a read of all that
    /// is below: it is for building, where nobody else is at work.
    ///
    /// # Errors
    /// When there is no such node.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// tree.update(|tx| {
    ///     let mut cursor = tx.cursor(&[])?;
    ///     for name in ["a", "b"] {
    ///         cursor.insert_child(&name.into())?;
    ///     }
    ///     Ok::<_, jungle_tree::EditError>(())
    /// })?;
    /// assert_eq!(tree.read().root().child_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cursor(&mut self, path: &[Key]) -> Result<Cursor<'_>, EditError> {
        self.record(path, Read::Subtree);
        self.log = Log::Incomplete;
        self.editor.cursor(path)
    }

    /// Edits as it likes: an import, say. It counts as having read the whole tree, so that it
    /// commits only on the very version it began with (an update runs again). If another editor is
    /// put in the place of this one, that must be of the same version, or
    /// [nothing](crate::NotWritten::OtherJungle) is committed.
    ///
    /// # Errors
    /// What `f` says; it may have left some of its edits behind.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("list")?;
    /// tree.update(|tx| tx.bulk(|editor| editor.cursor(&[])?.add_children(1000)))?;
    /// assert_eq!(tree.read().root().child_count(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk<T, E>(&mut self, f: impl FnOnce(&mut Editor) -> Result<T, E>) -> Result<T, E> {
        self.record(&[], Read::Subtree);
        self.log = Log::Incomplete;
        f(&mut self.editor)
    }

    /// Makes an edit; what it was refused for is something that was read.
    fn edit<T>(
        &mut self,
        f: impl FnOnce(&mut Editor) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let result = f(&mut self.editor);
        if let Err(EditError::NoSuchNode { path } | EditError::ChildExists { path }) = &result {
            self.record(path, Read::Exists);
        }
        result
    }
}
