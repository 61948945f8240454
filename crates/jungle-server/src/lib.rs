//! A Jungle over HTTP: the interface for programs (`docs/api.md`) and the bulletin board.
//!
//! ```
//! use jungle::{Jungle, Memory};
//! use jungle_server::{Data, Options, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::start(Data::Memory(Jungle::memory()?), Options::default())?;
//! println!("listening on http://{}", server.address());
//! server.stop()?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Server`]: listens until it is stopped, and loses nothing then.
//! - [`Options`], [`Limits`]: where it listens and how much it accepts. By default nobody but this
//!   machine reaches it.
//! - [`Board`]: a bulletin board, for programs that have the Jungle themselves.
//! - [`Answers`]: what a server answers, without connections.
//! - [`Remote`]: a server as those see it who ask it.

mod accept;
mod access;
mod acknowledge;
mod answers;
mod api;
mod app;
mod asset;
mod audit;
mod board;
mod body;
mod client;
mod cluster;
mod committer;
mod dial;
mod docs;
mod etag;
mod explorer;
mod guard;
mod hub;
mod limits;
mod metrics;
mod once;
mod options;
mod private;
mod problem;
mod query;
mod remote;
mod server;
mod status;
mod tls;
mod upkeep;
pub mod verify;

pub use access::{Access, AccessError, Grant, NoSuchRole, Person, Role};
pub use answers::{Answer, Answers, AskError};
pub use board::{Board, BoardError};
pub use limits::{LimitError, Limits};
pub use options::{BoardLevel, Options, StartError};
pub use remote::{Remote, RemoteBody, RemoteConflict, RemoteError, RequestKey, typed, value_of};
pub use server::{Data, Server, StopError};
pub use tls::acme::{Acme, AcmeError};
pub use tls::{Certificate, Tls, TlsError};
