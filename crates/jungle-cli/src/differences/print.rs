//! Differences for people and for programs.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use jungle_json::Member;
use jungle_tree::{Key, Path, ValueRef};
use jungle_words::differences::{Difference, What, write_json};
use serde_json::Value;

use super::words::stand_out;
use crate::output::{count, is_colored, json, short};

/// Longer values are cut on a line.
const VALUE_CHARS_MAX: usize = 100;

/// What is shown of a long value before it differs from the other.
const SAME_CHARS_MAX: usize = 20;

pub(super) fn lines(out: &mut impl Write, differences: &[Difference<'_>]) -> io::Result<()> {
    let is_colored = is_colored();
    for Difference { path, what } in differences {
        let (sign, color) = sign(what);
        let style = Style::new().fg_color(Some(color.into()));
        let value = |member| short(member, VALUE_CHARS_MAX);
        let rest = match what {
            What::Added(member) | What::Removed(member) => format!("{path}: {}", value(*member)),
            What::Changed(left, right) => {
                let shown = both(*left, *right);
                let words = (is_colored && are_text(*left, *right))
                    .then(|| stand_out(style, &shown.0, &shown.1));
                let (left, right) = words.flatten().unwrap_or(shown);
                format!("{path}: {left} → {right}")
            }
            What::Moved(from) => format!("{from} → {path}"),
        };
        writeln!(out, "{style}{sign} {rest}{style:#}")?;
    }
    Ok(())
}

/// Both sides of a change, from shortly before they differ where they would be cut before that.
pub(crate) fn both(left: Member<'_>, right: Member<'_>) -> (String, String) {
    let (Member::Value(_), Member::Value(_)) = (left, right) else {
        return (short(left, VALUE_CHARS_MAX), short(right, VALUE_CHARS_MAX));
    };
    let (left, right) = (json(left), json(right));
    let same = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    let skipped = if same < VALUE_CHARS_MAX - SAME_CHARS_MAX { 0 } else { same - SAME_CHARS_MAX };
    let cut = |text: &str| {
        let mut rest = text.chars().skip(skipped);
        let begin = if skipped > 0 { "…" } else { "" };
        let shown: String = rest.by_ref().take(VALUE_CHARS_MAX).collect();
        let end = if rest.next().is_some() { "…" } else { "" };
        format!("{begin}{shown}{end}")
    };
    (cut(&left), cut(&right))
}

fn are_text(left: Member<'_>, right: Member<'_>) -> bool {
    let is_text = |member| matches!(member, Member::Value(ValueRef::Text(_)));
    is_text(left) && is_text(right)
}

/// Each path once: a place to which something was moved may have two differences, one behind the
/// other.
pub(super) fn paths(out: &mut impl Write, differences: &[Difference<'_>]) -> io::Result<()> {
    each_path(differences).try_for_each(|path| writeln!(out, "{path}"))
}

/// A string each.
pub(super) fn json_paths(out: &mut impl Write, differences: &[Difference<'_>]) -> io::Result<()> {
    each_path(differences).try_for_each(|path| writeln!(out, "{}", Value::from(path.to_string())))
}

fn each_path<'d>(differences: &'d [Difference<'_>]) -> impl Iterator<Item = &'d Path> {
    differences.chunk_by(|a, b| a.path == b.path).map(|same| &same[0].path)
}

fn sign(what: &What<'_>) -> (char, AnsiColor) {
    match what {
        What::Added(_) => ('+', AnsiColor::Green),
        What::Removed(_) => ('-', AnsiColor::Red),
        What::Changed(..) => ('~', AnsiColor::Yellow),
        What::Moved(_) => ('>', AnsiColor::Cyan),
    }
}

/// An object a difference, one on a line.
pub(super) fn json_lines(out: &mut impl Write, differences: &[Difference<'_>]) -> io::Result<()> {
    for difference in differences {
        write_json(out, difference)?;
        writeln!(out)?;
    }
    Ok(())
}

/// All differences as one array.
pub(crate) fn json_list(out: &mut impl Write, differences: &[Difference<'_>]) -> io::Result<()> {
    write!(out, "[")?;
    for (index, difference) in differences.iter().enumerate() {
        if index > 0 {
            write!(out, ",")?;
        }
        write_json(out, difference)?;
    }
    write!(out, "]")
}

/// How many differences there are of each kind.
#[derive(Clone, Copy, Default)]
struct Counts {
    added: u64,
    removed: u64,
    changed: u64,
    moved: u64,
}

impl Counts {
    fn add(&mut self, what: &What<'_>) {
        *match what {
            What::Added(_) => &mut self.added,
            What::Removed(_) => &mut self.removed,
            What::Changed(..) => &mut self.changed,
            What::Moved(_) => &mut self.moved,
        } += 1;
    }
}

/// Counts for each child of the node that is looked at, which is `depth` below the root.
pub(super) fn stat(
    out: &mut impl Write,
    differences: &[Difference<'_>],
    depth: usize,
) -> io::Result<()> {
    let mut all = Counts::default();
    let mut each: BTreeMap<Option<&Key>, Counts> = BTreeMap::new();
    for Difference { path, what } in differences {
        all.add(what);
        each.entry(path.get(depth)).or_default().add(what);
    }
    let name = |key: &Option<&Key>| key.map_or_else(|| "itself".to_owned(), Key::to_string);
    let width = each.keys().map(|key| name(key).chars().count()).max().unwrap_or(0);
    for (key, counts) in &each {
        write!(out, "{:width$}", name(key))?;
        let Counts { added, removed, changed, moved } = *counts;
        let kinds = [
            (added, '+', AnsiColor::Green),
            (removed, '-', AnsiColor::Red),
            (changed, '~', AnsiColor::Yellow),
            (moved, '>', AnsiColor::Cyan),
        ];
        for (count, sign, color) in kinds.into_iter().filter(|&(count, ..)| count > 0) {
            let style = Style::new().fg_color(Some(color.into()));
            write!(out, "  {style}{sign}{count}{style:#}")?;
        }
        writeln!(out)?;
    }
    let Counts { added, removed, changed, moved } = all;
    let total = count(added + removed + changed + moved, "difference");
    writeln!(out, "{total}: {added} added, {removed} removed, {changed} changed, {moved} moved")
}

pub(super) fn json_stat(out: &mut impl Write, differences: &[Difference<'_>]) -> io::Result<()> {
    let mut all = Counts::default();
    differences.iter().for_each(|difference| all.add(&difference.what));
    let Counts { added, removed, changed, moved } = all;
    writeln!(out, r#"{{"added":{added},"removed":{removed},"changed":{changed},"moved":{moved}}}"#)
}
