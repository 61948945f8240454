//! What the documents say of addresses, held against the OpenAPI document, and so against what is
//! there: the table of `docs/api.md` row by row, and what is named in passing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::contract::operations;

const INTRODUCTION: &str = include_str!("../../../../docs/api.md");
const API: &str = "/api/v1";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

#[test]
fn table_has_the_operations_that_there_are_and_no_others() {
    let known = operations().into_iter().filter(|(_, path)| path.starts_with(API)).collect();
    let told = table(INTRODUCTION);
    let missing: Vec<_> = BTreeSet::difference(&known, &told).collect();
    let unknown: Vec<_> = BTreeSet::difference(&told, &known).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "not told: {missing:#?}\nnot there: {unknown:#?}"
    );
    for (method, path) in operations().iter().filter(|(_, path)| !path.starts_with(API)) {
        assert!(INTRODUCTION.contains(&format!("`{path}`")), "{method} {path} is not told");
    }
}

#[test]
fn addresses_named_in_passing_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut named = 0;
    for document in ["README.md", "docs/api.md", "docs/operations.md", "docs/proof.md"] {
        let text = fs::read_to_string(root.join(document)).unwrap();
        let prose = text.split("\n```").step_by(2).collect::<String>().replace('\n', " ");
        for span in spans(&prose) {
            let Some((method, path)) = request(span) else { continue };
            named += 1;
            assert!(is_there(method, &path), "{document}: `{span}`");
        }
    }
    assert!(named > 5, "only {named} were found");
}

/// The checks above would see what is wrong.
#[test]
fn wrong_addresses_are_seen() {
    let check = |span: &str, is_right: bool| {
        let (method, path) = request(span).unwrap();
        assert_eq!(is_there(method, &path), is_right, "{span}: {path}");
    };
    check("GET merges?from=draft", true);
    check("GET /trees/{tree}/local", true);
    check("DELETE /trees/notes/tags/one", true);
    check("/api/v1/cluster", true);
    check("PATCH merges", false);
    check("GET /trees/{tree}/locals", false);
    check("/api/v1/clusters", false);
    let row = "| `/trees/{tree}/tags` | the tags | `POST` makes one; `DELETE /{name}` |\n";
    let told = table(row).into_iter().map(|(method, path)| format!("{method} {path}"));
    let wanted = [
        "DELETE /api/v1/trees/{tree}/tags/{name}",
        "GET /api/v1/trees/{tree}/tags",
        "POST /api/v1/trees/{tree}/tags",
    ];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
}

/// The operations of the table: an address or several, what `GET` tells, and other methods.
fn table(document: &str) -> BTreeSet<(String, String)> {
    let mut told = BTreeSet::new();
    for row in document.lines().filter(|line| line.starts_with("| `/")) {
        let [addresses, get, others] = &*row.trim_matches('|').split('|').collect::<Vec<_>>()
        else {
            panic!("not three columns: {row}");
        };
        for address in spans(addresses) {
            let mut add = |method: &str, below: &str| {
                told.insert((method.to_owned(), format!("{API}{address}{below}")));
            };
            if !get.trim().is_empty() {
                add("GET", "");
            }
            for below in spans(get).filter(|span| span.starts_with('/')) {
                add("GET", below);
            }
            for span in spans(others) {
                let (method, below) = span.split_once(' ').unwrap_or((span, ""));
                assert!(METHODS.contains(&method), "{method} in {row}");
                add(method, below.split('?').next().unwrap_or_default());
            }
        }
    }
    told
}

/// The method and the whole path, if an address is what is meant; without a slash in front it is
/// one of a tree.
fn request(span: &str) -> Option<(&str, String)> {
    let (method, path) = match span.split_once(' ') {
        Some((method, path)) if METHODS.contains(&method) => (method, path),
        None if span.starts_with("/api/v1/") => ("GET", span),
        _ => return None,
    };
    let path = path.split('?').next().unwrap_or_default();
    let path = match path.as_bytes().first() {
        // Parts of rows of the table, which has a test of its own.
        None => return None,
        Some(b'/') if path.starts_with("/{") => return None,
        Some(b'/') if path.starts_with(API) => path.to_owned(),
        Some(b'/') => format!("{API}{path}"),
        Some(_) => format!("{API}/trees/{{tree}}/{path}"),
    };
    Some((method, path))
}

fn is_there(method: &str, path: &str) -> bool {
    operations().iter().any(|(known, template)| {
        let mut pairs = template.split('/').zip(path.split('/'));
        known == method
            && template.split('/').count() == path.split('/').count()
            && pairs.all(|(template, found)| template.starts_with('{') || template == found)
    })
}

/// What is between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
