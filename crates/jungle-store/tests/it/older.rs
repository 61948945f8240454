//! Folders that older programs wrote, for a simulated disk. The suite `crash` begins from these,
//! too.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// All but the one that keeps less each time that it is opened, by its age.
pub const FOLDERS: [&str; 5] =
    ["version-1", "version-1-indexes", LONG_HISTORY, "version-1-renumbered", "version-1-requests"];

/// The one with a history of which not all is read at once.
pub const LONG_HISTORY: &str = "version-1-pages";

/// The files of one of them, by their names.
pub fn files_of(folder: &str) -> BTreeMap<String, Vec<u8>> {
    // The same place from the crate of the suites.
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../jungle-store/tests/golden");
    let mut files = BTreeMap::new();
    for below in ["", "log/"] {
        for file in fs::read_dir(golden.join(folder).join(below)).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                let name = file.file_name().into_string().unwrap();
                files.insert(format!("{below}{name}"), fs::read(file.path()).unwrap());
            }
        }
    }
    if let Some(packed) = files.remove("pages.lz4") {
        let pages = lz4_flex::decompress_size_prepended(&packed).unwrap();
        files.insert("pages".to_owned(), pages);
    }
    files
}
