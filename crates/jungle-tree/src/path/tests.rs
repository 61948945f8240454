use super::*;
use crate::key::tests::Chance;

#[track_caller]
fn check(text: &str, path: impl Into<Path>) {
    let path = path.into();
    assert_eq!(text.parse().as_ref(), Ok(&path));
    assert_eq!(path.to_string(), text);
}

#[track_caller]
fn refused(text: &str, offset: usize, reason: ParsePathReason) {
    assert_eq!(text.parse::<Path>(), Err(ParsePathError { offset, reason }), "{text}");
}

#[test]
fn what_is_written_is_read_back() {
    check("/", Path::root());
    check("/0/-1/17", [0, -1, 17]);
    check("/features/name", ["features", "name"]);
    check("/3.80/3.01ff", ["3.80", "3.01ff"].map(|text| text.parse::<Key>().unwrap()));
    check(
        r#"/"3"/"-3"/"3.80"/"007"/"99999999999999999999""#,
        ["3", "-3", "3.80", "007", "99999999999999999999"],
    );
    check(
        "/3./.3/3.8/3.8G/3.8F/-/--3/+3/3e5",
        ["3.", ".3", "3.8", "3.8G", "3.8F", "-", "--3", "+3", "3e5"],
    );
    check(r#"/""/" "/" a"/"a "/a b"#, ["", " ", " a", "a ", "a b"]);
    check(
        r#"/"a/b"/"a\"b"/"\\"/"\n\t\r\u0000\u0085"/𝄞"#,
        ["a/b", "a\"b", "\\", "\n\t\r\0\u{85}", "𝄞"],
    );
}

#[test]
fn other_ways_to_write_are_understood() {
    let same = |text: &str, key: Key| assert_eq!(text.parse(), Ok(key), "{text}");
    same("007", Key::from(7));
    same("-0", Key::from(0));
    same(r#""plain""#, Key::from("plain"));
    same(r#""\/\b\f\u0041\uD834\uDD1e""#, Key::from("/\u{8}\u{c}A𝄞"));
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    use ParsePathReason::*;
    refused("", 0, NoSlash);
    refused("a", 0, NoSlash);
    refused("//", 1, EmptyKey);
    refused("/a/", 3, EmptyKey);
    refused("/a\"b", 2, MustBeQuoted { found: '"' });
    refused("/é\\", 3, MustBeQuoted { found: '\\' });
    refused("/a /b", 2, MustBeQuoted { found: ' ' });
    refused("/\u{a0}a", 1, MustBeQuoted { found: '\u{a0}' });
    refused("/a\u{7f}", 2, MustBeQuoted { found: '\u{7f}' });
    refused("/\"a\n\"", 3, MustBeEscaped { found: '\n' });
    refused("/a/\"b", 3, OpenQuote);
    refused("/\"b\"c", 4, AfterQuote);
    for escape in [r"\x", r"\u12", r"\u12g4", r"\ud834", r"\ud834\n", r"\udd1e", r"\ud834\u0041"] {
        refused(&format!("/\"a{escape}\""), 3, BadEscape);
    }
    refused("/0/3.00", 3, Key("3.00".parse::<super::Key>().map_err(limit).unwrap_err()));
    let index = i64::MIN;
    refused("/-99999999999999999999", 1, Key(KeyError::IndexOutOfRange { index }));
    refused(&format!("/{}", "a".repeat(4097)), 1, Key(KeyError::NameTooLong { bytes: 4097 }));
    refused(&"/a".repeat(PATH_TEXT_BYTES_MAX), PATH_TEXT_BYTES_MAX, TooLong);
    let slash = "a/b".parse::<super::Key>().unwrap_err();
    assert_eq!((slash.offset, slash.reason), (1, MustBeQuoted { found: '/' }));
}

fn limit(error: ParsePathError) -> KeyError {
    match error.reason {
        ParsePathReason::Key(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn random_paths_are_read_back() {
    for seed in 0..20_000 {
        let mut chance = Chance::new(seed);
        let path: Path = (0..chance.below(5)).map(|_| chance.key()).collect();
        assert_eq!(path.to_string().parse().as_ref(), Ok(&path), "seed {seed}: {path}");
    }
}

#[test]
fn random_text_is_read_or_refused() {
    const PARTS: [&str; 16] = [
        "/", "/", "\"", "\\", "\\u", "d834", "\\udd1e", "-", "3", ".", "80", "é", " ", "\n", "a",
        "𝄞",
    ];
    for seed in 0..50_000 {
        let mut chance = Chance::new(seed);
        let parts = (0..chance.below(12)).map(|_| PARTS[chance.below(PARTS.len())]);
        let text = ["/"].into_iter().chain(parts).collect::<String>();
        match text.parse::<Path>() {
            Ok(path) => assert_eq!(path.to_string().parse(), Ok(path), "seed {seed}: {text}"),
            Err(error) => assert!(error.offset <= text.len(), "seed {seed}: {text}"),
        }
    }
}

#[test]
fn a_path_goes_down_and_up() {
    let mut path = Path::from([1]);
    path.push("a");
    assert_eq!(path, Path::from([1]).join("a"));
    assert_eq!(path.parent(), Some(Path::from([1])));
    assert_eq!((path.pop(), path.pop(), path.pop()), (Some("a".into()), Some(1.into()), None));
    assert_eq!((path.depth(), path), (0, Path::root()));
    assert!(Path::from([1]) < Path::from([1, 0]) && Path::from([1, 9]) < Path::from([2]));
}
