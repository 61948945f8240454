//! Licences: each package must offer at least one that we may use.

use serde_json::Value;

use super::{Looked, allowed};
use crate::error::{Context, Result};

/// Licences that ask for no more than a notice.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Finds packages that offer none of the allowed licences and are not in the allow list.
pub fn look(metadata: &Value) -> Result<Looked> {
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?;
    let exceptions = allowed()?;
    let (mut looked, mut bad) = (0, Vec::new());
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        looked += 1;
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or("none named");
        let excepted = exceptions.iter().any(|(subject, _)| subject == name);
        if !excepted && !is_allowed(licence) {
            bad.push(format!("{name}: its licence is {licence}"));
        }
    }
    println!("licences: {looked} packages, {} refused", bad.len());
    Ok(Looked { packages: looked, defects: bad })
}

/// Reads an SPDX expression: `OR` needs one side, `AND` both. An old-style `/` is an `OR`. An
/// exception after `WITH` only loosens a licence.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest) && rest.is_empty()
}

fn either(words: &mut &[&str]) -> bool {
    let mut good = both(words);
    while take(words, "OR") {
        good |= both(words);
    }
    good
}

fn both(words: &mut &[&str]) -> bool {
    let mut good = one(words);
    while take(words, "AND") {
        good &= one(words);
    }
    good
}

fn one(words: &mut &[&str]) -> bool {
    if take(words, "(") {
        let good = either(words);
        return take(words, ")") && good;
    }
    let Some((licence, rest)) = words.split_first() else {
        return false;
    };
    *words = rest;
    if take(words, "WITH") {
        *words = words.get(1..).unwrap_or_default();
    }
    ALLOWED.contains(licence)
}

fn take(words: &mut &[&str], word: &str) -> bool {
    match words.split_first() {
        Some((first, rest)) if *first == word => {
            *words = rest;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn expressions_are_read_as_spdx_means_them() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT", "MIT MIT"] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }
}
