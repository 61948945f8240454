//! XML in and out: what is written as Jungle writes it comes out with the same characters.

use std::fmt::Write;

use jungle_testkit::{Rng, for_each_seed};

use crate::Folder;

#[test]
fn random_documents_come_out_as_they_went_in() {
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("xml_{}", rng.seed()));
        for _ in 0..5 {
            let mut text = String::from("<?xml version=\"1.0\"?>\n");
            element(rng, 0, &mut text);
            folder.write("a.xml", &text);
            let ended = folder.run(&["import", "d", "t", "a.xml"]);
            assert_eq!(ended.code, Some(0), "{text}\n{}", ended.err);
            let out = folder.run(&["export", "d", "t", "--format", "xml"]).out;
            assert_eq!(out, text);
        }
    });
}

fn element(rng: &mut Rng, depth: u32, text: &mut String) {
    let name = *rng.pick(&["a", "b:c", "d-e", "é"]);
    write!(text, "<{name}").unwrap();
    let mut names = ["x", "id", "xml:lang", "ä"];
    rng.shuffle(&mut names);
    for name in &names[..rng.index(4)] {
        let value = *rng.pick(&["", "1", "a b", "&lt;&amp;&quot;&gt;", "&#10;'é"]);
        write!(text, " {name}=\"{value}\"").unwrap();
    }
    if rng.chance(1, 4) {
        text.push_str("/>");
        return;
    }
    text.push('>');
    let mut was_text = false;
    for _ in 0..rng.below(5) {
        match rng.below(6) {
            0 | 1 if depth < 6 => element(rng, depth + 1, text),
            2 => text.push_str("<!-- no > end -->"),
            3 => text.push_str("<![CDATA[<&]]>"),
            4 => text.push_str("&nbsp;"),
            // Two texts behind one another are one.
            _ if was_text => continue,
            _ => {
                let some = *rng.pick(&["t", " \n\t", "&lt;&amp;&gt;", "é\"'", "&#13;"]);
                text.push_str(some);
                was_text = true;
                continue;
            }
        }
        was_text = false;
    }
    write!(text, "</{name}>").unwrap();
}

#[test]
fn depth_is_limited_until_more_is_asked_for() {
    let folder = Folder::new("xml_depth");
    folder.write("a.xml", &format!("{}{}", "<a>".repeat(2000), "</a>".repeat(2000)));
    folder.run(&["import", "d", "t", "a.xml"]).check(
        1,
        "",
        "Error: a.xml: more than 512 objects and arrays are in one another\n\
         Hint: an element counts as two; --depth-max accepts more\n",
    );
    assert_eq!(folder.run(&["import", "d", "t", "a.xml", "--depth-max", "5000"]).code, Some(0));
    let out = folder.run(&["export", "d", "t", "--format", "xml"]).out;
    assert_eq!(out.len(), 2000 * 7);
}

#[test]
fn attributes_keep_their_order_however_many_there_are() {
    let folder = Folder::new("xml_attributes");
    let attributes: String = (0..20_000).rev().map(|i| format!(" a{i}=\"{i}\"")).collect();
    let text = format!("<a{attributes}/>");
    folder.write("a.xml", &text);
    folder.run(&["import", "d", "t", "a.xml"]).check_code(0);
    folder.run(&["export", "d", "t", "--format", "xml"]).check(0, &text, "");
}

#[test]
fn lines_end_with_line_feeds_however_a_file_ends_them() {
    let folder = Folder::new("xml_lines");
    let text = |space: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<!-- a\nb -->\n<a x=\"1{space}2&#13;\" y=\"\">\n\
             <![CDATA[c\nd]]>e\n\nf&#13;\n<?do\nit?></a>\n"
        )
    };
    for end in ["\n", "\r\n", "\r"] {
        folder.write("a.xml", &text("\n").replace('\n', end));
        folder.run(&["import", "d", "t", "a.xml"]).check_code(0);
        folder.run(&["export", "d", "t", "--format", "xml"]).check(0, &text(" "), "");
    }
}

#[test]
fn no_reference_is_outside_of_all_elements() {
    let folder = Folder::new("xml_outside");
    folder.write("a.json", r##"["\r\n",{"#name":"a","#children":["\r"]}]"##);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let out = "\r\n<a>&#13;</a>";
    folder.run(&["export", "d", "t", "--format", "xml"]).check(0, out, "");
    for wrong in ["&#13;<a/>", "<a/>&nbsp;"] {
        let ended = folder.run_with_input(&["import", "d", "t", "-", "--format", "xml"], wrong);
        ended.check_code(1);
        assert!(ended.err.contains("there is text outside of the root element"), "{}", ended.err);
    }
}
