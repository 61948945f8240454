//! From the text of an expression to its tree.

use std::cmp::Ordering;

use jungle_json::VALUE_KEY;
use jungle_tree::Key;

use super::token::{Token, tokens};
use super::{Field, Literal, Pattern, Term, Test};

/// At most this many parentheses and `not`s in one another: each is a level of recursion.
const DEPTH_MAX: usize = 100;

/// Why a text is no expression.
///
/// ```
/// use jungle_words::Expr;
/// let text = "stars > 3)";
/// let error = Expr::parse(text).unwrap_err();
/// assert_eq!(
///     error.show(text),
///     "this parenthesis was never opened\n  stars > 3)\n           ^",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ParseError {
    /// The byte where it is wrong.
    at: usize,
    what: &'static str,
}

impl ParseError {
    pub(super) fn new(at: usize, what: &'static str) -> ParseError {
        ParseError { at, what }
    }

    /// The message, and below it the expression with a caret under the place. `text` is what was
    /// parsed.
    #[must_use]
    pub fn show(&self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or_default().chars().count();
        // Control characters would move the caret.
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let (what, indent) = (self.what, " ".repeat(before));
        format!("{what}\n  {line}\n  {indent}^")
    }
}

pub(super) fn parse(text: &str) -> Result<Term, ParseError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0 };
    let term = parser.any(0)?;
    match parser.peek() {
        Token::End => Ok(term),
        Token::Close => parser.fail("this parenthesis was never opened"),
        _ => parser.fail("`and`, `or` or the end must be here"),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].1
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        // The end stays.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    /// Takes a word if it is this one.
    fn take_word(&mut self, word: &str) -> bool {
        let is_word = matches!(self.peek(), Token::Word(found) if found == word);
        if is_word {
            self.take();
        }
        is_word
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, ParseError> {
        Err(ParseError::new(self.tokens[self.next].0, what))
    }

    fn any(&mut self, depth: usize) -> Result<Term, ParseError> {
        let mut any = vec![self.all(depth)?];
        while self.take_word("or") {
            any.push(self.all(depth)?);
        }
        Ok(one_or(any, Term::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Term, ParseError> {
        let mut all = vec![self.one(depth)?];
        while self.take_word("and") {
            all.push(self.one(depth)?);
        }
        Ok(one_or(all, Term::All))
    }

    fn one(&mut self, depth: usize) -> Result<Term, ParseError> {
        if depth > DEPTH_MAX {
            return self.fail("too many parentheses and `not`s are in one another");
        }
        if self.take_word("not") {
            return Ok(Term::Not(Box::new(self.one(depth + 1)?)));
        }
        if *self.peek() == Token::Open {
            self.take();
            let term = self.any(depth + 1)?;
            if *self.peek() != Token::Close {
                return self.fail("`and`, `or` or `)` must be here");
            }
            self.take();
            return Ok(term);
        }
        if self.take_word("exists") {
            return Ok(Term::Exists(self.field()?));
        }
        let field = self.field()?;
        Ok(Term::Compare(field, self.test()?))
    }

    fn field(&mut self) -> Result<Field, ParseError> {
        match self.peek() {
            Token::Word(word) if ["and", "or"].contains(&word.as_str()) => {
                self.fail("a key must be here; write it in quotes if this is one")
            }
            Token::Word(word) if word.starts_with('@') => {
                let field = match word.as_str() {
                    "@name" => Field::Name,
                    "@value" => Field::Member(Key::from(VALUE_KEY)),
                    _ => {
                        let what = "@name and @value are all there is; write other keys in quotes";
                        return self.fail(what);
                    }
                };
                self.take();
                Ok(field)
            }
            Token::Word(_) | Token::Quoted(_) => match self.take() {
                Token::Word(name) | Token::Quoted(name) => Ok(Field::Member(Key::from(name))),
                _ => unreachable!("looked at above"),
            },
            Token::End => self.fail("a key must follow"),
            _ => self.fail("a key must be here"),
        }
    }

    fn test(&mut self) -> Result<Test, ParseError> {
        use Ordering::{Equal, Greater, Less};
        let Token::Sign(sign) = *self.peek() else {
            return self.fail("one of = != < <= > >= ~ must follow the key");
        };
        self.take();
        if sign == "~" {
            return Ok(Test::Like(Pattern::new(match self.value("a text must follow `~`")? {
                Token::Word(text) | Token::Quoted(text) => text,
                _ => unreachable!("looked at before it was taken"),
            })));
        }
        let literal = match self.value("a value must follow")? {
            Token::Word(word) => literal(word),
            Token::Quoted(text) => Literal::Text(text),
            _ => unreachable!("looked at before it was taken"),
        };
        Ok(match sign {
            "=" => Test::Equal(literal),
            "!=" => Test::NotEqual(literal),
            "<" => Test::Order(literal, [Less, Less]),
            "<=" => Test::Order(literal, [Less, Equal]),
            ">" => Test::Order(literal, [Greater, Greater]),
            _ => Test::Order(literal, [Greater, Equal]),
        })
    }

    /// Takes a value.
    fn value(&mut self, what: &'static str) -> Result<Token, ParseError> {
        match self.peek() {
            Token::Word(_) | Token::Quoted(_) => Ok(self.take()),
            _ => self.fail(what),
        }
    }
}

fn one_or(mut terms: Vec<Term>, several: fn(Vec<Term>) -> Term) -> Term {
    if terms.len() == 1 { terms.remove(0) } else { several(terms) }
}

fn literal(word: String) -> Literal {
    match word.as_str() {
        "null" => Literal::Null,
        "true" => Literal::Bool(true),
        "false" => Literal::Bool(false),
        _ => match (word.parse(), word.parse::<f64>()) {
            (Ok(int), _) => Literal::Int(int),
            // `inf` and `nan` are words here.
            (_, Ok(float)) if word.ends_with(|c: char| c.is_ascii_digit()) => Literal::Float(float),
            _ => Literal::Text(word),
        },
    }
}
