//! The command's reader of XML, as it is.

#[path = "../../../../jungle-cli/src/formats/xml/names.rs"]
pub(super) mod names;
#[path = "../../../../jungle-cli/src/formats/xml/read.rs"]
mod read;

pub(super) use read::Json;
