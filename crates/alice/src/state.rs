//! What is behind a queue's lock.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::bound::{Bound, WhenFull};
use crate::error::NotPut;
use crate::line::Line;
use crate::segment::Segment;

pub struct State<T> {
    /// The head first. Their indexes grow from each to the next.
    pub(crate) segments: VecDeque<Segment<T>>,
    /// The index of the newest one there ever was.
    pub(crate) newest: u64,
    /// The index of the last one that replaced all others.
    pub(crate) update: u64,
    pub(crate) line: Line,
    pub(crate) bound: Option<Bound>,
    /// How many the bound has pushed out.
    pub(crate) displaced: u64,
    /// How many threads wait for room.
    pub(crate) wait_for_room: usize,
    pub(crate) is_closed: bool,
}

impl<T> std::fmt::Debug for State<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("State");
        shown.field("segments", &self.segments.len());
        shown.field("newest", &self.newest);
        shown.field("line", &self.line);
        shown.finish_non_exhaustive()
    }
}

impl<T: crate::Data> State<T> {
    pub(crate) fn new(is_closed: bool) -> State<T> {
        State {
            segments: VecDeque::new(),
            newest: 0,
            update: 0,
            line: Line::default(),
            bound: None,
            displaced: 0,
            wait_for_room: 0,
            is_closed,
        }
    }

    /// Makes room for one more. What had to go for it is given, to be dropped outside of the lock:
    /// dropping it may run the program's own code.
    pub(crate) fn make_room(&mut self) -> Result<Option<Segment<T>>, NotPut> {
        if self.is_closed {
            return Err(NotPut::Closed);
        }
        match self.bound {
            Some(Bound { segments_max, when_full })
                if self.segments.len() >= segments_max.get() =>
            {
                match when_full {
                    WhenFull::Refuse => Err(NotPut::Full { segments_max: segments_max.get() }),
                    WhenFull::DropOldest => {
                        self.displaced += 1;
                        Ok(self.segments.pop_front())
                    }
                }
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn append(&mut self, data: Arc<T>) -> u64 {
        self.newest += 1;
        self.segments.push_back(Segment::received(data, self.newest));
        self.newest
    }

    /// Inserts one that was taken at its old place; false when it has been replaced since.
    pub(crate) fn give_back(&mut self, segment: &Segment<T>) -> bool {
        let is_wanted = segment.index() >= self.update;
        if is_wanted {
            let at = self.segments.partition_point(|other| other.index() < segment.index());
            self.segments.insert(at, segment.clone());
        }
        is_wanted
    }

    /// The oldest one that is newer than `seen`.
    pub(crate) fn newer(&self, seen: u64) -> Option<&Segment<T>> {
        let at = self.segments.partition_point(|segment| segment.index() <= seen);
        self.segments.get(at)
    }
}
