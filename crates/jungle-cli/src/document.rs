//! Reading a document into a tree, with a bar where it takes long.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use jungle_json::{
    ImportError, ImportOptions, ImportSummary, Limit, Limits, MemberOrder, Syntax, import,
};
use jungle_tree::{Arena, EditError, Editor, Path, Tree};

use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::bar::Bar;

/// What an import did, and how long it took.
pub(crate) struct Imported {
    pub(crate) summary: ImportSummary,
    pub(crate) time: Duration,
}

/// A tree in an arena of its own.
pub(crate) fn new_tree() -> Result<Tree, Failure> {
    let arena = Arena::new().map_err(|error| Failure::new(Exit::Error, error))?;
    Ok(Tree::new(&arena))
}

/// A document in a tree of its own.
pub(crate) fn open(file: &str, read: &args::Read) -> Result<Tree, Failure> {
    let mut tree = new_tree()?;
    import_file(&mut tree, file, read, MemberOrder::Keep)?;
    Ok(tree)
}

/// Makes the tree stand for the document in a file, or on standard input.
pub(crate) fn import_file(
    tree: &mut Tree,
    file: &str,
    read: &args::Read,
    member_order: MemberOrder,
) -> Result<Imported, Failure> {
    let options = options(read, member_order);
    tree.edit(|editor| import_into(editor, file, &options))
}

/// How a document is read on the command line: of any size, as deep as was said.
pub(crate) fn options(read: &args::Read, member_order: MemberOrder) -> ImportOptions {
    let limits = Limits { depth_max: read.depth_max, bytes_max: u64::MAX, ..Limits::default() };
    ImportOptions { limits, member_order }
}

/// As [`import_file`], into an editor.
pub(crate) fn import_into(
    editor: &mut Editor,
    file: &str,
    options: &ImportOptions,
) -> Result<Imported, Failure> {
    let (reader, bytes) = reader(file)?;
    let start = Instant::now();
    let mut bar = Bar::new(file, bytes);
    let result = import(reader, editor, &[], options, &mut |read| bar.set(read));
    bar.end();
    Ok(Imported { summary: result.map_err(|error| refused(file, &error))?, time: start.elapsed() })
}

/// A file or standard input, and its length where that is known.
pub(crate) fn reader(file: &str) -> Result<(Box<dyn Read>, Option<u64>), Failure> {
    if file == "-" {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let open = || -> io::Result<(File, Option<u64>)> {
        let opened = File::open(file)?;
        let metadata = opened.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        // A pipe says it has none.
        Ok((opened, metadata.is_file().then_some(metadata.len())))
    };
    match open() {
        Ok((opened, bytes)) => Ok((Box::new(opened), bytes)),
        Err(error) => Err(cannot_read(file, &error)),
    }
}

/// A file that cannot be opened.
pub(crate) fn cannot_read(file: &str, error: &io::Error) -> Failure {
    let message = format_args!("cannot read {file}: {error}");
    match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(Exit::NotFound, message).with_hint("`-` reads standard input")
        }
        _ => Failure::new(Exit::Error, message),
    }
}

/// What a file is called in messages.
pub(crate) fn shown(file: &str) -> &str {
    if file == "-" { "standard input" } else { file }
}

/// What is wrong with a document.
pub(crate) fn refused(file: &str, error: &ImportError) -> Failure {
    let failure = Failure::new(Exit::Error, format_args!("{}: {error}", shown(file)));
    match error {
        ImportError::Limit { limit: Limit::Depth(max), .. } => {
            failure.with_hint(format_args!("--depth-max {} accepts more", max.max(&1) * 100))
        }
        ImportError::DuplicateName { .. } => {
            failure.with_hint("readers of JSON differ in which of the two they keep; remove one")
        }
        ImportError::Syntax { reason: Syntax::Expected { found: None, .. }, .. } => {
            failure.with_hint("is the file complete?")
        }
        ImportError::Syntax {
            reason: Syntax::Expected { what: "the end of the document", .. },
            ..
        } => failure.with_hint("a file holds one document; several need an array around them"),
        ImportError::Edit { source: EditError::TooManyKeys, .. } => {
            failure.with_hint("names that are data belong into one large object each")
        }
        _ => failure,
    }
}

/// A path from the command line; the slash in front may be left out, and one may be behind it, as
/// completion writes it where there is more below.
pub(crate) fn path(text: &str) -> Result<Path, Failure> {
    let keys = text.strip_prefix('/').unwrap_or(text);
    let keys = keys.strip_suffix('/').filter(|keys| !keys.is_empty()).unwrap_or(keys);
    format!("/{keys}").parse().map_err(|error| {
        Failure::new(Exit::Usage, format_args!("{text}: {error}"))
            .with_hint(r#"a path is /name/0/"name with / in it"; names made of digits need quotes"#)
    })
}

#[cfg(test)]
mod tests {
    use jungle_testkit::Scratch;

    use super::*;

    #[test]
    fn only_of_a_file_it_is_known_how_much_comes() {
        let folder = Scratch::new("jungle-cli-reader");
        let file = folder.join("one.json");
        std::fs::write(&file, "{}").unwrap();
        let bytes = |place: &str| reader(place).ok().map(|(_, bytes)| bytes);
        assert_eq!(bytes(file.to_str().unwrap()), Some(Some(2)));
        // As of a named pipe, which would wait here for somebody who writes.
        assert_eq!(bytes("/dev/null"), Some(None));
        assert_eq!(bytes(folder.to_str().unwrap()), None, "a folder is no document");
    }
}
