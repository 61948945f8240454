//! How much the server accepts.

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
    /// Bytes of the head of a request; 64 KiB.
    pub head_bytes_max: usize,
    /// How long the head of a request may take, from when one is awaited: so an idle connection is
    /// closed after it, too; 10 s.
    pub head_time: Duration,
    /// How long a body may take; 30 s.
    pub body_time: Duration,
    /// How long a streamed body may stand still, in either direction; 10 s.
    pub piece_time: Duration,
    /// How long a client may take nothing of what is sent to it; 30 s.
    pub write_time: Duration,
    /// Connections at a time; 4,096.
    pub connections_max: usize,
    /// Of these from one address that is not this machine's; 64.
    pub connections_per_address_max: usize,
    /// Requests a second from one address that is not this machine's, and four times as many at
    /// once; 250.
    pub requests_per_second_max: u32,
    /// Streams that watch; 2,048.
    pub watchers_max: usize,
    /// Commits to a folder at a time that may take long (short ones are done at once); the others
    /// wait in line. More make larger groups for one sync, until they get in each other's way in
    /// memory; 32.
    pub commits_max: usize,
    /// Searches, diffs, merges and far pages at a time; the others wait in line, so that commits
    /// always find a thread; 8.
    pub long_reads_max: usize,
    /// How long they wait there, before they are refused; 10 s.
    pub line_time: Duration,
    /// Exports and imports at a time; 8.
    pub documents_max: usize,
    /// How long requests that are being worked on may take when the server stops; 10 s.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes_max: 2 << 20,
            document_bytes_max: 1 << 30,
            head_bytes_max: 64 << 10,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            piece_time: Duration::from_secs(10),
            write_time: Duration::from_secs(30),
            connections_max: 4096,
            connections_per_address_max: 64,
            requests_per_second_max: 250,
            watchers_max: 2048,
            commits_max: 32,
            long_reads_max: 8,
            line_time: Duration::from_secs(10),
            documents_max: 8,
            stop_time: Duration::from_secs(10),
        }
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
/// Things on a page.
pub(crate) const PAGE_MAX: usize = 1000;
/// Things on a page when nothing is said.
pub(crate) const PAGE: usize = 100;
/// Bytes of a page, about: it ends where it passes this.
pub(crate) const PAGE_BYTES: usize = 1 << 20;
/// Bytes of a value in a page.
pub(crate) const SHORT_VALUE_BYTES_MAX: usize = 1 << 10;
/// Bytes of a value of a single node.
pub(crate) const VALUE_BYTES_MAX: usize = 64 << 10;
/// Attributes of a node in a page.
pub(crate) const SHORT_ATTRIBUTES_MAX: usize = 100;
