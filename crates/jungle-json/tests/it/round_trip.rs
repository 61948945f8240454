use jungle_json::{ExportOptions, ImportOptions, Layout, export};
use jungle_testkit::{Rng, for_each_seed};
use serde_json::Value;

use crate::{new_tree, read_into, text_of, tree_of};

/// Comes out as it went in.
#[track_caller]
fn check(text: &str) {
    assert_eq!(text_of(&tree_of(text)), text);
}

#[test]
fn every_kind_of_value_comes_back() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "-1",
        "\"\"",
        "\"text\"",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "1.50",
        r#"{"a":[]}"#,
        r#"{"a":{}}"#,
        r#"{"a":{"b":[]},"c":{}}"#,
        "[[],{},[[]],{\"a\":{}}]",
        r#"{"a":1,"b":{"c":null},"d":[1,[2,[3]],{"e":"f"}]}"#,
        "[1,\"1\",1.0,true,null,[1]]",
    ] {
        check(text);
    }
}

#[test]
fn names_that_look_like_ours_come_back() {
    for text in [
        r#"{"":1}"#,
        r#"{"":{}}"#,
        r#"{"":[]}"#,
        r#"{"":{"":{"":null}}}"#,
        r#"[{"":1}]"#,
        r#"{"":1,"a":2}"#,
        r#"{"a":{"":"x"},"b":[{"":"x"},"x"]}"#,
        r#"{"\u0000array":null}"#,
        r#"{"\u0000array":null,"a":[]}"#,
        r#"[{"\u0000array":null}]"#,
        r#"{"\u0000order":"x","a":1}"#,
        r#"{"\u0000\u0000order":{},"\u0000":0}"#,
        r#"{"b":1,"\u0000order":"x","a":1}"#,
        r#"{"0":1,"1":{},"-1":[]}"#,
        r#"{"$bytes":"AA=="}"#,
        r#"{"$attributes":{},"$children":{}}"#,
        r#"{"/":1,"@":2}"#,
    ] {
        check(text);
    }
}

#[test]
fn every_number_keeps_its_characters() {
    let numbers = "0 -0 -0.0 0.0 0e0 0E+00 1.0 1 1.50 1e5 1E5 1e-5 1e+16 1e16 9223372036854775807 \
                   9223372036854775808 -9223372036854775808 -9223372036854775809 1e400 -1e-400 \
                   18446744073709551615 123456789012345678901234567890.1234567890 0.1 0.10 5e-324 \
                   1.7976931348623157e308 2.2250738585072014e-308 0.30000000000000004";
    for number in numbers.split_whitespace() {
        check(number);
        check(&format!("[{number}]"));
        check(&format!("{{\"a\":{number},\"b\":{{\"c\":{number}}}}}"));
    }
}

#[test]
fn every_character_comes_back() {
    let mut text: String = (0..0x300).chain(0xd7f0..0xd800).filter_map(char::from_u32).collect();
    text.extend(['\u{e000}', '\u{fffd}', '\u{ffff}', '\u{10000}', '\u{10ffff}', '\u{2028}']);
    let quoted = serde_json::to_string(&text).unwrap();
    check(&quoted);
    check(&format!("{{{quoted}:{quoted},\"z\":[{quoted}]}}"));
    let escaped = r#"["\u0041\u00e9\uD83D\uDE00\/\b\f\n\r\t\"\\"]"#;
    let plain = "[\"Aé😀/\\b\\f\\n\\r\\t\\\"\\\\\"]";
    assert_eq!(text_of(&tree_of(escaped)), plain);
}

#[test]
fn the_order_of_members_comes_back() {
    for text in [
        r#"{"b":1,"a":2}"#,
        r#"{"b":{},"a":2,"c":[]}"#,
        r#"{"c":{"z":1,"y":{}},"b":[],"a":0}"#,
        r#"[{"b":1,"a":2},{"a":1,"b":2}]"#,
        r#"{"":1,"b":2,"\u0000":3,"a":4}"#,
        r#"{"é":1,"z":2,"😀":3,"ﬀ":4,"Z":5}"#,
    ] {
        check(text);
    }
}

#[test]
fn dictionaries_of_any_size_come_back() {
    for count in [63, 64, 65, 66, 1000] {
        let members: Vec<String> = (0..count).map(|i| format!("\"k{i:04}\":{i}")).collect();
        check(&format!("{{{}}}", members.join(",")));
        check(&format!("{{\"a\":{{}},{},\"z\":[1]}}", members.join(",")));
        let backward: Vec<String> = members.iter().rev().cloned().collect();
        check(&format!("{{\"m\":{{{}}},\"a\":1}}", backward.join(",")));
    }
}

#[test]
fn long_strings_cross_the_edges_of_the_buffer() {
    for around in 65_530..65_545_usize {
        for end in ["\\u00e9", "é", "\\n", "😀", "\\ud83d\\ude00"] {
            let text = format!("[\"{}{end}\",12345,true]", "x".repeat(around));
            let expected: Value = serde_json::from_str(&text).unwrap();
            let tree = tree_of(&text);
            assert_eq!(serde_json::from_str::<Value>(&text_of(&tree)).unwrap(), expected);
        }
    }
}

#[test]
fn white_space_is_left_out_and_pretty_is_what_others_write() {
    let text = " {\r\n\t\"a\" : [ 1 , { } , [ ] ] ,\n \"b\":{\"c\":\"d\"}} \n";
    let tree = tree_of(text);
    assert_eq!(text_of(&tree), r#"{"a":[1,{},[]],"b":{"c":"d"}}"#);
    let mut out = Vec::new();
    let options = ExportOptions { layout: Layout::Pretty };
    export(tree.read().root(), &mut out, &options).unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string_pretty(&value).unwrap());
}

/// A random document, as text without white space: serde_json keeps neither order nor characters.
pub(crate) fn random(rng: &mut Rng, depth: usize) -> String {
    let scalars = [
        "null",
        "true",
        "false",
        "0",
        "-7",
        "1.5",
        "1.50",
        "1e9",
        "18446744073709551616",
        "\"\"",
        "\"text\"",
        "\"\\n\\u0001é\"",
        "-0",
    ];
    if depth == 0 || rng.chance(2, 5) {
        return (*rng.pick(&scalars)).into();
    }
    let count = match rng.below(10) {
        0 => 60 + rng.index(10),
        1 => 20,
        _ => rng.index(6),
    };
    let depth = (depth - 1).min(if count > 6 { 1 } else { depth });
    if rng.chance(1, 3) {
        let elements: Vec<String> = (0..count).map(|_| random(rng, depth)).collect();
        return format!("[{}]", elements.join(","));
    }
    let mut names: Vec<String> = (0..count).map(|i| format!("\"m{i}\"")).collect();
    for special in ["\"\"", "\"\\u0000array\"", "\"\\u0000order\"", "\"0\"", "\"a/b\""] {
        if rng.chance(1, 8) {
            names.push(special.into());
        }
    }
    if rng.chance(1, 2) {
        rng.shuffle(&mut names);
    } else {
        names.sort_unstable();
    }
    let members: Vec<String> =
        names.iter().map(|name| format!("{name}:{}", random(rng, depth))).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn random_documents_come_back() {
    for_each_seed(2000, |rng| {
        let text = random(rng, 6);
        let tree = tree_of(&text);
        assert_eq!(text_of(&tree), text);
        // The independent parser reads the same in it.
        let ours: Value = serde_json::from_str(&text_of(&tree)).unwrap();
        assert_eq!(ours, serde_json::from_str::<Value>(&text).unwrap());
    });
}

#[test]
fn what_the_independent_parser_refuses_is_refused() {
    for_each_seed(3000, |rng| {
        let mut bytes = random(rng, 4).into_bytes();
        for _ in 0..=rng.index(2) {
            let at = rng.index(bytes.len());
            match rng.below(3) {
                0 if bytes.len() > 1 => drop(bytes.remove(at)),
                1 => bytes.insert(at, *rng.pick(b"{}[]:,\"\\ 01e-.tn\n\x01")),
                _ => bytes[at] = *rng.pick(b"{}[]:,\"\\ 01e-.tn\n\xff"),
            }
        }
        let mut tree = new_tree();
        let result = tree.edit(|editor| {
            jungle_json::import(&bytes[..], editor, &[], &ImportOptions::default(), &mut |_| ())
        });
        let theirs = serde_json::from_slice::<Value>(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        match (result, theirs) {
            (Ok(_), Ok(theirs)) => {
                assert_eq!(serde_json::from_str::<Value>(&text_of(&tree)).unwrap(), theirs);
            }
            // It keeps the last of two members, and knows no number beyond those of f64.
            (Err(jungle_json::ImportError::DuplicateName { .. }), Ok(_)) => {}
            (Ok(_), Err(error)) => {
                assert!(error.to_string().contains("number out of range"), "{text}: {error}");
            }
            (Err(error), Ok(_)) => panic!("{text}: {error}"),
            (Err(_), Err(_)) => {}
        }
    });
}

#[test]
fn a_document_goes_to_any_node() {
    let mut tree = tree_of(r#"{"a":{"b":[1,2]},"c":3}"#);
    let path: jungle_tree::Path = "/a/b".parse().unwrap();
    tree.edit(|editor| {
        jungle_json::import(&b"{\"x\":[]}"[..], editor, &path, &Default::default(), &mut |_| ())
    })
    .unwrap();
    assert_eq!(text_of(&tree), r#"{"a":{"b":{"x":[]}},"c":3}"#);
    let missing = read_into(&mut tree, "[]", &ImportOptions::default());
    assert!(missing.is_ok());
}
