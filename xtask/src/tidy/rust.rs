//! Rules for Rust: sizes, `unsafe`, and marks of unfinished work.

use super::allow::Allow;
use super::mask::{is_word, mask};
use super::{File, Findings};

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;

/// Marks of work that is not finished or not tested.
const UNFINISHED: [&str; 3] = ["todo!(", "unimplemented!(", "#[ignore"];

pub fn check(file: &File, allow: &mut Allow, findings: &mut Findings) {
    let code = mask(&file.text);
    // A peer is whatever the system it stands for is.
    let is_product = !file.path.starts_with("bench/peers/");
    file_length(file, allow, findings);
    for function in functions(&code) {
        function_length(file, &function, allow, findings);
    }
    for (index, line) in code.lines().enumerate() {
        for mark in UNFINISHED.iter().filter(|mark| line.contains(**mark)) {
            findings.at_line(&file.path, index + 1, format!("`{mark}`: finish it"));
        }
        if is_product && has_word(line, "unsafe") && !allow.covers("unsafe", &file.path) {
            findings.at_line(&file.path, index + 1, "`unsafe` outside the modules made for it");
        }
    }
}

fn file_length(file: &File, allow: &mut Allow, findings: &mut Findings) {
    let lines = file.text.lines().count();
    if lines > FILE_LINES_MAX && !allow.covers("file-lines", &file.path) {
        findings.at(&file.path, format!("{lines} lines, of at most {FILE_LINES_MAX}"));
    }
}

fn function_length(file: &File, function: &Function, allow: &mut Allow, findings: &mut Findings) {
    let subject = format!("{}::{}", file.path, function.name);
    if function.lines > FUNCTION_LINES_MAX && !allow.covers("function-lines", &subject) {
        let wrong = format!(
            "function {} has {} lines, of at most {FUNCTION_LINES_MAX}",
            function.name, function.lines
        );
        findings.at_line(&file.path, function.first_line, wrong);
    }
}

struct Function {
    name: String,
    first_line: usize,
    lines: usize,
}

/// Every function with a body, those inside others too, by counting braces.
fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name: String = code[at + 3..].chars().take_while(|&it| is_word(it)).collect();
        let starts_word = !code[..at].ends_with(is_word);
        if !starts_word || name.is_empty() {
            continue;
        }
        if let Some(length) = function_bytes(&code[at..]) {
            let first_line = code[..at].matches('\n').count() + 1;
            let lines = code[at..at + length].matches('\n').count() + 1;
            found.push(Function { name, first_line, lines });
        }
    }
    found
}

/// How many bytes the function at the start of `code` takes; `None` if it has no body.
fn function_bytes(code: &str) -> Option<usize> {
    let (mut parentheses, mut braces) = (0, 0);
    for (at, character) in code.char_indices() {
        match character {
            '(' | '[' => parentheses += 1,
            ')' | ']' => parentheses -= 1,
            ';' if parentheses == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces == 0 && parentheses == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expect(text: &str, wrong: &[&str]) {
        let file = File { path: "a.rs".to_owned(), text: text.to_owned() };
        let (mut allow, mut findings) = (Allow::default(), Findings(Vec::new()));
        check(&file, &mut allow, &mut findings);
        assert_eq!(findings.0, wrong);
    }

    #[test]
    fn marks_count_in_code_only() {
        expect("// unsafe, todo!()\nlet a = \"unsafe\"; let unsafe_code = 1;\n", &[]);
        expect("\nunsafe { b }\n", &["a.rs:2: `unsafe` outside the modules made for it"]);
        expect("todo!()\n", &["a.rs:1: `todo!(`: finish it"]);
    }

    #[test]
    fn long_function_is_found_and_declarations_are_not() {
        let body = "    x();\n".repeat(69);
        expect(
            &format!("fn a(b: [u8; 3]) -> u8 {{\n{body}}}\n"),
            &["a.rs:1: function a has 71 lines, of at most 70"],
        );
        let body = "    x();\n".repeat(68);
        expect(&format!("trait T {{\n    fn a();\n}}\nfn b() {{\n{body}}}\n"), &[]);
    }

    #[test]
    fn long_file_is_found() {
        expect(&"a();\n".repeat(801), &["a.rs: 801 lines, of at most 800"]);
    }
}
