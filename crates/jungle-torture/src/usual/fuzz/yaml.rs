//! The command's reader of YAML, as it is.

#[path = "../../../../jungle-cli/src/formats/yaml/anchors.rs"]
mod anchors;
#[path = "../../../../jungle-cli/src/formats/yaml/chars.rs"]
mod chars;
#[path = "../../../../jungle-cli/src/formats/yaml/read.rs"]
mod read;
#[path = "../../../../jungle-cli/src/formats/yaml/scalar.rs"]
mod scalar;

pub(super) use read::Json;
