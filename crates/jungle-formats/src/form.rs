//! The forms, and what is read and written of each.

use std::io::{self, BufRead, Read, Write};

use jungle_json::Member;
use jungle_tree::Path;

use crate::error::WriteError;
use crate::{csv, html, markdown, table, xml, yaml};

/// What a document is read as, where it is not JSON.
///
/// ```
/// use std::io::Read;
/// use jungle_formats::{ReadForm, json};
/// let mut text = String::new();
/// json(ReadForm::Html, &b"<br>"[..], 512).read_to_string(&mut text)?;
/// assert!(text.contains(r##"{"#name":"br"}"##));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadForm {
    /// A document, in pieces.
    Yaml,
    /// A document, in pieces.
    Xml,
    /// A page, which is held whole.
    Html,
    /// A table, row by row.
    Csv,
}

/// What a part of a tree is written as, where it is not JSON.
///
/// ```
/// use jungle_formats::{WriteForm, write};
/// use jungle_json::Member;
/// use jungle_tree::Path;
/// let mut out = Vec::new();
/// write(WriteForm::Yaml, Member::Value("yes".into()), &Path::root(), &mut out)?;
/// assert_eq!(out, b"\"yes\"\n");
/// # Ok::<(), jungle_formats::WriteError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteForm {
    /// A document, in pieces; of any tree.
    Yaml,
    /// A document, in pieces; of a tree that was read from XML, or could have been.
    Xml,
    /// A page, which is held whole and read again before it is given out; likewise.
    Html,
    /// A table, row by row; of an array or object of objects of scalars.
    Csv,
    /// A table of Markdown; likewise. It is not read again.
    Markdown,
}

/// The JSON that stands for a document, to be read: as it is read itself, in pieces, unless its
/// form says otherwise. Of `document` no more than 64 MiB are held for one thing: a value, a tag, a
/// row, a page; and of the JSON that it becomes no more than 128 MiB, but for a page.
///
/// Where the form nests, objects and arrays are in one another no deeper than `depth_max`, or a
/// little more; the import has a limit of its own. In XML and HTML an element counts as two.
///
/// # Errors
/// Reading it fails when reading the document does, of whatever kind that is; with the kind
/// `FileTooLarge` when too much would be held, also of what aliases of YAML stand for; and with
/// `InvalidData` when it is not what its form says. The message has the place.
///
/// ```
/// use std::io::Read;
/// use jungle_formats::{ReadForm, json};
/// let mut text = String::new();
/// json(ReadForm::Csv, &b"name,age\nana,7\n"[..], 512).read_to_string(&mut text)?;
/// assert_eq!(text, r#"[{"name":"ana","age":"7"}]"#);
/// let error = json(ReadForm::Csv, &b"a,a\n"[..], 512).read_to_string(&mut text).unwrap_err();
/// assert_eq!(error.to_string(), "line 1: a second column \"a\"");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn json<'r>(
    form: ReadForm,
    document: impl BufRead + 'r,
    depth_max: usize,
) -> Box<dyn Read + 'r> {
    match form {
        ReadForm::Yaml => Box::new(yaml::Json::new(document, depth_max)),
        ReadForm::Xml => Box::new(xml::Json::new(document)),
        ReadForm::Html => Box::new(html::Json::new(document, depth_max)),
        ReadForm::Csv => Box::new(csv::Json::new(document)),
    }
}

/// As [`json()`] of [`ReadForm::Html`], of what stands in the body of a page: there is no page
/// around it.
///
/// # Errors
/// As with [`json()`].
///
/// ```
/// use std::io::Read;
/// use jungle_formats::html_part;
/// let mut text = String::new();
/// html_part(&b"<b>bold</b>"[..], 512).read_to_string(&mut text)?;
/// assert_eq!(text, r##"[{"#name":"b","#children":["bold"]}]"##);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn html_part<'r>(document: impl BufRead + 'r, depth_max: usize) -> Box<dyn Read + 'r> {
    Box::new(html::Json::of(html::Form::Part, document, depth_max))
}

/// The JSON that stands for CSV without the rows that are wrong, where it is clear where the next
/// one begins: `left_out` is told what is wrong with each.
///
/// # Errors
/// As with [`json()`], for the rest.
///
/// ```
/// use std::io::Read;
/// use jungle_formats::csv_without;
/// let (mut text, mut told) = (String::new(), Vec::new());
/// csv_without(&b"a,b\n1,2\n3\n"[..], |what| told.push(what)).read_to_string(&mut text)?;
/// assert_eq!(text, r#"[{"a":"1","b":"2"}]"#);
/// assert_eq!(told, ["line 3: 1 cells, where the header has 2"]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn csv_without<'r>(
    document: impl BufRead + 'r,
    left_out: impl FnMut(String) + 'r,
) -> Box<dyn Read + 'r> {
    Box::new(csv::Json::new(document).leaving_out(left_out))
}

/// Writes what is at a path, which is told where something has no place in the form. There is no
/// line feed at the end of XML and HTML.
///
/// # Errors
/// When the writer fails; when the form has no place for something, which is found before anything
/// is written of a page or table, and on the way through XML; when a page would not be read again.
///
/// ```
/// use jungle_formats::{WriteError, WriteForm, write};
/// use jungle_json::Member;
/// use jungle_tree::{Arena, Path, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], "stars", 7)?;
/// let (snapshot, mut out) = (tree.snapshot(), Vec::new());
/// let written = write(WriteForm::Csv, Member::Node(snapshot.root()), &Path::root(), &mut out);
/// let error = written.unwrap_err();
/// assert_eq!(error.to_string(), "what is at /stars is no object");
/// assert!(matches!(error, WriteError::NoPlace { .. }) && out.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(
    form: WriteForm,
    member: Member<'_>,
    path: &Path,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    match (form, member) {
        (WriteForm::Yaml, member) => yaml::write(member, out),
        (WriteForm::Xml, Member::Node(node)) => xml::write(node, path, out),
        (WriteForm::Html, Member::Node(node)) => html::write(node, path, out),
        (WriteForm::Csv, Member::Node(node)) => csv::write(node, path, out),
        (WriteForm::Markdown, Member::Node(node)) => markdown::write(node, path, out),
        (WriteForm::Xml, Member::Value(_)) => Err(WriteError::no_place(path, "not XML")),
        (WriteForm::Html, Member::Value(_)) => Err(WriteError::no_place(path, "not HTML")),
        (WriteForm::Csv | WriteForm::Markdown, Member::Value(_)) => {
            Err(WriteError::no_place(path, "no array or object"))
        }
    }
}

/// Looks whether the form has a place for all that is at a path, so that nothing is begun where it
/// has none. It takes what [`write()`] does, of a table what the first look at it takes.
///
/// # Errors
/// As with [`write()`], but for the writer's.
///
/// ```
/// use jungle_formats::{WriteForm, fits};
/// use jungle_json::Member;
/// use jungle_tree::Path;
/// let fits = |form| fits(form, Member::Value(7.into()), &Path::root()).is_ok();
/// assert!(fits(WriteForm::Yaml) && !fits(WriteForm::Xml));
/// ```
pub fn fits(form: WriteForm, member: Member<'_>, path: &Path) -> Result<(), WriteError> {
    match (form, member) {
        (WriteForm::Yaml, _) => Ok(()),
        (WriteForm::Csv | WriteForm::Markdown, Member::Node(node)) => table::fits(node, path),
        _ => write(form, member, path, &mut io::sink()),
    }
}
