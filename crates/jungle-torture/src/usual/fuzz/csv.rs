//! The reader of CSV, as it is.

#[path = "../../../../jungle-formats/src/csv/read.rs"]
mod read;

pub(super) use read::Json;
