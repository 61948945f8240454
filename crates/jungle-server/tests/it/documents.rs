use std::io::{Read, Write};
use std::time::Duration;

use jungle::json::{ExportOptions, ImportOptions, export, import};
use jungle::{Arena, Tree};
use jungle_formats::ReadForm;
use jungle_formats::ndjson::{self, LineError};
use serde_json::json;

use crate::support::{Served, limits};

const DOCUMENT: &str = "/api/v1/trees/t/document";

#[test]
fn document_comes_out_as_it_went_in() {
    let served = Served::memory().tree("t");
    let text = r#"{"z":1,"a":[1,2.50,{"b":null}],"c":{"d":"é\u0000"},"big":12345678901234567890}"#;
    let done = served.send("PUT", DOCUMENT, &[], Some(text)).expect(200);
    assert_eq!((&done["bytes"], &done["changed"]), (&json!(text.len()), &json!(true)));
    assert_eq!(served.get(DOCUMENT).text, text);
    assert_eq!(served.get(&format!("{DOCUMENT}?path=/a/2")).text, r#"{"b":null}"#);
    let pretty = served.get(&format!("{DOCUMENT}?path=/a/2&layout=pretty")).text;
    assert_eq!(pretty, "{\n  \"b\": null\n}");
    let again = served.send("PUT", DOCUMENT, &[], Some(text)).expect(200);
    assert_eq!((&again["edits"], &again["changed"]), (&json!(0), &json!(false)));
    let old = served.get(&format!("{DOCUMENT}?at=1"));
    assert_eq!(old.text, "{}");
}

#[test]
fn document_comes_out_in_other_forms() {
    let served = Served::memory().tree("t");
    let text = r##"{"t":[{"name":"ana","age":"7"},{"name":"ben","age":"8"}],
        "x":[{"#name":"a","b":"<"}]}"##;
    served.send("PUT", DOCUMENT, &[], Some(text)).expect(200);
    let yaml = "- name: ana\n  age: \"7\"\n- name: ben\n  age: \"8\"\n";
    let markdown = "| name | age |\n| --- | --- |\n| ana | 7 |\n| ben | 8 |\n";
    for (query, media, expected) in [
        ("path=/x&format=json", "application/json", r##"[{"#name":"a","b":"<"}]"##),
        ("path=/x&format=xml", "application/xml", "<a b=\"&lt;\"/>"),
        ("path=/t&format=yaml", "application/yaml", yaml),
        ("path=/t&format=csv", "text/csv; charset=utf-8", "name,age\nana,7\nben,8\n"),
        ("path=/t&format=markdown", "text/markdown; charset=utf-8", markdown),
    ] {
        let address = format!("{DOCUMENT}?{query}");
        let answer = served.get(&address);
        assert_eq!((&*answer.text, answer.header("content-type")), (expected, media));
        let is_saved = answer.headers.contains_key("content-disposition");
        assert_eq!(is_saved, media != "application/json", "{query}");
        let known = [("if-none-match", answer.header("etag"))];
        assert_eq!(served.send("GET", &address, &known, None).status, 304, "{query}");
    }
}

/// What the command makes of a document, as JSON.
fn read_by_the_command(form: ReadForm, text: &str) -> String {
    let mut tree = Tree::new(&Arena::new().unwrap());
    let json = jungle_formats::json(form, text.as_bytes(), 512);
    let options = ImportOptions::default();
    tree.edit(|editor| import(json, editor, &[], &options, &mut |_| ())).unwrap();
    let mut out = Vec::new();
    export(tree.snapshot().root(), &mut out, &ExportOptions::default()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn document_goes_in_as_its_type_says_and_comes_out_the_same() {
    for (media, format, form, text) in [
        ("application/yaml", "yaml", ReadForm::Yaml, "b: 1.50\na:\n  - x\n  - \"7\"\n"),
        ("Application/XML", "xml", ReadForm::Xml, "<a y=\"1\" x=\"&lt;\">t<b/><!--c--></a>"),
        ("text/csv; charset=utf-8", "csv", ReadForm::Csv, "name,age\nana,7\n\"b,\n\",\n"),
    ] {
        let served = Served::memory().tree("t");
        let put = || served.send("PUT", DOCUMENT, &[("content-type", media)], Some(text));
        let done = put().expect(200);
        assert_eq!((&done["bytes"], &done["changed"]), (&json!(text.len()), &json!(true)));
        assert_eq!(served.get(DOCUMENT).text, read_by_the_command(form, text), "{format}");
        assert_eq!(served.get(&format!("{DOCUMENT}?format={format}")).text, text);
        let again = put().expect(200);
        assert_eq!((&again["edits"], &again["changed"]), (&json!(0), &json!(false)), "{format}");
    }
}

#[test]
fn what_is_no_document_of_its_form_is_refused_and_changes_nothing() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.document_bytes_max = 10_000);
    });
    let served = served.tree("t");
    let deep_yaml = format!("{}{}", "[".repeat(513), "]".repeat(513));
    let deep_xml = "<a>".repeat(257);
    let list = |name: &str| format!("[{}]", [name; 10].join(","));
    let bomb = [("a: &a ", "x"), ("b: &b ", "*a"), ("c: &c ", "*b"), ("d: ", "*c")];
    let bomb = bomb.map(|(begin, item)| format!("{begin}{}\n", list(item))).concat();
    let long = format!("<a>{}</a>", "x".repeat(10_000));
    for (media, text, problem, told) in [
        ("application/xml", "", "bad-request", "byte 0: the document has no element"),
        ("application/xml", "<a></b>", "bad-request", "byte "),
        ("application/xml", &deep_xml, "too-large", "more than 512 objects and arrays"),
        ("application/xml", &long, "too-large", "the document is too large"),
        ("application/yaml", "a: [", "bad-request", "line "),
        ("application/yaml", &deep_yaml, "too-large", "more than 512 objects and arrays"),
        ("application/yaml", &bomb, "too-large", "the document is larger than 10000 bytes"),
        ("text/csv", "", "bad-request", "there is no header"),
        ("text/csv", "a,b\n1\n", "bad-request", "line 2: 1 cells, where the header has 2"),
        ("text/plain", "a", "unsupported-media", "Content-Type"),
        ("text/html", "<p>", "unsupported-media", "Content-Type"),
        ("application/x-ndjson", "{\"value\":1}", "unsupported-media", "Content-Type"),
    ] {
        let answer = served.send("PUT", DOCUMENT, &[("content-type", media)], Some(text));
        assert_eq!(answer.problem(), problem, "{media}: {text:.20}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with(told), "{media}: {text:.20}: {detail}");
    }
    assert_eq!(served.get("/api/v1/trees/t").json()["revision"], 1);
}

#[test]
fn what_is_too_long_as_json_is_refused_with_what_to_do() {
    let served = Served::memory().tree("t");
    let text = format!("a\n{}\n", "\u{1}".repeat(22 << 20));
    let answer = served.send("PUT", DOCUMENT, &[("content-type", "text/csv")], Some(&text));
    assert_eq!((answer.status.as_u16(), &*answer.problem()), (413, "too-large"));
    let told = answer.json();
    assert_eq!(told["detail"], "line 2: this is more than 134217728 bytes as JSON");
    assert!(told["hint"].as_str().unwrap().starts_with("send it as JSON"), "{told}");
    assert_eq!(served.get("/api/v1/trees/t").json()["revision"], 1);
}

#[test]
fn import_with_a_key_is_another_one_when_it_has_another_type() {
    let served = Served::memory().tree("t");
    let put = |media| {
        let headers = [("content-type", media), ("idempotency-key", "k")];
        served.send("PUT", DOCUMENT, &headers, Some("a\n1\n"))
    };
    let first = put("text/csv");
    assert_eq!(first.expect(200)["changed"], true);
    assert_eq!(put("application/yaml").problem(), "other-request");
    assert_eq!(put("text/csv").text, first.text);
    assert_eq!(served.get(DOCUMENT).text, r#"[{"a":"1"}]"#);
}

#[test]
fn what_does_not_fit_a_form_is_refused_before_anything_is_sent() {
    let served = Served::memory().tree("t");
    served.send("PUT", DOCUMENT, &[], Some("{\"a\":1}")).expect(200);
    for format in ["xml", "csv", "markdown"] {
        let answer = served.get(&format!("{DOCUMENT}?format={format}"));
        assert_eq!((answer.status.as_u16(), &*answer.problem()), (406, "no-form"), "{format}");
    }
    for query in ["format=html", "format=yaml&layout=pretty", "format=ndjson&path=/a"] {
        assert_eq!(served.get(&format!("{DOCUMENT}?{query}")).problem(), "bad-request", "{query}");
    }
}

#[test]
fn history_comes_out_as_lines_that_can_be_read() {
    let served = Served::memory().tree("t");
    for text in ["{\"a\":1}", "[2]"] {
        served.send("PUT", &format!("{DOCUMENT}?author=ana"), &[], Some(text)).expect(200);
    }
    served.post("/api/v1/trees/t/tags", r#"{"name":"v1"}"#).expect(201);
    let all = ["{}", "{\"a\":1}", "[2]"];
    for (at, expected) in [("main", &all[..]), ("2", &all[..2])] {
        let answer = served.get(&format!("{DOCUMENT}?format=ndjson&at={at}"));
        assert_eq!(answer.header("content-type"), "application/x-ndjson");
        assert!(!answer.headers.contains_key("etag"));
        let (mut values, mut last) = (Vec::new(), None);
        let read = ndjson::read(&mut answer.text.as_bytes(), |line, _| {
            let line = line?;
            values.push(line.value.get().to_owned());
            last = Some((line.author, line.tags.len()));
            Ok::<(), LineError>(())
        });
        read.unwrap();
        assert_eq!(values, expected);
        assert_eq!(last, Some((Some("ana".to_owned()), usize::from(at == "main"))));
    }
}

#[test]
fn large_document_is_streamed_both_ways() {
    let served = Served::memory().tree("t");
    let items: Vec<_> = (0..100_000).map(|i| json!({"i": i, "text": "x".repeat(20)})).collect();
    let text = serde_json::to_string(&items).unwrap();
    assert!(text.len() > 3 << 20);
    served.send("PUT", DOCUMENT, &[], Some(&text)).expect(200);
    assert!(served.get(DOCUMENT).text == text);
}

#[test]
fn long_value_has_a_place_as_documents_have() {
    for places in [0, 1] {
        let served = Served::with(|options| {
            options.limits = limits(|limits| limits.documents_max = places);
        });
        let served = served.tree("t");
        let (short, long) = ("é".repeat(512 << 10), "é".repeat(3 << 20));
        let bytes = vec![7_u8; 3 << 20];
        let tree = served.server.jungle().open_tree("t").unwrap();
        tree.update(|tx| {
            tx.put_attribute(&[], "short", &*short)?;
            tx.put_attribute(&[], "bytes", &bytes)?;
            tx.put_attribute(&[], "long", &*long)
        })
        .unwrap();
        let value = |name: &str| served.get(&format!("/api/v1/trees/t/value?attribute={name}"));
        assert!(value("short").text == short);
        if places == 0 {
            assert_eq!([value("long").problem(), value("bytes").problem()], ["too-many"; 2]);
            continue;
        }
        let told = value("long");
        assert!(told.text == long && told.header("content-type").starts_with("text/plain"));
        // The place of the one before is free as soon as all of it was sent.
        let mut told = value("bytes");
        while told.status == 429 {
            told = value("bytes");
        }
        assert_eq!((told.status.as_u16(), told.text.len()), (200, bytes.len()));
        assert_eq!(told.header("content-disposition"), "attachment");
    }
}

#[test]
fn what_is_no_document_is_refused_and_changes_nothing() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.document_bytes_max = 10_000);
    });
    let served = served.tree("t");
    let deep = format!("{}1{}", "[".repeat(513), "]".repeat(513));
    let long = format!("\"{}\"", "x".repeat(10_000));
    for (text, status, problem) in [
        ("", 400, "bad-request"),
        ("{", 400, "bad-request"),
        ("{\"a\":1,\"a\":2}", 400, "bad-request"),
        ("nonsense", 400, "bad-request"),
        (&deep, 413, "too-large"),
        (&long, 413, "too-large"),
    ] {
        let answer = served.send("PUT", DOCUMENT, &[], Some(text));
        assert_eq!((answer.status.as_u16(), &*answer.problem()), (status, problem), "{text:.20}");
    }
    assert_eq!(served.get("/api/v1/trees/t").json()["revision"], 1);
    let missing = served.send("PUT", &format!("{DOCUMENT}?path=/x"), &[], Some("{}"));
    assert_eq!(missing.problem(), "no-such-node");
}

#[test]
fn import_compares_and_sets() {
    let served = Served::memory().tree("t");
    let put = |tag| served.send("PUT", DOCUMENT, &[("if-match", tag)], Some("{\"a\":1}"));
    put("\"1\"").expect(200);
    assert_eq!(put("\"1\"").problem(), "changed");
}

#[test]
fn import_that_stops_coming_is_given_up() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.piece_time = Duration::from_millis(50));
    });
    let served = served.tree("t");
    for (media, begin) in [
        ("application/json", "{\"a\":"),
        ("application/yaml", "a: b"),
        ("application/xml", "<a>b"),
        ("text/csv", "a,b\n1"),
    ] {
        let mut stream = served.connect();
        let head = format!(
            "PUT {DOCUMENT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n\
             Content-Length: 100\r\nConnection: close\r\n\r\n{begin}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    assert_eq!(served.get("/api/v1/trees/t").json()["revision"], 1);
}

#[test]
fn import_that_trickles_is_given_up() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.piece_time = Duration::from_secs(1));
    });
    let served = served.tree("t");
    let mut stream = served.connect();
    let head = format!(
        "PUT {DOCUMENT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\nConnection: close\r\n\r\n[1"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // It never stands still, and says what it will.
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mut answer = vec![0; 12];
    let mut sent = 2;
    while stream.read_exact(&mut answer).is_err() {
        assert!(sent < 998, "it is waited for");
        stream.write_all(b" ").unwrap();
        sent += 1;
    }
    assert_eq!(answer, b"HTTP/1.1 408");
    assert_eq!(served.get("/api/v1/trees/t").json()["revision"], 1);
}
