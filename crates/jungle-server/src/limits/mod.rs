//! How much the server accepts.

pub(crate) mod line;
pub(crate) mod places;
pub(crate) mod rate;

use std::time::Duration;

/// How much a server accepts, each limit inclusive. What passes one is refused with a problem that
/// names it.
///
/// ```
/// use jungle_server::Limits;
/// let limits = Limits { connections_max: 100, ..Limits::default() };
/// assert_eq!(limits.body_bytes_max, 2 << 20);
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body; 2 MiB.
    pub body_bytes_max: usize,
    /// Bytes of a document that is imported; 1 GiB.
    pub document_bytes_max: u64,
    /// Bytes of a value; 64 MiB, and a tree takes no more.
    pub value_bytes_max: usize,
    /// Bytes of a message of a bulletin board; 64,000.
    pub board_message_bytes_max: usize,
    /// Bytes of the head of a request; 64 KiB.
    pub head_bytes_max: usize,
    /// How long the head of a request may take, from when one is awaited: so an idle connection is
    /// closed after it, too; 10 s.
    pub head_time: Duration,
    /// How long a body may stand still, in either direction; 10 s.
    pub piece_time: Duration,
    /// Bytes a second with which a body comes at least while it is waited for, but for
    /// `piece_time` of that; 1 KiB.
    pub body_rate_min: u32,
    /// Bytes a second of the folder's copy that a client takes at least, over five minutes: no
    /// checkpoint is written until it has all; 128 KiB.
    pub copy_rate_min: u32,
    /// How long a client may take nothing of what is sent to it; 10 s. What the system holds for
    /// it is about what it takes in a round trip or two, so one that is slow takes some much
    /// sooner.
    pub write_time: Duration,
    /// Connections at a time; 4,096.
    pub connections_max: usize,
    /// Of these from one address that is not this machine's; 64.
    pub connections_per_address_max: usize,
    /// Requests a second from one address that is not this machine's, and four times as many at
    /// once; 250.
    pub requests_per_second_max: u32,
    /// Streams that watch, a quarter of them for each user, token or address that is not this
    /// machine's; 2,048.
    pub watchers_max: usize,
    /// Commits to a folder at a time that may take long (short ones are done at once); the others
    /// wait in line. Merges and reverts are among them while they wait for a disk or a log. More
    /// make larger groups for one sync, until they get in each other's way in memory; 32.
    pub commits_max: usize,
    /// Searches, diffs, merges, reverts, far pages, messages with earlier versions, revisions that
    /// are many steps back, and pieces of a history that are read for who watches, at a time, half
    /// of them, rounded up, for each user, token or address that is not this machine's (one client
    /// may have the only one); the others wait in line, so that commits always find a thread; 8.
    /// What waits for a disk or a log has no turn, as long as it is one of `commits_max`.
    pub long_reads_max: usize,
    /// How long they wait there, before they are refused; 10 s.
    pub line_time: Duration,
    /// Steps of a diff, a merge, a revert, a commit of more than 64 edits (for each of its trees),
    /// a revision that is watched, or a page of the revisions that changed something: a step is a
    /// node or an attribute that is looked at because it may differ, or a key in the path of what
    /// does, and of a long one each 64 bytes; 20,000,000, which take some seconds and a gigabyte.
    /// An import may take 16 more for each child and attribute that it has added, put or taken
    /// away.
    pub compare_steps_max: usize,
    /// Attribute keys that a tree has brought in, which no tree had before: from then on it takes
    /// new ones only of those who may administer all trees; 65,536. All trees together take
    /// 1,048,576 and never give them back, so nobody may use them up from within a few trees. It is
    /// at least 1,024: below, it is not remembered from one opening of a folder to the next.
    pub attribute_keys_max: usize,
    /// Exports, values above 1 MiB and what differs between documents too, and imports at a time, a
    /// quarter of them, rounded up, for each user, token or address that is not this machine's; 8.
    pub documents_max: usize,
    /// How long requests that are being worked on may take when the server stops; 10 s.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes_max: 2 << 20,
            document_bytes_max: 1 << 30,
            value_bytes_max: jungle::VALUE_BYTES_MAX,
            board_message_bytes_max: 64_000,
            head_bytes_max: 64 << 10,
            head_time: Duration::from_secs(10),
            piece_time: Duration::from_secs(10),
            body_rate_min: 1 << 10,
            copy_rate_min: 128 << 10,
            write_time: Duration::from_secs(10),
            connections_max: 4096,
            connections_per_address_max: 64,
            requests_per_second_max: 250,
            watchers_max: 2048,
            commits_max: 32,
            long_reads_max: 8,
            compare_steps_max: 20_000_000,
            attribute_keys_max: 1 << 16,
            line_time: Duration::from_secs(10),
            documents_max: 8,
            stop_time: Duration::from_secs(10),
        }
    }
}

/// Why a limit was not set.
///
/// ```
/// use jungle_server::{LimitError, Limits};
/// let mut limits = Limits::default();
/// assert!(matches!(limits.set("conections", 100), Err(LimitError::NoSuch { .. })));
/// let error = limits.set("connections", 0).unwrap_err();
/// assert!(error.to_string().starts_with("connections is from 1 to "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// It has another name.
    #[error("there is no limit of the name {name:?}")]
    NoSuch {
        /// The name that was given.
        name: String,
    },
    /// It cannot be so low or so high.
    #[error("{name} is from {least} to {most}")]
    OutOfRange {
        /// Of which one.
        name: &'static str,
        /// What it is at least.
        least: u64,
        /// And at most.
        most: u64,
    },
}

/// One limit, as a number.
enum Part<'l> {
    Count(&'l mut usize),
    Rate(&'l mut u32),
    Bytes(&'l mut u64),
    Seconds(&'l mut Duration),
}

/// No time-out is longer: a year.
const SECONDS_MAX: u64 = 365 * 24 * 60 * 60;

impl Limits {
    /// Their names, and what there must be of each to serve anybody.
    fn parts(&mut self) -> [(&'static str, u64, Part<'_>); 21] {
        use Part::{Bytes, Count, Rate, Seconds};
        [
            ("body-bytes", 1, Count(&mut self.body_bytes_max)),
            ("document-bytes", 0, Bytes(&mut self.document_bytes_max)),
            ("value-bytes", 0, Count(&mut self.value_bytes_max)),
            ("board-message-bytes", 1, Count(&mut self.board_message_bytes_max)),
            // Less, hyper does not take.
            ("head-bytes", 8 << 10, Count(&mut self.head_bytes_max)),
            ("head-seconds", 1, Seconds(&mut self.head_time)),
            ("piece-seconds", 1, Seconds(&mut self.piece_time)),
            ("body-bytes-per-second", 0, Rate(&mut self.body_rate_min)),
            ("copy-bytes-per-second", 0, Rate(&mut self.copy_rate_min)),
            ("write-seconds", 1, Seconds(&mut self.write_time)),
            ("connections", 1, Count(&mut self.connections_max)),
            ("connections-per-address", 1, Count(&mut self.connections_per_address_max)),
            ("requests-per-second", 1, Rate(&mut self.requests_per_second_max)),
            ("watchers", 0, Count(&mut self.watchers_max)),
            ("commits", 1, Count(&mut self.commits_max)),
            ("long-reads", 1, Count(&mut self.long_reads_max)),
            ("compare-steps", 1, Count(&mut self.compare_steps_max)),
            ("attribute-keys", 1 << 10, Count(&mut self.attribute_keys_max)),
            ("line-seconds", 0, Seconds(&mut self.line_time)),
            ("documents", 0, Count(&mut self.documents_max)),
            ("stop-seconds", 0, Seconds(&mut self.stop_time)),
        ]
    }

    /// All of them by name, times in seconds.
    ///
    /// ```
    /// use jungle_server::Limits;
    /// let list = Limits::default().list();
    /// assert!(list.contains(&("connections", 4096)) && list.contains(&("head-seconds", 10)));
    /// ```
    #[must_use]
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        let mut limits = self.clone();
        let value = |part| match part {
            Part::Count(count) => *count as u64,
            Part::Rate(rate) => u64::from(*rate),
            Part::Bytes(bytes) => *bytes,
            Part::Seconds(time) => time.as_secs(),
        };
        limits.parts().map(|(name, _, part)| (name, value(part))).to_vec()
    }

    /// Sets one by its name, times in seconds.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be so low or so high.
    ///
    /// ```
    /// use jungle_server::{LimitError, Limits};
    /// let mut limits = Limits::default();
    /// limits.set("connections-per-address", 8)?;
    /// assert_eq!(limits.connections_per_address_max, 8);
    /// assert!(matches!(limits.set("connections", 0), Err(LimitError::OutOfRange { .. })));
    /// # Ok::<(), LimitError>(())
    /// ```
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
        let mut parts = self.parts().into_iter();
        let Some((name, least, part)) = parts.find(|(of, ..)| *of == name) else {
            return Err(LimitError::NoSuch { name: name.to_owned() });
        };
        let most = match &part {
            // What semaphores take.
            Part::Count(_) => (usize::MAX >> 3) as u64,
            Part::Rate(_) => u64::from(u32::MAX),
            Part::Bytes(_) => u64::MAX,
            Part::Seconds(_) => SECONDS_MAX,
        };
        if !(least..=most).contains(&value) {
            return Err(LimitError::OutOfRange { name, least, most });
        }
        match part {
            Part::Count(count) => *count = value as usize,
            Part::Rate(rate) => *rate = value as u32,
            Part::Bytes(bytes) => *bytes = value,
            Part::Seconds(time) => *time = Duration::from_secs(value),
        }
        Ok(())
    }
}

/// Bytes of a path in a tree, as text.
pub(crate) const PATH_BYTES_MAX: usize = 8192;
/// Keys of a path in a tree.
pub(crate) const PATH_KEYS_MAX: usize = 512;
/// Bytes of an author's name.
pub(crate) const AUTHOR_BYTES_MAX: usize = 255;
/// Bytes of a message that says why.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4096;
/// Bytes that the paths of all nodes made by a batch take in memory.
pub(crate) const MADE_BYTES_MAX: usize = 8 << 20;
/// Edits in a batch.
pub(crate) const EDITS_MAX: usize = 10_000;
/// Branches in a commit of several trees.
pub(crate) const TREES_MAX: usize = 100;
/// Things on a page.
pub(crate) const PAGE_MAX: usize = 1000;
/// Things on a page when nothing is said.
pub(crate) const PAGE: usize = 100;
/// Bytes of a page, about: it ends where it passes this.
pub(crate) const PAGE_BYTES: usize = 1 << 20;
/// Bytes of a value in a page.
pub(crate) const SHORT_VALUE_BYTES_MAX: usize = 1 << 10;
/// Bytes of a value that a single node is shown with.
pub(crate) const VALUE_BYTES_MAX: usize = 64 << 10;
/// Attributes of a node in a page.
pub(crate) const SHORT_ATTRIBUTES_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_set_by_the_name_it_is_listed_by() {
        let usual = Limits::default().list();
        for (at, &(name, value)) in usual.iter().enumerate() {
            let mut limits = Limits::default();
            limits.set(name, value + 9_000).unwrap();
            let mut expected = usual.clone();
            expected[at].1 += 9_000;
            assert_eq!(limits.list(), expected);
            let too_high = limits.set(name, u64::MAX);
            assert!(too_high.is_ok() == (name == "document-bytes"), "{name}");
        }
        let none = Limits::default().set("connection", 1).unwrap_err();
        assert_eq!(none.to_string(), "there is no limit of the name \"connection\"");
    }
}
