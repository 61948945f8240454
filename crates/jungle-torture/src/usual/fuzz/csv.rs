//! The command's reader of CSV, as it is.

#[path = "../../../../jungle-cli/src/formats/csv/read.rs"]
mod read;

pub(super) use read::Json;
