//! Dataflow: keyed queues, and code segments that run when all their inputs are there.
//!
//! A program is cut into small pieces of data and small pieces of code. A **data segment** is put
//! under a **key**, which stands for a queue. A **code segment** says which keys it takes from and
//! puts into, and runs when all its inputs are there: the keys alone say what waits for what.
//!
//! ```
//! use alice::{Key, Node, peek, take};
//!
//! const PRICE: Key<f64> = Key::new("price");
//! const RATE: Key<f64> = Key::new("rate");
//! const TOTAL: Key<f64> = Key::new("total");
//!
//! let shop = Node::new();
//! shop.code("add tax")
//!     .when((take(&PRICE), peek(&RATE)))
//!     .to(&TOTAL)
//!     .repeatedly(|(price, rate), total| total.put(**price * (1.0 + **rate)))?;
//!
//! shop.put(&RATE, 0.25)?;
//! shop.put(&PRICE, 100.0)?;
//! assert_eq!(*shop.take(&TOTAL)?, 125.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Keys and queues
//! - [`Node::put`] appends to a key's queue and never waits; [`Node::update`] makes the newest data
//!   segment the only one. [`Node::take`] waits for the head and removes it; [`Node::peek`] leaves
//!   it; [`Node::peek_newer`] waits for one that was not seen yet.
//! - [`Node::flip`] puts a [`Segment`] that was received under another key: the very same, nothing
//!   is copied. Nothing is ever copied or serialized within a process; data only needs to be
//!   `Send + Sync + 'static`.
//! - [`Queue`] is what a key stands for on one node; it has the same calls, and the key need not be
//!   looked up for each. A queue may have a [`Bound`].
//! - A process has as many [`Node`]s as it likes; each knows its neighbours by labels.
//!
//! # Code segments
//! - [`Node::code`] declares one: what it waits for, what it puts into, its priority, where it
//!   [`Run`]s. It takes all its inputs at once or none.
//! - It runs [`once`](Declare::once) or [`repeatedly`](Declare::repeatedly), in the latter case
//!   never twice at a time.
//! - It gets its data segments as `&mut`, so that it may change one in place if it is the only
//!   holder, and [`Queue`]s for its outputs.
//! - If it panics or returns an error, that is a data segment under [`FAILURES`], with all that it
//!   was given.
//! - It may have a time limit for its inputs: [`Declare::once_within`].
//! - It ends by [`Code::cancel`], by a [`Cancel`] that it shares with others, or with its node.
//!
//! # Why nothing is stuck
//! - Inputs are taken all at once, with the queues locked in one order for that moment. Nobody
//!   holds one input while waiting for another, so two code segments with crossed keys cannot block
//!   each other; one of them gets both.
//! - A code segment cannot wait inside: a call that would have to is an error that says to declare
//!   an input instead. So the threads of a pool are never all asleep.
//! - A code segment never runs within another one or while a lock of this crate is held. A chain of
//!   any length takes no stack.
//! - What is put is offered to those who wait, by priority and then by arrival, before `put`
//!   returns. One that waits for several keys has no claim on any before all are there: it may
//!   be overtaken by those that need less.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bound;
mod code;
mod declare;
mod error;
mod failure;
mod gate;
mod hand;
mod input;
mod inputs;
mod key;
mod line;
mod node;
mod outputs;
mod pool;
mod queue;
mod segment;
mod state;
mod status;
mod sync;
mod timer;
mod turn;
mod wait;

pub use bound::{Bound, WhenFull};
pub use code::Code;
pub use declare::{Declare, Outcome};
pub use error::{DeclareError, NotPut, PutError, WaitError};
pub use failure::{FAILURES, Failure, Given};
pub use input::{Input, Many, Place, newer, peek, take, take_many};
pub use inputs::Inputs;
pub use key::{Data, Key};
pub use node::{NoSuchNeighbour, Node};
pub use outputs::Outputs;
pub use pool::{Pool, PoolError};
pub use queue::Queue;
pub use segment::Segment;
pub use status::{InputStatus, NodeStatus, QueueStatus, WaitingStatus};
pub use turn::Run;
pub use wait::{Cancel, Then, Wait};
