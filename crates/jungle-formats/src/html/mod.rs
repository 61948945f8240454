//! HTML as a tree: it is translated into JSON once it is read, and imported as that.
//! `docs/formats.md` has the table of what becomes what.

mod item;
mod page;
mod read;
mod tags;
mod write;

use super::xml::names;

pub(crate) use read::{Form, Json};
pub(crate) use write::write;
