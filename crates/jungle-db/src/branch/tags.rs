//! Tags: names for revisions, by which they stay readable.

use std::sync::Arc;

use crate::branch::{BranchError, NoSuchBranch, no_such_branch};
use crate::commit::Moment;
use crate::handle::TreeHandle;
use crate::head::lock;
use crate::history::lookup::Found;
use crate::journal::Event;
use crate::name;
use crate::planted::{Bug, is_awake};
use crate::revision::Revision;
use crate::snapshot::Snapshot;

impl TreeHandle {
    /// Gives a revision of this branch a name, by which it stays readable whatever is dropped.
    ///
    /// # Errors
    /// When the name is taken by a branch or tag or cannot be one, the revision is not there, or
    /// nothing can be written.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let first = tree.update(|tx| tx.put_attribute(&[], "title", "first"))?;
    /// tree.tag("v1", first.revision)?;
    /// tree.update(|tx| tx.put_attribute(&[], "title", "second"))?;
    /// let tagged = tree.at_tag("v1")?;
    /// assert_eq!(tagged.root().attribute("title").unwrap().as_text(), Some("first"));
    /// assert_eq!(tree.list_tags(), [("v1".into(), first.revision)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tag(&self, name: &str, at: Revision) -> Result<(), BranchError> {
        if let Some(sequencing) = self.shared.sequencing() {
            let (checked, tree, branch) = (name::check(name)?, self.state.id, self.head.id);
            sequencing.place(&self.shared, &self.meta, || {
                let at = self.check_mark(name, at)?;
                let name = Arc::clone(&checked);
                Ok::<_, BranchError>(Event::TagCreated { tree, name, branch, at })
            })?;
            return Ok(());
        }
        let revision = self.tag_at(name, at, Moment::Now)?;
        Ok(self.shared.acknowledge(revision, None)?)
    }

    pub(crate) fn tag_at(
        &self,
        name: &str,
        at: Revision,
        moment: Moment<'_>,
    ) -> Result<Revision, BranchError> {
        let name = name::check(name)?;
        let Found { index, snapshot, .. } = self.find(at)?;
        let mut branches = lock(&self.state.branches);
        branches.check_free(&name)?;
        let _state = self.lock_to_mark(index, moment)?;
        let time = moment.time(|| self.shared.now());
        let event = Event::TagCreated {
            tree: self.state.id,
            name: Arc::clone(&name),
            branch: self.head.id,
            at: snapshot.revision(),
        };
        Ok(self.shared.write(moment, time, &self.meta, Some(event), |_| {
            branches.tags.insert(name, snapshot);
        })?)
    }

    /// The version with this tag.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.tag("empty", tree.snapshot().revision())?;
    /// tree.update(|tx| tx.append(&[]))?;
    /// assert!(!tree.at_tag("empty")?.root().has_children());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at_tag(&self, name: &str) -> Result<Snapshot, NoSuchBranch> {
        let branches = lock(&self.state.branches);
        let tagged = branches.tags.get(name).cloned();
        let is_there =
            |tagged: &Snapshot| !is_awake(Bug::TagDropped) || self.at(tagged.revision()).is_ok();
        tagged.filter(is_there).ok_or_else(|| no_such_branch(name))
    }

    /// All tags of the tree with their revisions, in order of name.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let now = tree.snapshot().revision();
    /// tree.tag("v1", now)?;
    /// assert_eq!(tree.list_tags(), [("v1".into(), now)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn list_tags(&self) -> Vec<(Arc<str>, Revision)> {
        let branches = lock(&self.state.branches);
        let tags = branches.tags.iter();
        tags.map(|(name, snapshot)| (Arc::clone(name), snapshot.revision())).collect()
    }

    /// Deletes a tag.
    ///
    /// # Errors
    /// When there is none of this name, or nothing can be written.
    ///
    /// ```
    /// use jungle_db::Jungle;
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// tree.tag("v1", tree.snapshot().revision())?;
    /// tree.delete_tag("v1")?;
    /// assert!(tree.at_tag("v1").is_err() && tree.delete_tag("v1").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_tag(&self, name: &str) -> Result<(), BranchError> {
        if let Some(sequencing) = self.shared.sequencing() {
            let tree = self.state.id;
            sequencing.place(&self.shared, &self.meta, || {
                let branches = lock(&self.state.branches);
                let found = branches.tags.get_key_value(name).map(|(name, _)| Arc::clone(name));
                let name = found.ok_or_else(|| no_such_branch(name))?;
                Ok::<_, BranchError>(Event::TagDeleted { tree, name })
            })?;
            return Ok(());
        }
        let revision = self.delete_tag_at(name, Moment::Now)?;
        Ok(self.shared.acknowledge(revision, None)?)
    }

    pub(crate) fn delete_tag_at(
        &self,
        name: &str,
        moment: Moment<'_>,
    ) -> Result<Revision, BranchError> {
        let mut branches = lock(&self.state.branches);
        let key = branches.tags.get_key_value(name).map(|(key, _)| Arc::clone(key));
        let key = key.ok_or_else(|| no_such_branch(name))?;
        let time = moment.time(|| self.shared.now());
        let event = Event::TagDeleted { tree: self.state.id, name: key };
        Ok(self.shared.write(moment, time, &self.meta, Some(event), |_| {
            branches.tags.remove(name);
        })?)
    }
}
