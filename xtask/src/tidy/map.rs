//! The pages in `docs/inside` say where in the code a thing is: what they name must be there.
//!
//! A page says first where its paths begin (`crates/jungle-tree/src`); one may also begin with the
//! name of a crate, or at the root.

use std::collections::BTreeSet;

use super::{File, Findings};

const PAGES: &str = "docs/inside/";

pub fn check(files: &[File], findings: &mut Findings) {
    let places = places(files);
    for page in files.iter().filter(|file| file.path.starts_with(PAGES)) {
        let begins: Vec<&str> =
            page.text.lines().flat_map(code).filter(|it| is_begin(it)).collect();
        let is_there = |path: &str| {
            let below = begins.iter().map(|begin| format!("{begin}/{path}"));
            below.chain([format!("crates/{path}"), path.to_owned()]).any(|it| places.contains(&*it))
        };
        for (line, text) in (1..).zip(page.text.lines()) {
            for path in code(text).filter(|it| is_path(it)) {
                if !is_there(path.trim_end_matches('/')) {
                    findings.at_line(&page.path, line, format!("there is no `{path}`"));
                }
            }
        }
    }
}

/// All files, and the folders that they are in.
fn places(files: &[File]) -> BTreeSet<&str> {
    let mut places = BTreeSet::new();
    for File { path, .. } in files {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        places.extend(ends.map(|end| &path[..end]));
    }
    places
}

/// What is between the backticks of a line.
fn code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_begin(code: &str) -> bool {
    code.starts_with("crates/") && code.contains("/src") && !code.ends_with(".rs")
}

/// A file of the code, or a folder.
fn is_path(code: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-".contains(it);
    (code.ends_with(".rs") || code.ends_with('/')) && code.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/jungle-tree/src/arena/region.rs", ""),
            file("crates/jungle-db/src/space.rs", ""),
            file("docs/inside/tree.md", page),
        ];
        let mut findings = Findings(Vec::new());
        check(&files, &mut findings);
        findings.0
    }

    #[test]
    fn what_a_page_names_is_there() {
        let begin = "Paths begin in `crates/jungle-tree/src`.\n";
        let good =
            "`arena/region.rs` and `arena/`, `jungle-db/src/space.rs`, `Tree::apply`, `docs/`";
        assert_eq!(found(&format!("{begin}{good}")), [""; 0]);
        for (bad, path) in [
            ("`region.rs`", "region.rs"),
            ("`arena/` and `gone/`", "gone/"),
            ("`jungle-tree/src/space.rs`", "jungle-tree/src/space.rs"),
        ] {
            let expected = format!("docs/inside/tree.md:2: there is no `{path}`");
            assert_eq!(found(&format!("{begin}{bad}")), [expected]);
        }
    }

    #[test]
    fn paths_begin_only_where_the_page_says() {
        assert_eq!(
            found("`arena/region.rs`"),
            ["docs/inside/tree.md:1: there is no `arena/region.rs`"]
        );
    }
}
