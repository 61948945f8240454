//! A Jungle on disk: each commit goes into a log that survives the end of the process and of power.
//!
//! ```
//! use jungle_store::Store;
//! # let dir = std::env::temp_dir().join(format!("jungle-store-lib-{}", std::process::id()));
//! let store = Store::open(&dir)?;
//! let board = store.create_tree("board")?;
//! board.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
//! drop((store, board));
//!
//! let board = Store::open(&dir)?.open_tree("board")?;
//! assert_eq!(board.read().root().attribute("title").unwrap().as_text(), Some("Hello"));
//! # drop(board);
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Store`] is an open folder, [`OpenOptions`] say how it is opened, [`OpenReport`] what was
//!   found.
//! - What is acknowledged has been synced, unless the caller chose a weaker [`Durability`].
//! - [`Store::backup`] copies a Jungle, or what is new of it, into another folder, and
//!   [`Store::write_backup`] into a stream that [`OpenOptions::take_backup`] makes such a copy of.
//! - [`Store::audit`] lists who made, named and deleted what.
//! - [`OpenOptions::erase`] takes a node out of all revisions there ever were.
//! - [`OpenOptions::repair`] saves what can be read of a damaged folder into a new one.
//! - [`write_checkpoint`] turns a whole Jungle into one stream of bytes, [`read_checkpoint`] makes
//!   one of that, and [`OpenOptions::adopt`] puts it into a folder.
//! - [`encode`] and [`decode`] turn commit records into bytes and back. `docs/format.md` describes
//!   every byte.
//! - [`pages`] is where checkpoints are kept.
//! - [`disk`] is the disk behind a trait.

mod adopt;
mod audit;
mod backup;
mod checkpoint;
pub mod disk;
mod erase;
mod error;
mod form;
mod log;
mod open;
mod outline;
pub mod pages;
#[doc(hidden)]
pub mod planted;
mod progress;
mod record;
mod repair;
mod store;
mod survey;
mod usage;
mod verify;
mod wire;

pub use adopt::AdoptError;
pub use audit::{AuditError, AuditPage, AuditQuery, AuditRow};
pub use backup::{BackupError, BackupProgress, BackupReport};
pub use checkpoint::{
    CheckpointError, CheckpointReport, LoadError, StreamError, check_checkpoint, read_checkpoint,
    write_checkpoint,
};
pub use erase::{EraseError, EraseQuery, EraseReport};
pub use error::{Damage, IoError, LogError, OpenError};
pub use form::{TreeDamage, TreeFault};
pub use jungle_db::Durability;
pub use log::recover::Cut;
pub use log::writer::LogStats;
pub use open::{
    CHECKPOINT_EVERY, OpenOptions, OpenReport, SEGMENT_BYTES, STREAM_BYTES_MAX, Spill, Spilling,
};
pub use outline::Outline;
pub use progress::Progress;
pub use record::{DecodeError, DecodeReason, EncodeError, RECORD_BYTES_MAX, decode, encode};
pub use repair::{LostCommits, RepairError, RepairProgress, RepairReport, RepairSource};
pub use store::{CheckpointStatus, Store};
pub use survey::{DAMAGES_MAX, Remedy, Survey};
pub use usage::DiskUsage;
pub use verify::{Verified, VerifyError};
