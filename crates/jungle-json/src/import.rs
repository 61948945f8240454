//! Reading a document into a tree, streaming.

use std::io::Read;

use jungle_tree::{Editor, Key, Node, Snapshot, ValueRef};

use crate::build::Build;
use crate::error::ImportError;
use crate::number;
use crate::options::ImportOptions;
use crate::target::{Content, Kind, Target};
use crate::token::{Token, Tokens};

/// What an import read and did.
///
/// ```
/// use jungle_json::{ImportOptions, import};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let text = r#"{"name":"jungle","tags":["tree","db"]}"#;
/// let mut read = || {
///     let options = ImportOptions::default();
///     tree.edit(|editor| import(text.as_bytes(), editor, &[], &options, &mut |_| ()))
/// };
/// let first = read()?;
/// assert_eq!((first.bytes, first.nodes, first.scalars, first.depth), (38, 4, 3, 2));
/// assert_eq!(read()?.edits, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Bytes of the document.
    pub bytes: u64,
    /// Nodes that it stands for, the one it was read into included.
    pub nodes: u64,
    /// Scalars in it.
    pub scalars: u64,
    /// How many objects and arrays are in one another at most.
    pub depth: usize,
    /// Children added and removed and attributes put and removed, to get there. None if the tree
    /// held the document already.
    pub edits: u64,
}

/// Makes the node at `path` stand for the JSON document that `reader` gives; what the node held
/// before and the document has no more is gone.
///
/// What it held and the document still has is left as it is, so importing one version of a
/// document after the other costs what changed between them, and they share the rest. Elements of
/// arrays are compared with those at the same index.
///
/// The document is read in pieces and never held whole; `progress` is told after each piece how
/// many bytes were read.
///
/// # Errors
/// When the document is not JSON, cannot be kept without loss, or passes a limit; when it cannot
/// be read, or the tree refuses it. The editor must be dropped then: it may hold a part.
///
/// # Cost
/// What is compared is the version that the editor began with. A node that the same editor has
/// changed before is cleared first, and nothing of it is shared.
///
/// ```
/// use jungle_json::{ImportOptions, import};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let mut read = |text: &str| {
///     let options = ImportOptions::default();
///     tree.edit(|editor| import(text.as_bytes(), editor, &[], &options, &mut |_| ()))
/// };
/// let first = read(r#"{"a":[1,2,3],"b":{"c":true}}"#)?;
/// assert_eq!((first.nodes, first.scalars, first.depth), (6, 4, 2));
/// let second = read(r#"{"a":[1,2,3],"b":{"c":false}}"#)?;
/// assert_eq!(second.edits, 1);
/// # Ok::<(), jungle_json::ImportError>(())
/// # .map_err(|e| panic!("{e}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(
    reader: impl Read,
    editor: &mut Editor,
    path: &[Key],
    options: &ImportOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<ImportSummary, ImportError> {
    let base = editor.base().clone();
    let was = comparable(&base, editor, path)?;
    // What cannot be compared is cleared.
    let content = match was {
        Some(_) => Content::default(),
        None => Content::of(editor.root().at(path).map_err(ImportError::NoSuchNode)?),
    };
    let mut tokens = Tokens::new(reader, options.limits.clone(), progress);
    let cursor =
        editor.cursor(path).map_err(|source| ImportError::Edit { at: tokens.start(), source })?;
    let mut target = Target::new(cursor);
    let cleared = target.clear(&content);
    cleared.map_err(|source| ImportError::Edit { at: tokens.start(), source })?;
    let mut build = Build::new(target, was, options);
    loop {
        let token = tokens.next()?;
        build.at = tokens.start();
        match token {
            Token::BeginObject => build.begin(Kind::Object)?,
            Token::BeginArray => build.begin(Kind::Array)?,
            Token::EndObject => build.end_object()?,
            Token::EndArray => build.end_array()?,
            Token::Name => build.name(tokens.text())?,
            Token::Text => build.scalar(ValueRef::Text(tokens.text()))?,
            Token::Number => build.scalar(number::value(tokens.text()))?,
            Token::Bool(bool) => build.scalar(ValueRef::Bool(bool))?,
            Token::Null => build.scalar(ValueRef::Null)?,
            Token::End => break,
        }
    }
    Ok(ImportSummary { bytes: tokens.offset(), ..build.summary() })
}

/// The node at `path` in the version that the editor began with, if the editor has not changed it.
fn comparable<'b>(
    base: &'b Snapshot,
    editor: &Editor,
    path: &[Key],
) -> Result<Option<Node<'b>>, ImportError> {
    let now = editor.root().at(path).map_err(ImportError::NoSuchNode)?;
    Ok(base.root().at(path).ok().filter(|was| was.is_same(now)))
}
