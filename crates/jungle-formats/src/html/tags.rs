//! The parser, and what it is given: a page in such pieces that a tag with too many attributes is
//! seen before it has ended.
//!
//! The parser compares each attribute with all earlier ones of its tag, and gives a tag out only
//! when it has ended, so whoever builds the page would see too late that there are too many.
//! Whether something is a tag depends on what it is in: text, a script, a comment. Only the
//! tokenizer knows that, but it does not tell. So it gets `<`, and what follows, alone: of a script
//! it gives that out as text at once, of a tag or comment it gives nothing until that has ended.

use std::cell::Cell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer};
use html5ever::tree_builder::{TreeBuilder, TreeSink, create_element};
use html5ever::{QualName, TokenizerResult, local_name, ns};

use super::page::{Builder, Handle, Page};
use super::read::Form;

/// No element has more. With so many, comparing each with all others takes about as long as the
/// rest of reading a page.
pub(super) const ATTRIBUTES_MAX: usize = 500;

pub(super) struct Parser {
    tokenizer: Tokenizer<Heard>,
    input: BufferQueue,
    at: At,
    /// So many attributes have begun in the tag that may be open.
    attributes: usize,
    /// So many bytes were given to the tokenizer.
    given: u64,
    /// Where what may be a tag begins.
    less_at: u64,
}

/// A tag that begins there has too many attributes.
pub(super) struct TooMany(pub(super) u64);

impl Parser {
    pub(super) fn new(form: Form) -> Parser {
        // As browsers do that run scripts, which is how pages are meant: what is in `noscript` is
        // text.
        let builder = match form {
            Form::Document => TreeBuilder::new(Builder::new(), Default::default()),
            Form::Part => {
                // In a template may be whatever may be somewhere.
                let around = QualName::new(None, ns!(html), local_name!("template"));
                let page = Builder::new();
                let around = create_element(&page, around, Vec::new());
                TreeBuilder::new_for_fragment(page, around, None, Default::default())
            }
        };
        Parser {
            tokenizer: Tokenizer::new(
                Heard { builder, has_token: Cell::new(false) },
                Default::default(),
            ),
            input: BufferQueue::default(),
            at: At::Text,
            attributes: 0,
            given: 0,
            less_at: 0,
        }
    }

    /// What is built so far.
    pub(super) fn builder(&self) -> &Builder {
        &self.tokenizer.sink.builder.sink
    }

    /// Parses more.
    pub(super) fn process(&mut self, text: &str) -> Result<(), TooMany> {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(self.piece(rest));
            rest = after;
            if self.give(piece) {
                self.at = if piece.ends_with('<') { At::Less } else { At::Text };
            }
            if self.at.is_in_tag() && self.attributes > ATTRIBUTES_MAX {
                return Err(TooMany(self.less_at));
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Page {
        self.tokenizer.end();
        self.tokenizer.sink.builder.sink.finish()
    }

    /// How much is to be given at once. All that it ends behind is ASCII.
    fn piece(&mut self, text: &str) -> usize {
        for (index, byte) in text.bytes().enumerate() {
            let before = self.at;
            self.at = before.behind(byte);
            match self.at {
                At::Less => (self.less_at, self.attributes) = (self.given + index as u64, 0),
                At::Attribute if before != At::Attribute => self.attributes += 1,
                _ => {}
            }
            let is_end = match before {
                At::Text => self.at == At::Less,
                At::Less | At::LessSlash | At::LessBang => true,
                // Of a script, what is no name of its own is text.
                At::Name => !byte.is_ascii_alphabetic(),
                _ => byte == b'>',
            };
            let is_too_many = self.attributes > ATTRIBUTES_MAX;
            if byte.is_ascii() && (is_end || is_too_many && self.at.is_in_tag()) {
                return index + 1;
            }
        }
        text.len()
    }

    /// Gives a piece to the tokenizer; does a token come of it?
    fn give(&mut self, piece: &str) -> bool {
        self.given += piece.len() as u64;
        self.input.push_back(StrTendril::from_slice(piece));
        self.tokenizer.sink.has_token.set(false);
        // It stops behind each script, to have it run.
        while !matches!(self.tokenizer.feed(&self.input), TokenizerResult::Done) {}
        self.tokenizer.sink.has_token.get()
    }
}

/// Where the tokenizer may be. If it is in a tag, it is where this says. It gives a token for what
/// is none, and for each end of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Text,
    Less,
    LessSlash,
    LessBang,
    /// In a comment, a document type or CDATA.
    Comment,
    /// In the name of a tag.
    Name,
    /// Where an attribute may begin.
    Tag,
    /// In the name of an attribute.
    Attribute,
    BehindAttribute,
    BehindEquals,
    Value,
    /// In a value, until this.
    Quoted(u8),
}

impl At {
    fn is_in_tag(self) -> bool {
        !matches!(self, At::Text | At::Less | At::LessSlash | At::LessBang | At::Comment)
    }

    /// Where it is one byte further. The standard has more states for tags, which differ in what is
    /// an error.
    fn behind(self, byte: u8) -> At {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c');
        match (self, byte) {
            (At::Text | At::Less, b'<') => At::Less,
            (At::Less, b'/') => At::LessSlash,
            (At::Less, b'!') => At::LessBang,
            (At::Less, b'?') => At::Comment,
            (At::Less | At::LessSlash, byte) if byte.is_ascii_alphabetic() => At::Name,
            (At::Text | At::Less, _) | (At::LessSlash, b'>') => At::Text,
            (At::LessSlash | At::LessBang | At::Comment, _) => At::Comment,
            (At::Quoted(quote), byte) => {
                if byte == quote {
                    At::Tag
                } else {
                    self
                }
            }
            (_, b'>') => At::Text,
            (At::BehindEquals, b'"' | b'\'') => At::Quoted(byte),
            (At::BehindEquals, _) if is_space => At::BehindEquals,
            (At::BehindEquals | At::Value, _) => {
                if is_space {
                    At::Tag
                } else {
                    At::Value
                }
            }
            (_, b'/') => At::Tag,
            (At::Name, _) => {
                if is_space {
                    At::Tag
                } else {
                    At::Name
                }
            }
            (At::Attribute | At::BehindAttribute, b'=') => At::BehindEquals,
            (At::Attribute | At::BehindAttribute, _) if is_space => At::BehindAttribute,
            (At::Tag, _) if is_space => At::Tag,
            (At::Tag | At::Attribute | At::BehindAttribute, _) => At::Attribute,
        }
    }
}

/// Passes on all tokens, and notes that there was one.
struct Heard {
    builder: TreeBuilder<Handle, Builder>,
    has_token: Cell<bool>,
}

impl TokenSink for Heard {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        // There are errors in the middle of tags.
        if !matches!(token, Token::ParseError(_)) {
            self.has_token.set(true);
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}
