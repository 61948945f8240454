//! XML as a tree: it is translated into JSON while it is read, and imported as that.
//! `docs/formats.md` has the table of what becomes what.

pub(super) mod names;
mod read;
mod write;

use jungle_json::ImportError;

use crate::failure::Failure;

pub(crate) use read::Json;
pub(crate) use write::{not_xml, write};

/// What is wrong with a document.
pub(crate) fn refused(file: &str, error: &ImportError) -> Failure {
    let failure = super::refused(file, error);
    match error {
        ImportError::Limit { .. } => {
            failure.with_hint("an element counts as two; --depth-max accepts more")
        }
        _ => failure,
    }
}
