//! Where the packages of a lockfile come from: the public registries and nowhere else. From a
//! branch of somebody's, or through a machine that not everybody reaches, what is built tomorrow
//! need not be what was looked at today.

use super::{File, Findings};

const CRATES: &str = "registry+https://github.com/rust-lang/crates.io-index";
const NPM: &str = concat!("https://registry.", "npmjs.org/");

pub fn check(file: &File, findings: &mut Findings) {
    match file.path.rsplit('/').next() {
        Some("Cargo.lock") => each(file, "source = ", findings, |from| from == CRATES),
        Some("package-lock.json" | "npm-shrinkwrap.json") => {
            each(file, "\"resolved\": ", findings, |from| from.starts_with(NPM));
        }
        _ => {}
    }
}

/// Finds what a field says that is not good.
fn each(file: &File, field: &str, findings: &mut Findings, is_good: impl Fn(&str) -> bool) {
    for (line, text) in (1..).zip(file.text.lines()) {
        let Some(from) = text.trim().strip_prefix(field) else { continue };
        let from = from.trim_end_matches(',').trim_matches('"');
        if !is_good(from) {
            let wrong = format!("a package comes from `{from}`, and not from the public registry");
            findings.at_line(&file.path, line, wrong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let mut findings = Findings(Vec::new());
        let file = File { path: path.to_owned(), text: text.to_owned() };
        check(&file, &mut findings);
        findings.0
    }

    #[test]
    fn crates_come_from_the_public_registry() {
        let lock = |from: &str| format!("[[package]]\nname = \"a\"\nsource = \"{from}\"\n");
        assert_eq!(found("bench/x/Cargo.lock", &lock(CRATES)), [""; 0]);
        for from in [
            "git+https://example.org/a?rev=1#1",
            "registry+https://example.org/index",
            "sparse+https://example.org/index/",
        ] {
            let wrong = found("Cargo.lock", &lock(from));
            assert!(wrong.len() == 1 && wrong[0].starts_with("Cargo.lock:3: "), "{wrong:?}");
        }
        // Our own have no source.
        assert_eq!(found("Cargo.lock", "[[package]]\nname = \"jungle\"\n"), [""; 0]);
    }

    #[test]
    fn packages_come_from_the_public_registry() {
        let lock = |from: &str| format!("{{\n  \"resolved\": \"{from}\",\n}}\n");
        let path = "web/explorer/package-lock.json";
        assert_eq!(found(path, &lock(&format!("{NPM}a/-/a-1.0.0.tgz"))), [""; 0]);
        for from in [
            concat!("https://registry.", "npmjs.org.example.org/a.tgz"),
            "http://localhost:4873/a/-/a-1.0.0.tgz",
            "git+ssh://git@example.org/a.git#1",
        ] {
            assert_eq!(found(path, &lock(from)).len(), 1, "{from}");
        }
        assert_eq!(found("docs/example.json", &lock("http://localhost/a")), [""; 0]);
    }
}
