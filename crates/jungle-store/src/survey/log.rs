//! The log's bytes, each segment by itself: what is whole does not depend on what was before it.

use super::Surveyor;
use crate::disk::{Mode, read_full};
use crate::error::{Damage, OpenError};
use crate::log::frame::Frame;
use crate::log::mark::Mark;
use crate::log::recover::{is_later, search, segments, shows_damage};
use crate::log::segment::{SEGMENT_HEADER, SegmentHeader, name, read_file};
use crate::wire::Input;
use jungle_db::Revision;

/// What the next frame, or segment, must say to be in its place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Next {
    check: u32,
    revision: u64,
}

impl Next {
    fn before(self) -> Option<Revision> {
        self.revision.checked_sub(1).filter(|&newest| newest > 0).map(Revision::new)
    }
}

/// What ends a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// A frame that says so: another segment follows, which says what it follows. If that is the
    /// last frame here, nothing else says so where the seal was to be written as the log ended.
    Sealed(Option<Next>),
    /// The log's own end, which is known to be behind this revision.
    Closed(u64),
    /// The log's own end, wherever that is: it may be torn.
    Open,
}

impl End {
    /// Is it in front of the rest of a segment, where this comes next?
    fn is_before(self, rest: &[u8], next: Option<Next>) -> bool {
        match self {
            End::Closed(revision) => next.is_some_and(|next| next.revision > revision),
            End::Open => is_zeros(rest),
            End::Sealed(behind) => next.is_some() && next == behind,
        }
    }
}

impl Surveyor<'_> {
    /// Looks at all segments.
    pub(super) fn log(&mut self) -> Result<(), OpenError> {
        let written = self.written.map_or(u64::MAX, |written| written.segment);
        let mut firsts = segments(&**self.disk)?;
        firsts.retain(|&first| first <= written);
        let mut next: Option<Next> = None;
        for (at, &first) in firsts.iter().enumerate() {
            let end = match (self.mark, self.written) {
                _ if at + 1 < firsts.len() => End::Sealed(self.begins_behind(firsts[at + 1])),
                // Whoever goes on writing knows how far it is: nothing before that is torn.
                (_, Some(written)) => End::Closed(written.next.saturating_sub(1)),
                (Some(Mark::Closed { revision, .. }), None) => End::Closed(revision),
                (_, None) => End::Open,
            };
            self.progress.go_on()?;
            self.is_whole = true;
            if let Some(gap) = next.take_if(|next| next.revision < first) {
                let revision = Revision::new(gap.revision);
                self.wrong(OpenError::Missing { revision });
            }
            next = self.segment(first, next, end);
            self.found.segments += 1;
            self.found.whole_segments += u64::from(self.is_whole);
        }
        Ok(())
    }

    /// What the segment with this first revision says of the end of the one before.
    fn begins_behind(&self, first: u64) -> Option<Next> {
        let name = name(first);
        let file = self.disk.open(&name, Mode::Read).ok()?;
        let mut bytes = [0; SEGMENT_HEADER];
        let read = read_full(&*file, &mut bytes, 0).ok()?;
        let (header, _) = SegmentHeader::read(&name, &bytes[..read]).ok()?;
        Some(Next { check: header.previous, revision: header.first })
    }

    /// Looks at a segment; gives what follows it, if that is known.
    fn segment(&mut self, first: u64, before: Option<Next>, end: End) -> Option<Next> {
        let name = name(first);
        let mut bytes = match read_file(&**self.disk, &name) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.wrong(error);
                return None;
            }
        };
        if let Some(written) = self.written.filter(|written| written.segment == first) {
            bytes.truncate(written.offset as usize);
        } else if let Err(what) = is_long_enough(&bytes) {
            self.damaged(&name, bytes.len(), before, what);
        }
        let next = match SegmentHeader::read(&name, &bytes) {
            Ok((header, check)) if header.first == first => {
                if before.is_some_and(|before| before.check != header.previous) {
                    self.damaged(&name, 0, before, Damage::Chain);
                }
                Some(Next { check, revision: first })
            }
            Ok(_) => {
                self.damaged(&name, 0, before, Damage::Header);
                None
            }
            Err(error) => {
                self.wrong(error);
                None
            }
        };
        self.frames(&name, &bytes, next, end)
    }

    fn frames(
        &mut self,
        name: &str,
        bytes: &[u8],
        mut next: Option<Next>,
        end: End,
    ) -> Option<Next> {
        let mut at = SEGMENT_HEADER.min(bytes.len());
        // Up to where all is in its place, and the revision that comes there. What is found behind
        // a damage may be another log's still: what comes behind that is not held against it.
        let mut sure = next.map(|next| (at, next.revision));
        let mut is_sure = sure.is_some();
        loop {
            let frame = Frame::read(&bytes[at..]);
            if let Some(frame) = frame {
                let is = Next { check: frame.previous, revision: frame.first };
                if next.is_some_and(|next| next != is) {
                    self.damaged(name, at, next, Damage::Chain);
                    is_sure = false;
                }
                let count = records(frame.records);
                let after = frame.first.saturating_add(count);
                next = Some(Next { check: frame.check, revision: after });
                if is_sure {
                    sure = Some((at + frame.len, after));
                }
                if count == 0 {
                    // The next segment follows the frame before this one.
                    return Some(is);
                }
                self.found.note_whole(frame.first..=after - 1);
                at += frame.len;
                continue;
            }
            let rest = &bytes[at..];
            if end.is_before(rest, next) {
                return next;
            }
            // What lies behind a torn end was not synced, as little as that.
            let counts = |behind, frame: Frame<'_>| {
                let is_synced = end != End::Open || shows_damage(frame, behind, None);
                let from = sure.map_or(at, |(from, _)| from);
                is_synced && is_later(frame, at - from + behind, sure.map(|(_, next)| next))
            };
            let Some(behind) = search(rest, counts) else {
                if end != End::Open {
                    let what = if is_zeros(rest) { Damage::EndsEarly } else { Damage::Checksum };
                    self.damaged(name, at, next, what);
                }
                return None;
            };
            self.damaged(name, at, next, Damage::Checksum);
            at += behind;
            (next, is_sure) = (None, false);
        }
    }

    fn damaged(&mut self, file: &str, offset: usize, next: Option<Next>, what: Damage) {
        let newest = next.and_then(Next::before);
        self.wrong(OpenError::damaged(file, offset as u64, newest, what));
    }

    fn wrong(&mut self, error: OpenError) {
        self.is_whole = false;
        self.found.note(error.into());
    }
}

fn is_long_enough(bytes: &[u8]) -> Result<(), Damage> {
    match SegmentHeader::read("", bytes) {
        Ok((header, _)) if header.bytes > bytes.len() as u64 => Err(Damage::TooShort),
        _ => Ok(()),
    }
}

fn is_zeros(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// How many records a frame has.
fn records(bytes: &[u8]) -> u64 {
    let mut input = Input::new(bytes);
    let mut count = 0;
    while !input.is_empty() && input.bytes().is_ok() {
        count += 1;
    }
    count
}
