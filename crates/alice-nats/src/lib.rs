//! Alice between processes: nodes that find each other by labels, through NATS JetStream.
//!
//! A node joins an [`Engine`] under a label. A [`Peer`] is whatever has joined under a label, and
//! has a node's calls: `put`, `update`, `take`, `peek`, `flip`, with the same [`Key`](alice::Key)s,
//! whose data only needs to be serializable as well.
//!
//! ```no_run
//! use alice::{Key, Node, take};
//! use alice_nats::{Engine, Options};
//!
//! const NUMBERS: Key<u64> = Key::new("numbers");
//! const ROOTS: Key<u64> = Key::new("roots");
//!
//! // In one process:
//! let engine = Engine::connect("nats://localhost:4222", Options::default())?;
//! let node = Node::new();
//! node.code("root").when(take(&NUMBERS)).to(&ROOTS).repeatedly(|n, roots| roots.put(n.isqrt()))?;
//! let member = engine.join("left", &node)?;
//! member.serve(&NUMBERS)?;
//! member.serve(&ROOTS)?;
//!
//! // In another:
//! let engine = Engine::connect("nats://localhost:4222", Options::default())?;
//! let left = engine.peer("left");
//! left.put(&NUMBERS, 144)?;
//! assert_eq!(*left.take(&ROOTS)?.open()?, 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Two kinds of keys
//! | | live: [`Member::serve`] | durable: [`Peer::durable`] |
//! |---|---|---|
//! | where the queue is | on the peer's node | in the engine |
//! | a segment comes | at most once | at least once; outputs effectively once |
//! | dies with | the peer's process | half of the engine's servers that keep it |
//! | a call costs | a request and its answer | a write to the disks of the engine |
//!
//! What each promises exactly is written there.
//!
//! # Topologies
//! A node that [takes part](Engine::take_part) in a [`Topology`] knows its neighbours by labels
//! that mean something to it only, such as `right`: [`Part::peer`]. A topology is a [`Graph`] of
//! named members, which waits for all of them, or a [`Shape`] that grows and shrinks while it is
//! used. Nobody manages it; what happens in it is told as [`Event`]s.
//!
//! # Forms
//! A data segment leaves the process as MessagePack, compressed if the [`Options`] say so. Each
//! form is made at most once; what was received is sent on as it came ([`Parcel`]). Arrays of
//! numbers travel as one blob if they are [`Numbers`].
//!
//! # What comes from outside
//! Whatever may connect to the engine may send anything: so bytes are read within limits of size
//! and depth, only keys that are served can be reached (but all are [told](Peer::status) how a
//! member's queues and code segments are called, and how full they are), and bytes that are not
//! what they should be are an error of a type ([`FormError`]). Who may connect is the engine's
//! matter: TLS and credentials are the [client's own options](Options::client). One data segment
//! has at most as many bytes as the engine takes in one message, 1 MiB if nothing else is said
//! there.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod durable;
mod engine;
mod error;
mod labels;
mod member;
mod name;
pub mod numbers;
mod options;
mod parcel;
mod peer;
mod received;
mod serve;
mod squeeze;
mod status;
mod topology;
mod wire;

pub use async_nats::ConnectOptions;
pub use bytes::Bytes;

pub use durable::{Durable, DurableStatus, NotDone, TOGETHER_MAX, Taken};
pub use engine::Engine;
pub use error::{
    ConnectError, EngineError, InsideEngine, JoinError, NotReceived, NotSent, SendError,
};
pub use member::{Member, ServeError};
pub use name::{NAME_BYTES_MAX, NameError};
pub use numbers::{Number, Numbers};
pub use options::Options;
pub use parcel::{Compress, DEPTH_MAX, FormError, Parcel, Portable, UNPACKED_BYTES_MAX};
pub use peer::Peer;
pub use received::Received;
pub use serve::Travels;
pub use topology::{
    DOT_BYTES_MAX, DotError, EDGES_MAX, Edge, Event, Graph, GraphError, MEMBERS_MAX, NoShape, Part,
    Seen, Shape, Topology, View,
};
