//! HTML in and out: what is written is read again as the same tree.

use std::fs;

use jungle_testkit::{Rng, for_each_seed};
use serde_json::{Map, Value, json};

use crate::Folder;

fn document(folder: &Folder, tree: &str) -> Value {
    let told = folder.run(&["get", "d", tree, "/"]).out;
    serde_json::from_str(&told).unwrap()
}

/// Exports a tree and imports what was written into another: tells what that is.
#[track_caller]
fn again(folder: &Folder, tree: &str) -> Value {
    folder.run(&["export", "d", tree, "--format", "html", "--output", "again.html"]).check_code(0);
    folder.run(&["import", "d", "again", "again.html"]).check_code(0);
    document(folder, "again")
}

/// As people write pages: tags left out, attributes of all kinds, script, style, SVG, a table.
const PAGE: &str = r##"<!DOCTYPE html>
<html lang=en>
<!-- a page -->
<head><meta charset=utf-8><title>Trees &amp; woods</title>
<style>body > p { color: red }</style>
<script>if (1 < 2 && "</b>") { document.write("<p>") }</script>
<noscript><img src="a.png"></noscript>
<body class="wide" id=top data-x>
<h1>Trees&nbsp;&copy;</h1>
<p>One<p>Two <b>bold <i>both</b> slanted</i><br>line
<input #name @click="go" [value]='"x"' disabled>
<pre>

  kept
</pre>
<table><tr><td>1<td>2</table>
<svg viewBox="0 0 1 1"><path d="M0 0"/><style>a &gt; b</style
><foreignObject><p>in<br></p></foreignObject></svg>
<template><td>cell</td></template>
<textarea>
text &lt;</textarea>
<a href="?a=1&b=2">link</a>
</html>
<!-- behind -->
"##;

#[test]
fn a_page_comes_out_as_the_same_tree() {
    let folder = Folder::new("html_page");
    folder.write("a.html", PAGE);
    folder.run(&["import", "d", "t", "a.html"]).check_code(0);
    let read = document(&folder, "t");
    assert_eq!(read[0], json!({"#doctype": "html"}));
    let head = &read[1]["#children"];
    assert_eq!(read[1]["lang"], "en");
    let at = |list: &Value, name: &str| -> Value {
        let found = list.as_array().unwrap().iter().find(|it| it["#name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {list}")).clone()
    };
    let in_head = at(head, "head")["#children"].clone();
    assert_eq!(at(&in_head, "meta"), json!({"#name": "meta", "charset": "utf-8"}));
    assert_eq!(at(&in_head, "title")["#children"], json!(["Trees & woods"]));
    assert_eq!(at(&in_head, "noscript")["#children"], json!(["<img src=\"a.png\">"]));
    let body = at(head, "body");
    assert_eq!((&body["#order"], &body["data-x"]), (&json!("class id data-x"), &json!("")));
    let body = &body["#children"];
    assert_eq!(at(body, "h1")["#children"], json!(["Trees\u{a0}©"]));
    assert_eq!(at(body, "pre")["#children"], json!(["\n  kept\n"]));
    let input = json!({"#name": "input", "##name": "", "@click": "go", "[value]": "\"x\"",
        "disabled": ""});
    let second = body.as_array().unwrap().iter().filter(|it| it["#name"] == "p").nth(1).unwrap();
    assert_eq!(at(&second["#children"], "input"), input);
    let bold = json!({"#name": "b", "#children": ["bold ", {"#name": "i", "#children": ["both"]}]});
    assert_eq!(at(&second["#children"], "b"), bold);
    assert_eq!(read.as_array().unwrap().last().unwrap(), &json!({"#comment": " behind "}));
    assert_eq!(again(&folder, "t"), read);
    // What was written is written again, and makes no revision.
    let written = fs::read_to_string(folder.0.join("again.html")).unwrap();
    folder.run(&["export", "d", "again", "--format", "html"]).check(0, &written, "");
    let told = folder.run(&["import", "d", "t", "again.html"]).out;
    assert!(told.contains("is again.html already"), "{told}");
    // A part of it.
    let part =
        folder.run(&["export", "d", "t", "/1/\"#children\"/2/\"#children\"/1", "--format", "html"]);
    part.check(0, "<h1>Trees&nbsp;©</h1>", "");
}

#[test]
fn random_trees_come_out_as_they_went_in() {
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("html_{}", rng.seed()));
        for _ in 0..5 {
            let title = json!({"#name": "title", "#children": ["t"]});
            let html = json!({"#name": "html", "#children": [
                {"#name": "head", "#children": [title]},
                {"#name": "body", "#children": flow(rng, 0)},
            ]});
            let tree = json!([{"#doctype": "html"}, {"#comment": " c "}, html]);
            folder.write("a.json", &tree.to_string());
            folder.run(&["import", "d", "t", "a.json"]).check_code(0);
            assert_eq!(again(&folder, "t"), tree, "{tree}");
        }
    });
}

/// What may be in a body.
fn flow(rng: &mut Rng, depth: u32) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for _ in 0..rng.below(5) {
        let next = match rng.below(12) {
            0 => json!({"#comment": *rng.pick(&["", " a - b ", "x>y"])}),
            1 => element(rng, "br", None),
            2 => {
                let name = *rng.pick(&["img", "input", "hr"]);
                element(rng, name, None)
            }
            3 => element(rng, "script", Some(json!(["if (a < b && c) {}"]))),
            4 => element(rng, "pre", Some(json!(["\n\n kept"]))),
            5 => json!({"#name": "svg", "#children": [
                element(rng, "path", Some(json!([]))),
                {"#name": "style", "#children": ["a > b & c"]},
                {"#name": "foreignObject", "#children": flow(rng, depth + 1)},
            ]}),
            6 => json!({"#name": "table", "#children": [{"#name": "tbody", "#children": [
                {"#name": "tr", "#children": [{"#name": "td", "#children": flow(rng, depth + 1)}]},
            ]}]}),
            7 => json!({"#name": "template", "#children": flow(rng, depth + 1)}),
            8 | 9 if depth < 5 => {
                let name = *rng.pick(&["div", "section", "ul", "my-own", "blockquote"]);
                let inside = flow(rng, depth + 1);
                element(rng, name, Some(inside))
            }
            _ if all.last().is_some_and(Value::is_string) => continue,
            _ => {
                json!(*rng.pick(&["text", " \n ", "<&>\"'", "\u{a0}é木", "&amp;", "a\rb", "\u{1}"]))
            }
        };
        all.push(next);
    }
    Value::Array(all)
}

fn element(rng: &mut Rng, name: &str, children: Option<Value>) -> Value {
    let mut element = Map::from_iter([("#name".to_owned(), json!(name))]);
    let mut names = ["class", "data-a", "##ref", "é", "(x)"];
    rng.shuffle(&mut names);
    let names = &names[..rng.index(names.len())];
    for name in names {
        let value = *rng.pick(&["", "1", "a\"b'c", "<&>", " \n\t", "\u{a0}", "\r"]);
        element.insert((*name).to_owned(), json!(value));
    }
    let names: Vec<&str> =
        names.iter().map(|name| name.strip_prefix('#').unwrap_or(name)).collect();
    if !names.is_sorted() {
        element.insert("#order".to_owned(), json!(names.join(" ")));
    }
    element.extend(children.map(|children| ("#children".to_owned(), children)));
    Value::Object(element)
}

const SOUP: [&str; 53] = [
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    "<i class=x>",
    "</i>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<a href=1>",
    "</a>",
    "<div>",
    "</div>",
    "text",
    " ",
    "\n",
    "<br>",
    "</br>",
    "<select>",
    "<option>",
    "<li>",
    "<ul>",
    "</ul>",
    "<svg>",
    "</svg>",
    "<title>",
    "</title>",
    "&amp;",
    "&lt",
    "<!-- x",
    "-->",
    "<form>",
    "</form>",
    "<h1>",
    "</h2>",
    "<template>",
    "</template>",
    "<body a=b>",
    "<html c=d>",
    "<head>",
    "<frameset>",
    "<math>",
    "<mi>",
    "<math/>",
    "<script>",
    "</script>",
    "<plaintext",
    "<textarea>",
    "</textarea>",
    "\0",
    "<col>",
    "<caption>",
];

/// Whatever is thrown at it is read as browsers read it; it comes out as it is in the tree, or is
/// refused, as there are trees that no page stands for.
#[test]
fn soup_is_read_and_comes_out_the_same_or_not_at_all() {
    let (mut written, mut refused) = (0, 0);
    for_each_seed(4, |rng| {
        let folder = Folder::new(&format!("html_soup_{}", rng.seed()));
        for _ in 0..12 {
            let soup: String = (0..rng.range(1..40)).map(|_| *rng.pick(&SOUP)).collect();
            folder.write("a.html", &soup);
            let ended = folder.run(&["import", "d", "t", "a.html"]);
            assert_eq!(ended.code, Some(0), "{soup:?}\n{}", ended.err);
            let read = document(&folder, "t");
            let ended = folder.run(&["export", "d", "t", "--format", "html"]);
            if ended.code == Some(0) {
                assert_eq!(again(&folder, "t"), read, "{soup:?}");
                written += 1;
            } else {
                assert!(ended.err.contains(" is not HTML\n"), "{soup:?}\n{}", ended.err);
                refused += 1;
            }
        }
    });
    assert!(written > 3 * refused, "{written} were written, {refused} were not");
}

#[test]
fn what_is_no_page_is_refused() {
    let folder = Folder::new("html_none");
    for (tree, path) in [
        (json!({"a": 1}), "/"),
        (
            json!([{"#name": "html", "#children": [{"#name": "head", "#children": []},
            {"#name": "body", "#children": [{"#name": "p", "#children": [{"#name": "p"}]}]}]}]),
            "/0/#children/1/#children/0/#children/0",
        ),
        (json!([{"#name": "p", "#children": []}]), "/0"),
        (json!({"#name": "br", "#children": ["x"]}), "/"),
        (json!({"#name": "a b", "#children": []}), "/"),
        (json!({"#name": "script", "#children": ["</script>"]}), "/#children/0"),
        (json!({"#comment": "-->"}), "/"),
        (json!({"#comment": "c", "x": "y"}), "/"),
    ] {
        folder.write("a.json", &tree.to_string());
        folder.run(&["import", "d", "t", "a.json"]).check_code(0);
        let ended = folder.run(&["export", "d", "t", "--format", "html"]);
        let told = format!("Error: what is at {path} is not HTML\n");
        assert!(ended.code == Some(1) && ended.err.starts_with(&told), "{tree}\n{}", ended.err);
        assert_eq!(ended.out, "");
    }
}

#[test]
fn depth_and_size_are_limited() {
    let folder = Folder::new("html_limits");
    folder.write("a.html", &"<div>".repeat(2000));
    let ended = folder.run(&["import", "d", "t", "a.html"]);
    assert_eq!(ended.code, Some(1));
    let told = "more than 512 objects and arrays are in one another (an element counts as two; \
                --depth-max accepts more)";
    assert!(ended.err.contains(told), "{}", ended.err);
    folder.run(&["import", "d", "t", "a.html", "--depth-max", "5000"]).check_code(0);
    let ended = folder.run(&["export", "d", "t", "--format", "html"]);
    let path = format!("/0/#children/1{}", "/#children/0".repeat(1023));
    let told = format!(
        "Error: a page has at most 1024 elements in one another; one more is {path}\n\
         Hint: a part of it can be exported by its path\n"
    );
    ended.check(1, "", &told);
    // `html` and `body` are two.
    folder.write("a.html", &"<div>".repeat(1022));
    folder.run(&["import", "d", "t", "a.html", "--depth-max", "5000"]).check_code(0);
    let out = folder.run(&["export", "d", "t", "--format", "html"]).out;
    assert_eq!(out.matches("<div>").count(), 1022);
    // Each paragraph opens all of them again.
    let open: String = (0..200).map(|n| format!("<b a={n}>")).collect();
    folder.write("b.html", &format!("<p>{open}{}", "<p>x".repeat(40_000)));
    let ended = folder.run(&["import", "d", "t", "b.html"]);
    let told = "elements that are opened again and again make too much of it\n";
    assert!(ended.code == Some(1) && ended.err.ends_with(told), "{}", ended.err);
    fs::write(folder.0.join("c.html"), b"\xef\xbb\xbf<p>\xff").unwrap();
    folder.run(&["import", "d", "t", "c.html"]).check(
        1,
        "",
        "Error: c.html: byte 6: it is not UTF-8\n",
    );
}

/// `a0 a1 …`, so many.
fn names(count: usize) -> String {
    (0..count).map(|at| format!("a{at} ")).collect()
}

#[test]
fn attributes_of_an_element_are_limited() {
    let folder = Folder::new("html_attributes");
    let read = |page: &str| {
        folder.write("a.html", page);
        folder.run(&["import", "d", "t", "a.html"])
    };
    let many = names(200_000);
    // Whatever is before it, and whatever it is in: the tag begins behind it.
    for before in [
        "",
        "\u{feff}é",
        "x &am",
        "x &#38",
        "<",
        "</>",
        "<!>",
        "<!-->",
        "<!-- <p \" -->",
        "<!doctype html><p a='>'>",
        "<?x?>",
        "</ x>",
        "<svg><![CDATA[]]>",
        "<svg><![CDATA[\0<p a=\"]]>",
        "<![CDATA[ <p>",
        "<script>if (a </b) { '<!--' }</scr </script>",
        "<script><!-- <script> <b a=\" </script> --></script>",
        "<textarea></p <b a='</textarea>",
        "<title>&lt</title>\r\n",
        "<template>",
        "<select><option>",
    ] {
        for tag in ["p a=\"x>y\" b=>", "p>"] {
            let start = format!("{before}<{tag}");
            let ended = read(&format!("{start}<b {many}>"));
            let told = format!("byte {}: an element has more than 500 attributes\n", start.len());
            assert!(ended.code == Some(1) && ended.err.ends_with(&told), "{start}\n{}", ended.err);
        }
    }
    // That of an end comes when it has ended, too.
    for before in ["<script></script ", "<textarea></textarea/", "<p></p "] {
        let ended = read(&format!("{before}{many}"));
        assert!(ended.err.contains("more than 500 attributes"), "{before}\n{}", ended.err);
    }
    // All tags of `body` are one.
    let bodies: String = (0..501).map(|at| format!("<body a{at}>")).collect();
    let ended = read(&bodies);
    assert!(ended.err.contains("more than 500 attributes"), "{}", ended.err);
    read(&format!("<p {}>x", names(500))).check_code(0);
    let attributes = document(&folder, "t")[0]["#children"][1]["#children"][0].clone();
    // Its name, its children and their order besides.
    assert_eq!(attributes.as_object().unwrap().len(), 503);
}

/// What is in none of the tags' attributes may have as much of anything.
#[test]
fn only_attributes_count_as_such() {
    let folder = Folder::new("html_no_attributes");
    let words = names(5_000);
    for (before, after) in [
        ("<p>", ""),
        ("<p>a < ", ""),
        ("<!-- <p ", "-->"),
        ("<!-- <p \" ", "--><p class=\"x\">"),
        ("<!doctype html ", ">"),
        ("<svg><![CDATA[<p ", "]]></svg>"),
        ("<script>'</p ", "'</script>"),
        ("<script><!-- <p ", "--></script>"),
        ("<script><!-- <script> </p ", "</script> --></script>"),
        ("<style></p ", "</style>"),
        ("<textarea></p ", "</textarea>"),
        ("<plaintext></p ", ""),
        ("<p a=\"", "\">"),
        ("<p a = '>", "' b>"),
        ("<svg><path d='", "'/></svg>"),
    ] {
        folder.write("a.html", &format!("{before}{words}{after}"));
        let ended = folder.run(&["import", "d", "t", "a.html"]);
        assert_eq!(ended.code, Some(0), "{before}\n{}", ended.err);
    }
    // So may a tag be long.
    let mut page = String::from("<a href=\"data:text/plain,");
    page.push_str(&"a b/c'd ".repeat(200_000));
    page.push_str("\">x</a>");
    folder.write("a.html", &page);
    folder.run(&["import", "d", "t", "a.html"]).check_code(0);
    again(&folder, "t");
}

#[test]
fn pages_that_pass_a_limit_are_told_which() {
    let folder = Folder::new("html_told");
    let export = |tree: Value| {
        folder.write("a.json", &tree.to_string());
        folder.run(&["import", "d", "t", "a.json", "--depth-max", "5000"]).check_code(0);
        let ended = folder.run(&["export", "d", "t", "--format", "html"]);
        assert_eq!((ended.code, &*ended.out), (Some(1), ""));
        ended.err
    };
    // Each makes five bytes. With the first tag there is room for all of them, but not for more.
    let most = "&".repeat((64 << 20) / 5);
    let long = |path: &str| {
        format!(
            "Error: a page has less than 67108864 bytes; it would end at {path}\n\
             Hint: a part of it can be exported by its path\n"
        )
    };
    let text = json!({"#name": "p", "#children": [most]});
    assert_eq!(export(text), long("/#children"));
    let attribute = json!([{"#doctype": "html"}, {"#name": "p", "title": most, "#children": []}]);
    assert_eq!(export(attribute), long("/1"));
    let mut many = Map::from_iter([("#name".to_owned(), json!("p"))]);
    many.extend((0..501).map(|at| (format!("a{at}"), json!(""))));
    let told = export(Value::Object(many));
    let limit = "what is at / makes a page that is not read: ";
    assert!(told.contains(limit) && told.contains("more than 500 attributes"), "{told}");
    // What is opened again, and so deeper than it was, is not the same.
    let mut tree = json!({"#name": "p", "#children": [{"#name": "p", "#children": []}]});
    for _ in 0..600 {
        tree = json!({"#name": "div", "#children": [tree]});
    }
    let path = format!("/#children/0{}", "/#children/0".repeat(600));
    let told = export(tree);
    assert!(told.starts_with(&format!("Error: what is at {path} is not HTML\n")), "{told}");
}
