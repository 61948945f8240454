//! What of a Jungle is copied: what lasts of its log, and the checkpoint where the log begins late.

use jungle_db::{Durability, Revision};

use super::BackupError;
use super::progress::Done;
use crate::disk::{Disk, Mode, synced_if_it_can};
use crate::error::{IoError, OpenError, doing};
use crate::log::recover::segments;
use crate::log::segment::{LOG, name};
use crate::pages::Table;
use crate::store::Store;

impl Store {
    /// Makes all that is committed so far last, and gives the newest revision of that.
    pub(super) fn made_last(&self) -> Result<Revision, BackupError> {
        let newest = self.revision();
        self.log().wait(newest.number(), Durability::Sync)?;
        // Whoever opens to write has done it then.
        if self.is_read_only() && !self.report().was_closed {
            sync_end(&**self.disk())?;
        }
        Ok(newest)
    }

    /// Gives all that the checkpoint has. Behind it the log is not cut off.
    pub(super) fn each_value(
        &self,
        done: &mut Done,
        mut give: impl FnMut(Table, u64, &[u8]) -> Result<(), BackupError>,
    ) -> Result<(), BackupError> {
        let missing = OpenError::Missing { revision: Revision::new(1) };
        let from = self.checkpoints.opened().ok_or(BackupError::Source(missing))?;
        let mut values = Vec::new();
        for table in Table::ALL {
            values.extend(from.keys(table, 0..=u64::MAX)?.into_iter().map(|key| (table, key)));
        }
        // What the values take up in the file is not known one by one.
        let bytes = self.disk_usage()?.pages_bytes;
        let each = bytes / (values.len() as u64).max(1);
        done.total += each * values.len() as u64;
        for (table, key) in values {
            done.go_on()?;
            if let Some(bytes) = from.get(table, key)? {
                give(table, key, &bytes)?;
            }
            done.add(each);
        }
        Ok(())
    }
}

/// Makes the end of a log last that somebody wrote who was killed then: it may be in the memory of
/// the system only, and a copy that had it would be ahead of this one once the power is lost.
fn sync_end(disk: &dyn Disk) -> Result<(), IoError> {
    let Some(last) = segments(disk)?.pop() else { return Ok(()) };
    let name = name(last);
    let file = disk.open(&name, Mode::Read).map_err(doing("open", &name))?;
    synced_if_it_can(file.sync_data()).map_err(doing("sync", &name))?;
    synced_if_it_can(disk.sync_folder(LOG)).map_err(doing("sync", LOG))?;
    synced_if_it_can(disk.sync_folder("")).map_err(doing("sync", "the folder"))
}

/// Is the log no longer there from its first revision on? Then the checkpoint is needed, too.
pub(super) fn begins_late(segments: &[u64]) -> bool {
    segments.first().is_some_and(|&first| first > 1)
}

/// Leaves those of the segments that have what is known to last.
pub(super) fn keep_lasting(segments: &mut Vec<u64>, newest: Revision) {
    // The first of them may have nothing yet.
    let lasting = segments.partition_point(|&first| first <= newest.number()).max(1);
    segments.truncate(lasting);
}

/// How long the files of these segments are.
pub(super) fn bytes_total(disk: &dyn Disk, segments: &[u64]) -> Result<u64, IoError> {
    let len = |&first: &u64| {
        let name = name(first);
        let file = disk.open(&name, Mode::Read).map_err(doing("open", &name))?;
        file.len().map_err(doing("ask the length of", &name))
    };
    segments.iter().map(len).sum()
}
