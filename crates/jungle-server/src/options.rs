//! Where a server listens.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use crate::access::{Access, AccessError};
use crate::limits::Limits;
use crate::tls::{Certificate, TlsError};

/// How a server is started.
///
/// ```
/// use jungle_server::Options;
/// let options = Options { listen: "127.0.0.1:0".parse()?, ..Options::default() };
/// assert!(!options.expose);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The address; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Other names by which it is asked for, such as that of a proxy's public address. One that
    /// others reach may be asked for by any address, too.
    pub hosts: Vec<String>,
    /// The file that says who may do what (see [`Access`](crate::Access)); it is read again when it
    /// changes. Without it, whoever reaches the server may do everything.
    pub access: Option<PathBuf>,
    /// With what it encrypts. Without it, what is sent can be read on the way.
    pub tls: Option<Certificate>,
    /// Listen on an address that others reach, even without encryption or without an access file:
    /// for a proxy in front that does what is missing.
    pub expose: bool,
    /// Proxies in front, of which each must put the address that it was asked from behind what is
    /// in `X-Forwarded-For`: a request from one of them is from the client with the last address
    /// there that is none of these, and encrypted if `X-Forwarded-Proto` says only `https`. It is
    /// believed to whatever is at these addresses; one on this machine is at each of its own. Of a
    /// request from elsewhere, these headers mean nothing.
    pub proxies: Vec<IpAddr>,
    /// Nobody may change anything, whatever was granted to them.
    pub read_only: bool,
    /// The `GET` addresses for load tools, below `/bench`: a page that posts when it is looked at,
    /// but not by a page of another site.
    pub bench: bool,
    /// When a message of a board is answered.
    pub boards: BoardLevel,
    /// In which folder backups may be made, by those who administer all trees: it is made if it is
    /// not there. It must not be within the folder that is served. Without it there are none.
    pub backups: Option<PathBuf>,
    /// How often it is looked whether there is memory that nobody uses any more, and what is not to
    /// be kept any more is dropped; never without it. Not in a cluster, whose servers do that as
    /// they follow; 1 min.
    pub collect_every: Option<Duration>,
    /// Whether what has become too old is dropped while nothing is committed, and by `gc`: not in
    /// a folder whose ages are for others to judge, such as that of a cluster's server which is
    /// served by itself; yes. (A commit drops what the rule of its branch does not keep.)
    pub drops_by_age: bool,
    /// How many threads answer requests: fewer where several servers share the cores. Without it
    /// as many as there are cores for this process. What takes long has threads of its own.
    pub workers: Option<NonZero<usize>>,
    /// How much it accepts.
    pub limits: Limits,
}

/// At which level of a cluster messages of boards are posted and edited.
///
/// ```
/// use jungle::{Jungle, Memory};
/// use jungle_server::{BoardLevel, Data, Options, Server, StartError};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = Options { boards: BoardLevel::Local, ..Options::default() };
/// let refused = Server::start(Data::Memory(Jungle::memory()?), options);
/// assert!(matches!(refused, Err(StartError::NoOutbox)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoardLevel {
    /// A message is answered when it has its place in the cluster's log: all servers will show it.
    #[default]
    Quorum,
    /// A message is answered when it is in the outbox of this server, whether or not the engine can
    /// be reached. It is shown here at once, and by the others as soon as it is published. One that
    /// contradicts what others did meanwhile (an edit of a message that they have removed, any
    /// message of a board that they have deleted) is refused then, although it was answered: it
    /// disappears here, and is kept with the reason, to be looked at. A board itself is made at
    /// level quorum. Needs a cluster whose [outbox](jungle_cluster::Cluster::local) is open.
    Local,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            hosts: Vec::new(),
            access: None,
            tls: None,
            expose: false,
            proxies: Vec::new(),
            read_only: false,
            bench: false,
            boards: BoardLevel::default(),
            backups: None,
            collect_every: Some(Duration::from_mins(1)),
            drops_by_age: true,
            workers: None,
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// What others who reach it could do that they should not, unless they may.
    pub(crate) fn exposure(&self, access: Option<&Access>) -> Option<&'static str> {
        if self.listen.ip().is_loopback() || self.expose {
            return None;
        }
        match (&self.tls, access) {
            (_, Some(access)) if !access.has_admin() => {
                Some("nobody is made an admin in the access file")
            }
            (Some(_), Some(_)) => None,
            (None, Some(_)) => Some("what is sent is not encrypted"),
            (Some(_), None) => Some("nobody is asked who they are"),
            (None, None) => Some("nothing is encrypted, and nobody is asked who they are"),
        }
    }
}

/// Why a server was not started.
///
/// ```
/// use jungle::{Jungle, Memory};
/// use jungle_server::{Data, Options, Server, StartError};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = Options { listen: "0.0.0.0:0".parse()?, ..Options::default() };
/// let refused = Server::start(Data::Memory(Jungle::memory()?), options);
/// assert!(matches!(refused, Err(StartError::Exposed { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Others would reach it, and it is not safe from them.
    #[error("{address} can be reached from other machines, and {why}")]
    Exposed {
        /// The address.
        address: SocketAddr,
        /// What is missing.
        why: &'static str,
    },
    /// The certificate cannot be used.
    #[error("nothing can be encrypted")]
    Tls(#[source] TlsError),
    /// The access file cannot be used.
    #[error("nobody can be let in")]
    Access(#[source] AccessError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Backups cannot be made where they are to be.
    #[error("the folder for backups cannot be used")]
    Backups(#[source] io::Error),
    /// Boards are to be posted to at level local, and there is no outbox.
    #[error("messages of boards cannot be kept here: this server has no outbox")]
    NoOutbox,
    /// The system refused threads.
    #[error("cannot start threads")]
    Threads(#[source] io::Error),
}
