use std::io::{self, BufReader, ErrorKind, Read};

use jungle_testkit::for_each_seed;

use super::anchors::Anchors;
use super::read::Json;

const SAMPLES: [&str; 4] = [
    "%YAML 1.2\n---\na: &x {b: [1, \"c\\u00e9\"]}\nd: *x\ne:\n- - f\n  - 'g'\n\
     - h: |2-\n    i\n...\n",
    "? a\n: !!str 1\n\"b\": >+\n  c\n\n  d\n# e\nf: [~, 0x1F, 1.5e3, {g: h, i}, ]\n",
    "- a\n- b: c\n  d: e # f\n-\n  - \u{85}g\n- &h i\n- *h\n- ! j\n",
    "{\"a\":{\"b\":[true,null,-1.50e-3,\"\\ud83c\\udf33\"]},\"c\":{}}",
];

#[test]
fn damaged_documents_are_read_or_refused() {
    for_each_seed(16, |rng| {
        for _ in 0..500 {
            let mut bytes = rng.pick(&SAMPLES).as_bytes().to_vec();
            for _ in 0..=rng.below(4) {
                let at = rng.index(bytes.len());
                match rng.below(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] ^= 1 << rng.below(8),
                    2 => bytes.insert(at, *rng.pick(b"\n\t -:?[]{}&*!|>'\"%#,\\~\xff\0")),
                    _ => drop(bytes.drain(at..bytes.len().min(at + 3))),
                }
                if bytes.is_empty() {
                    bytes.push(b'a');
                }
            }
            let mut json = String::new();
            let reader = BufReader::with_capacity(1 + rng.index(9), &*bytes);
            match Json::new(reader, 8).read_to_string(&mut json) {
                Ok(_) => drop(serde_json::from_str::<serde_json::Value>(&json).unwrap()),
                Err(error) => assert!(error.to_string().starts_with("line "), "{error}"),
            }
        }
    });
}

#[test]
fn what_is_too_much_is_told_from_what_is_wrong() {
    let long = format!("- &a {}\n{}", "x".repeat(1 << 20), "- *a\n".repeat(64));
    for (text, kind) in [(&*long, ErrorKind::FileTooLarge), ("- *a\n", ErrorKind::InvalidData)] {
        let read = io::copy(&mut Json::new(text.as_bytes(), 8), &mut io::sink());
        assert_eq!(read.unwrap_err().kind(), kind, "{text:.20}");
    }
}

#[test]
fn what_becomes_long_as_json_is_refused_with_its_place() {
    for (text, is_long) in [("- a\n- \"\\0\\0\"\n", false), ("- a\n- \"\\0\\0\\0\"\n", true)] {
        let mut json = String::new();
        let read = Json::new(text.as_bytes(), 8).holding(16).read_to_string(&mut json);
        let kind = read.as_ref().err().map(io::Error::kind);
        assert_eq!(kind, is_long.then_some(ErrorKind::FileTooLarge), "{text}");
        let told = read.map_or_else(|error| error.to_string(), |_| String::new());
        let is_told = told.starts_with("line 2 ") && told.ends_with("more than 16 bytes as JSON");
        assert_eq!(is_told, is_long, "{told}");
    }
}

#[test]
fn long_name_is_told_as_far_as_it_fits() {
    let name = "x".repeat(1_000);
    let text = format!("{name}: 1\n{name}: 2\n");
    let read = io::copy(&mut Json::new(text.as_bytes(), 8), &mut io::sink());
    let told = read.unwrap_err().to_string();
    assert!(told.ends_with("x\"… in one object") && told.len() < 200, "{told}");
}

#[test]
fn anchors_are_counted_however_little_they_hold() {
    let mut anchors = Anchors::default();
    let refused = (1..2_000_000).find(|&number| {
        anchors.begin(number, 0, 0);
        anchors.tell("1", 0).is_err()
    });
    assert!(refused.is_some_and(|number| number > 1_000_000), "{refused:?}");
    assert!(anchors.are_over());
}
