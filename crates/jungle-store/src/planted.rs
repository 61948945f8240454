//! Deliberate bugs, to see that the torture suites find them. Each sleeps until it is woken by
//! name, and without the feature `planted` none is there at all.

/// A bug that can be woken. Each breaks one thing that durability rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Every eighth group is not synced.
    SyncSkipped,
    /// A group is acknowledged when it is written, before it is synced.
    AcknowledgedEarly,
    /// Those who share a group with the one who syncs it do not wait for that.
    FollowersAcknowledgedEarly,
    /// A failed sync is asked for again, and the second answer believed.
    SyncRetried,
    /// A frame is taken whatever its checksum is.
    ChecksumIgnored,
    /// Nobody asks whether a frame is the one that follows.
    ChainIgnored,
    /// A new segment's name is not made to last.
    FolderNotSynced,
    /// With a torn end the group before it is cut off, too.
    CutTooMuch,
    /// Damage of what was synced is taken for a torn end.
    DamageTakenForTear,
    /// The same, but only behind groups that were not synced one by one.
    UnsyncedTakenForTear,
    /// The mark of a clean end stays while the log is written to.
    MarkStays,
    /// What may not have reached the disk is not written again when the log is opened.
    DoubtfulNotRewritten,
    /// The log is shortened up to a checkpoint that is not written yet.
    TrimmedEarly,
    /// One segment too many of the log is removed.
    TrimmedTooMuch,
    /// Every third slab that has changed is not in the checkpoint.
    SlabForgotten,
    /// Pages that could not be made to last are gone on with.
    UnfinishedPagesKept,
    /// A checkpoint does not have what is kept of a branch's history.
    RetentionForgotten,
    /// Room is made for as many trees as a checkpoint says it has.
    LengthBelieved,
    /// An erasure goes on before the files that had it are removed for good.
    OldFilesStay,
    /// Pages that were compacted are gone on with before their name is made to last.
    CompactedUnsynced,
    /// A backup leaves out the last group, and says nothing.
    BackupEndsEarly,
}

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 21] = [
        Bug::SyncSkipped,
        Bug::AcknowledgedEarly,
        Bug::FollowersAcknowledgedEarly,
        Bug::SyncRetried,
        Bug::ChecksumIgnored,
        Bug::ChainIgnored,
        Bug::FolderNotSynced,
        Bug::CutTooMuch,
        Bug::DamageTakenForTear,
        Bug::UnsyncedTakenForTear,
        Bug::MarkStays,
        Bug::DoubtfulNotRewritten,
        Bug::TrimmedEarly,
        Bug::TrimmedTooMuch,
        Bug::SlabForgotten,
        Bug::UnfinishedPagesKept,
        Bug::RetentionForgotten,
        Bug::LengthBelieved,
        Bug::OldFilesStay,
        Bug::CompactedUnsynced,
        Bug::BackupEndsEarly,
    ];
}

/// Is it awake?
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn is_awake(_bug: Bug) -> bool {
    false
}

#[cfg(feature = "planted")]
pub(crate) use awake::is_awake;
#[cfg(feature = "planted")]
pub use awake::wake;

#[cfg(feature = "planted")]
mod awake {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Bug;

    static AWAKE: AtomicU64 = AtomicU64::new(0);

    /// Wakes a bug, for all stores of the process and for good; gives it, if it has this name.
    pub fn wake(name: &str) -> Option<Bug> {
        let bug = Bug::ALL.into_iter().find(|bug| format!("{bug:?}") == name)?;
        AWAKE.fetch_or(1 << bug as u64, Ordering::Relaxed);
        Some(bug)
    }

    /// Is it awake?
    pub(crate) fn is_awake(bug: Bug) -> bool {
        AWAKE.load(Ordering::Relaxed) >> bug as u64 & 1 == 1
    }
}
