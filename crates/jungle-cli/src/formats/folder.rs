//! Folders of files: a folder is a node, a file in it a child with the file's content as its value:
//! text where it is UTF-8, else bytes. Names and contents are kept, and nothing else of a file.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path as FilePath, PathBuf};

use jungle::disk::FolderDisk;
use jungle_json::{ARRAY_KEY, ORDER_KEY, VALUE_KEY, write_value};
use jungle_tree::{Editor, Key, KeyRef, Node, Path, VALUE_BYTES_MAX, ValueRef};

use crate::failure::{Exit, Failure, failed};
use crate::output::bar::Bar;

/// Longer names no file of Linux can have. Others count in letters, or otherwise.
const NAME_BYTES_MAX: usize = 255;

/// Makes the tree stand for a folder; what it has already is left alone. Gives the bytes of the
/// files.
pub(crate) fn import(editor: &mut Editor, folder: &str) -> Result<u64, Failure> {
    let mut bytes = 0;
    let mut bar = Bar::new(folder, None);
    let mut todo = vec![(PathBuf::from(folder), Path::root())];
    clear_value(editor, &[])?;
    while let Some((folder, path)) = todo.pop() {
        let files = list(&folder)?;
        remove_others(editor, &path, &files)?;
        for (name, file) in files {
            let child = path.join(&*name);
            let kind = file.file_type().map_err(|error| cannot_read(&file.path(), &error))?;
            if editor.root().at(&child).is_err() {
                let added = editor.insert_child(&path, &Key::from(&*name));
                added.map_err(|error| wrong(&file.path(), &error))?;
            }
            if kind.is_dir() {
                clear_value(editor, &child)?;
                todo.push((file.path(), child));
            } else if kind.is_file() {
                bytes += put_file(editor, &child, &file.path())?;
                bar.set(bytes);
            } else {
                return Err(wrong(&file.path(), &"it is neither a file nor a folder"));
            }
        }
    }
    Ok(bytes)
}

/// What is in a folder, by name.
fn list(folder: &FilePath) -> Result<Vec<(String, fs::DirEntry)>, Failure> {
    let read = |error: &io::Error| cannot_read(folder, error);
    let mut files = Vec::new();
    for file in fs::read_dir(folder).map_err(|error| read(&error))? {
        let file = file.map_err(|error| read(&error))?;
        let name = file.file_name().into_string();
        let name = name.map_err(|_| wrong(&file.path(), &"its name is not UTF-8"))?;
        files.push((name, file));
    }
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(files)
}

/// Removes what the folder has no more.
fn remove_others(
    editor: &mut Editor,
    path: &Path,
    files: &[(String, fs::DirEntry)],
) -> Result<(), Failure> {
    let is_there = |key: KeyRef<'_>| match key {
        KeyRef::Name(name) => files.binary_search_by(|(file, _)| (**file).cmp(name)).is_ok(),
        KeyRef::Position(..) => false,
    };
    let node = editor.root().at(path).map_err(failed)?;
    let gone: Vec<Key> =
        node.children().filter(|(key, _)| !is_there(*key)).map(|(key, _)| key.to_key()).collect();
    gone.into_iter().try_for_each(|key| editor.remove(&path.join(key)).map_err(failed))
}

/// A folder has no attributes.
fn clear_value(editor: &mut Editor, path: &[Key]) -> Result<(), Failure> {
    let node = editor.root().at(path).map_err(failed)?;
    let keys: Vec<String> = node.attributes().map(|(key, _)| key.to_owned()).collect();
    keys.iter().try_for_each(|key| editor.remove_attribute(path, key).map(drop).map_err(failed))
}

fn put_file(editor: &mut Editor, path: &Path, file: &FilePath) -> Result<u64, Failure> {
    let length = fs::metadata(file).map_err(|error| cannot_read(file, &error))?.len();
    if length > VALUE_BYTES_MAX as u64 {
        let what = format!("{length} bytes are more than a value may have, {VALUE_BYTES_MAX}");
        return Err(wrong(file, &what));
    }
    let bytes = fs::read(file).map_err(|error| cannot_read(file, &error))?;
    let value = match std::str::from_utf8(&bytes) {
        Ok(text) => ValueRef::Text(text),
        Err(_) => ValueRef::Bytes(&bytes),
    };
    let node = editor.root().at(path).map_err(failed)?;
    if node.has_children() {
        remove_others(editor, path, &[])?;
    }
    let node = editor.root().at(path).map_err(failed)?;
    if node.attributes().any(|(key, _)| key != VALUE_KEY) {
        clear_value(editor, path)?;
    }
    let node = editor.root().at(path).map_err(failed)?;
    if node.attribute(VALUE_KEY) != Some(value) {
        editor.put_attribute(path, VALUE_KEY, value).map_err(|error| wrong(file, &error))?;
    }
    Ok(bytes.len() as u64)
}

/// Writes a tree as a folder, which must be empty or not there, and is as it was if that fails.
/// Scalars that are no text or bytes are written as JSON. Gives the bytes of the files.
pub(crate) fn export(root: Node<'_>, folder: &FilePath) -> Result<u64, Failure> {
    check_names(root, folder)?;
    let begun = Begun::begin(folder)?;
    let bytes = write_files(root, &begun.at)?;
    begun.end()?;
    Ok(bytes)
}

fn write_files(root: Node<'_>, folder: &FilePath) -> Result<u64, Failure> {
    let mut bar = Bar::of_steps("nodes", root.subtree_count());
    let (mut done, mut bytes) = (0, 0);
    let mut todo = vec![(root, folder.to_owned())];
    while let Some((node, folder)) = todo.pop() {
        done += 1;
        bar.set(done);
        for (key, value) in members(node) {
            bytes += write_file(&folder.join(file_name(key, &folder)?), value)?;
        }
        for (key, child) in node.children() {
            let path = folder.join(file_name(&name(key), &folder)?);
            match content(child) {
                Some(value) => {
                    bytes += write_file(&path, value)?;
                    done += 1;
                }
                None => {
                    fs::create_dir(&path).map_err(|error| cannot_write(&path, &error))?;
                    todo.push((child, path));
                }
            }
        }
    }
    Ok(bytes)
}

/// Refuses names that no file can have, or two of one folder, before anything is made.
fn check_names(root: Node<'_>, folder: &FilePath) -> Result<(), Failure> {
    let mut todo = vec![(root, folder.to_owned())];
    while let Some((node, folder)) = todo.pop() {
        let mut names = HashSet::new();
        let attributes = members(node).map(|(key, _)| (Cow::Borrowed(key), None));
        let children = node.children().map(|(key, child)| (name(key), Some(child)));
        for (name, child) in attributes.chain(children) {
            let path = folder.join(file_name(&name, &folder)?);
            if let Some(child) = child.filter(|child| content(*child).is_none()) {
                todo.push((child, path));
            }
            if let Some(name) = names.replace(name) {
                let what = format!("two files would have the name {name:?}");
                return Err(wrong(&folder, &what).with_hint("--format json writes any tree"));
            }
        }
    }
    Ok(())
}

/// A folder that is being written. Dropped before its [end](Begun::end), nothing of it is left.
struct Begun<'f> {
    /// Where it is written: beside the place that it takes then, or there, in an empty folder.
    at: PathBuf,
    folder: &'f FilePath,
    /// So many of the folders above it were made for it.
    above: usize,
    has_ended: bool,
}

impl Begun<'_> {
    fn begin(folder: &FilePath) -> Result<Begun<'_>, Failure> {
        let cannot = |error: &io::Error| cannot_write(folder, error);
        let mut above = 0;
        let at = match fs::read_dir(folder) {
            Ok(mut there) => {
                if there.next().is_some() {
                    return Err(wrong(folder, &"the folder is not empty"));
                }
                // It stays the one that it is, with its owner, and what may be mounted there.
                folder.to_owned()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                above = folders_above(folder).take_while(|above| !above.exists()).count();
                let made = folder.parent().map_or(Ok(()), fs::create_dir_all);
                made.map_err(|error| cannot(&error))?;
                make_beside(folder)?
            }
            Err(error) => return Err(cannot(&error)),
        };
        Ok(Begun { at, folder, above, has_ended: false })
    }

    /// All of it was written.
    fn end(mut self) -> Result<(), Failure> {
        let cannot = |error: io::Error| cannot_write(self.folder, &error);
        sync_all_in(&self.at).map_err(cannot)?;
        if self.at != self.folder {
            fs::rename(&self.at, self.folder).map_err(cannot)?;
            self.has_ended = true;
            let mut named = folders_above(self.folder).take(self.above + 1);
            named.try_for_each(FolderDisk::sync_names).map_err(cannot)?;
        }
        self.has_ended = true;
        Ok(())
    }
}

/// The nearest first; where it begins without a name, that is the one in which this runs.
fn folders_above(folder: &FilePath) -> impl Iterator<Item = &FilePath> {
    folder.ancestors().skip(1)
}

/// Makes all that is in a folder outlast a power loss.
fn sync_all_in(folder: &FilePath) -> io::Result<()> {
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for file in fs::read_dir(&folder)? {
            let file = file?;
            match file.file_type()?.is_dir() {
                true => todo.push(file.path()),
                false => fs::OpenOptions::new().write(true).open(file.path())?.sync_all()?,
            }
        }
        FolderDisk::sync_names(&folder)?;
    }
    Ok(())
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        // What cannot be removed is told by what failed before.
        let _ = match self.at == self.folder {
            true => remove_all_in(&self.at),
            false => fs::remove_dir_all(&self.at),
        };
    }
}

/// Makes a folder beside this one, not after its name, which may be as long as can be. What was
/// killed may have left one of the same number, which a process in a container has each time.
fn make_beside(folder: &FilePath) -> Result<PathBuf, Failure> {
    let mut tries = 0_u32;
    loop {
        let name = format!("jungle-export.{}.{tries}.part", std::process::id());
        let beside = folder.with_file_name(name);
        match fs::create_dir(&beside) {
            Ok(()) => return Ok(beside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => tries += 1,
            Err(error) => return Err(cannot_write(&beside, &error)),
        }
    }
}

fn remove_all_in(folder: &FilePath) -> io::Result<()> {
    for file in fs::read_dir(folder)? {
        let file = file?;
        match file.file_type()?.is_dir() {
            true => fs::remove_dir_all(file.path())?,
            false => fs::remove_file(file.path())?,
        }
    }
    Ok(())
}

/// The attributes of a node, but for those that only say what it is.
fn members(node: Node<'_>) -> impl Iterator<Item = (&str, ValueRef<'_>)> {
    node.attributes().filter(|(key, _)| ![ARRAY_KEY, ORDER_KEY].contains(key))
}

/// What a child is called, as a file.
fn name(key: KeyRef<'_>) -> Cow<'_, str> {
    match key {
        KeyRef::Name(name) => name.into(),
        position => position.to_string().into(),
    }
}

/// What is in the file that stands for a node, if that is no folder.
fn content(node: Node<'_>) -> Option<ValueRef<'_>> {
    let is_file = !node.has_children() && node.attributes().nth(1).is_none();
    node.attribute(VALUE_KEY).filter(|_| is_file)
}

/// The name, if a file may have it: nothing is ever written outside of the folder.
fn file_name<'n>(name: &'n str, folder: &FilePath) -> Result<&'n str, Failure> {
    let is_bad = matches!(name, "" | "." | "..")
        || name.contains(['/', '\0'])
        || (cfg!(windows) && name.contains(['\\', ':']))
        || (cfg!(target_os = "linux") && name.len() > NAME_BYTES_MAX);
    if is_bad {
        let what = format_args!("no file can have the name {name:?}").to_string();
        return Err(wrong(folder, &what).with_hint("--format json writes any tree"));
    }
    Ok(name)
}

/// Gives how many bytes the file has.
fn write_file(path: &FilePath, value: ValueRef<'_>) -> Result<u64, Failure> {
    let mut json = String::new();
    let bytes = match value {
        ValueRef::Text(text) => text.as_bytes(),
        ValueRef::Bytes(bytes) => bytes,
        other => {
            write_value(other, &mut json);
            json.as_bytes()
        }
    };
    let file = fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| io::Write::write_all(&mut file, bytes));
    written.map_err(|error| cannot_write(path, &error))?;
    Ok(bytes.len() as u64)
}

fn cannot_read(path: &FilePath, error: &io::Error) -> Failure {
    Failure::new(Exit::Error, format_args!("cannot read {}: {error}", path.display()))
}

fn cannot_write(path: &FilePath, error: &io::Error) -> Failure {
    Failure::new(Exit::Error, format_args!("cannot write {}: {error}", path.display()))
}

fn wrong(path: &FilePath, what: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Error, format_args!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use jungle_tree::{Arena, Tree};

    use super::*;

    #[test]
    fn what_a_killed_export_has_left_is_in_nobodys_way() {
        let id = std::process::id();
        let above = std::env::temp_dir().join(format!("jungle-export-left-{id}"));
        let (left, folder) = (above.join(format!("jungle-export.{id}.0.part")), above.join("new"));
        fs::create_dir_all(&left).unwrap();
        let mut tree = Tree::new(&Arena::new().unwrap());
        tree.put_attribute(&[], "a", 1).unwrap();
        export(tree.snapshot().root(), &folder).unwrap();
        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "1");
        let names = fs::read_dir(&above).unwrap().map(|file| file.unwrap().file_name());
        assert_eq!(names.count(), 2);
        fs::remove_dir_all(&above).unwrap();
    }

    #[test]
    fn a_position_and_a_name_that_print_alike_are_refused_before_a_folder_is_made() {
        let mut tree = Tree::new(&Arena::new().unwrap());
        let position = tree.add_child(&[]).unwrap();
        tree.add_child(std::slice::from_ref(&position)).unwrap();
        tree.insert_child(&[], &Key::from("0")).unwrap();
        let id = std::process::id();
        let folder = std::env::temp_dir().join(format!("jungle-export-alike-{id}"));
        let refused = export(tree.snapshot().root(), &folder).unwrap_err();
        assert!(refused.message().contains("two files would have the name \"0\""), "{refused:?}");
        assert!(!folder.exists());
    }
}
