//! YAML as a tree: it is translated into JSON while it is read, and imported as that; what is
//! exported as JSON is laid out as YAML. `docs/formats.md` has the rules.

mod anchors;
mod chars;
mod read;
mod scalar;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::Json;
pub(crate) use write::write;
