//! XML as a tree: it is translated into JSON while it is read, and imported as that.
//! `docs/formats.md` has the table of what becomes what.

pub(super) mod names;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::Json;
pub(crate) use write::write;
