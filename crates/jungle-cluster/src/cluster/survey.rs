//! How every server of a cluster stands, and how the log does. Nobody keeps a list of servers:
//! whoever is there [answers](crate::Log::answer).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// So long servers have to say what they can do.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// After so long they are asked again, as long as one of them cannot.
pub(crate) const ASKED_EVERY: Duration = Duration::from_secs(30);

/// A cluster as a whole, as it was asked; the names of the fields are those of the JSON form.
/// [`Cluster::survey`](crate::Cluster::survey) has an example.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Survey {
    /// The log.
    pub log: LogStatus,
    /// The servers that answered, by their names.
    pub servers: Vec<ServerStatus>,
}

/// The log of a cluster, as the engine tells of it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LogStatus {
    /// What the engine calls it.
    pub stream: String,
    /// The sequence of the oldest message that is there.
    pub first: u64,
    /// The sequence of the newest message; 0 when there never was one.
    pub last: u64,
    /// How much it takes on each of the engine's servers that keep it, in bytes.
    pub bytes: u64,
    /// The engine's server that leads it; `None` while there is none.
    pub leader: Option<String>,
    /// The engine's other servers that keep it.
    pub replicas: Vec<Replica>,
    /// Whether the engine's servers sync before they answer; `None` where they do not say: see
    /// [`Options::allow_unsynced`](crate::Options::allow_unsynced).
    pub syncs: Option<bool>,
}

/// One of the engine's servers that keep the log.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Replica {
    /// Its name.
    pub name: String,
    /// Whether it has all that the leader has.
    pub current: bool,
    /// Whether the leader does not reach it.
    pub offline: bool,
    /// How many operations it is behind.
    pub lag: u64,
}

/// A server of a cluster, as it tells of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Its name.
    pub server: String,
    /// Where it serves, if it does: see [`Cluster::set_address`](crate::Cluster::set_address).
    pub address: Option<String>,
    /// The version of Jungle that it is.
    pub version: String,
    /// The sequence of the newest message that it has followed.
    pub followed: u64,
    /// The newest revision that it has.
    pub revision: u64,
    /// The hash of that message, in hexadecimal digits. It stands for all that was before: two
    /// servers at the same message have the same.
    pub hash: Option<String>,
    /// Why it follows the log no further, if that is so.
    pub fault: Option<String>,
    /// What it does. Servers that were built before there was that do not say so.
    #[serde(default)]
    pub role: Option<Role>,
    /// Whether it can read which request asked for a commit. Servers that were built before there
    /// was that do not say so.
    #[serde(default)]
    pub requests: bool,
    /// Whether it can read messages with commits of several servers. Servers that were built before
    /// there were such do not say so.
    #[serde(default)]
    pub guests: bool,
    /// What it has committed by itself, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outbox: Option<OutboxStatus>,
    /// The copy of the log that it follows, if there is to be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror: Option<MirrorStatus>,
}

/// What a server does, as the newest messages of the log tell.
///
/// ```
/// use jungle_cluster::Role;
/// assert_eq!([Role::Appends, Role::Guest].map(|role| role.to_string()), ["appends", "guest"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// It has appended the newest commits: its own, and what guests have.
    Appends,
    /// Its commits are appended by that one.
    Guest,
    /// It has committed nothing of late.
    #[serde(other)]
    Follows,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Appends => "appends",
            Role::Guest => "guest",
            Role::Follows => "follows",
        })
    }
}

/// A copy of the log near a server: see [`Options::mirror`](crate::Options::mirror).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MirrorStatus {
    /// The domain of the engine that has it.
    pub domain: String,
    /// Why the log itself is followed in its place, if that is so.
    pub error: Option<String>,
}

/// What a server has committed by itself: see [`Local`](crate::Local).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OutboxStatus {
    /// The number of the server.
    pub writer: u64,
    /// How many commits have no place in the log yet.
    pub pending: usize,
    /// When the oldest of them was made, in microseconds since 1970.
    pub oldest: Option<i64>,
    /// How many were refused, and are kept.
    pub refused: usize,
    /// Why the oldest one could not be published when that was tried last.
    pub error: Option<String>,
}

/// Says how a server stands.
pub type Tell = Arc<dyn Fn() -> ServerStatus + Send + Sync>;

impl Survey {
    /// Can everybody who answered do something, and did anybody? Who follows no further does
    /// nothing.
    pub(crate) fn do_all(&self, can: impl Fn(&ServerStatus) -> bool) -> bool {
        !self.servers.is_empty() && self.servers.iter().all(|it| can(it) || it.fault.is_some())
    }

    /// By how many messages a server is behind the log.
    #[must_use]
    pub fn lag(&self, server: &ServerStatus) -> u64 {
        self.log.last.saturating_sub(server.followed)
    }
}
