//! Files only their owner may read, replaced atomically.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use jungle::disk::FolderDisk;

/// Keeps others out who would change files of the same folder, until it is dropped. Where a folder
/// cannot be locked, nobody is kept out.
pub(crate) fn alone(path: &Path) -> Option<fs::File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::File::open(folder.unwrap_or(Path::new("."))).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Writes a file for its owner only, in place of the one that is there: at every moment there is
/// the one or the other, whole.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    // One that was left behind by a crash may belong to anybody.
    let _ = fs::remove_file(&new);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    #[cfg(unix)]
    if let Ok(old) = fs::metadata(path) {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Root, say, changes what a server reads that has a user of its own.
        if old.uid() != file.metadata()?.uid() {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    // What was revoked would be granted again.
    path.parent().map_or(Ok(()), FolderDisk::sync_names)
}
