//! What live keys say to each other: requests and answers as bytes.

use std::time::Duration;

use bytes::Bytes;

/// What is asked of the owner of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Put,
    Update,
    Take,
    Peek,
    /// The taker does not want to wait any more.
    Cancel,
    /// Who has this label?
    Who,
    /// What does the node look like?
    Status,
}

const CALLS: [(Call, &str); 7] = [
    (Call::Put, "put"),
    (Call::Update, "update"),
    (Call::Take, "take"),
    (Call::Peek, "peek"),
    (Call::Cancel, "cancel"),
    (Call::Who, "who"),
    (Call::Status, "status"),
];

impl Call {
    pub(crate) fn token(self) -> &'static str {
        let found = CALLS.iter().find(|(call, _)| *call == self);
        found.expect("the table has all").1
    }

    pub(crate) fn read(token: &str) -> Option<Call> {
        CALLS.iter().find(|(_, name)| *name == token).map(|(call, _)| *call)
    }
}

/// How long somebody waits, for what, and under which name he can cancel it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) wait: Duration,
    /// Of interest to peeks only: 0 is the head, any other number what is newer.
    pub(crate) seen: u64,
    pub(crate) id: String,
}

const ASK_HEAD_BYTES: usize = 4 + 8;
/// The longest name of a request that is looked at.
const ID_BYTES_MAX: usize = 64;

impl Ask {
    pub(crate) fn write(&self) -> Bytes {
        let wait_ms = u32::try_from(self.wait.as_millis()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(ASK_HEAD_BYTES + self.id.len());
        bytes.extend(wait_ms.to_le_bytes());
        bytes.extend(self.seen.to_le_bytes());
        bytes.extend(self.id.as_bytes());
        bytes.into()
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Ask> {
        let (wait_ms, rest) = bytes.split_first_chunk()?;
        let (seen, id) = rest.split_first_chunk()?;
        Some(Ask {
            wait: Duration::from_millis(u32::from_le_bytes(*wait_ms).into()),
            seen: u64::from_le_bytes(*seen),
            id: read_id(id)?,
        })
    }
}

pub(crate) fn read_id(bytes: &[u8]) -> Option<String> {
    let is_short = bytes.len() <= ID_BYTES_MAX;
    let id = std::str::from_utf8(bytes).ok().filter(|_| is_short)?;
    Some(id.to_owned())
}

/// What the owner answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It was put, and has this index.
    Put(u64),
    /// The data segment with this index.
    Segment(u64, Bytes),
    /// There was none in time, or the wait was cancelled.
    Nothing,
    /// It was not done.
    Refused(Refusal),
    /// Who has the label.
    Me(Bytes),
    /// What the node looks like.
    Status(Bytes),
}

/// Why the owner of a queue refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotServed,
    Closed,
    Busy,
    Full { segments_max: u64 },
    TooLarge { bytes: u64 },
    Unreadable { why: String },
    Failed { why: String },
}

const PUT: u8 = 0;
const SEGMENT: u8 = 1;
const NOTHING: u8 = 2;
const ME: u8 = 3;
const STATUS: u8 = 4;
const NOT_SERVED: u8 = 16;
const CLOSED: u8 = 17;
const BUSY: u8 = 18;
const FULL: u8 = 19;
const TOO_LARGE: u8 = 20;
const UNREADABLE: u8 = 21;
const FAILED: u8 = 22;

/// How long an explanation may be.
const WHY_BYTES_MAX: usize = 1000;

/// What stands before a data segment in an answer.
pub(crate) const SEGMENT_HEAD_BYTES: usize = 1 + 8;

impl Answer {
    pub(crate) fn write(&self) -> Bytes {
        let (kind, number, text): (u8, Option<u64>, &[u8]) = match self {
            Answer::Put(index) => (PUT, Some(*index), &[]),
            Answer::Segment(index, form) => (SEGMENT, Some(*index), form),
            Answer::Nothing => (NOTHING, None, &[]),
            Answer::Me(id) => (ME, None, id),
            Answer::Status(status) => (STATUS, None, status),
            Answer::Refused(why) => match why {
                Refusal::NotServed => (NOT_SERVED, None, &[]),
                Refusal::Closed => (CLOSED, None, &[]),
                Refusal::Busy => (BUSY, None, &[]),
                Refusal::Full { segments_max } => (FULL, Some(*segments_max), &[]),
                Refusal::TooLarge { bytes } => (TOO_LARGE, Some(*bytes), &[]),
                Refusal::Unreadable { why } => (UNREADABLE, None, beginning(why)),
                Refusal::Failed { why } => (FAILED, None, beginning(why)),
            },
        };
        let mut bytes = Vec::with_capacity(SEGMENT_HEAD_BYTES + text.len());
        bytes.push(kind);
        bytes.extend(number.map(u64::to_le_bytes).into_iter().flatten());
        bytes.extend(text);
        bytes.into()
    }

    /// `None` when it is no answer.
    pub(crate) fn read(bytes: &Bytes) -> Option<Answer> {
        let (kind, rest) = bytes.split_first()?;
        let number = || rest.first_chunk().map(|number| u64::from_le_bytes(*number));
        let why = || String::from_utf8_lossy(beginning_of(rest)).into_owned();
        Some(match *kind {
            PUT => Answer::Put(number()?),
            SEGMENT => Answer::Segment(number()?, bytes.slice(SEGMENT_HEAD_BYTES..)),
            NOTHING => Answer::Nothing,
            ME => Answer::Me(bytes.slice(1..)),
            STATUS => Answer::Status(bytes.slice(1..)),
            NOT_SERVED => Answer::Refused(Refusal::NotServed),
            CLOSED => Answer::Refused(Refusal::Closed),
            BUSY => Answer::Refused(Refusal::Busy),
            FULL => Answer::Refused(Refusal::Full { segments_max: number()? }),
            TOO_LARGE => Answer::Refused(Refusal::TooLarge { bytes: number()? }),
            UNREADABLE => Answer::Refused(Refusal::Unreadable { why: why() }),
            FAILED => Answer::Refused(Refusal::Failed { why: why() }),
            _ => return None,
        })
    }
}

fn beginning(text: &str) -> &[u8] {
    beginning_of(text.as_bytes())
}

fn beginning_of(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(WHY_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_asks_come_back_as_they_were() {
        let refusals = [
            Refusal::NotServed,
            Refusal::Closed,
            Refusal::Busy,
            Refusal::Full { segments_max: 7 },
            Refusal::TooLarge { bytes: 1 << 40 },
            Refusal::Unreadable { why: "no".into() },
            Refusal::Failed { why: String::new() },
        ];
        let others = [Answer::Put(9), Answer::Segment(3, "form".into()), Answer::Nothing];
        let me = Answer::Me("somebody".into());
        let all = refusals.map(Answer::Refused).into_iter().chain(others);
        let all = all.chain([me, Answer::Status("fine".into())]);
        for answer in all {
            assert_eq!(Answer::read(&answer.write()), Some(answer));
        }
        let ask = Ask { wait: Duration::from_millis(5), seen: 8, id: "me.1".into() };
        assert_eq!(Ask::read(&ask.write()), Some(ask));
    }

    #[test]
    fn bytes_of_others_are_nothing() {
        assert_eq!(Answer::read(&Bytes::new()), None);
        assert_eq!(Answer::read(&Bytes::from_static(&[99])), None);
        assert_eq!(Answer::read(&Bytes::from_static(&[SEGMENT, 1, 2])), None);
        assert_eq!(Ask::read(&[0; 11]), None);
        assert_eq!(Ask::read(&[b'x'; 200]), None);
    }
}
