//! Each cell of `docs/merge.md`.
//!
//! A tree is written as its nodes in document order: `/a x=1`. Changes are written `+ /a`, `- /a`,
//! `~ /a x=1`, `~ /a x`, `> /a /b` and `= /a x=1 n m` (a subtree with this attribute and these
//! children).

use super::*;

/// What is there at first.
const BASE: &str = "/a x=0;/a/k x=0;/a/k/l;/b;/d;/e";

struct Row {
    ours: &'static str,
    theirs: &'static str,
    /// The result: of all resolutions, or with O, T and S, where each says what differs from the
    /// base (`+` there now, `-` not there any more).
    result: &'static [(&'static str, &'static str)],
    conflicts: &'static [ConflictKind],
}

fn attribute(text: &str) -> (&str, Option<Value>) {
    match text.split_once('=') {
        Some((key, value)) => {
            let int = value.parse().map(Value::Int);
            let number = int.or_else(|_| value.parse().map(Value::Float));
            (key, Some(number.unwrap_or_else(|_| Value::from(value))))
        }
        None => (text, None),
    }
}

fn change(arena: &Arena, text: &str) -> Change {
    let parts: Vec<&str> = text.split(' ').collect();
    let path = |text: &str| text.parse::<Path>().unwrap();
    match parts[..] {
        ["+", at] => Change::ChildAdded { path: path(at) },
        ["-", at] => Change::ChildRemoved { path: path(at) },
        [">", from, to] => Change::Moved { from: path(from), to: path(to) },
        ["~", at, what] => {
            let (key, value) = attribute(what);
            let (path, key) = (path(at), key.into());
            match value {
                Some(value) => Change::AttributePut { path, key, value },
                None => Change::AttributeRemoved { path, key },
            }
        }
        ["=", at, what, ref children @ ..] => {
            let mut tree = Tree::new(arena);
            let (key, value) = attribute(what);
            tree.put_attribute(&[], key, value.unwrap().as_ref()).unwrap();
            for &child in children {
                tree.insert_child(&[], &child.into()).unwrap();
            }
            let subtree = Subtree::new(&tree.snapshot(), &[]).unwrap();
            Change::SubtreeSet { path: path(at), subtree }
        }
        _ => panic!("{text} is no change"),
    }
}

fn changes(arena: &Arena, text: &str) -> ChangeSet {
    let parts = text.split(';').filter(|part| !part.is_empty());
    parts.map(|part| change(arena, part)).collect()
}

fn text(snapshot: &Snapshot) -> Vec<String> {
    let mut walk = snapshot.root().walk();
    let mut lines = Vec::new();
    while let Some(node) = walk.next() {
        let attributes = node.attributes().map(|(key, value)| format!(" {key}={value}"));
        lines.push(format!("{}{}", walk.path(), attributes.collect::<String>()));
    }
    lines.split_off(1)
}

/// What is in `after` and not in `before`, and the other way round.
fn difference(before: &[String], after: &[String]) -> String {
    let gone = before.iter().filter(|line| !after.contains(line)).map(|line| format!("-{line}"));
    let new = after.iter().filter(|line| !before.contains(line)).map(|line| format!("+{line}"));
    gone.chain(new).collect::<Vec<_>>().join(";")
}

fn base(arena: &Arena) -> Snapshot {
    let mut script = String::new();
    for line in BASE.split(';') {
        let (path, attribute) = line.split_once(' ').unwrap_or((line, ""));
        script += &format!("+ {path};");
        if !attribute.is_empty() {
            script += &format!("~ {path} {attribute};");
        }
    }
    applied(&Tree::new(arena).snapshot(), &changes(arena, &script))
}

fn check(row: &Row) {
    let arena = Arena::new().unwrap();
    let base = base(&arena);
    let (ours, theirs) = (changes(&arena, row.ours), changes(&arena, row.theirs));
    let head = applied(&base, &theirs);
    applied(&base, &ours);
    let before = text(&base);
    for (letter, resolution) in ["O", "T", "S"].into_iter().zip(RESOLUTIONS) {
        let named = format!("{letter}: {} | {}", row.ours, row.theirs);
        let rebased = rebase_over(&base, &ours, &theirs, &options(resolution));
        let result = difference(&before, &text(&applied(&head, &rebased.changes)));
        let expected = row.result.iter().find(|(letters, _)| letters.contains(letter));
        let (_, expected) = expected.expect("each resolution has a result");
        assert_eq!(&result, expected, "{named}\n{}", rebased.changes);
        let kinds: Vec<ConflictKind> = rebased.conflicts.iter().map(|c| c.kind).collect();
        assert_eq!(kinds, row.conflicts, "{named}");
        if letter == "S" && !row.ours.contains(|c: char| c.is_ascii_digit() && c == '5') {
            let head = applied(&base, &ours);
            let rebased = rebase_over(&base, &theirs, &ours, &options(resolution));
            let exchanged = difference(&before, &text(&applied(&head, &rebased.changes)));
            assert_eq!(exchanged, result, "exchanged, {named}\n{}", rebased.changes);
        }
    }
}

fn row(
    ours: &'static str,
    theirs: &'static str,
    result: &'static [(&'static str, &'static str)],
    conflicts: &'static [ConflictKind],
) {
    check(&Row { ours, theirs, result, conflicts });
}

const LEFT_A: &str = "-/a x=0;-/a/k x=0;-/a/k/l";
use ConflictKind::*;

#[test]
fn we_added() {
    row("+ /b/n", "+ /b/m", &[("OTS", "+/b/m;+/b/n")], &[]);
    row("+ /b/n", "+ /b/n", &[("OTS", "+/b/n")], &[]);
    row("+ /b/n", "= /b y=1 n", &[("OTS", "-/b;+/b y=1;+/b/n")], &[]);
    row(
        "+ /a/k/n",
        "= /a y=1 k",
        &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1;+/a/k")],
        &[SetOverlap],
    );
    row("+ /b/n", "> /b /d/b", &[("OTS", "-/b;+/d/b;+/d/b/n")], &[]);
    row("+ /b/n;~ /b/n x=1", "+ /b/n;~ /b/n y=1", &[("OTS", "+/b/n x=1 y=1")], &[]);
    row("+ /5;~ /5 x=1;+ /6", "+ /5;+ /6", &[("OTS", "+/5;+/6;+/7 x=1;+/8")], &[]);
    row("+ /-5;~ /-5 x=1;+ /-6", "+ /-5;+ /-6", &[("OTS", "+/-8;+/-7 x=1;+/-6;+/-5")], &[]);
    row("+ /5.80;~ /5.80 x=1", "+ /5.80", &[("OTS", "+/5.80;+/5.90 x=1")], &[]);
    row("+ /a/n", "- /a", &[("OTS", LEFT_A)], &[RemovedBelow]);
    row("+ /a/k/n;~ /a/k/n x=1", "- /a", &[("OTS", LEFT_A)], &[RemovedBelow, RemovedBelow]);
    row("+ /b/n", "~ /b x=1", &[("OTS", "-/b;+/b x=1;+/b/n")], &[]);
    row("+ /b/n", "~ /a x", &[("OTS", "-/a x=0;+/a;+/b/n")], &[]);
    row("+ /b/n", "> /b /c", &[("OTS", "-/b;+/c;+/c/n")], &[]);
    row("+ /b/5", "> /d /b/5", &[("OTS", "-/d;+/b/5;+/b/6")], &[]);
    row("+ /n", "> /d /n", &[("OS", "+/n"), ("T", "-/d;+/n")], &[KeyTaken]);
    row("+ /b/n", "= /b y=1", &[("O", "-/b;+/b y=1;+/b/n"), ("TS", "-/b;+/b y=1")], &[SetOverlap]);
    row("+ /a/k/n", "= /a y=1", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1")], &[SetOverlap]);
    row("+ /5", "= /5 x=1", &[("OTS", "+/5 x=1;+/6")], &[]);
    row("+ /n", "= /n x=1", &[("OTS", "+/n x=1")], &[]);
}

/// Their changes do not say so, but the version that they led to does.
#[test]
fn we_added_at_a_position_that_was_given() {
    let arena = Arena::new().unwrap();
    let base = base(&arena);
    let ours = changes(&arena, "+ /5;+ /6;+ /b/0");
    let head = applied(&base, &changes(&arena, "+ /5;+ /6;- /5;+ /b/7;- /b/7"));
    let rebased = rebase_onto(&base, &ours, &head, &MergeOptions::new());
    let result = difference(&text(&base), &text(&applied(&head, &rebased.changes)));
    assert_eq!(result, "+/6;+/7;+/8;+/b/8");
    assert_eq!(rebased.renamed.len(), 3);
}

/// The same in front of all that are there.
#[test]
fn we_added_in_front_where_a_position_was_given() {
    let arena = Arena::new().unwrap();
    let base = base(&arena);
    let ours = changes(&arena, "+ /-1;+ /-2;+ /b/-1");
    let head = applied(&base, &changes(&arena, "+ /-1;+ /-2;- /-1;+ /b/-7;- /b/-7"));
    let rebased = rebase_onto(&base, &ours, &head, &MergeOptions::new());
    let result = difference(&text(&base), &text(&applied(&head, &rebased.changes)));
    assert_eq!(result, "+/-4;+/-3;+/-2;+/b/-8");
    assert_eq!(rebased.renamed.len(), 3);
}

/// The same between two that are there, behind what they have there, and in our order.
#[test]
fn we_added_at_a_fraction_that_was_given() {
    let arena = Arena::new().unwrap();
    let base = base(&arena);
    let ours = changes(&arena, "+ /0.80;+ /0.80/n;+ /0.90;+ /b/0.80");
    let head = applied(&base, &changes(&arena, "+ /0.80;- /0.80;+ /0.90;+ /b/0.80"));
    let rebased = rebase_onto(&base, &ours, &head, &MergeOptions::new());
    let result = applied(&head, &rebased.changes);
    let result = difference(&text(&base), &text(&result));
    assert_eq!(result, "+/0.800101;+/0.800101/n;+/0.90;+/0.980101;+/b/0.80;+/b/0.90");
    assert_eq!(rebased.renamed.len(), 3);
}

/// Likewise in a node that we moved.
#[test]
fn we_added_what_was_given_in_a_node_that_we_moved() {
    let arena = Arena::new().unwrap();
    let base = base(&arena);
    let ours = changes(&arena, "> /b /c;+ /c/0;+ /c/0.80");
    let head = applied(&base, &changes(&arena, "+ /b/0;- /b/0;+ /b/0.80;- /b/0.80"));
    let rebased = rebase_onto(&base, &ours, &head, &MergeOptions::new());
    let result = difference(&text(&base), &text(&applied(&head, &rebased.changes)));
    assert_eq!((&*result, rebased.renamed.len()), ("-/b;+/c;+/c/0.800101;+/c/1", 2));
}

/// Where no number is left, two that were added at the same one were taken for one.
#[test]
fn we_added_at_the_last_number_or_the_first() {
    row(
        "+ /17592186044415;~ /17592186044415 x=1;+ /17592186044415.80",
        "+ /17592186044415",
        &[("OTS", "+/17592186044415;+/17592186044415.80 x=1;+/17592186044415.90")],
        &[],
    );
    row(
        "+ /-17592186044416;~ /-17592186044416 x=1",
        "+ /-17592186044416",
        &[("OTS", "+/-17592186044416;+/-17592186044416.80 x=1")],
        &[],
    );
    row(
        "> /b /17592186044415",
        "+ /17592186044415",
        &[("OTS", "-/b;+/17592186044415;+/17592186044415.80")],
        &[],
    );
    row(
        "= /17592186044415 y=1",
        "= /17592186044415 y=2",
        &[("OTS", "+/17592186044415 y=2;+/17592186044415.80 y=1")],
        &[],
    );
}

/// Nor is it given a second time.
#[test]
fn we_added_at_the_last_number_that_was_given() {
    let arena = Arena::new().unwrap();
    let base = base(&arena);
    let ours = changes(&arena, "+ /17592186044415");
    let check = |theirs: &str, expected: &str| {
        let head = applied(&base, &changes(&arena, theirs));
        let rebased = rebase_onto(&base, &ours, &head, &MergeOptions::new());
        assert_eq!(rebased.changes.to_string(), expected, "{theirs}");
        applied(&head, &rebased.changes);
    };
    check("+ /17592186044415;- /17592186044415", "+ /17592186044415.80\n");
    check(
        "+ /17592186044415;+ /17592186044415.80;- /17592186044415.80",
        "+ /17592186044415.800101\n",
    );
}

/// What they took away before was given to nobody since; what is signed, to nobody else.
#[test]
fn we_added_at_a_fraction_that_was_not_given() {
    let arena = Arena::new().unwrap();
    let base = applied(&base(&arena), &changes(&arena, "+ /0.80;- /0.80;+ /b/0.80;- /b/0.80"));
    let ours = changes(&arena, "+ /0.40;+ /b/0.80010111");
    let head = applied(&base, &changes(&arena, "+ /1;+ /b/0.80;- /b/0.80"));
    let rebased = rebase_onto(&base, &ours, &head, &MergeOptions::new());
    assert_eq!((&*rebased.changes, rebased.renamed.len()), (&*ours, 0));
}

#[test]
fn we_removed() {
    row("- /b", "+ /b/n", &[("OS", "-/b"), ("T", "+/b/n")], &[ChangedBelow]);
    row("- /a", "- /a", &[("OTS", LEFT_A)], &[]);
    row("- /a/k", "- /a", &[("OTS", LEFT_A)], &[]);
    row("- /a", "- /a/k", &[("OTS", LEFT_A)], &[]);
    row("- /b", "~ /b x=1", &[("OS", "-/b"), ("T", "-/b;+/b x=1")], &[ChangedBelow]);
    row("- /a", "~ /a/k x", &[("OS", LEFT_A), ("T", "-/a/k x=0;+/a/k")], &[ChangedBelow]);
    row("- /b", "~ /d x=1", &[("OTS", "-/b;-/d;+/d x=1")], &[]);
    row("- /b", "> /b /c", &[("OS", "-/b"), ("T", "-/b;+/c")], &[ChangedBelow]);
    row("- /b", "> /d /b/d", &[("OS", "-/b"), ("T", "-/d;+/b/d")], &[ChangedBelow]);
    row(
        "- /a",
        "> /a/k /k",
        &[("OS", LEFT_A), ("T", "-/a/k x=0;-/a/k/l;+/k x=0;+/k/l")],
        &[ChangedBelow],
    );
    row(
        "- /a",
        "> /a/k /k;- /a",
        &[("OS", LEFT_A), ("T", "-/a x=0;-/a/k x=0;-/a/k/l;+/k x=0;+/k/l")],
        &[ChangedBelow],
    );
    // What was moved into what was moved out of it goes home, it is no part of it.
    row(
        "- /a/k",
        "> /a/k/l /l;> /b /l/b",
        &[("OS", "-/a/k x=0;-/a/k/l"), ("T", "-/a/k/l;-/b;+/l;+/l/b")],
        &[ChangedBelow, ChangedBelow],
    );
    // What we had moved out of it before is ours.
    row(
        "> /a/k /k;- /a",
        "> /a/k /k;- /a",
        &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/k x=0;+/k/l")],
        &[],
    );
    // They keep what they added, as they did.
    row("+ /n;~ /n x=1;+ /n/m;- /n", "+ /n;~ /n x=2", &[("OTS", "+/n x=2")], &[]);
    row("- /b", "= /b y=1", &[("O", "-/b"), ("TS", "-/b;+/b y=1")], &[ChangedBelow]);
    row(
        "- /a",
        "= /a/k y=1",
        &[("OS", LEFT_A), ("T", "-/a/k x=0;-/a/k/l;+/a/k y=1")],
        &[ChangedBelow],
    );
    row("- /a/k", "= /a y=1", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1")], &[]);
}

/// They go home, and what was in it goes with it.
#[test]
fn we_removed_a_node_that_they_moved_things_into() {
    // What was moved out of another one that was moved in, too, has its home there.
    row(
        "- /d",
        "> /a /d/a;> /d/a/k /d/c",
        &[("OS", "-/d"), ("T", "-/a x=0;-/a/k x=0;-/a/k/l;+/d/a x=0;+/d/c x=0;+/d/c/l")],
        &[ChangedBelow, ChangedBelow],
    );
    // What was moved into what was moved in goes home with that.
    row(
        "- /d",
        "> /a /d/c;> /b /d/c/m",
        &[
            ("OS", "-/b;-/d;+/a/m"),
            ("T", "-/a x=0;-/a/k x=0;-/a/k/l;-/b;+/d/c x=0;+/d/c/k x=0;+/d/c/k/l;+/d/c/m"),
        ],
        &[ChangedBelow, ChangedBelow],
    );
    // But what was in it does not go with that.
    row(
        "- /a",
        "> /d /a/d;> /a/k /a/d/k;> /e /a/d/k/e",
        &[("OS", LEFT_A), ("T", "-/a/k x=0;-/a/k/l;-/d;-/e;+/a/d;+/a/d/k x=0;+/a/d/k/e;+/a/d/k/l")],
        &[ChangedBelow, ChangedBelow, ChangedBelow],
    );
}

#[test]
fn we_put() {
    row("~ /b x=1", "+ /b/n", &[("OTS", "-/b;+/b x=1;+/b/n")], &[]);
    row("~ /a y=1", "- /a/k", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a x=0 y=1")], &[]);
    row("~ /a x=1", "- /a", &[("OTS", LEFT_A)], &[RemovedBelow]);
    row("~ /a/k x=1", "- /a", &[("OTS", LEFT_A)], &[RemovedBelow]);
    row("~ /b x=1", "~ /b x=1", &[("OTS", "-/b;+/b x=1")], &[]);
    row("~ /b x=1", "~ /b x=2", &[("O", "-/b;+/b x=1"), ("TS", "-/b;+/b x=2")], &[Attribute]);
    row("~ /a x=1", "~ /a x", &[("OS", "-/a x=0;+/a x=1"), ("T", "-/a x=0;+/a")], &[Attribute]);
    row("~ /b x=1", "~ /b y=2", &[("OTS", "-/b;+/b x=1 y=2")], &[]);
    row("~ /b x=1", "> /b /c", &[("OTS", "-/b;+/c x=1")], &[]);
    row(
        "~ /a/k/l y=1",
        "> /a /d/a",
        &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/d/a x=0;+/d/a/k x=0;+/d/a/k/l y=1")],
        &[],
    );
    row("~ /b y=1", "= /b y=1", &[("OTS", "-/b;+/b y=1")], &[]);
    row("~ /b x=1", "= /b y=1", &[("O", "-/b;+/b x=1 y=1"), ("TS", "-/b;+/b y=1")], &[SetOverlap]);
    row("~ /a/k x=1", "= /a y=1", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1")], &[SetOverlap]);
    // Only the last word counts.
    row("~ /b x=1;~ /b x=2", "~ /b x=2", &[("OTS", "-/b;+/b x=2")], &[]);
}

#[test]
fn we_removed_an_attribute() {
    row("~ /a x", "+ /a/n", &[("OTS", "-/a x=0;+/a;+/a/n")], &[]);
    row("~ /a x", "- /a", &[("OTS", LEFT_A)], &[RemovedBelow]);
    row("~ /a x", "~ /a x=1", &[("O", "-/a x=0;+/a"), ("TS", "-/a x=0;+/a x=1")], &[Attribute]);
    row("~ /a x", "~ /a x", &[("OTS", "-/a x=0;+/a")], &[]);
    row("~ /a/k x", "> /a/k /k", &[("OTS", "-/a/k x=0;-/a/k/l;+/k;+/k/l")], &[]);
    row(
        "~ /a/k x",
        "= /a/k x=1",
        &[("O", "-/a/k x=0;-/a/k/l;+/a/k"), ("TS", "-/a/k x=0;-/a/k/l;+/a/k x=1")],
        &[SetOverlap],
    );
}

#[test]
fn we_moved() {
    row("> /b /c", "+ /b/n", &[("OTS", "-/b;+/c;+/c/n")], &[]);
    row("> /b /5", "+ /5;~ /5 x=1", &[("OTS", "-/b;+/5 x=1;+/6")], &[]);
    row("> /b /5;+ /6;~ /6 x=1", "+ /5", &[("OTS", "-/b;+/5;+/6;+/7 x=1")], &[]);
    row("> /b /n", "+ /n", &[("O", "-/b;+/n"), ("TS", "+/n")], &[KeyTaken]);
    row("> /a/k /k", "- /a", &[("OTS", LEFT_A)], &[RemovedBelow]);
    row("> /b /d/b", "- /d", &[("OTS", "-/d")], &[RemovedBelow]);
    row("> /b /c", "- /b", &[("OTS", "-/b")], &[RemovedBelow]);
    row("> /b /a/k/b", "- /a", &[("OTS", LEFT_A)], &[RemovedBelow]);
    row("> /a/k /k", "- /a/k/l", &[("OTS", "-/a/k x=0;-/a/k/l;+/k x=0")], &[]);
    row("> /b /c", "~ /b x=1", &[("OTS", "-/b;+/c x=1")], &[]);
    row("> /a/k /k", "~ /a/k x", &[("OTS", "-/a/k x=0;-/a/k/l;+/k;+/k/l")], &[]);
    row("> /b /c", "> /b /c", &[("OTS", "-/b;+/c")], &[]);
    row("> /b /c", "> /b /m", &[("OS", "-/b;+/c"), ("T", "-/b;+/m")], &[MovedApart]);
    row("> /b /5", "> /d /5", &[("OTS", "-/b;-/d;+/5;+/6")], &[]);
    row("> /b /n", "> /d /n", &[("OS", "-/b;+/n"), ("T", "-/d;+/n")], &[KeyTaken]);
    row("> /b /d/b", "> /d /b/d", &[("O", "-/b;+/d/b"), ("TS", "-/d;+/b/d")], &[MoveCycle]);
    row("> /b /d/b", "> /d /e/d", &[("OTS", "-/b;-/d;+/e/d;+/e/d/b")], &[]);
    row(
        "> /a/k /b/k",
        "> /a /d/a",
        &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/b/k x=0;+/b/k/l;+/d/a x=0")],
        &[],
    );
    row("> /b /c", "= /b y=1", &[("OTS", "-/b;+/c y=1")], &[]);
    row("> /a /c", "= /a/k y=1", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/c x=0;+/c/k y=1")], &[]);
    row("> /a/k /k", "= /a y=1", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1")], &[SetOverlap]);
    row(
        "> /b /d/b",
        "= /d y=1",
        &[("O", "-/b;-/d;+/d y=1;+/d/b"), ("TS", "-/d;+/d y=1")],
        &[SetOverlap],
    );
    // Two places exchanged.
    row("> /b /t;> /d /b;> /t /d", "~ /b x=1;~ /d x=2", &[("OTS", "-/b;-/d;+/b x=2;+/d x=1")], &[]);
}

#[test]
fn what_stays_where_it_was_is_not_taken_for_what_we_put_there() {
    let arena = Arena::new().unwrap();
    let changes = |text| changes(&arena, text);
    let (ours, theirs) = (changes("> /a /d/a;+ /a;~ /a x=1"), changes("- /d"));
    for resolution in RESOLUTIONS {
        let rebased = rebase_over(&base(&arena), &ours, &theirs, &options(resolution));
        assert_eq!(rebased.changes.to_string(), "");
        let named: Vec<&Change> = rebased.conflicts.iter().map(|it| &it.ours).collect();
        assert_eq!(named, ours.iter().collect::<Vec<_>>());
    }
}

#[test]
fn what_they_put_in_a_node_that_goes_is_named() {
    let arena = Arena::new().unwrap();
    let changes = |text| changes(&arena, text);
    let theirs = changes("+ /n;~ /n x=1;+ /n/m");
    let options = options(Resolution::Ours);
    let rebased = rebase_over(&base(&arena), &changes("> /b /n"), &theirs, &options);
    let named: Vec<&Change> = rebased.conflicts.iter().map(|it| &it.theirs).collect();
    assert_eq!(named, theirs.iter().collect::<Vec<_>>());
}

#[test]
fn we_set() {
    row("= /b y=1", "+ /b/n", &[("OS", "-/b;+/b y=1"), ("T", "+/b/n")], &[SetOverlap]);
    row("= /5 y=1", "+ /5", &[("OTS", "+/5;+/6 y=1")], &[]);
    row("= /5 y=1", "= /5 y=2", &[("OTS", "+/5 y=2;+/6 y=1")], &[]);
    row("= /n y=1", "+ /n", &[("OTS", "+/n y=1")], &[]);
    row("= /n y=1", "+ /n;~ /n x=1", &[("OS", "+/n y=1"), ("T", "+/n x=1")], &[SetOverlap]);
    row("= /a y=1", "- /a/k", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1")], &[]);
    row("= /b y=1", "- /b", &[("OS", "-/b;+/b y=1"), ("T", "-/b")], &[RemovedBelow]);
    row("= /a/k y=1", "- /a", &[("OTS", LEFT_A)], &[RemovedBelow]);
    row("= /b y=1", "~ /b x=1", &[("OS", "-/b;+/b y=1"), ("T", "-/b;+/b x=1")], &[SetOverlap]);
    row(
        "= /a/k y=1",
        "~ /a/k x",
        &[("OS", "-/a/k x=0;-/a/k/l;+/a/k y=1"), ("T", "-/a/k x=0;+/a/k")],
        &[SetOverlap],
    );
    row("= /b y=1", "> /b /c", &[("OTS", "-/b;+/c y=1")], &[]);
    row("= /a/k y=1", "> /a /c", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/c x=0;+/c/k y=1")], &[]);
    row(
        "= /a y=1",
        "~ /a/k x",
        &[("OS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1"), ("T", "-/a/k x=0;+/a/k")],
        &[SetOverlap],
    );
    row("= /a y=1", "= /a/k y=1;- /a/k", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1")], &[]);
    row("= /b y=1", "> /d /b/d", &[("OS", "-/b;+/b y=1"), ("T", "-/d;+/b/d")], &[SetOverlap]);
    row(
        "= /a y=1",
        "> /a/k /k",
        &[("OS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1"), ("T", "-/a/k x=0;-/a/k/l;+/k x=0;+/k/l")],
        &[SetOverlap],
    );
    row("= /b y=1", "= /b y=1", &[("OTS", "-/b;+/b y=1")], &[]);
    row(
        "= /a y=1",
        "= /a/k y=2",
        &[("OS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=1"), ("T", "-/a/k x=0;-/a/k/l;+/a/k y=2")],
        &[SetOverlap],
    );
    row("= /a/k y=1", "= /a y=2", &[("OTS", "-/a x=0;-/a/k x=0;-/a/k/l;+/a y=2")], &[SetOverlap]);
}

#[test]
fn the_greater_set_wins_whoever_says_so() {
    let arena = Arena::new().unwrap();
    let base = base(&arena);
    let (one, two) = (changes(&arena, "= /b y=1"), changes(&arena, "= /b y=2"));
    let result = |ours: &ChangeSet, theirs: &ChangeSet, resolution| {
        let rebased = rebase_over(&base, ours, theirs, &options(resolution));
        assert_eq!(rebased.conflicts.len(), 1);
        assert_eq!(rebased.conflicts[0].kind, SetOverlap);
        difference(&text(&base), &text(&applied(&applied(&base, theirs), &rebased.changes)))
    };
    assert_eq!(result(&one, &two, Resolution::Ours), "-/b;+/b y=1");
    assert_eq!(result(&one, &two, Resolution::Theirs), "-/b;+/b y=2");
    let symmetric = |a, b| result(a, b, Resolution::Symmetric);
    assert_eq!(symmetric(&one, &two), symmetric(&two, &one));
}

#[test]
fn rules_settle_attributes() {
    let arena = Arena::new().unwrap();
    let base = base(&arena);
    let rules = MergeOptions::new()
        .rule("x", Rule::Counter)
        .rule("y", Rule::function(|_, ours, theirs| ours.max(theirs).cloned()));
    let check = |ours: &str, theirs: &str, expected: &str, conflicts: usize| {
        let (ours, theirs) = (changes(&arena, ours), changes(&arena, theirs));
        let rebased = rebase_over(&base, &ours, &theirs, &rules);
        let result = applied(&applied(&base, &theirs), &rebased.changes);
        assert_eq!(difference(&text(&base), &text(&result)), expected);
        assert_eq!(rebased.conflicts.len(), conflicts);
    };
    check("~ /a x=2", "~ /a x=3", "-/a x=0;+/a x=5", 0);
    check("~ /a x=2", "~ /a x=2", "-/a x=0;+/a x=4", 0);
    check("~ /a x=2;~ /a x=3", "~ /a x=2", "-/a x=0;+/a x=5", 0);
    check("~ /b x=2", "~ /b x=3", "-/b;+/b x=5", 0);
    check("~ /a x=0.5", "~ /a x=3", "-/a x=0;+/a x=3.5", 0);
    check("~ /a x=0.5", "~ /a x=0.25", "-/a x=0;+/a x=0.75", 0);
    check("~ /a x=t", "~ /a x=3", "-/a x=0;+/a x=3", 1);
    check("~ /a x=t", "~ /a x=t", "-/a x=0;+/a x=\"t\"", 0);
    let most = "~ /a x=9223372036854775807";
    check(most, most, "-/a x=0;+/a x=9223372036854775807", 1);
    // Units that no floating-point number has, and sums that are none.
    check("~ /a x=9007199254740993", "~ /a x=0.5", "-/a x=0;+/a x=0.5", 1);
    let large = "-/a x=0;+/a x=9007199254740992.0";
    check("~ /a x=1", "~ /a x=9007199254740992.0", large, 1);
    let exact = "-/a x=0;+/a x=4503599627370495.5";
    check("~ /a x=4503599627370495", "~ /a x=0.5", exact, 0);
    check("~ /a x=1e300", "~ /a x=1e300", "-/a x=0;+/a x=2e300", 0);
    check("~ /a x=1e308", "~ /a x=1e308", "-/a x=0;+/a x=1e308", 1);
    check("~ /a x=inf", "~ /a x=inf", "-/a x=0;+/a x=inf", 1);
    check("~ /a x=inf", "~ /a x=-inf", "-/a x=0;+/a x=-inf", 1);
    check("~ /a x", "~ /a x=3", "-/a x=0;+/a x=3", 1);
    check("~ /a x=2", "= /a x=3", "-/a x=0;-/a/k x=0;-/a/k/l;+/a x=5", 0);
    check("~ /a x", "= /a x=3", "-/a x=0;-/a/k x=0;-/a/k/l;+/a x=3", 1);
    check("~ /b y=2", "~ /b y=1;~ /b y", "-/b;+/b y=2", 0);
    check("~ /b y=2", "= /b y=3 n", "-/b;+/b y=3;+/b/n", 0);
    check("~ /b y=2", "~ /b y=3", "-/b;+/b y=3", 0);
    check("~ /b y=4", "~ /b y=3", "-/b;+/b y=4", 0);
}

#[test]
fn a_counter_that_one_replica_removes_stays_removed_whoever_adds() {
    let arena = Arena::new().unwrap();
    let rules = MergeOptions::new().rule("x", Rule::Counter).resolution(Resolution::Symmetric);
    let base = applied(&base(&arena), &changes(&arena, "~ /b x=2"));
    let replica = |told: &str| applied(&base, &changes(&arena, told));
    let (four, five, less) = (replica("~ /b x=6"), replica("~ /b x=7"), replica("~ /b x=-2"));
    let none = replica("~ /b x");
    let merged = |base: &Snapshot, ours: &Snapshot, theirs: &Snapshot, conflicts: usize| {
        let merged = merge(base, ours, theirs, &rules).unwrap();
        assert_eq!(merged.conflicts.len(), conflicts);
        let mut tree = Tree::from_snapshot(theirs);
        tree.publish(merged.editor);
        tree.snapshot()
    };
    let is_removed = |it: Snapshot| assert_eq!(text(&it), text(&none));
    is_removed(merged(&base, &four, &none, 1));
    is_removed(merged(&base, &none, &four, 1));
    // Both had the removal when they told each other; and what comes to nothing is no change.
    let [one, two] = [&four, &five].map(|it| merged(&base, it, &none, 1));
    is_removed(merged(&none, &one, &two, 0));
    is_removed(merged(&base, &merged(&base, &four, &five, 0), &none, 1));
    is_removed(merged(&base, &merged(&base, &four, &less, 0), &none, 0));
}
