//! What the documents and our own texts say to type, held against what there is to type: the `sh`
//! and `console` blocks word for word, what is said in passing as far as it goes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::shell::words;
use crate::args::Args;

/// Those that speak of other programs' options, too, say which program it is.
const OF_OTHERS: [&str; 2] = ["--quick", "--release"];

#[test]
fn documents_say_what_can_be_typed() {
    let whole = whole();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for file in documents() {
        let (blocks, prose) = parts(&fs::read_to_string(&file).unwrap());
        for words in blocks.iter().flat_map(|block| typed(block)) {
            checked += 1;
            match Args::try_parse_from(&words).map_err(|error| error.kind()) {
                Ok(_) | Err(ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {}
                Err(kind) => wrong.push(format!("{}: {words:?}: {kind}", file.display())),
            }
        }
        for span in prose.iter().flat_map(|text| spans(text)) {
            checked += usize::from(span.starts_with("jungle "));
            wrong.extend(mistake(&whole, span).map(|why| format!("{}: {why}", file.display())));
            if !is_about_benchmarks(&file) {
                let why = unknown_options(&whole, span);
                wrong.extend(why.map(|why| format!("{}: {why}", file.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 50, "only {checked} were found");
}

#[test]
fn hints_and_comments_say_what_can_be_typed() {
    let whole = whole();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for file in files(&root().join("crates"), "rs") {
        let text = joined(&fs::read_to_string(&file).unwrap());
        for span in text.lines().flat_map(spans) {
            checked += usize::from(span.starts_with("jungle "));
            wrong.extend(mistake(&whole, span).map(|why| format!("{}: {why}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 50, "only {checked} were found");
}

#[test]
fn every_command_is_named_in_a_document() {
    let whole = whole();
    let mut named = BTreeSet::new();
    for file in documents() {
        let (blocks, prose) = parts(&fs::read_to_string(&file).unwrap());
        let prose = prose.iter().flat_map(|text| spans(text)).flat_map(alternatives);
        for words in blocks.iter().flat_map(|block| typed(block)).chain(prose) {
            named.extend(walk(&whole, &words).unwrap_or_default());
        }
    }
    let mut missing = Vec::new();
    let mut open = vec![("jungle".to_owned(), &whole)];
    while let Some((path, command)) = open.pop() {
        if path != "jungle" && !named.contains(&path) {
            missing.push(path.clone());
        }
        let below = command.get_subcommands().filter(|command| !command.is_hide_set());
        let below = below.filter(|command| command.get_name() != "help");
        open.extend(below.map(|command| (format!("{path} {}", command.get_name()), command)));
    }
    missing.sort();
    assert!(missing.is_empty(), "no document names {missing:#?}");
}

/// The checks above would see what is wrong.
#[test]
fn what_cannot_be_typed_is_seen() {
    let whole = whole();
    let check = |span: &str, is_right: bool| {
        let wrong = mistake(&whole, span).or(unknown_options(&whole, span));
        assert_eq!(wrong.is_none(), is_right, "{span}: {wrong:?}");
    };
    check("jungle log data board --json", true);
    check("jungle backup|gc DIR", true);
    check("jungle access add-user DIR ana", true);
    check("--tls-cert FILE --tls-key FILE", true);
    check("jungle logs data board", false);
    check("jungle backup|collect DIR", false);
    check("jungle log data board --yaml", false);
    check("jungle access add-users DIR ana", false);
    check("jungle serve --tls-certificate FILE", false);
    check("--tls-certificate FILE", false);
    let block =
        "A=1 jungle serve --data one & # --this\necho x | jungle get - /a && sudo jungle gc";
    let words: Vec<String> = typed(block).map(|words| words.join(" ")).collect();
    assert_eq!(words, ["jungle serve --data one", "jungle get - /a", "jungle gc"]);
}

fn whole() -> clap::Command {
    let mut whole = Args::command();
    whole.build();
    whole
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All but the changelog, which tells what was, and the transcripts, which are run.
fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "SECURITY.md"].map(|name| root().join(name)).into();
    for folder in ["docs", "crates", "web/explorer", "bench/peers"] {
        documents.extend(files(&root().join(folder), "md"));
    }
    documents.retain(|file| !file.to_string_lossy().contains("/transcripts/"));
    assert!(documents.len() > 20, "{documents:?}");
    documents
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy();
            if entry.is_dir() && name != "node_modules" && name != "target" {
                open.push(entry);
            } else if entry.extension().is_some_and(|found| found == extension) {
                found.push(entry);
            }
        }
    }
    found
}

/// These name the options of the benchmarks and of the torture suites throughout.
fn is_about_benchmarks(file: &Path) -> bool {
    let file = file.to_string_lossy();
    ["/measurements/", "/bench/", "/proof.md"].iter().any(|part| file.contains(part))
}

/// The blocks of a document that are typed into a shell, and its paragraphs.
fn parts(document: &str) -> (Vec<String>, Vec<String>) {
    let (mut blocks, mut prose) = (Vec::new(), vec![String::new()]);
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        match line.trim_start().strip_prefix("```") {
            Some(language) => {
                let block = lines.by_ref().take_while(|line| line.trim_start() != "```");
                match language {
                    "sh" => blocks.push(block.collect::<Vec<_>>().join("\n")),
                    "console" => {
                        let typed = block.filter_map(|line| line.strip_prefix("$ "));
                        blocks.push(typed.collect::<Vec<_>>().join("\n"));
                    }
                    _ => block.for_each(drop),
                }
            }
            None if line.is_empty() => prose.push(String::new()),
            None => {
                let paragraph = prose.last_mut().expect("there is one from the start");
                paragraph.push_str(line.trim());
                paragraph.push(' ');
            }
        }
    }
    (blocks, prose)
}

/// The commands of a block that are ours, as words.
fn typed(block: &str) -> impl Iterator<Item = Vec<String>> {
    let lines: Vec<String> = block.replace("\\\n", " ").lines().map(ToOwned::to_owned).collect();
    lines.into_iter().flat_map(|line| {
        // A line whose quote goes on in the next one is JSON for `curl`.
        let words = words::split(&line).unwrap_or_default();
        let comment = words.iter().position(|word| word.starts_with('#'));
        let words = &words[..comment.unwrap_or(words.len())];
        let is_between = |word: &String| {
            ["&&", "||", "|", "&", ";"].contains(&word.as_str()) || word.starts_with(['>', '<'])
        };
        words.split(is_between).filter_map(ours).collect::<Vec<_>>()
    })
}

/// From the name of the command on, whatever runs it.
fn ours(words: &[String]) -> Option<Vec<String>> {
    let is_run = words.starts_with(&["cargo", "run", "--release", "--"].map(ToOwned::to_owned));
    let from = if is_run { 3 } else { words.iter().position(|word| word == "jungle")? };
    let before = &words[..from];
    let is_start = |word: &String| word == "sudo" || word.contains('=');
    if !is_run && !before.iter().all(is_start) {
        return None;
    }
    let rest = words[from + 1..].iter().cloned();
    Some(std::iter::once("jungle".to_owned()).chain(rest).collect())
}

/// With texts that go on in the next line of a source as one line.
fn joined(source: &str) -> String {
    let mut joined = String::new();
    for line in source.lines() {
        match line.strip_suffix('\\') {
            Some(begun) => joined.push_str(begun.trim_start()),
            None => {
                joined.push_str(line.trim_start());
                joined.push('\n');
            }
        }
    }
    joined
}

/// What is between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// `jungle backup|gc DIR` is two commands; and what may be left out is in brackets.
fn alternatives(span: &str) -> Vec<Vec<String>> {
    let words = words::split(&span.replace(['[', ']'], " ")).unwrap_or_default();
    match words.split_first() {
        Some((jungle, [names, rest @ ..])) if jungle == "jungle" => {
            let commands = names.split('|').map(|name| {
                [jungle.clone(), name.to_owned()].into_iter().chain(rest.iter().cloned()).collect()
            });
            commands.collect()
        }
        _ => Vec::new(),
    }
}

fn mistake(whole: &clap::Command, span: &str) -> Option<String> {
    let wrong = alternatives(span).into_iter().find_map(|words| walk(whole, &words).err());
    wrong.map(|why| format!("`{span}`: {why}"))
}

/// The commands and subcommands that are named, if all of them and their options are there.
fn walk(whole: &clap::Command, words: &[String]) -> Result<Vec<String>, String> {
    let (mut command, mut path) = (whole, "jungle".to_owned());
    let mut named = Vec::new();
    for word in &words[1..] {
        if word.starts_with('-') {
            if !has(command, word) {
                return Err(format!("{path} has no {word}"));
            }
        } else if let Some(below) = command.find_subcommand(word) {
            command = below;
            path = format!("{path} {word}");
            named.push(path.clone());
        } else if command.is_subcommand_required_set() {
            return Err(format!("{path} has no {word}"));
        }
    }
    Ok(named)
}

fn has(command: &clap::Command, option: &str) -> bool {
    let option = option.split('=').next().unwrap_or_default();
    let mut known = command.get_arguments();
    match (option.strip_prefix("--"), option.strip_prefix('-')) {
        (Some(""), _) | (None, Some("")) => true,
        (Some(long), _) => known.any(|arg| arg.get_long() == Some(long)),
        (None, short) => known.any(|arg| arg.get_short() == short.and_then(|s| s.chars().next())),
    }
}

/// Of options that are named without their command: some command must have them all.
fn unknown_options(whole: &clap::Command, span: &str) -> Option<String> {
    let options: Vec<&str> = span.split(' ').filter(|word| word.starts_with("--")).collect();
    if !span.starts_with("--") || OF_OTHERS.contains(&options[0]) {
        return None;
    }
    let mut open = vec![whole];
    while let Some(command) = open.pop() {
        if options.iter().all(|option| has(command, option)) {
            return None;
        }
        open.extend(command.get_subcommands());
    }
    Some(format!("no command has `{span}`"))
}
