//! How long an acknowledged commit lasts.

/// What an acknowledged commit survives. It is chosen commit by commit; a Jungle without a journal
/// is in memory whatever is chosen.
///
/// Commits become durable in the order of their revisions: a stronger one takes all the weaker
/// ones before it along.
///
/// ```
/// use jungle_db::{CommitOptions, Durability, Jungle};
/// let jungle = Jungle::builder().durability(Durability::Buffered).build()?;
/// let tree = jungle.create_tree("board")?;
/// let important = CommitOptions { durability: Some(Durability::Sync), ..Default::default() };
/// tree.update_with(&important, |tx| tx.put_attribute(&[], "title", "Hello"))?;
/// assert!(important.durability > Some(jungle.durability()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// Nothing but a clean end of the process: acknowledged at once, written with the next
    /// stronger commit, when much has gathered, or when the Jungle is closed. A crash loses it.
    Memory,
    /// The end of the process, however it ends: handed to the operating system. A loss of power,
    /// or a crash of the system, may take the newest of these commits, never one from the middle.
    Buffered,
    /// Loss of power: acknowledged when the disk says that it is written.
    #[default]
    Sync,
}
