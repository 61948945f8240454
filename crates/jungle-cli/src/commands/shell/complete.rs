//! Completion: commands, then trees, then paths, tags and branches; and colours for these.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use clap::CommandFactory;
use jungle::Store;
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::OUTSIDE;
use super::words::{places, so_far};
use crate::args;
use crate::candidates::{names, paths, trees};

/// What completes lines.
pub(super) struct Complete<'s> {
    store: &'s Store,
    commands: Vec<String>,
}

impl<'s> Complete<'s> {
    pub(super) fn new(store: &'s Store) -> Complete<'s> {
        let whole = args::Args::command();
        let names = whole.get_subcommands().map(|command| command.get_name().to_owned());
        let ours = ["help", "exit", "quit"].map(str::to_owned);
        let commands = names.filter(|name| !OUTSIDE.contains(&&**name)).chain(ours);
        Complete { store, commands: commands.collect() }
    }

    /// What the last of these words could become.
    fn candidates(&self, words: &[String]) -> Vec<String> {
        let Some((last, before)) = words.split_last() else { return Vec::new() };
        let found = match before {
            [] => {
                let commands = self.commands.iter();
                commands.filter(|name| name.starts_with(last.as_str())).cloned().collect()
            }
            [_] => trees(self.store, last),
            [_, tree, ..] => match self.store.open_tree(tree) {
                Ok(tree) if last.starts_with('/') => {
                    let snapshot = tree.snapshot();
                    paths(snapshot.root(), last)
                }
                Ok(tree) => names(&tree, last),
                Err(_) => Vec::new(),
            },
        };
        found.into_iter().map(quoted).collect()
    }
}

/// As a word of a line.
fn quoted(text: String) -> String {
    let is_special = |c: char| c.is_whitespace() || "'\"\\".contains(c);
    if text.contains(is_special) { format!("'{}'", text.replace('\'', r"'\''")) } else { text }
}

/// The same line with colours: the command, options, paths and what is in quotes.
fn colored(line: &str, commands: &[String]) -> String {
    let (mut text, mut done) = (String::new(), 0);
    for (at, place) in places(line).into_iter().enumerate() {
        let word = &line[place.clone()];
        let style = if at == 0 { style_of_command(word, commands) } else { style(word) };
        text += &line[done..place.start];
        text += &format!("{style}{word}{style:#}");
        done = place.end;
    }
    text + &line[done..]
}

/// Red where no command begins like this.
fn style_of_command(word: &str, commands: &[String]) -> Style {
    if commands.iter().any(|name| name == word) {
        return Style::new().bold();
    }
    let may_be = word.starts_with(['-', '\\']) || commands.iter().any(|it| it.starts_with(word));
    if may_be { Style::new() } else { of_color(AnsiColor::Red) }
}

fn style(word: &str) -> Style {
    match word.chars().next() {
        Some('-') => of_color(AnsiColor::Yellow),
        Some('/') => of_color(AnsiColor::Cyan),
        Some('\'' | '"') => of_color(AnsiColor::Green),
        _ => Style::new(),
    }
}

fn of_color(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(color.into()))
}

impl Completer for Complete<'_> {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let (words, start) = so_far(&line[..pos]);
        Ok((start, self.candidates(&words)))
    }
}

impl Hinter for Complete<'_> {
    type Hint = String;
}

impl Highlighter for Complete<'_> {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(colored(line, &self.commands))
    }

    /// With each letter a word may become another one.
    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        !matches!(kind, CmdKind::MoveCursor)
    }
}

impl Validator for Complete<'_> {}
impl Helper for Complete<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_trees_and_paths_are_completed() {
        let dir = std::env::temp_dir().join(format!("jungle-complete-{}", std::process::id()));
        let store = Store::open(&dir).unwrap();
        let tree = store.create_tree("board").unwrap();
        tree.update(|tx| {
            tx.insert_child(&[], &"a b".into())?;
            tx.insert_child(&[], &"list".into())?;
            tx.put_attribute(&[], "last", 1)?;
            tx.append(&["list".into()]).map(drop)
        })
        .unwrap();
        tree.tag("v1", tree.snapshot().revision()).unwrap();
        let complete = Complete::new(&store);
        let check = |line: &str, expected: &[&str]| {
            let (words, start) = so_far(line);
            assert_eq!(complete.candidates(&words), expected, "{line}");
            assert!(start <= line.len());
        };
        check("rev", &["revert"]);
        check("s", &["stat", "show"]);
        check("get ", &["board"]);
        check("get bo", &["board"]);
        check("get board /la", &["/last"]);
        check("get board /l", &["/last", "/list/"]);
        check("get board /list/", &["/list/0/"]);
        check("get board /a", &["'/a b/'"]);
        check("get board '/a", &["'/a b/'"]);
        check("diff board v", &["v1"]);
        check("get other /", &[]);
        drop((store, tree));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn words_have_colours_and_stay_as_they_are() {
        let commands = ["get", "gc"].map(str::to_owned);
        let check = |line: &str, expected: &str| {
            let expected = expected.replace('<', "\u{1b}[").replace('>', "\u{1b}[0m");
            assert_eq!(colored(line, &commands), expected);
        };
        check("", "");
        check("g", "g");
        check("go on", "<31mgo> on");
        check(r"\at main~2", r"\at main~2");
        check(" get  board /a --at '/x y ", " <1mget>  board <36m/a> <33m--at> <32m'/x y >");
    }
}
