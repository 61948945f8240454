//! The exceptions: `RULE SUBJECT REASON`, one a line.

use std::fs;
use std::path::Path;

use super::Findings;
use crate::error::{Context, Result, fail};

const RULES: [&str; 3] = ["file-lines", "function-lines", "unsafe"];

/// The list of exceptions, and which of them were needed.
#[derive(Default)]
pub struct Allow(Vec<Exception>);

struct Exception {
    rule: String,
    subject: String,
    needed: bool,
}

impl Allow {
    /// Reads the list; a line without a reason, or with a rule nobody knows, is refused.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).context(format!("cannot read {}", path.display()))?;
        Self::parse(&text).context(path.display())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut exceptions = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.splitn(3, ' ');
            let (Some(rule), Some(subject), Some(_reason)) =
                (words.next(), words.next(), words.next())
            else {
                return fail(format!("`{line}` is not RULE SUBJECT REASON"));
            };
            if !RULES.contains(&rule) {
                return fail(format!("`{rule}` is no rule; there are {}", RULES.join(", ")));
            }
            let (rule, subject) = (rule.to_owned(), subject.to_owned());
            exceptions.push(Exception { rule, subject, needed: false });
        }
        Ok(Self(exceptions))
    }

    /// Whether `rule` may be broken by `subject`. A subject that ends in `/` in the list stands
    /// for everything below that folder.
    pub fn covers(&mut self, rule: &str, subject: &str) -> bool {
        let found = self.0.iter_mut().find(|exception| {
            let listed = exception.subject.as_str();
            let below = listed.ends_with('/') && subject.starts_with(listed);
            exception.rule == rule && (listed == subject || below)
        });
        match found {
            Some(exception) => {
                exception.needed = true;
                true
            }
            None => false,
        }
    }

    /// Sizes may only shrink: an exception nobody needs any more must go. One for a whole folder
    /// may stand before the folder does.
    pub fn report_unused(&self, findings: &mut Findings) {
        for exception in self.0.iter().filter(|it| !it.needed && !it.subject.ends_with('/')) {
            let wrong = format!("{} {} is no longer needed", exception.rule, exception.subject);
            findings.at("xtask/tidy-allow.txt", wrong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_covers_its_subject_or_everything_below_its_folder() {
        let list = "# why\nunsafe a/arena/ it is the arena\nfile-lines a/b.rs one table\n";
        let mut allow = Allow::parse(list).expect("the list is whole");
        assert!(allow.covers("unsafe", "a/arena/block.rs"));
        assert!(!allow.covers("unsafe", "a/other.rs"));
        assert!(!allow.covers("file-lines", "a/arena/block.rs"));
        let mut findings = Findings(Vec::new());
        allow.report_unused(&mut findings);
        assert_eq!(findings.0.len(), 1, "only b.rs was not needed");
    }

    #[test]
    fn exception_without_reason_is_refused() {
        assert!(Allow::parse("unsafe a/b.rs").is_err());
        assert!(Allow::parse("width a/b.rs because").is_err());
    }
}
