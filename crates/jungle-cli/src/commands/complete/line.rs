//! A line that is being written, as shells tell it, and candidates as they want them.

use clap_complete::Shell;

/// A line that is being written, up to where the cursor is.
pub(super) struct Line {
    /// The words before the last one, without quotes. The first is the name of the command.
    pub(super) before: Vec<String>,
    /// What there is of the last word, without quotes.
    pub(super) last: String,
    form: Form,
}

/// How candidates are told.
enum Form {
    /// As they are: the shell itself writes them so that they are one word.
    Plain,
    /// As what is to be on the line in place of the last word from this byte of it on, behind the
    /// quote that is open there.
    Bash { from: usize, quote: Option<char> },
}

impl Line {
    /// What a shell tells, behind its own name:
    ///
    /// - bash all of the line up to the cursor as it is written, and `COMP_WORDBREAKS`. It divides
    ///   words itself also where there is no space (`/@name`), and no quotes are left there;
    /// - zsh the words up to the cursor, without quotes;
    /// - fish likewise, but the last one with its quotes.
    pub(super) fn of(asked: &[&str]) -> Option<Line> {
        let (shell, told) = asked.split_first()?;
        let shell: Shell = shell.parse().ok()?;
        match (shell, told) {
            (Shell::Bash, [line, breaks]) => Some(Line::of_bash(line, breaks)),
            (Shell::Zsh, [before @ .., last]) => Some(Line::of_words(before, (*last).to_owned())),
            (Shell::Fish, [before @ .., last]) => Some(Line::of_words(before, unquoted(last))),
            _ => None,
        }
    }

    fn of_words(before: &[&str], last: String) -> Line {
        let before = before.iter().map(|&word| word.to_owned()).collect();
        Line { before, last, form: Form::Plain }
    }

    /// What bash takes the place of begins behind the last of these characters that is outside
    /// quotes, or behind the quote that is open.
    fn of_bash(line: &str, breaks: &str) -> Line {
        let (mut before, mut last, mut is_word) = (Vec::new(), String::new(), false);
        let (mut from, mut from_outside, mut quote) = (0, 0, None);
        let mut chars = line.chars();
        while let Some(char) = chars.next() {
            if quote.is_none() && matches!(char, ' ' | '\t' | '\n') {
                if is_word {
                    before.push(std::mem::take(&mut last));
                }
                (is_word, from) = (false, 0);
                continue;
            }
            is_word = true;
            match (quote, char) {
                (Some(open), _) if open == char => (quote, from) = (None, from_outside),
                (None, '\'' | '"') => {
                    (quote, from_outside, from) = (Some(char), from, last.len());
                }
                (None, '\\') => last.extend(chars.next()),
                (Some('"'), '\\') => {
                    let next = chars.next();
                    if !next.is_some_and(is_special_in_quotes) {
                        last.push('\\');
                    }
                    last.extend(next);
                }
                (None, _) if breaks.contains(char) => {
                    last.push(char);
                    from = last.len();
                }
                _ => last.push(char),
            }
        }
        Line { before, last, form: Form::Bash { from, quote } }
    }

    /// A candidate as the shell wants it. It begins with the last word, to the letter.
    pub(super) fn written(&self, candidate: &str) -> String {
        let Form::Bash { from, quote } = self.form else { return candidate.to_owned() };
        let rest = candidate.get(from..).unwrap_or_default();
        match quote {
            Some('\'') => rest.replace('\'', r"'\''"),
            Some(_) => in_double_quotes(rest),
            None => without_quotes(rest),
        }
    }
}

fn is_special_in_quotes(char: char) -> bool {
    matches!(char, '"' | '\\' | '$' | '`')
}

/// Behind a double quote in bash. What is behind a `!` there would be looked for in the history,
/// and a backslash in front of it would stay.
fn in_double_quotes(text: &str) -> String {
    let mut written = String::new();
    for char in text.chars() {
        match char {
            '!' => written.push_str(r#""'!'""#),
            char if is_special_in_quotes(char) => written.extend(['\\', char]),
            char => written.push(char),
        }
    }
    written
}

/// Outside quotes in bash.
fn without_quotes(text: &str) -> String {
    let mut written = String::new();
    for char in text.chars() {
        if !char.is_alphanumeric() && !"/_-.,:@%+=".contains(char) {
            written.push('\\');
        }
        written.push(char);
    }
    written
}

/// A word of fish, whose last quote may be open.
fn unquoted(word: &str) -> String {
    let (mut text, mut quote) = (String::new(), None);
    let mut chars = word.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (_, '\\') => {
                let next = chars.next();
                let is_escape = |next: char| match quote {
                    None => true,
                    Some('"') => matches!(next, '"' | '\\' | '$'),
                    Some(_) => matches!(next, '\'' | '\\'),
                };
                if !next.is_some_and(is_escape) {
                    text.push('\\');
                }
                text.extend(next);
            }
            _ => text.push(char),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKS: &str = " \t\n\"'@><=;|&(:";

    #[test]
    fn bash_is_told_what_takes_the_place_of_a_word() {
        let check = |text: &str, last: &str, candidate: &str, written: &str| {
            let line = Line::of(&["bash", &format!("jungle get  {text}"), BREAKS]).unwrap();
            assert_eq!((&*line.before[1], &*line.last), ("get", last), "{text}");
            assert_eq!(line.written(candidate), written, "{text}");
        };
        check("", "", "a b", r"a\ b");
        check("/a", "/a", "/a b/", r"/a\ b/");
        check(r"/a\ ", "/a ", "/a b/", r"/a\ b/");
        check("/i", "/i", "/it's $5!", r"/it\'s\ \$5\!");
        check("'/i", "/i", "/it's $5!", r"/it'\''s $5!");
        check("\"/i", "/i", "/it's $5!", r#"/it's \$5"'!'""#);
        check(r#""/\"s"#, "/\"s", r#"/"s/t"/"#, r#"/\"s/t\"/"#);
        check("/k@", "/k@", "/k@v", "v");
        check("/k@v:", "/k@v:", "/k@v:w", "w");
        check(r"/k\@v", "/k@v", "/k@vw", "/k@vw");
        check("'/k@v'", "/k@v", "/k@v/", "/k@v/");
        check("/a'b c", "/ab c", "/ab cd", "b cd");
        check("été", "été", "étés", "étés");
        // Another kind of space divides no words.
        check("a\u{a0}b", "a\u{a0}b", "a\u{a0}bc", "a\\\u{a0}bc");
        check("a\\", "a", "ab", "ab");
        check("\"a\\", "a\\", "a\\b", r"a\\b");
    }

    #[test]
    fn other_shells_are_told_candidates_as_they_are() {
        let check = |told: &[&str], last: &str| {
            let line = Line::of(told).unwrap();
            assert_eq!((&*line.before, &*line.last), (&["jungle".to_owned()][..], last));
            assert_eq!(line.written("it's a"), "it's a");
        };
        check(&["zsh", "jungle", "it's"], "it's");
        check(&["zsh", "jungle", ""], "");
        check(&["fish", "jungle", r"it\'s\ "], "it's ");
        check(&["fish", "jungle", r"'it\'s \a"], r"it's \a");
        check(&["fish", "jungle", r#""it's \$\"\a"#], r#"it's $"\a"#);
        check(&["fish", "jungle", ""], "");
        for nothing in [&["bash"][..], &[], &["bash", "jungle"], &["zsh"], &["tcsh", "a", "b"]] {
            assert!(Line::of(nothing).is_none(), "{nothing:?}");
        }
    }
}
