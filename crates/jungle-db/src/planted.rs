//! Deliberate bugs, to see that the tests find them: see `jungle_tree::planted`.

jungle_tree::planted_bugs! {
    /// A commit that waited for the locks is published without a second look at the heads.
    PublishWithoutLook,
    /// A rebase does not ask again what the transaction read.
    RebaseDropsReads,
    /// A commit that spans trees reaches only the first of them.
    HalfPublished,
    /// One commit in five is not written down.
    AppendSkipped,
    /// What the journal refused is visible all the same.
    RefusedIsVisible,
    /// A commit does not wake who waits for it.
    WatcherForgotten,
    /// A watcher that has fallen behind misses every other revision.
    WatchSkips,
    /// A snapshot of all trees does not look whether a commit is under way.
    SnapshotTorn,
    /// A version that is held is told with whatever revision is noted just then.
    RevisionGuessed,
    /// One that keeps losing does not get its turn.
    TurnForgotten,
    /// A root is set without a second look at whether it is still the expected one.
    SetWithoutLook,
    /// A tag does not hold its revision: it goes when retention drops it.
    TagDropped,
    /// An index is not brought up to the version that it is asked for.
    IndexStays,
    /// Asked for a time, it gives the revision after it.
    TimeOffByOne,
    /// Retention by number keeps one too few.
    RetentionOffByOne,
    /// A branch that was merged is merged again from where it left.
    MergeBaseForgotten,
}
