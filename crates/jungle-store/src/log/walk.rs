//! Segments of a log one by one, as they come and as far as they are whole: for those who read it
//! while somebody writes to it.

use jungle_db::Revision;

use super::frame::Frame;
use super::segment::{SEGMENT_HEADER, SegmentHeader, name, read_file};
use crate::disk::Disk;
use crate::error::{Damage, OpenError};
use crate::planted::{Bug, is_awake};
use crate::wire::Input;

/// The end of a log, or any place in it between two frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first revision of the segment.
    pub(crate) segment: u64,
    pub(crate) offset: usize,
    /// The checksum of the frame before.
    pub(crate) check: u32,
    /// The next revision.
    pub(crate) next: u64,
}

/// A segment as it comes.
pub(crate) struct Came {
    pub(crate) first: u64,
    /// Its bytes, but perhaps not the zeros at its end.
    pub(crate) bytes: Vec<u8>,
    /// How long its file is.
    pub(crate) len: u64,
}

impl Came {
    pub(crate) fn in_file(disk: &dyn Disk, first: u64) -> Result<Came, OpenError> {
        let bytes = read_file(disk, &name(first))?;
        let len = bytes.len() as u64;
        Ok(Came { first, bytes, len })
    }
}

/// A segment that was looked through, as far as it is whole.
pub(crate) struct Segment {
    pub(crate) bytes: Vec<u8>,
    /// How long its file is.
    pub(crate) len: u64,
    pub(crate) end: Place,
    /// Where the frame ends that says that another segment follows.
    pub(crate) seal: Option<usize>,
    /// Was the place that was looked for in it?
    pub(crate) found: bool,
}

impl Segment {
    /// Gives each record, with its revision, of what is whole.
    pub(crate) fn each_record<E>(
        &self,
        mut each: impl FnMut(Revision, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = SEGMENT_HEADER;
        while at < self.end.offset {
            let frame = Frame::claimed(&self.bytes[at..]).expect("it was looked at");
            let (mut input, mut revision) = (Input::new(frame.records), frame.first);
            while !input.is_empty() {
                let record = input.bytes().expect("they were counted");
                each(Revision::new(revision), record)?;
                revision += 1;
            }
            at += frame.len;
        }
        Ok(())
    }
}

/// Reads a segment that follows `before`, up to the frame with the revision `up_to`, and looks for
/// a place in it.
pub(crate) fn read(
    disk: &dyn Disk,
    first: u64,
    before: Option<&Place>,
    wanted: Option<&Place>,
    up_to: u64,
) -> Result<Segment, OpenError> {
    look(Came::in_file(disk, first)?, before, wanted, up_to)
}

/// The same, of one that came.
pub(crate) fn look(
    came: Came,
    before: Option<&Place>,
    wanted: Option<&Place>,
    up_to: u64,
) -> Result<Segment, OpenError> {
    let Came { first, bytes, len } = came;
    let file = name(first);
    let name = &*file;
    let (header, check) = SegmentHeader::read(name, &bytes)?;
    // Where a log begins that is not complete, the checkpoint says; opening the copy finds out.
    let (previous, next) = match before {
        Some(before) => (before.check, before.next),
        None if first > 1 => (header.previous, header.first),
        None => (0, 1),
    };
    // A header may claim 0.
    let newest = || Some(Revision::new(next.saturating_sub(1)));
    if header.first != first || (header.first, header.previous) != (next, previous) {
        return Err(OpenError::damaged(name, 0, newest(), Damage::Chain));
    }
    if header.bytes > len {
        return Err(OpenError::damaged(name, len, newest(), Damage::TooShort));
    }
    let mut end = Place { segment: first, offset: SEGMENT_HEADER, check, next };
    let (mut seal, mut found) = (None, wanted == Some(&end));
    while end.next <= up_to
        && let Some(frame) = Frame::read(&bytes[end.offset..])
    {
        if (frame.previous, frame.first) != (end.check, end.next) {
            break;
        }
        if is_awake(Bug::BackupEndsEarly) && Frame::read(&bytes[end.offset + frame.len..]).is_none()
        {
            break;
        }
        if frame.records.is_empty() {
            seal = Some(end.offset + frame.len);
            break;
        }
        end.offset += frame.len;
        end.check = frame.check;
        let following = records(frame.records).and_then(|records| end.next.checked_add(records));
        end.next = following.ok_or_else(|| {
            OpenError::damaged(name, end.offset as u64, newest(), Damage::Checksum)
        })?;
        found |= wanted == Some(&end);
    }
    Ok(Segment { bytes, len, end, seal, found })
}

/// How many records a frame has.
fn records(bytes: &[u8]) -> Option<u64> {
    let mut input = Input::new(bytes);
    let mut records = 0;
    while !input.is_empty() {
        input.bytes().ok()?;
        records += 1;
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_claims_to_begin_with_no_revision_is_damage() {
        let (header, _) = SegmentHeader { first: 0, bytes: 0, previous: 0 }.bytes();
        let came = Came { first: 5, bytes: header.to_vec(), len: SEGMENT_HEADER as u64 };
        let looked = look(came, None, None, u64::MAX);
        assert!(matches!(looked, Err(OpenError::Damaged { what: Damage::Chain, .. })));
    }
}
