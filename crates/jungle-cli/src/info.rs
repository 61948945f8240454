//! Printing what is told of a revision.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use jungle_words::Info;

use crate::output::{Format, json_line};

pub(crate) fn print(out: &mut impl Write, info: &Info, format: Format) -> io::Result<()> {
    if format == Format::Json {
        return json_line(out, info);
    }
    let style = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    let (number, tag) = (style(AnsiColor::Yellow), style(AnsiColor::Green));
    write!(out, "{number}{:>6}{number:#}  {}", info.revision, info.time)?;
    for name in &info.tags {
        write!(out, "  {tag}[{name}]{tag:#}")?;
    }
    match (&info.author, &info.message) {
        (Some(author), Some(message)) => write!(out, "  {author}: {}", one_line(message))?,
        (Some(only), None) | (None, Some(only)) => write!(out, "  {}", one_line(only))?,
        (None, None) => {}
    }
    writeln!(out)
}

/// The first line, without what would move the cursor.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect()
}
