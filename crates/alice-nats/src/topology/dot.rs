//! Graphviz's language, as far as it says who knows whom.
//!
//! Written here because the parsers there are bring a grammar machine of eight packages for it, and
//! read what means nothing to us: this refuses that by name.

use std::iter::Peekable;
use std::str::Chars;

use super::graph::{EDGES_MAX, Edge, Graph, GraphError, MEMBERS_MAX};

/// The longest text that is read.
pub const DOT_BYTES_MAX: usize = 512 << 10;

/// Why a text is no graph.
///
/// ```
/// use alice_nats::{DotError, Graph};
///
/// let error = Graph::parse("digraph {\n  ana ->\n}").unwrap_err();
/// assert!(matches!(error, DotError::Expected { line: 3, .. }));
/// let error = Graph::parse("digraph { subgraph { ana -> ben } }").unwrap_err();
/// assert!(matches!(error, DotError::Unsupported { line: 1, .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DotError {
    /// It is longer than [`DOT_BYTES_MAX`].
    #[error("the graph has {bytes} bytes, of at most {DOT_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Something else should stand there.
    #[error("line {line}: {wanted} should stand here, and not {found}")]
    Expected {
        /// The line, from 1.
        line: usize,
        /// What should.
        wanted: &'static str,
        /// What does.
        found: String,
    },
    /// It is Graphviz's language, but says nothing about who knows whom that is understood here.
    #[error("line {line}: {what} cannot be used here")]
    Unsupported {
        /// The line, from 1.
        line: usize,
        /// What.
        what: &'static str,
    },
    /// It cannot be used as a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

pub(super) fn parse(text: &str) -> Result<Graph, DotError> {
    if text.len() > DOT_BYTES_MAX {
        return Err(DotError::TooLong { bytes: text.len() });
    }
    let mut reader = Reader::new(text)?;
    reader.graph()?;
    Ok(Graph::new(reader.names, reader.edges)?)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Without quotes: it may be a keyword.
    Word(String),
    Quoted(String),
    Symbol(char),
    /// `->`
    To,
    /// `--`
    With,
    End,
}

impl Token {
    fn is_word(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn show(&self) -> String {
        match self {
            Token::Word(text) | Token::Quoted(text) => {
                format!("`{}`", text.chars().take(40).collect::<String>())
            }
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::To => "`->`".to_owned(),
            Token::With => "`--`".to_owned(),
            Token::End => "the end".to_owned(),
        }
    }
}

struct Reader<'t> {
    chars: Peekable<Chars<'t>>,
    line: usize,
    /// The one that is looked at.
    token: Token,
    is_directed: bool,
    names: Vec<String>,
    edges: Vec<Edge>,
}

/// Words that begin something else than a node.
const DEFAULTS: [&str; 3] = ["graph", "node", "edge"];

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Result<Reader<'t>, DotError> {
        let (chars, names, edges) = (text.chars().peekable(), Vec::new(), Vec::new());
        let mut reader =
            Reader { chars, line: 1, token: Token::End, is_directed: true, names, edges };
        reader.next()?;
        Ok(reader)
    }

    fn graph(&mut self) -> Result<(), DotError> {
        if self.token.is_word("strict") {
            self.next()?;
        }
        self.is_directed = match &self.token {
            token if token.is_word("digraph") => true,
            token if token.is_word("graph") => false,
            _ => return Err(self.expected("`digraph` or `graph`")),
        };
        self.next()?;
        if let Token::Word(_) | Token::Quoted(_) = self.token {
            self.next()?;
        }
        self.symbol('{', "`{`")?;
        while self.token != Token::Symbol('}') {
            self.statement()?;
            if let Token::Symbol(';' | ',') = self.token {
                self.next()?;
            }
        }
        self.next()?;
        match self.token {
            Token::End => Ok(()),
            _ => Err(self.expected("the end")),
        }
    }

    fn statement(&mut self) -> Result<(), DotError> {
        if self.token.is_word("subgraph") || self.token == Token::Symbol('{') {
            return Err(self.unsupported("a group of nodes"));
        }
        if let Some(of) = DEFAULTS.iter().find(|word| self.token.is_word(word)) {
            self.next()?;
            if self.attributes()?.is_some() && *of == "edge" {
                return Err(self.unsupported("a label for all edges"));
            }
            return Ok(());
        }
        let first = self.id("a node")?;
        if self.token == Token::Symbol('=') {
            self.next()?;
            return self.id("a value").map(drop);
        }
        let mut chain = vec![first];
        while let Token::To | Token::With = self.token {
            if (self.token == Token::To) != self.is_directed {
                return Err(self.expected(if self.is_directed { "`->`" } else { "`--`" }));
            }
            self.next()?;
            if self.token.is_word("subgraph") || self.token == Token::Symbol('{') {
                return Err(self.unsupported("a group of nodes"));
            }
            chain.push(self.id("a node")?);
        }
        let label = self.attributes()?;
        self.add(&chain, label.as_deref())
    }

    /// Adds the nodes and edges of a chain.
    fn add(&mut self, chain: &[String], label: Option<&str>) -> Result<(), DotError> {
        for name in chain {
            if !self.names.contains(name) {
                self.names.push(name.clone());
            }
        }
        for pair in chain.windows(2) {
            let both = [(&pair[0], &pair[1]), (&pair[1], &pair[0])];
            for (from, to) in both.into_iter().take(if self.is_directed { 1 } else { 2 }) {
                let label = label.unwrap_or(to).to_owned();
                self.edges.push(Edge { from: from.clone(), label, to: to.clone() });
            }
        }
        // Looked at here as well, so that the time a long text takes does not grow with its square.
        if self.names.len() > MEMBERS_MAX {
            return Err(GraphError::TooManyMembers.into());
        }
        if self.edges.len() > EDGES_MAX {
            return Err(GraphError::TooManyEdges.into());
        }
        Ok(())
    }

    /// Lists of attributes, if any follow; gives the label.
    fn attributes(&mut self) -> Result<Option<String>, DotError> {
        let mut label = None;
        while self.token == Token::Symbol('[') {
            self.next()?;
            while self.token != Token::Symbol(']') {
                let name = self.id("an attribute")?;
                self.symbol('=', "`=`")?;
                let value = self.id("a value")?;
                if name == "label" {
                    label = Some(value);
                }
                if let Token::Symbol(';' | ',') = self.token {
                    self.next()?;
                }
            }
            self.next()?;
        }
        Ok(label)
    }

    fn id(&mut self, wanted: &'static str) -> Result<String, DotError> {
        let id = match &self.token {
            Token::Word(id) | Token::Quoted(id) => id.clone(),
            _ => return Err(self.expected(wanted)),
        };
        self.next()?;
        match self.token {
            Token::Symbol(':') => Err(self.unsupported("a port")),
            _ => Ok(id),
        }
    }

    fn symbol(&mut self, symbol: char, wanted: &'static str) -> Result<(), DotError> {
        if self.token != Token::Symbol(symbol) {
            return Err(self.expected(wanted));
        }
        self.next()
    }

    fn expected(&self, wanted: &'static str) -> DotError {
        DotError::Expected { line: self.line, wanted, found: self.token.show() }
    }

    fn unsupported(&self, what: &'static str) -> DotError {
        DotError::Unsupported { line: self.line, what }
    }

    /// Goes on to the next token.
    fn next(&mut self) -> Result<(), DotError> {
        self.skip_space()?;
        self.token = match self.chars.next() {
            None => Token::End,
            Some('"') => Token::Quoted(self.quoted()?),
            Some('-') if self.chars.next_if_eq(&'>').is_some() => Token::To,
            Some('-') if self.chars.next_if_eq(&'-').is_some() => Token::With,
            Some('<') => return Err(self.unsupported("HTML")),
            Some(symbol @ ('{' | '}' | '[' | ']' | ';' | ',' | '=' | ':')) => Token::Symbol(symbol),
            Some(first) if is_of_word(first) || first == '-' => {
                let mut word = String::from(first);
                while let Some(next) = self.chars.next_if(|next| is_of_word(*next)) {
                    word.push(next);
                }
                Token::Word(word)
            }
            Some(other) => {
                let found = format!("{other:?}");
                return Err(DotError::Expected { line: self.line, wanted: "a name", found });
            }
        };
        Ok(())
    }

    fn quoted(&mut self) -> Result<String, DotError> {
        let (mut text, line) = (String::new(), self.line);
        loop {
            match self.chars.next() {
                Some('"') => return Ok(text),
                Some('\\') => match self.chars.next() {
                    Some(escaped @ ('"' | '\\')) => text.push(escaped),
                    Some('\n') => self.line += 1,
                    Some(other) => text.extend(['\\', other]),
                    None => {}
                },
                Some(other) => {
                    self.line += usize::from(other == '\n');
                    text.push(other);
                }
                None => {
                    let found = "the end".to_owned();
                    return Err(DotError::Expected { line, wanted: "a closing `\"`", found });
                }
            }
        }
    }

    /// Spaces and comments.
    fn skip_space(&mut self) -> Result<(), DotError> {
        while let Some(&next) = self.chars.peek() {
            match next {
                '\n' => {
                    self.line += 1;
                    self.chars.next();
                }
                '#' => self.skip_line(),
                '/' => {
                    self.chars.next();
                    match self.chars.next() {
                        Some('/') => self.skip_line(),
                        Some('*') => self.skip_comment()?,
                        _ => return Err(self.unsupported("`/`")),
                    }
                }
                space if space.is_whitespace() => _ = self.chars.next(),
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        while self.chars.next_if(|next| *next != '\n').is_some() {}
    }

    fn skip_comment(&mut self) -> Result<(), DotError> {
        let line = self.line;
        let mut before = ' ';
        for next in self.chars.by_ref() {
            self.line += usize::from(next == '\n');
            if (before, next) == ('*', '/') {
                return Ok(());
            }
            before = next;
        }
        Err(DotError::Expected { line, wanted: "a closing `*/`", found: "the end".to_owned() })
    }
}

fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '.')
}

#[cfg(test)]
mod tests;
