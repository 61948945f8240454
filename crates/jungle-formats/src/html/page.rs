//! A page as the parser builds it: nodes by their numbers, each linked to its neighbours, so that
//! moving one costs the same wherever it is, and nothing goes down by calling itself.

use std::borrow::Cow;
use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, ExpandedName, QualName, local_name, ns};

/// About what a node takes, without its attributes.
const NODE_BYTES: u64 = 160;
const ATTRIBUTE_BYTES: u64 = 64;

/// What the parser knows a node by. The name is that of an element, else empty.
#[derive(Clone)]
pub(super) struct Handle {
    id: u32,
    name: QualName,
}

/// The first node, and so none that another could be in.
const DOCUMENT: u32 = 0;

#[derive(Debug)]
pub(super) enum What {
    /// The document, or what is in a template.
    Parts,
    Doctype(String),
    Text(StrTendril),
    Comment(StrTendril),
    Element {
        name: QualName,
        attributes: Vec<Attribute>,
        /// What has the children, of a template.
        content: Option<u32>,
        /// Is HTML in it again, though it is none itself?
        has_html: bool,
    },
}

#[derive(Debug)]
struct Node {
    what: What,
    /// How many elements it was in when it got its place.
    depth: u32,
    parent: Option<u32>,
    previous: Option<u32>,
    next: Option<u32>,
    first: Option<u32>,
    last: Option<u32>,
}

/// What was built.
#[derive(Debug)]
pub(super) struct Page {
    nodes: Vec<Node>,
    size: Size,
}

/// How much a page is so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// About what all nodes take.
    pub(super) bytes: u64,
    /// The most elements that were in one another.
    pub(super) depth: u32,
    /// The most attributes of an element to which some were added later.
    pub(super) attributes: usize,
}

impl Page {
    fn new() -> Page {
        let mut page = Page { nodes: Vec::new(), size: Size::default() };
        page.add(What::Parts);
        page
    }

    pub(super) fn what(&self, id: u32) -> &What {
        &self.nodes[id as usize].what
    }

    /// The first thing in the document.
    pub(super) fn first(&self) -> Option<u32> {
        self.nodes[DOCUMENT as usize].first
    }

    /// The first thing in an element.
    pub(super) fn first_in(&self, id: u32) -> Option<u32> {
        let node = &self.nodes[id as usize];
        match node.what {
            What::Element { content: Some(content), .. } => self.nodes[content as usize].first,
            _ => node.first,
        }
    }

    pub(super) fn next(&self, id: u32) -> Option<u32> {
        self.nodes[id as usize].next
    }

    fn add(&mut self, what: What) -> u32 {
        let id = u32::try_from(self.nodes.len()).expect("what a page takes is limited");
        let attributes = match &what {
            What::Element { attributes, .. } => attributes.as_slice(),
            _ => &[],
        };
        let of_attributes =
            attributes.iter().map(|attribute| ATTRIBUTE_BYTES + attribute.value.len() as u64);
        self.size.bytes += NODE_BYTES + of_attributes.sum::<u64>();
        let (parent, previous, next, first, last) = (None, None, None, None, None);
        self.nodes.push(Node { what, depth: 0, parent, previous, next, first, last });
        id
    }

    fn node(&mut self, id: u32) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    fn detach(&mut self, id: u32) {
        let node = self.node(id);
        let (previous, next) = (node.previous.take(), node.next.take());
        let Some(parent) = node.parent.take() else { return };
        match previous {
            Some(previous) => self.node(previous).next = next,
            None => self.node(parent).first = next,
        }
        match next {
            Some(next) => self.node(next).previous = previous,
            None => self.node(parent).last = previous,
        }
    }

    /// Puts something into a node: in front of what is there, or behind all.
    fn place(&mut self, parent: u32, before: Option<u32>, child: NodeOrText<Handle>) {
        let previous = match before {
            Some(before) => self.node(before).previous,
            None => self.node(parent).last,
        };
        let id = match child {
            NodeOrText::AppendNode(handle) => {
                self.detach(handle.id);
                handle.id
            }
            NodeOrText::AppendText(text) => {
                if let Some(previous) = previous
                    && let What::Text(there) = &mut self.node(previous).what
                {
                    there.push_tendril(&text);
                    return;
                }
                self.add(What::Text(text))
            }
        };
        // It may have been that which was taken away.
        let previous = match before {
            Some(before) => self.node(before).previous,
            None => self.node(parent).last,
        };
        let depth = self.node(parent).depth + 1;
        self.size.depth = self.size.depth.max(depth);
        let node = self.node(id);
        (node.parent, node.previous, node.next, node.depth) =
            (Some(parent), previous, before, depth);
        let content = match node.what {
            What::Element { content, .. } => content,
            _ => None,
        };
        if let Some(content) = content {
            self.node(content).depth = depth;
        }
        match previous {
            Some(previous) => self.node(previous).next = Some(id),
            None => self.node(parent).first = Some(id),
        }
        match before {
            Some(before) => self.node(before).previous = Some(id),
            None => self.node(parent).last = Some(id),
        }
    }
}

/// Builds a page as the parser says.
pub(super) struct Builder(RefCell<Page>);

impl Builder {
    pub(super) fn new() -> Builder {
        Builder(RefCell::new(Page::new()))
    }

    /// How much was built so far.
    pub(super) fn size(&self) -> Size {
        self.0.borrow().size
    }

    fn nameless(id: u32) -> Handle {
        Handle { id, name: QualName::new(None, ns!(), local_name!("")) }
    }
}

impl TreeSink for Builder {
    type Handle = Handle;
    type Output = Page;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Page {
        self.0.into_inner()
    }

    /// Whatever a page has in it is taken as browsers take it.
    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Builder::nameless(DOCUMENT)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Handle {
        let mut page = self.0.borrow_mut();
        let content = flags.template.then(|| page.add(What::Parts));
        let has_html = flags.mathml_annotation_xml_integration_point;
        let what = What::Element { name: name.clone(), attributes, content, has_html };
        Handle { id: page.add(what), name }
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        Builder::nameless(self.0.borrow_mut().add(What::Comment(text)))
    }

    /// HTML has none: what looks like one is a comment.
    fn create_pi(&self, target: StrTendril, _: StrTendril) -> Handle {
        self.create_comment(target)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.0.borrow_mut().place(parent.id, None, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let has_parent = self.0.borrow_mut().node(element.id).parent.is_some();
        match has_parent {
            true => self.append_before_sibling(element, child),
            false => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        let mut page = self.0.borrow_mut();
        let id = page.add(What::Doctype(doctype(&name, &public, &system)));
        page.place(DOCUMENT, None, NodeOrText::AppendNode(Builder::nameless(id)));
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        let page = self.0.borrow();
        match page.what(target.id) {
            What::Element { content: Some(content), .. } => Builder::nameless(*content),
            // It asks for those of templates only.
            _ => target.clone(),
        }
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.id == other.id
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let mut page = self.0.borrow_mut();
        let parent = page.node(sibling.id).parent;
        page.place(parent.unwrap_or(DOCUMENT), parent.map(|_| sibling.id), child);
    }

    fn add_attrs_if_missing(&self, target: &Handle, more: Vec<Attribute>) {
        let mut page = self.0.borrow_mut();
        let What::Element { attributes, .. } = &mut page.node(target.id).what else { return };
        let mut added = 0;
        for attribute in more {
            if attributes.iter().all(|there| there.name != attribute.name) {
                added += ATTRIBUTE_BYTES + attribute.value.len() as u64;
                attributes.push(attribute);
            }
        }
        let there = attributes.len();
        page.size.bytes += added;
        page.size.attributes = page.size.attributes.max(there);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.0.borrow_mut().detach(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let mut page = self.0.borrow_mut();
        while let Some(id) = page.node(node.id).first {
            let child = NodeOrText::AppendNode(Builder::nameless(id));
            page.place(new_parent.id, None, child);
        }
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Handle) -> bool {
        matches!(self.0.borrow().what(target.id), What::Element { has_html: true, .. })
    }
}

/// A document type as it is written.
fn doctype(name: &str, public: &str, system: &str) -> String {
    let quoted = |id: &str| if id.contains('"') { format!("'{id}'") } else { format!("\"{id}\"") };
    match (public, system) {
        ("", "") => name.to_owned(),
        ("", system) => format!("{name} SYSTEM {}", quoted(system)),
        (public, "") => format!("{name} PUBLIC {}", quoted(public)),
        (public, system) => format!("{name} PUBLIC {} {}", quoted(public), quoted(system)),
    }
}
