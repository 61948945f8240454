//! Rules for every text file, and the rules of white space for the files that people write.

use super::{File, Findings};

/// What people write here. Data and golden files are what they are.
const WRITTEN: [&str; 11] =
    ["css", "hs", "html", "java", "js", "md", "py", "rs", "sh", "toml", "ts"];

/// The longest line of Rust, in characters.
const LINE_CHARACTERS_MAX: usize = 100;

pub fn check(file: &File, findings: &mut Findings) {
    if file.has_extension(&["lock"]) {
        return;
    }
    places(file, findings);
    if file.has_extension(&WRITTEN) || file.path.starts_with(".ci/") {
        white_space(file, findings);
        control_characters(file, findings);
    }
    if file.has_extension(&["rs"]) {
        width(file, findings);
    }
}

fn white_space(file: &File, findings: &mut Findings) {
    for (line, text) in lines(file) {
        if text.ends_with([' ', '\t', '\r']) {
            findings.at_line(&file.path, line, "white space at the end of the line");
        }
        if text.contains('\t') {
            findings.at_line(&file.path, line, "a tab");
        }
    }
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        findings.at(&file.path, "must end with one line feed");
    }
}

fn control_characters(file: &File, findings: &mut Findings) {
    for (line, text) in lines(file) {
        if let Some(found) = text.chars().find(|&found| is_hidden(found)) {
            let wrong = format!("hidden character U+{:04X}", u32::from(found));
            findings.at_line(&file.path, line, wrong);
        }
    }
}

/// Characters that a reader does not see: control, zero width, and those that turn the direction
/// of writing, with which code can be made to read other than it runs.
fn is_hidden(character: char) -> bool {
    let is_white = matches!(character, '\t' | '\r');
    let is_invisible = matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    );
    (character.is_control() && !is_white) || is_invisible
}

fn width(file: &File, findings: &mut Findings) {
    for (line, text) in lines(file) {
        let characters = text.chars().count();
        // An address cannot be broken.
        if characters > LINE_CHARACTERS_MAX && !text.contains("://") {
            let wrong = format!("{characters} characters, of at most {LINE_CHARACTERS_MAX}");
            findings.at_line(&file.path, line, wrong);
        }
    }
}

/// Nothing may name a folder of somebody's machine, or the host of a package registry: both make
/// a build work in one place only.
fn places(file: &File, findings: &mut Findings) {
    // Put together, so that this file does not break its own rule.
    let folders = ["home", "work", "root", "farm"].map(|name| format!("/{name}/"));
    let hosts = [
        ("registry", "npmjs"),
        ("static", "crates"),
        ("index", "crates"),
        ("files", "pythonhosted"),
        ("proxy", "golang"),
        ("repo", "maven"),
        ("repo1", "maven"),
        ("deb", "debian"),
    ]
    .map(|(first, second)| format!("{first}.{second}."));
    for (line, text) in lines(file) {
        if let Some(folder) = folders.iter().find(|folder| text.contains(folder.as_str())) {
            findings.at_line(&file.path, line, format!("a folder of one machine: {folder}"));
        }
        if let Some(host) = hosts.iter().find(|host| text.contains(host.as_str())) {
            findings.at_line(&file.path, line, format!("host of a package registry: {host}"));
        }
    }
}

/// The lines with their numbers, counted from 1.
fn lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    file.text.split('\n').enumerate().map(|(index, text)| (index + 1, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expect(path: &str, text: &str, wrong: &[&str]) {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        let mut findings = Findings(Vec::new());
        check(&file, &mut findings);
        assert_eq!(findings.0, wrong);
    }

    #[test]
    fn each_rule_finds_its_breach() {
        expect("a.rs", "fn a() {}\n", &[]);
        expect("a.rs", "x \n", &["a.rs:1: white space at the end of the line"]);
        expect("a.rs", "x\ty\n", &["a.rs:1: a tab"]);
        expect("a.rs", "x", &["a.rs: must end with one line feed"]);
        expect("a.rs", "x\n\n", &["a.rs: must end with one line feed"]);
        expect("a.rs", "x\u{202e}y\n", &["a.rs:1: hidden character U+202E"]);
        let long = format!("{}\n", "é".repeat(101));
        expect("a.rs", &long, &["a.rs:1: 101 characters, of at most 100"]);
        expect("a.md", &long, &[]);
        let folder = ["see /ro", "ot/x\n"].concat();
        let wrong = ["a.txt:1: a folder of one machine: /ro", "ot/"].concat();
        expect("a.txt", &folder, &[wrong.as_str()]);
    }
}
