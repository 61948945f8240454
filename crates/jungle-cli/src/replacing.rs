//! Writing a file that takes the place of another one when it is whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jungle::disk::FolderDisk;

/// A file that is being written beside the one whose place it takes. Dropped before its
/// [end](Replacing::end), it is removed, and the other one is as it was.
pub(crate) struct Replacing {
    file: File,
    /// Where it is, and where it is to be; nothing where it is written to as it is, such as a pipe.
    names: Option<(PathBuf, PathBuf)>,
}

impl Replacing {
    pub(crate) fn begin(place: &Path) -> io::Result<Replacing> {
        let there = match fs::metadata(place) {
            Ok(there) => Some(there),
            // A link stays one, also where what it leads to is not there yet.
            Err(error) if error.kind() == ErrorKind::NotFound && place.is_symlink() => {
                let to = fs::read_link(place)?;
                return Replacing::begin(&place.parent().unwrap_or(place).join(to));
            }
            Err(_) => None,
        };
        // What the system has there is somebody's open file.
        let is_open = ["/dev", "/proc"].iter().any(|system| place.starts_with(system));
        if is_open || there.as_ref().is_some_and(|there| !there.is_file()) {
            return Replacing::as_it_is(place);
        }
        let place = if there.is_some() { place.canonicalize()? } else { place.to_owned() };
        let Some(name) = place.file_name() else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let mut beside = name.to_owned();
        beside.push(format!(".{}.part", std::process::id()));
        let beside = place.with_file_name(beside);
        let file = match File::create(&beside) {
            // Where only this file may be written to, or its name is as long as can be.
            Err(error) if may_be_written_itself(&error) => return Replacing::as_it_is(&place),
            made => made?,
        };
        let replacing = Replacing { file, names: Some((beside, place)) };
        if let Some(there) = there {
            replacing.file.set_permissions(there.permissions())?;
        }
        Ok(replacing)
    }

    fn as_it_is(place: &Path) -> io::Result<Replacing> {
        Ok(Replacing { file: File::create(place)?, names: None })
    }

    /// What is to be written to.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// All of it was written.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let Some((beside, place)) = &self.names else { return Ok(()) };
        self.file.sync_all()?;
        fs::rename(beside, place)?;
        let synced = place.parent().map_or(Ok(()), FolderDisk::sync_names);
        self.names = None;
        synced
    }
}

/// Was no file made beside another one for a reason that leaves that one alone?
fn may_be_written_itself(error: &io::Error) -> bool {
    use ErrorKind::{InvalidFilename, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | InvalidFilename)
}

impl Drop for Replacing {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.names {
            // What cannot be removed is told by what failed before.
            let _ = fs::remove_file(beside);
        }
    }
}
