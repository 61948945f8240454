//! The file that a region's memory may be written to.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A new file without a name, so that it is nobody else's, and gone when it is closed. Others may
/// have files in the folder, as in that for temporary files: while it has its name they cannot open
/// it, and a name that is theirs is left to them.
pub(super) fn nameless_file(folder: &Path) -> io::Result<File> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("spill-{}-{number}", std::process::id()));
        match for_the_owner().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                return match fs::remove_file(&path) {
                    // Another process of this number, which there is in another container, took it
                    // for left, as below.
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(file),
                };
            }
            // Left by a process that was killed in between, or somebody else's, who keeps it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let _ = fs::remove_file(&path);
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn for_the_owner() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn for_the_owner() -> OpenOptions {
    OpenOptions::new()
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
