//! How people and programs name things in a Jungle: what the command line and the server share.
//!
//! ```
//! use jungle_db::Jungle;
//! use jungle_words::{Expr, find};
//!
//! let board = Jungle::new()?.create_tree("board")?;
//! board.update(|tx| tx.put_attribute(&[], "stars", 7))?;
//! let before = find(&board, "main~1")?.snapshot;
//! assert!(!before.root().has_attributes());
//!
//! let expr = Expr::parse("stars > 5 and not exists title")?;
//! assert!(expr.is_true(board.snapshot().root(), None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Expr`]: what must be true of a node; [`create_index`]: the indexes that it,
//!   and [`with_attribute`], are looked up in; [`Part`]: how much of what is found.
//! - [`find`]: a revision by number, tag, branch, steps back or time, and [`check_name`];
//!   [`Info`], [`Tags`]: what is told of it; [`Line`], [`Doing`]: what came before it, and what it
//!   did; [`time`]: times as they are written.
//! - [`keep`]: how much of a history is kept; [`audit`]: who made, named and deleted what.
//! - [`differences`]: what differs between two versions as documents.
//! - [`conflict`]: the names of conflicts, and settling one of them alone; [`with_causes`]: errors.

pub mod audit;
mod cause;
pub mod conflict;
pub mod differences;
mod expr;
mod info;
pub mod keep;
mod past;
mod revision;
pub mod time;

pub use cause::with_causes;
pub use expr::{Expr, HELP as EXPRESSION_HELP, ParseError, Part, create_index, with_attribute};
pub use info::{Info, Tags};
pub use past::{Doing, Line};
pub use revision::{
    FindError, Found, HELP as REVISION_HELP, NameError, check_name, find, find_or_newest,
};
