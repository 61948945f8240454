//! CSV as a tree: an array of objects, a row each. It is translated into JSON while it is read, and
//! imported as that. `docs/formats.md` has the rules.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::{COLUMNS_MAX, Json};
pub(crate) use write::write;
