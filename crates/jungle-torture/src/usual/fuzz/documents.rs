//! Documents: JSON, XML, HTML, CSV, YAML, and lines of JSON.

use std::convert::Infallible;
use std::io::Read;

use jungle_formats::{ReadForm, csv_without, html_part, ndjson};
use jungle_json::{
    ExportOptions, ImportError, ImportOptions, ImportSummary, Limits, export, import,
};
use jungle_tree::{Arena, ArenaOptions, Tree};

use super::Target;

pub const JSON: Target = Target {
    name: "json",
    samples: || bytes(&JSON_SAMPLES),
    words: &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\":",
        "null",
        "-0",
        "1e999",
        "0.1",
        "\\u0000",
        "\\ud800",
        "\\udc00",
        "\u{feff}",
        "{\"a\":[",
        "1234567890123456789012345678901234567890",
    ],
    take: json,
};

pub const NDJSON: Target = Target {
    name: "ndjson",
    samples: || bytes(&NDJSON_SAMPLES),
    words: &["\n", "\"value\":", "\"tags\":[", "{", "}", "[", "\"author\":null,", "\r\n", "\\n"],
    take: lines,
};

pub const XML: Target = Target {
    name: "xml",
    samples: || bytes(&XML_SAMPLES),
    words: &[
        "<a>",
        "</a>",
        "<a ",
        "/>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?",
        "?>",
        "<!DOCTYPE a [",
        "<!ENTITY b \"&c;&c;\">",
        "&b;",
        "&#0;",
        "&#x10FFFF;",
        "&lt;",
        "xmlns:a=\"b\"",
        "\"",
        "'",
    ],
    take: xml,
};

pub const HTML: Target = Target {
    name: "html",
    samples: || bytes(&HTML_SAMPLES),
    words: &[
        "<p>",
        "</p>",
        "<b a=1>",
        "<b>x",
        "</b>",
        "<i>",
        "<a>",
        "</a>",
        "<table>",
        "<tr>",
        "<td>",
        "<caption>",
        "</table>",
        "<select>",
        "<option>",
        "<template>",
        "</template>",
        "<svg>",
        "<math>",
        "<mi>",
        "<foreignObject>",
        "<frameset>",
        "<form>",
        "</form>",
        "<body a=b>",
        "<script>",
        "</script>",
        "<plaintext>",
        "<!--",
        "-->",
        "<![CDATA[",
        "<!DOCTYPE ",
        "&amp",
        "&#0;",
        "&notit;",
        "\r\n",
        "\0",
    ],
    take: html,
};

pub const CSV: Target = Target {
    name: "csv",
    samples: || bytes(&CSV_SAMPLES),
    words: &[",", "\"", "\"\"", "\n", "\r\n", "\"\n\"", "\u{feff}", "a", ",,", "\0"],
    take: csv,
};

pub const YAML: Target = Target {
    name: "yaml",
    samples: || bytes(&YAML_SAMPLES),
    words: &[
        "- ",
        "? ",
        ": ",
        "a: ",
        "&a ",
        "*a",
        "[*a,*a,*a,*a]",
        "!!str ",
        "!a ",
        "|\n",
        ">-\n",
        "'",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        "# ",
        "---\n",
        "...\n",
        "<<: *a\n",
        "~",
        ".nan",
        "\n",
        "\n  ",
        "\t",
    ],
    take: yaml,
};

const JSON_SAMPLES: [&str; 5] = [
    r#"{"name":"jungle","tags":["tree",1.50,-0,1e-7,true,null],"empty":{},"none":[]}"#,
    r#"{"b":{"":1,"\u0000":2,"z":[[],[{}]],"a":"\ud83c\udf33 \"\\\/\b\f\n\r\t"},"a":0}"#,
    r#"[[[[[[[["deep"]]]]]]],12345678901234567890,0.1000,"",{"x":{"y":{"z":null}}}]"#,
    r#" { "k" : [ 1 , 2 , { "k" : "v" } ] , "l" : false } "#,
    r#""only text""#,
];

const NDJSON_SAMPLES: [&str; 2] = [
    "{\"author\":\"ana\",\"message\":\"first\",\"tags\":[\"v1\"],\"value\":{\"a\":1}}\n\n\
     {\"value\":{\"a\":[1,2,{\"b\":null}]}}\n",
    "{\"revision\":7,\"time\":\"2026-01-01T00:00:00Z\",\"value\":[],\"tags\":[\"a\",\"b\"]}\r\n",
];

const XML_SAMPLES: [&str; 3] = [
    "<?xml version=\"1.0\"?><!DOCTYPE a><a x=\"1\" b='&lt;&#65;'>text &amp; more<b/><!-- c --></a>",
    "<ns:r xmlns:ns=\"u\"><![CDATA[<raw>]]><p>one<i>two</i>three</p><?do it?>&unknown;</ns:r>",
    "<a><a><a><a><a/></a></a></a></a>",
];

const HTML_SAMPLES: [&str; 4] = [
    "<!DOCTYPE html PUBLIC \"a\" 'b'><html lang=en><head><title>T &amp; t</title><body><!-- c -->\
     <p>one<p>two <b>bold <i>both</b> slanted</i><br><pre>\n\n x</pre>",
    "<table><tr><td>1<td>2<a href=x><tr>out</a><caption>c</table>\
     <select><option selected>a<option>b",
    "<svg viewBox='0'><path d=1 /><foreignObject><p>in</p></foreignObject><![CDATA[<]]></svg>\
     <math><mi>x</mi><annotation-xml encoding=text/html><b>y</annotation-xml></math>",
    "<template><td>cell<template>deep</template></template><script>if (a < b) '</b>'</script>\
     <style>a>b</style><noscript><p></noscript><textarea>\n</p></textarea><frameset><frame>",
];

const CSV_SAMPLES: [&str; 3] = [
    "name,age\nAna,31\n\"Bo \"\"the\"\" Tree\",\n",
    ",a,b\r\nx,\"1\r\n2\",2\r\ny,,\"\"\r\n",
    "one\n\n\"\"\ntwo\n",
];

const YAML_SAMPLES: [&str; 3] = [
    "%YAML 1.2\n---\na: &x {b: [1, \"c\\u00e9\"]}\nd: *x\ne:\n- - f\n  - 'g'\n\
     - h: |2-\n    i\n...\n",
    "? a\n: !!str 1\n\"b\": >+\n  c\n\n  d\n# e\nf: [~, 0x1F, 1.5e3, {g: h, i}, ]\n",
    "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]\n",
];

fn bytes(samples: &[&str]) -> Vec<Vec<u8>> {
    samples.iter().map(|sample| sample.as_bytes().to_vec()).collect()
}

fn options() -> ImportOptions {
    let limits = Limits { depth_max: 1_000, bytes_max: 1 << 22, ..Limits::default() };
    ImportOptions { limits, ..ImportOptions::default() }
}

fn tree() -> Tree {
    let arena = ArenaOptions { structure_bytes: 1 << 26, payload_bytes: 1 << 26, spill: None };
    Tree::new(&Arena::with_options(&arena).expect("address range"))
}

fn read(tree: &mut Tree, text: impl Read) -> Result<ImportSummary, ImportError> {
    tree.edit(|editor| import(text, editor, &[], &options(), &mut |_| ()))
}

/// What was taken comes out, and is taken again as the same.
fn comes_back(tree: &Tree) {
    let written = |tree: &Tree| {
        let mut text = Vec::new();
        let done = export(tree.snapshot().root(), &mut text, &ExportOptions::default());
        done.expect("memory takes everything");
        text
    };
    tree.snapshot().check().expect("it is well formed");
    let text = written(tree);
    let mut again = self::tree();
    read(&mut again, &*text).unwrap_or_else(|error| panic!("what was taken is refused: {error}"));
    assert!(written(&again) == text, "what was taken changes");
}

fn json(input: &[u8]) {
    let mut tree = tree();
    if read(&mut tree, input).is_ok() {
        comes_back(&tree);
    }
}

fn lines(mut input: &[u8]) {
    let (all, mut tree) = (input.len(), tree());
    let taken = ndjson::read(&mut input, |line, _| {
        let Ok(ndjson::Line { time, author, message, tags, value }) = line else { return Ok(()) };
        let texts = [time, author, message];
        let told: usize = texts.iter().flatten().chain(&tags).map(String::len).sum();
        assert!(told <= all, "more than was there");
        if read(&mut tree, value.get().as_bytes()).is_ok() {
            comes_back(&tree);
        }
        Ok::<(), Infallible>(())
    });
    let Ok(()) = taken;
}

/// The JSON that a document becomes.
fn json_of(form: ReadForm, input: &[u8]) -> Box<dyn Read + '_> {
    jungle_formats::json(form, input, options().limits.depth_max)
}

fn xml(input: &[u8]) {
    let mut tree = tree();
    if read(&mut tree, json_of(ReadForm::Xml, input)).is_ok() {
        comes_back(&tree);
    }
}

/// Whatever it is, browsers make a page of it: what is refused is not UTF-8, or too much.
fn html(input: &[u8]) {
    let depth_max = options().limits.depth_max;
    for is_part in [false, true] {
        let json = match is_part {
            true => html_part(input, depth_max),
            false => json_of(ReadForm::Html, input),
        };
        let mut tree = tree();
        match read(&mut tree, json) {
            Ok(_) => comes_back(&tree),
            Err(ImportError::DuplicateName { .. } | ImportError::Syntax { .. }) => {
                panic!("a page is made into what is no JSON")
            }
            Err(_) => {}
        }
    }
}

fn csv(input: &[u8]) {
    let mut tree = tree();
    let strict = read(&mut tree, json_of(ReadForm::Csv, input));
    if strict.is_ok() {
        comes_back(&tree);
    }
    // With bad rows left out it is the same where there are none.
    let mut left_out = 0;
    let lenient = read(&mut tree, csv_without(input, |_| left_out += 1));
    assert!(strict.is_err() || lenient.is_ok() && left_out == 0, "a good row was left out");
    if lenient.is_ok() {
        assert!(strict.is_ok() || left_out > 0, "a bad row was taken");
        comes_back(&tree);
    }
}

fn yaml(input: &[u8]) {
    let mut tree = tree();
    if read(&mut tree, json_of(ReadForm::Yaml, input)).is_ok() {
        comes_back(&tree);
    }
}
