//! Who is told when something is compared.

use std::sync::Arc;

use super::TreeHandle;

/// Who is told when a handle [compares](TreeHandle::tell_comparing), and may have it wait.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use jungle_db::{CommitMeta, Comparing, Jungle};
/// #[derive(Default)]
/// struct Counted(AtomicU32);
/// impl Comparing for Counted {
///     fn begin(&self) {
///         self.0.fetch_add(1, Ordering::SeqCst);
///     }
///     fn end(&self) {}
/// }
/// let tree = Jungle::new()?.create_tree("board")?;
/// let put = tree.update(|tx| tx.put_attribute(&[], "title", "Hello"))?.revision;
/// let counted = Arc::new(Counted::default());
/// tree.tell_comparing(counted.clone()).revert(put, &CommitMeta::new())?;
/// assert_eq!(counted.0.load(Ordering::SeqCst), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Comparing: Send + Sync {
    /// Versions are compared, on this thread, as soon as this returns.
    fn begin(&self);

    /// They were, or that was given up. What follows may wait for a disk or a log.
    fn end(&self);
}

/// Something is compared until this is dropped.
pub(super) struct Compared<'h>(Option<&'h dyn Comparing>);

impl TreeHandle {
    /// This handle, for who must know when versions are compared, which may take long: a revert, a
    /// restore, an undo or a redo by it, and putting another root in the place of this one, tells
    /// when that begins, and when it is done, which is before a disk or a log is waited for. Where
    /// others commit meanwhile it may have to begin again. A merge, or a revert that is settled, is
    /// compared as it is prepared ([`merge`](TreeHandle::merge),
    /// [`prepare_revert`](TreeHandle::prepare_revert)), and tells nobody. There is an example at
    /// [`Comparing`].
    #[must_use]
    pub fn tell_comparing(&self, told: Arc<dyn Comparing>) -> TreeHandle {
        TreeHandle { comparing: Some(told), ..self.clone() }
    }

    /// Tells that something is compared.
    pub(super) fn comparing(&self) -> Compared<'_> {
        let told = self.comparing.as_deref();
        if let Some(told) = told {
            told.begin();
        }
        Compared(told)
    }
}

impl Drop for Compared<'_> {
    fn drop(&mut self) {
        if let Some(told) = self.0 {
            told.end();
        }
    }
}
