//! The calls of the disk and of its files, as their fates have it.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

use super::world::{Content, Entry, Folder, NameChange};
use super::{CallKind, Fate, SimDisk, split};
use crate::disk::{Disk, DiskFile, Lock, Mode};

impl Disk for SimDisk {
    fn place(&self) -> String {
        "a simulated disk".to_owned()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let (mut world, _) = self.call(CallKind::Open, name, 0)?;
        let (folder, short) = split(name);
        let file = match world.folder(folder)?.now.get(short) {
            Some(_) if mode == Mode::CreateNew => return Err(ErrorKind::AlreadyExists.into()),
            Some(Entry::File(file)) => *file,
            Some(Entry::Folder) => return Err(ErrorKind::IsADirectory.into()),
            None if matches!(mode, Mode::Read | Mode::Write) => {
                return Err(ErrorKind::NotFound.into());
            }
            None => {
                let file = world.files.len();
                world.files.push(Content::default());
                world.change(folder, NameChange::Add(short.to_owned(), Entry::File(file)))?;
                file
            }
        };
        let disk = self.clone();
        let name = name.to_owned();
        Ok(Box::new(SimFile { disk, file, name, mode, held: Mutex::new(None) }))
    }

    fn create_folder(&self, name: &str) -> io::Result<()> {
        let (mut world, _) = self.call(CallKind::CreateFolder, name, 0)?;
        if world.folders.contains_key(name) {
            return Ok(());
        }
        world.folders.insert(name.to_owned(), Folder::default());
        world.change("", NameChange::Add(name.to_owned(), Entry::Folder))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let (mut world, _) = self.call(CallKind::List, folder, 0)?;
        Ok(world.folder(folder)?.now.keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (mut world, _) = self.call(CallKind::Rename, from, 0)?;
        let (folder, from) = split(from);
        if !world.folder(folder)?.now.contains_key(from) {
            return Err(ErrorKind::NotFound.into());
        }
        world.change(folder, NameChange::Rename(from.to_owned(), split(to).1.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (mut world, _) = self.call(CallKind::Remove, name, 0)?;
        let (folder, name) = split(name);
        if !world.folder(folder)?.now.contains_key(name) {
            return Err(ErrorKind::NotFound.into());
        }
        world.change(folder, NameChange::Remove(name.to_owned()))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        let (mut world, fate) = self.call(CallKind::SyncFolder, folder, 0)?;
        let folder = world.folder(folder)?;
        match fate {
            Fate::Lie => return Ok(()),
            Fate::Fail(code) => return Err(io::Error::from_raw_os_error(code)),
            _ => {}
        }
        for (_, change) in std::mem::take(&mut folder.pending) {
            change.apply(&mut folder.durable);
        }
        Ok(())
    }
}

struct SimFile {
    disk: SimDisk,
    file: usize,
    name: String,
    mode: Mode,
    held: Mutex<Option<Lock>>,
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let (world, _) = self.disk.call(CallKind::Len, &self.name, 0)?;
        Ok(world.files[self.file].now.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let (world, fate) = self.disk.call(CallKind::Read, &self.name, bytes.len())?;
        let content = &world.files[self.file].now;
        let rest = content.get(offset as usize..).unwrap_or_default();
        let mut len = rest.len().min(bytes.len());
        if let Fate::Short(short) = fate {
            len = len.min(short.max(1));
        }
        bytes[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if self.mode == Mode::Read {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let (mut world, fate) = self.disk.call(CallKind::Write, &self.name, bytes.len())?;
        if fate == Fate::Lie {
            return Ok(bytes.len());
        }
        let len = match fate {
            Fate::Short(len) => len.max(1).min(bytes.len()),
            Fate::PartThenFail(len, _) => len.min(bytes.len()),
            _ => bytes.len(),
        };
        world.write(self.file, offset as usize, bytes[..len].to_vec(), false);
        match fate {
            Fate::PartThenFail(_, code) => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(len),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.mode == Mode::Read {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let (mut world, _) = self.disk.call(CallKind::SetLen, &self.name, 0)?;
        let cut = world.files[self.file].now.len().saturating_sub(len as usize);
        world.write(self.file, len as usize, vec![0; cut], true);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let (mut world, fate) = self.disk.call(CallKind::Sync, &self.name, 0)?;
        let content = &mut world.files[self.file];
        match fate {
            Fate::Lie => return Ok(()),
            Fate::Fail(code) => {
                content.pending.clear();
                return Err(io::Error::from_raw_os_error(code));
            }
            Fate::PartThenFail(len, code) => {
                content.lose_all_but(len);
                return Err(io::Error::from_raw_os_error(code));
            }
            _ => {}
        }
        for write in std::mem::take(&mut content.pending) {
            write.apply(Arc::make_mut(&mut content.durable));
        }
        Ok(())
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let (mut world, _) = self.disk.call(CallKind::Lock, &self.name, 0)?;
        let content = &mut world.files[self.file];
        if content.exclusive || (lock == Lock::Exclusive && content.shared > 0) {
            return Ok(false);
        }
        match lock {
            Lock::Exclusive => content.exclusive = true,
            Lock::Shared => content.shared += 1,
        }
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
        Ok(true)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let mut world = self.disk.world();
        match held {
            Some(Lock::Exclusive) => world.files[self.file].exclusive = false,
            Some(Lock::Shared) => world.files[self.file].shared -= 1,
            None => {}
        }
    }
}
