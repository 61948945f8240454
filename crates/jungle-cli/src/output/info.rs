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
    write!(out, "{number}{:>6}{number:#}  {}", info.revision, one_line(&info.time))?;
    for name in &info.tags {
        write!(out, "  {tag}[{}]{tag:#}", one_line(name))?;
    }
    match (&info.author, &info.message) {
        (Some(author), Some(message)) => {
            write!(out, "  {}: {}", one_line(author), one_line(message))?;
        }
        (Some(only), None) | (None, Some(only)) => write!(out, "  {}", one_line(only))?,
        (None, None) => {}
    }
    writeln!(out)
}

/// The first line, without what would move the cursor.
pub(crate) fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_that_is_told_moves_the_cursor() {
        let odd = "a\u{1b}[2J\u{7f}\u{9b}b\nc";
        let mut info = json!({"revision": 1, "time": odd, "tags": [odd]});
        (info["author"], info["message"]) = (odd.into(), odd.into());
        let info: Info = serde_json::from_value(info).unwrap();
        let mut out = Vec::new();
        print(&mut out, &info, Format::Text).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.ends_with("  a[2Jb: a[2Jb\n"), "{out:?}");
        assert!(!out.contains("\u{1b}[2J"), "{out:?}");
    }
}
