//! A tree that is HTML as HTML, which is read again before it is given out: there are trees that no
//! page stands for, and browsers make something else of what would look like one.

use std::io::Write;

use jungle_json::{ImportError, ImportOptions, Limits, MemberOrder, Shape, import, shape};
use jungle_tree::{Arena, Children, KeyRef, Node, Path, Tree};

use super::item::{Element, Item};
use super::names::CHILDREN;
use super::read::{Form, Json, Refused, Why, is_void};
use crate::error::WriteError;

/// No page is read that is longer.
const PAGE_BYTES_MAX: usize = jungle_tree::VALUE_BYTES_MAX;

/// No more elements are written in one another: for each tag a reader looks through all that are
/// open. Browsers leave off at 512.
const DEPTH_MAX: usize = 1024;

/// The text in these is written as it is, and has no end but theirs.
const RAW: [&str; 7] = ["style", "script", "xmp", "iframe", "noembed", "noframes", "noscript"];

/// A line feed at the beginning of these is left out by who reads it.
const PREFORMATTED: [&str; 3] = ["pre", "textarea", "listing"];

/// Elements of other languages in which there is HTML again.
const POINTS: [&str; 8] = ["foreignObject", "desc", "title", "mi", "mo", "mn", "ms", "mtext"];

/// There is something that HTML has no form for.
fn not_html(path: &Path) -> WriteError {
    WriteError::no_place(path, "not HTML")
}

/// Writes a document, or an element of one, without a line feed at its end.
pub(crate) fn write(node: Node<'_>, path: &Path, out: &mut impl Write) -> Result<(), WriteError> {
    let page = text(node, path)?;
    check(&page, node, path)?;
    Ok(out.write_all(page.as_bytes())?)
}

/// An element that is being written, or the document.
struct Open<'t> {
    children: Children<'t>,
    /// The key of the child that is being written.
    here: Option<KeyRef<'t>>,
    /// The name of the element; the document has none.
    name: Option<&'t str>,
    /// Is it in SVG or MathML, which know no void elements and no raw text?
    is_foreign: bool,
    is_raw: bool,
    /// Is nothing in it yet, and would a line feed be left out?
    leaves_out: bool,
}

fn text(node: Node<'_>, path: &Path) -> Result<String, WriteError> {
    let mut page = Written::default();
    let mut open = Vec::new();
    match shape(node) {
        Shape::Array(children) => open.push(Open::document(children)),
        _ => begin(node, &mut page, &mut open).map_err(|stop| stop.at(path))?,
    }
    let list = match open.first() {
        Some(Open { name: Some(_), .. }) => path.join(CHILDREN),
        _ => path.clone(),
    };
    while let Some(innermost) = open.last_mut() {
        let written = if let Some((key, child)) = innermost.children.next() {
            innermost.here = Some(key);
            match Item::of(child) {
                Some(Item::Text(text)) => innermost.text(text, &mut page),
                _ => {
                    innermost.leaves_out = false;
                    begin(child, &mut page, &mut open)
                }
            }
        } else {
            innermost.here = None;
            let name = innermost.name;
            let ended = name.map_or(Ok(()), |name| page.extend(["</", name, ">"]));
            if ended.is_ok() {
                open.pop();
            }
            ended
        };
        written.map_err(|stop| stop.at(&whole_path(&list, open.iter().map(|it| it.here))))?;
    }
    Ok(page.text)
}

/// Why something is not written.
enum Stop {
    NotHtml,
    /// The page would be too long.
    Long,
    Deep,
}

impl Stop {
    fn at(&self, path: &Path) -> WriteError {
        WriteError::Limit(match self {
            Stop::NotHtml => return not_html(path),
            Stop::Long => {
                format!("a page has less than {PAGE_BYTES_MAX} bytes; it would end at {path}")
            }
            Stop::Deep => {
                format!(
                    "a page has at most {DEPTH_MAX} elements in one another; one more is {path}"
                )
            }
        })
    }
}

/// A page so far, which is always short enough to be read.
#[derive(Default)]
struct Written {
    text: String,
}

impl Written {
    fn push(&mut self, piece: &str) -> Result<(), Stop> {
        if piece.len() >= PAGE_BYTES_MAX - self.text.len() {
            return Err(Stop::Long);
        }
        self.text.push_str(piece);
        Ok(())
    }

    fn extend<const N: usize>(&mut self, pieces: [&str; N]) -> Result<(), Stop> {
        pieces.into_iter().try_for_each(|piece| self.push(piece))
    }

    fn escape(&mut self, mut text: &str) -> Result<(), Stop> {
        while let Some(at) = text.find(['&', '<', '>', '"', '\u{a0}', '\r']) {
            let (before, rest) = text.split_at(at);
            self.push(before)?;
            let mut chars = rest.chars();
            self.push(match chars.next() {
                Some('&') => "&amp;",
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('"') => "&quot;",
                Some('\u{a0}') => "&nbsp;",
                // A reader makes a line feed of it.
                _ => "&#13;",
            })?;
            text = chars.as_str();
        }
        self.push(text)
    }
}

impl<'t> Open<'t> {
    fn document(children: Children<'t>) -> Open<'t> {
        let (is_foreign, is_raw, leaves_out) = (false, false, false);
        Open { children, here: None, name: None, is_foreign, is_raw, leaves_out }
    }

    fn text(&mut self, text: &str, page: &mut Written) -> Result<(), Stop> {
        if std::mem::replace(&mut self.leaves_out, false) && text.starts_with('\n') {
            page.push("\n")?;
        }
        match self.is_raw {
            true => page.push(text),
            false => page.escape(text),
        }
    }
}

/// Writes what is no text, or opens it in what is open.
fn begin<'t>(node: Node<'t>, page: &mut Written, open: &mut Vec<Open<'t>>) -> Result<(), Stop> {
    let element = match Item::of(node).ok_or(Stop::NotHtml)? {
        Item::Text(text) => return page.escape(text),
        Item::Comment(text) => return page.extend(["<!--", text, "-->"]),
        Item::Doctype(text) => return page.extend(["<!DOCTYPE ", text, ">"]),
        Item::Element(element) => element,
    };
    // The outermost is the document, or an element itself.
    let is_document = open.first().is_some_and(|outermost| outermost.name.is_none());
    if open.len() - usize::from(is_document) == DEPTH_MAX {
        return Err(Stop::Deep);
    }
    let Element { name, attributes, children } = &element;
    page.extend(["<", name])?;
    for (name, value) in attributes {
        page.extend([" ", name, "=\""])?;
        page.escape(value)?;
        page.push("\"")?;
    }
    page.push(">")?;
    let is_foreign = open.last().is_some_and(|around| around.is_foreign);
    let is_foreign = is_foreign || ["svg", "math"].contains(name);
    let mut children = children.clone();
    if !is_foreign && is_void(name) {
        // Whatever is in it would not be.
        let is_empty = children.is_none_or(|mut children| children.next().is_none());
        return is_empty.then_some(()).ok_or(Stop::NotHtml);
    }
    match children.take() {
        None => page.extend(["</", name, ">"])?,
        Some(children) => open.push(Open {
            children,
            here: None,
            name: Some(name),
            is_foreign: is_foreign && !has_html(&element),
            is_raw: !is_foreign && RAW.contains(name),
            leaves_out: !is_foreign && PREFORMATTED.contains(name),
        }),
    }
    Ok(())
}

/// Is there HTML in this element of another language?
fn has_html(element: &Element<'_>) -> bool {
    let is_html = |value: &str| {
        ["text/html", "application/xhtml+xml"].iter().any(|html| value.eq_ignore_ascii_case(html))
    };
    let mut attributes = element.attributes.iter();
    POINTS.contains(&element.name)
        || element.name == "annotation-xml"
            && attributes.any(|(name, value)| *name == "encoding" && is_html(value))
}

/// Reads a page again, and looks whether it is the tree that it was made of.
fn check(page: &str, node: Node<'_>, path: &Path) -> Result<(), WriteError> {
    let is_document = matches!(shape(node), Shape::Array(_));
    let is_root = matches!(Item::of(node), Some(Item::Element(Element { name: "html", .. })));
    let form = if is_document || is_root { Form::Document } else { Form::Part };
    let mut tree = Tree::new(&Arena::new()?);
    let limits = Limits { depth_max: usize::MAX, bytes_max: u64::MAX, ..Limits::default() };
    let options = ImportOptions { limits, member_order: MemberOrder::Ignore };
    // An element counts as two. No tree that is written is deeper, so one that is differs from it.
    let json = Json::of(form, page.as_bytes(), 2 * DEPTH_MAX + 1);
    tree.edit(|editor| import(json, editor, &[], &options, &mut |_| ()))
        .map_err(|error| not_read(error, path))?;
    let again = tree.snapshot();
    let Shape::Array(mut read) = shape(again.root()) else { return Err(not_html(path)) };
    let whole = match shape(node) {
        Shape::Array(children) => same(children, read, path),
        _ => match (read.next(), read.next()) {
            (Some((_, only)), None) => match same_item(node, only) {
                Some(Some([written, read])) => same(written, read, &path.join(CHILDREN)),
                Some(None) => Ok(()),
                None => Err(path.clone()),
            },
            _ => Err(path.clone()),
        },
    };
    whole.map_err(|path| not_html(&path))
}

/// Why what was written cannot be read again.
fn not_read(error: ImportError, path: &Path) -> WriteError {
    let refused = match &error {
        ImportError::Read(error) => error.get_ref().and_then(|error| error.downcast_ref()),
        _ => None,
    };
    match (refused, &error) {
        (Some(Refused { why: Why::Deep(_), .. }), _)
        | (_, ImportError::Syntax { .. } | ImportError::DuplicateName { .. }) => not_html(path),
        (_, ImportError::Read(_) | ImportError::Limit { .. }) => {
            WriteError::Limit(format!("what is at {path} makes a page that is not read: {error}"))
        }
        _ => WriteError::NotRead(error),
    }
}

/// Are all things the same in two lists of them? Else tells where they differ first.
fn same(written: Children<'_>, read: Children<'_>, path: &Path) -> Result<(), Path> {
    let mut open = vec![(written, read, None)];
    while let Some((written, read, here)) = open.last_mut() {
        let (one, other) = (written.next(), read.next());
        *here = one.as_ref().map(|(key, _)| *key);
        let inside = match (one, other) {
            (None, None) => {
                open.pop();
                continue;
            }
            (Some((_, one)), Some((_, other))) => same_item(one, other),
            _ => None,
        };
        match inside {
            None => return Err(whole_path(path, open.iter().map(|(.., here)| *here))),
            Some(None) => {}
            Some(Some([written, read])) => open.push((written, read, None)),
        }
    }
    Ok(())
}

/// Are two things the same, without what is in them, which is given?
fn same_item<'t>(written: Node<'t>, read: Node<'t>) -> Option<Option<[Children<'t>; 2]>> {
    match (Item::of(written)?, Item::of(read)?) {
        (Item::Text(written), Item::Text(read))
        | (Item::Comment(written), Item::Comment(read))
        | (Item::Doctype(written), Item::Doctype(read)) => (written == read).then_some(None),
        (Item::Element(written), Item::Element(read)) => {
            let is_same = (written.name, &written.attributes) == (read.name, &read.attributes);
            let children = match (written.children, read.children) {
                (Some(written), Some(read)) => Some([written, read]),
                // That nothing is in it is said or not.
                (None, None) => None,
                (Some(mut only), None) | (None, Some(mut only)) => {
                    only.next().is_none().then_some(())?;
                    None
                }
            };
            is_same.then_some(children)
        }
        _ => None,
    }
}

/// Where one is that is in lists in one another: the path of the outermost, and the key in each.
fn whole_path<'t>(list: &Path, keys: impl Iterator<Item = Option<KeyRef<'t>>>) -> Path {
    let mut whole = list.clone();
    for (depth, key) in keys.enumerate() {
        if depth > 0 {
            whole.push(CHILDREN);
        }
        if let Some(key) = key {
            whole.push(key.to_key());
        }
    }
    whole
}
