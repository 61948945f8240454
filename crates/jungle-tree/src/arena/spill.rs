//! The file that a region's memory may be written to.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A new file without a name, so that it is nobody else's, and gone when it is closed.
pub(super) fn nameless_file(folder: &Path) -> io::Result<File> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("spill-{}-{number}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return fs::remove_file(&path).map(|()| file),
            // Left by a process that was killed in between.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::remove_file(&path)?,
            Err(error) => return Err(error),
        }
    }
}

/// Has the system keep room for part of a file, so that nothing fails when it is written through a
/// mapping, where a full disk would end the process. What is there becomes zero.
#[cfg(unix)]
pub(super) fn fill_with_zeros(file: &File, from: usize, len: usize) -> io::Result<()> {
    use std::os::unix::fs::FileExt;

    const ZEROS: &[u8] = &[0; 1 << 16];
    let mut at = from;
    while at < from + len {
        let piece = ZEROS.len().min(from + len - at);
        file.write_all_at(&ZEROS[..piece], at as u64)?;
        at += piece;
    }
    Ok(())
}

/// As on unix, where it is possible.
#[cfg(not(unix))]
pub(super) fn fill_with_zeros(_: &File, _: usize, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
