//! What a line asks for with its last word.

use clap::{Arg, Command};

use super::line::Line;

/// What the last word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tree,
    /// A branch or a tag.
    Name,
    Path,
}

/// What is asked for, and where that is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked<'l> {
    pub(super) kind: Kind,
    pub(super) place: &'l str,
    /// None if a tree is asked for.
    pub(super) tree: Option<&'l str>,
    /// The revision that paths are of.
    pub(super) at: Option<&'l str>,
    /// The branch that they are of.
    pub(super) branch: Option<&'l str>,
}

impl<'l> Asked<'l> {
    /// Nothing is, where the last word is of another kind: shells know files themselves, and what
    /// clap wrote for them has commands and options.
    pub(super) fn of(whole: &Command, line: &'l Line) -> Option<Asked<'l>> {
        let said = Said::of(whole, &line.before)?;
        let kind = match said.awaiting {
            Some(option) => of_option(said.command, option)?,
            None if said.has_options && line.last.starts_with('-') => return None,
            None => of_value(said.command, said.values.len(), &line.last)?,
        };
        let (&place, rest) = said.values.split_first()?;
        let tree = rest.first().copied();
        Some(Asked { kind, place, tree, at: said.option("at"), branch: said.option("branch") })
    }
}

/// What was said before the last word.
struct Said<'c, 'l> {
    command: &'c Command,
    /// What belongs to no option.
    values: Vec<&'l str>,
    options: Vec<(&'c Arg, &'l str)>,
    /// The option whose value the last word is.
    awaiting: Option<&'c Arg>,
    /// May there be options still?
    has_options: bool,
}

impl<'c, 'l> Said<'c, 'l> {
    /// None before the name of a command.
    fn of(whole: &'c Command, words: &'l [String]) -> Option<Said<'c, 'l>> {
        let (values, options) = (Vec::new(), Vec::new());
        let mut said = Said { command: whole, values, options, awaiting: None, has_options: true };
        let mut is_named = false;
        let mut words = words.iter().skip(1).map(String::as_str);
        while let Some(word) = words.next() {
            if said.has_options && word == "--" {
                said.has_options = false;
            } else if said.has_options && word.len() > 1 && word.starts_with('-') {
                said.take_option(word, &mut words);
            } else if is_named {
                said.values.push(word);
            } else {
                said.command = whole.find_subcommand(word)?;
                is_named = true;
            }
        }
        is_named.then_some(said)
    }

    fn take_option(&mut self, word: &'l str, rest: &mut impl Iterator<Item = &'l str>) {
        let Some((option, value)) = find_option(self.command, word) else { return };
        if let Some(value) = value {
            self.options.push((option, value));
        } else if option.get_action().takes_values() {
            let count = option.get_num_args().map_or(1, |count| count.min_values());
            for _ in 0..count {
                match rest.next() {
                    Some(value) => self.options.push((option, value)),
                    None => self.awaiting = Some(option),
                }
            }
        }
    }

    fn option(&self, name: &str) -> Option<&'l str> {
        let last = self.options.iter().rfind(|(option, _)| option.get_id().as_str() == name);
        last.map(|&(_, value)| value)
    }
}

/// The option that a word is, and the value that it has in the same word.
fn find_option<'c, 'l>(command: &'c Command, word: &'l str) -> Option<(&'c Arg, Option<&'l str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let option = command.get_arguments().find(|option| option.get_long() == Some(name))?;
        return Some((option, value));
    }
    // Of several letters the first that takes a value has what is behind it.
    let letters = word.strip_prefix('-')?;
    letters.char_indices().find_map(|(at, letter)| {
        let option = command.get_arguments().find(|option| option.get_short() == Some(letter))?;
        let rest = &letters[at + letter.len_utf8()..];
        let value = (!rest.is_empty()).then_some(rest);
        option.get_action().takes_values().then_some((option, value))
    })
}

fn of_option(command: &Command, option: &Arg) -> Option<Kind> {
    match (command.get_name(), option.get_id().as_str()) {
        ("trees", "delete" | "rename") | ("audit", "tree") => Some(Kind::Tree),
        (_, "at" | "branch" | "delete" | "into") => Some(Kind::Name),
        _ => None,
    }
}

/// What the value is behind so many others: its name tells, but where arguments are what the
/// first of them makes them.
fn of_value(command: &Command, before: usize, last: &str) -> Option<Kind> {
    let names: Vec<&str> = command.get_positionals().map(|arg| arg.get_id().as_str()).collect();
    match (command.get_name(), &names[..], before) {
        (_, ["place", "rest"], 1) => Some(Kind::Tree),
        ("get", _, 2) => Some(Kind::Path),
        ("diff", _, 2..=4) if last.starts_with('/') => Some(Kind::Path),
        ("diff", _, 2 | 3) => Some(Kind::Name),
        _ => match *names.get(before)? {
            "tree" => Some(Kind::Tree),
            "path" => Some(Kind::Path),
            "rev" | "from" => Some(Kind::Name),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Args;

    #[test]
    fn the_last_word_is_what_the_command_takes_there() {
        let mut whole = Args::command();
        whole.build();
        let check = |text: &str, expected: Option<Kind>| {
            let words: Vec<&str> = ["zsh", "jungle"].into_iter().chain(text.split(' ')).collect();
            let line = Line::of(&words).unwrap();
            let asked = Asked::of(&whole, &line);
            assert_eq!(asked.map(|asked| asked.kind), expected, "{text}");
        };
        for command in "get ls find stat diff log put rm merge du watch import".split(' ') {
            check(&format!("{command} "), None);
            check(&format!("{command} d"), None);
            check(&format!("{command} d t"), Some(Kind::Tree));
        }
        for command in ["get", "ls", "log", "put", "rm", "export", "blame", "erase", "watch"] {
            check(&format!("{command} d t "), Some(Kind::Path));
            check(&format!("{command} d t /a /b"), None);
        }
        for command in ["diff", "at", "revert", "show", "merge"] {
            check(&format!("{command} d t m"), Some(Kind::Name));
        }
        check("diff d t a /b", Some(Kind::Path));
        check("diff d t a b /c", Some(Kind::Path));
        check("show d t main /a", Some(Kind::Path));
        check("tag d t name m", Some(Kind::Name));
        check("trees d --delete t", Some(Kind::Tree));
        check("merge d t --into m", Some(Kind::Name));
        check("put d t /a -m w", None);
        check("put d t -m why /a", Some(Kind::Path));
        check("--color never get --pretty d t /", Some(Kind::Path));
        check("log -n 3 d t", Some(Kind::Tree));
        check("log -n3 d t", Some(Kind::Tree));
        check("get --spill d t", Some(Kind::Tree));
        check("get d -", None);
        check("get d -- -", Some(Kind::Tree));
        for nothing in ["", "ge", "nothing d t", "access list d t", "serve --data d", "gc d t"] {
            check(nothing, None);
        }
    }

    #[test]
    fn paths_are_of_the_version_that_is_said() {
        let mut whole = Args::command();
        whole.build();
        let check = |words: &[&str], at: Option<&str>, branch: Option<&str>| {
            let words = [&["zsh", "jungle"][..], words].concat();
            let line = Line::of(&words).unwrap();
            let expected = Asked { kind: Kind::Path, place: "d", tree: Some("a b"), at, branch };
            assert_eq!(Asked::of(&whole, &line), Some(expected), "{words:?}");
        };
        check(&["get", "d", "a b", "--at", "v1", "/"], Some("v1"), None);
        check(&["get", "--at=v1", "d", "a b", "/"], Some("v1"), None);
        check(&["rm", "-b", "draft", "d", "a b", "/"], None, Some("draft"));
        check(&["rm", "-qbdraft", "d", "a b", "/"], None, Some("draft"));
        check(&["rm", "d", "a b", "/"], None, None);
    }
}
