//! What was found as a folder was opened.

use jungle_db::Revision;

use super::Spilling;
use crate::log::recover::{Cut, End};

/// What was found as a folder was opened: [`Store::report`](crate::Store::report) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// The newest revision.
    pub revision: Revision,
    /// The newest revision that was in the checkpoint; 0 without one. What came since was read from
    /// the log.
    pub checkpoint: Revision,
    /// Why a checkpoint that is there was left out: the whole log was read instead, and the next
    /// checkpoint will be a new one.
    pub ignored: Option<Box<str>>,
    /// What its file is called now, in place of such a one of before, if the folder is opened to
    /// write. Nothing needs it but somebody who looks for the cause; it goes with the part of the
    /// log that is not kept.
    pub kept_as: Option<&'static str>,
    /// How many segments the log has.
    pub segments: u64,
    /// How many bytes its commits take.
    pub log_bytes: u64,
    /// Whether it was closed, so that its end is known; true of a new one.
    pub was_closed: bool,
    /// What was cut off at its end (what would be, if it is only read).
    pub cut: Option<Cut>,
    /// Whether somebody else writes to it, see
    /// [`OpenOptions::beside_a_writer`](crate::OpenOptions::beside_a_writer).
    pub is_written_elsewhere: bool,
    /// Whether its trees may be larger than memory, see
    /// [`OpenOptions::spill`](crate::OpenOptions::spill).
    pub spilling: Spilling,
}

impl OpenReport {
    pub(super) fn new(end: Option<&End>, checkpoint: Revision, spilling: Spilling) -> OpenReport {
        let Some(end) = end else {
            let (segments, log_bytes, was_closed) = (0, 0, true);
            return OpenReport {
                revision: Revision::default(),
                checkpoint,
                ignored: None,
                kept_as: None,
                segments,
                log_bytes,
                was_closed,
                cut: None,
                is_written_elsewhere: false,
                spilling,
            };
        };
        OpenReport {
            revision: Revision::new(end.at.next - 1),
            checkpoint,
            ignored: None,
            kept_as: None,
            segments: end.segments,
            log_bytes: end.at.bytes,
            was_closed: end.closed,
            cut: end.cut.clone(),
            is_written_elsewhere: false,
            spilling,
        }
    }
}
