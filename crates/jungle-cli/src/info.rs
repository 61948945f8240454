//! What is told of a revision.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use jungle::{RevisionInfo, TreeHandle};
use serde::Serialize;

use crate::output::{Format, json_line};
use crate::time;

/// What is told of a revision; the names of the fields are those of the JSON form.
#[derive(Serialize)]
pub(crate) struct Info {
    revision: u64,
    time: String,
    author: Option<String>,
    message: Option<String>,
    tags: Vec<String>,
}

/// The tags of a tree, by revision.
pub(crate) struct Tags(BTreeMap<u64, Vec<String>>);

impl Tags {
    pub(crate) fn of(tree: &TreeHandle) -> Tags {
        let mut tags: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (name, revision) in tree.list_tags() {
            tags.entry(revision.number()).or_default().push(name.to_string());
        }
        Tags(tags)
    }

    pub(crate) fn info(&self, info: &RevisionInfo) -> Info {
        let revision = info.revision.number();
        Info {
            revision,
            time: time::text(info.time),
            author: info.meta.author_name().map(str::to_owned),
            message: info.meta.message_text().map(str::to_owned),
            tags: self.0.get(&revision).cloned().unwrap_or_default(),
        }
    }
}

impl Info {
    pub(crate) fn print(&self, out: &mut impl Write, format: Format) -> io::Result<()> {
        if format == Format::Json {
            return json_line(out, self);
        }
        let style = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        let (number, tag) = (style(AnsiColor::Yellow), style(AnsiColor::Green));
        write!(out, "{number}{:>6}{number:#}  {}", self.revision, self.time)?;
        for name in &self.tags {
            write!(out, "  {tag}[{name}]{tag:#}")?;
        }
        match (&self.author, &self.message) {
            (Some(author), Some(message)) => write!(out, "  {author}: {}", one_line(message))?,
            (Some(only), None) | (None, Some(only)) => write!(out, "  {}", one_line(only))?,
            (None, None) => {}
        }
        writeln!(out)
    }
}

/// The first line, without what would move the cursor.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect()
}
