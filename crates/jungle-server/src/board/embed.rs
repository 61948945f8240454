//! A board, for programs that have its Jungle themselves.

use jungle::{
    CommitError, CommitMeta, CommitOptions, EditError, Key, NoSuchNode, Timestamp, TreeHandle,
    UpdateError, ValueRef,
};

use super::BOARD;
use super::message::Words;

/// A bulletin board: what is posted here is on the pages of a server that has the Jungle.
///
/// Lengths have the limits of trees, and not those of a server's forms.
///
/// ```
/// use jungle::{Clock, Jungle, Memory, SystemClock};
/// use jungle_server::Board;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let jungle = Jungle::memory()?;
/// let board = Board::of(jungle.create_tree("plans")?)?;
/// let message = board.post("ana", "Shall we go?", SystemClock.now())?;
/// board.edit(&message, "ana", "Shall we go on Sunday?", SystemClock.now())?;
/// assert_eq!(jungle.open_tree("plans")?.read().root().child_count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Board(TreeHandle);

/// Why a board was not written to.
///
/// ```
/// use jungle::{Clock, Jungle, Memory, SystemClock};
/// use jungle_server::{Board, BoardError};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let board = Board::of(Jungle::memory()?.create_tree("plans")?)?;
/// let edited = board.edit(&7.into(), "ana", "Hello", SystemClock.now());
/// assert!(matches!(edited, Err(BoardError::NoSuchMessage(_))));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// There is no such message.
    #[error(transparent)]
    NoSuchMessage(#[from] NoSuchNode),
    /// A name or a text is beyond the limits.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A message was not posted.
    #[error(transparent)]
    NotPosted(#[from] UpdateError<EditError>),
    /// An edit was not committed: somebody else edited the message at the same moment, say.
    #[error(transparent)]
    NotEdited(#[from] CommitError),
}

impl Board {
    /// Makes a tree a board, or takes one that is.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn of(tree: TreeHandle) -> Result<Board, BoardError> {
        if tree.read().root().attribute(BOARD).is_none() {
            let name = tree.name();
            let options = CommitOptions::from(&CommitMeta::new().message("a new board"));
            tree.update_with(&options, |tx| tx.put_attribute(&[], BOARD, &*name))?;
        }
        Ok(Board(tree))
    }

    /// Puts a message of this time behind the others; gives its key.
    ///
    /// # Errors
    /// When it is beyond the limits, or nothing can be written.
    pub fn post(&self, author: &str, text: &str, time: Timestamp) -> Result<Key, BoardError> {
        let words = Words { author: author.to_owned(), text: text.to_owned() };
        let options = options(author, "a message");
        Ok(self.0.update_with(&options, |tx| words.post(tx, time))?.value)
    }

    /// Makes a message say something else; what it said stays in the history.
    ///
    /// # Errors
    /// When there is no such message, the text is beyond the limits, or it cannot be committed.
    pub fn edit(
        &self,
        message: &Key,
        author: &str,
        text: &str,
        time: Timestamp,
    ) -> Result<(), BoardError> {
        let path = std::slice::from_ref(message);
        let words = Words { author: author.to_owned(), text: text.to_owned() };
        let mut tx = self.0.begin(options(author, "an edited message"));
        let before = tx.began_at();
        let edits = tx.attribute(path, "edits")?.and_then(ValueRef::as_int).unwrap_or(0);
        words.replace(&mut tx, path, (edits, Some(before)), time)?;
        tx.commit()?;
        Ok(())
    }
}

fn options(author: &str, message: &str) -> CommitOptions {
    CommitOptions::from(&CommitMeta::new().author(author).message(message))
}
