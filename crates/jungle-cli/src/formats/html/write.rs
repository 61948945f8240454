//! A tree that is HTML as HTML, which is read again before it is given out: there are trees that no
//! page stands for, and browsers make something else of what would look like one.

use std::io::Write;

use jungle_json::{ImportOptions, Limits, MemberOrder, Shape, import, shape};
use jungle_tree::{Arena, Children, KeyRef, Node, Path, Tree};

use super::item::{Element, Item};
use super::names::CHILDREN;
use super::read::{Form, Json, is_void};
use crate::failure::{Exit, Failure, failed};

/// No page is read that is longer.
const PAGE_BYTES_MAX: usize = jungle_tree::VALUE_BYTES_MAX;

/// The text in these is written as it is, and has no end but theirs.
const RAW: [&str; 7] = ["style", "script", "xmp", "iframe", "noembed", "noframes", "noscript"];

/// A line feed at the beginning of these is left out by who reads it.
const PREFORMATTED: [&str; 3] = ["pre", "textarea", "listing"];

/// Elements of other languages in which there is HTML again.
const POINTS: [&str; 8] = ["foreignObject", "desc", "title", "mi", "mo", "mn", "ms", "mtext"];

/// There is something that HTML has no form for.
pub(crate) fn not_html(path: &Path) -> Failure {
    Failure::new(Exit::Error, format_args!("what is at {path} is not HTML")).with_hint(
        "only what was imported from HTML is sure to come out as HTML; --format json takes all",
    )
}

/// Writes a document, or an element of one, without a line feed at its end.
pub(crate) fn write(node: Node<'_>, path: &Path, out: &mut impl Write) -> Result<(), Failure> {
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

fn text(node: Node<'_>, path: &Path) -> Result<String, Failure> {
    let mut page = String::new();
    let mut open = Vec::new();
    match shape(node) {
        Shape::Array(children) => open.push(Open::document(children)),
        _ => begin(node, false, &mut page, &mut open).ok_or_else(|| not_html(path))?,
    }
    while let Some(innermost) = open.last_mut() {
        if let Some((key, child)) = innermost.children.next() {
            innermost.here = Some(key);
            let written = match Item::of(child) {
                Some(Item::Text(text)) => innermost.text(text, &mut page),
                _ => {
                    innermost.leaves_out = false;
                    begin(child, innermost.is_foreign, &mut page, &mut open)
                }
            };
            if written.is_none() || page.len() >= PAGE_BYTES_MAX {
                return Err(not_written(&whole_path(path, &open), &page));
            }
        } else {
            if let Some(name) = innermost.name {
                page.push_str("</");
                page.push_str(name);
                page.push('>');
            }
            open.pop();
        }
    }
    Ok(page)
}

fn not_written(path: &Path, page: &str) -> Failure {
    if page.len() < PAGE_BYTES_MAX {
        return not_html(path);
    }
    let message =
        format_args!("a page has less than {PAGE_BYTES_MAX} bytes; it would end at {path}");
    Failure::new(Exit::Error, message).with_hint("a part of it can be exported by its path")
}

impl<'t> Open<'t> {
    fn document(children: Children<'t>) -> Open<'t> {
        let (is_foreign, is_raw, leaves_out) = (false, false, false);
        Open { children, here: None, name: None, is_foreign, is_raw, leaves_out }
    }

    fn text(&mut self, text: &str, page: &mut String) -> Option<()> {
        if std::mem::replace(&mut self.leaves_out, false) && text.starts_with('\n') {
            page.push('\n');
        }
        match self.is_raw {
            true => page.push_str(text),
            false => escape(text, page),
        }
        Some(())
    }
}

/// Writes what is no text, or opens it; `None` if it is not HTML.
fn begin<'t>(
    node: Node<'t>,
    is_foreign: bool,
    page: &mut String,
    open: &mut Vec<Open<'t>>,
) -> Option<()> {
    let element = match Item::of(node)? {
        Item::Text(text) => {
            escape(text, page);
            return Some(());
        }
        Item::Comment(text) => {
            page.extend(["<!--", text, "-->"]);
            return Some(());
        }
        Item::Doctype(text) => {
            page.extend(["<!DOCTYPE ", text, ">"]);
            return Some(());
        }
        Item::Element(element) => element,
    };
    let Element { name, attributes, children } = &element;
    page.extend(["<", name]);
    for (name, value) in attributes {
        page.extend([" ", name, "=\""]);
        escape(value, page);
        page.push('"');
    }
    page.push('>');
    let is_foreign = is_foreign || ["svg", "math"].contains(name);
    let mut children = children.clone();
    if !is_foreign && is_void(name) {
        // Whatever is in it would not be.
        return children.is_none_or(|mut children| children.next().is_none()).then_some(());
    }
    match children.take() {
        None => page.extend(["</", name, ">"]),
        Some(children) => open.push(Open {
            children,
            here: None,
            name: Some(name),
            is_foreign: is_foreign && !has_html(&element),
            is_raw: !is_foreign && RAW.contains(name),
            leaves_out: !is_foreign && PREFORMATTED.contains(name),
        }),
    }
    Some(())
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

fn escape(text: &str, page: &mut String) {
    for c in text.chars() {
        match c {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\u{a0}' => page.push_str("&nbsp;"),
            // A reader makes a line feed of it.
            '\r' => page.push_str("&#13;"),
            c => page.push(c),
        }
    }
}

/// Reads a page again, and looks whether it is the tree that it was made of.
fn check(page: &str, node: Node<'_>, path: &Path) -> Result<(), Failure> {
    let is_document = matches!(shape(node), Shape::Array(_));
    let is_root = matches!(Item::of(node), Some(Item::Element(Element { name: "html", .. })));
    let form = if is_document || is_root { Form::Document } else { Form::Part };
    let mut tree = Tree::new(&Arena::new().map_err(failed)?);
    let limits = Limits { depth_max: usize::MAX, bytes_max: u64::MAX, ..Limits::default() };
    let options = ImportOptions { limits, member_order: MemberOrder::Ignore };
    let json = Json::of(form, page.as_bytes(), usize::MAX);
    tree.edit(|editor| import(json, editor, &[], &options, &mut |_| ()))
        .map_err(|_| not_html(path))?;
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

/// Are all things the same in two lists of them? Else tells where they differ first.
fn same(written: Children<'_>, read: Children<'_>, path: &Path) -> Result<(), Path> {
    let mut open = vec![(written, read, path.clone())];
    while let Some((written, read, path)) = open.last_mut() {
        let (one, other) = (written.next(), read.next());
        let differs = || match &one {
            Some((key, _)) => path.join(key.to_key()),
            None => path.clone(),
        };
        match (&one, &other) {
            (None, None) => {
                open.pop();
            }
            (Some((key, one)), Some((_, other))) => match same_item(*one, *other) {
                None => return Err(differs()),
                Some(None) => {}
                Some(Some([one, other])) => {
                    let path = path.join(key.to_key()).join(CHILDREN);
                    open.push((one, other, path));
                }
            },
            _ => return Err(differs()),
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

/// Where the writing is.
fn whole_path(path: &Path, open: &[Open<'_>]) -> Path {
    let mut whole = path.clone();
    for (depth, open) in open.iter().enumerate() {
        if depth > 0 || open.name.is_some() {
            whole.push(CHILDREN);
        }
        if let Some(key) = open.here {
            whole.push(key.to_key());
        }
    }
    whole
}
