//! Differences that somebody else found, read from lines as a patch has them.

use jungle_tree::{Path, Snapshot};
use jungle_words::differences::{self, Difference};

use super::value::{Told, Values, member};
use super::{What, line};
use crate::failure::Failure;

/// Differences, with what they hold.
pub(crate) struct Differences(Vec<(Path, Held)>);

enum Held {
    Added(Snapshot),
    Removed(Snapshot),
    Changed(Snapshot, Snapshot),
    /// It was here before.
    Moved(Path),
}

impl Differences {
    /// Reads them; nothing if a line is none of a patch.
    pub(crate) fn read<'l>(
        lines: impl Iterator<Item = &'l str>,
    ) -> Result<Option<Differences>, Failure> {
        // They are those of documents by whoever tells them already.
        let mut values = Values::new(usize::MAX)?;
        let mut read = Vec::new();
        for text in lines {
            let told = line::parse(text).ok();
            let told = told.and_then(|(path, what)| {
                let held = hold(&what, |told| values.read(told).ok())?;
                Some((path, held))
            });
            let Some(told) = told else { return Ok(None) };
            read.push(told);
        }
        Ok(Some(Differences(read)))
    }

    /// All of them, in their order.
    pub(crate) fn all(&self) -> Vec<Difference<'_>> {
        let told = self.0.iter().map(|(path, held)| {
            let what = match held {
                Held::Added(new) => differences::What::Added(member(new.root())),
                Held::Removed(old) => differences::What::Removed(member(old.root())),
                Held::Changed(old, new) => {
                    differences::What::Changed(member(old.root()), member(new.root()))
                }
                Held::Moved(from) => differences::What::Moved(from.clone()),
            };
            Difference { path: path.clone(), what }
        });
        told.collect()
    }
}

/// What is told, with what it holds; nothing if that cannot be read.
fn hold(what: &What, mut value: impl FnMut(&Told) -> Option<Snapshot>) -> Option<Held> {
    Some(match what {
        What::Add(new) => Held::Added(value(new)?),
        What::Remove(old) => Held::Removed(value(old)?),
        What::Change { old, new } => Held::Changed(value(old)?, value(new)?),
        What::Move(from) => Held::Moved(from.clone()),
    })
}

#[cfg(test)]
mod tests {
    use jungle_words::differences::write_json;

    use super::*;

    #[test]
    fn lines_are_told_again_as_they_were() {
        let lines = [
            r#"{"op":"add","path":"/a","value":{"z":1.50,"b":[null,"é"]}}"#,
            r#"{"op":"add","path":"/b","value":{"$bytes":"AA=="},"value_tree":{"$bytes":"AA=="}}"#,
            r#"{"op":"remove","path":"/c/0","old":12345678901234567890}"#,
            r#"{"op":"move","from":"/d","path":"/\"0\""}"#,
            concat!(
                r#"{"op":"change","path":"/e","old":[1],"value":"x","old_tree":"#,
                r#"{"$attributes":{},"$children":{"7":{"$attributes":{"":1},"$children":{}}}}}"#,
            ),
        ];
        let read = Differences::read(lines.into_iter()).expect("there is room");
        let read = read.expect("they are lines of a patch");
        for (told, line) in read.all().iter().zip(lines) {
            let mut again = Vec::new();
            write_json(&mut again, told).expect("memory takes everything");
            assert_eq!(String::from_utf8(again).expect("JSON is text"), line);
        }
    }

    #[test]
    fn what_is_no_line_of_a_patch_is_not_read() {
        let lines =
            ["", "{}", r#"{"op":"add","path":"/a"}"#, r#"{"op":"add","path":"a","value":1}"#];
        for line in lines {
            let read = Differences::read(std::iter::once(line)).expect("there is room");
            assert!(read.is_none(), "{line}");
        }
    }
}
