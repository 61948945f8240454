//! Where backups are: below one folder, which whoever started the server has named.
//!
//! A client says a name, never a path. What it says is one name of plain letters, so it can lead
//! nowhere else; and what is there must be folders and files, not links to others. Whoever can put
//! links there while a backup is written needs no server to write there.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use super::Undone;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// Makes the folder, for its owner only, and tells where it truly is: links that lead there are the
/// business of whoever named it.
pub(super) fn make(folder: &Path) -> io::Result<PathBuf> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    folder.canonicalize()
}

/// The place of the backup that has this name.
pub(super) fn of(backups: &Path, name: &str) -> Result<PathBuf, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_right = name.len() <= NAME_BYTES_MAX
        && name.bytes().all(is_plain)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !name.ends_with('.');
    if is_right {
        return Ok(backups.join(name));
    }
    Err(format!(
        "{name:?} is not 1 to {NAME_BYTES_MAX} letters, digits, `-`, `_` and `.`, beginning with a \
         letter or digit and not ending with a dot"
    ))
}

/// Refuses a place at which there is anything else than folders and files.
pub(super) fn check(place: &Path) -> Result<(), Undone> {
    let named = |path: &Path, error| {
        Undone::failed(format_args!("cannot look at {}: {error}", path.display()))
    };
    let found = match fs::symlink_metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(|error| named(place, error))?,
    };
    if !found.is_dir() {
        let place = place.display();
        return Err(Undone::failed(format_args!("{place} is there and is no folder")));
    }
    for entry in fs::read_dir(place).map_err(|error| named(place, error))? {
        let entry = entry.map_err(|error| named(place, error))?;
        let kind = entry.file_type().map_err(|error| named(&entry.path(), error))?;
        if kind.is_dir() {
            check(&entry.path())?;
        } else if !kind.is_file() {
            let path = entry.path();
            let path = path.display();
            return Err(Undone::failed(format_args!("{path} is neither a folder nor a file")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let backups = Path::new("/backups");
        for name in ["nightly", "2026-11-25", "a.b_c-9", "0", &"x".repeat(100)] {
            let place = of(backups, name).unwrap();
            assert_eq!(place.parent(), Some(backups), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc",
            "a\\b",
            "C:x",
            ".hidden",
            "-rf",
            "a.",
            "a b",
            "a\0b",
            "a\nb",
            "ä",
            &"x".repeat(101),
        ] {
            assert!(of(backups, name).is_err(), "{name:?}");
        }
    }
}
