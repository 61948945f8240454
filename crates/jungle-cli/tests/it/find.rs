use crate::Folder;

const TEXT: &str = r#"{"posts":[{"title":"one","score":3},{"title":"two","score":10.5},
    {"title":"three","draft":true}],"users":{"ann":{"score":3},"bob":{}}}"#;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("a.json", TEXT);
    folder
}

#[test]
fn paths_are_printed_in_document_order() {
    let folder = folder("find_paths");
    for (expression, out) in [
        ("score = 3", "/posts/0\n/users/ann\n"),
        ("score > 3 or draft = true", "/posts/1\n/posts/2\n"),
        ("@name = ann", "/users/ann\n"),
        ("title ~ 't*' and not exists score", "/posts/2\n"),
    ] {
        folder.run(&["find", "a.json", expression]).check(0, out, "");
    }
    folder.run(&["find", "a.json", "score = 3", "--limit", "1"]).check(0, "/posts/0\n", "");
    let ended = folder.run(&["find", "a.json", "@name = bob", "--json"]);
    ended.check(0, "{\"path\":\"/users/bob\"}\n", "");
}

#[test]
fn nothing_found_is_told_by_the_code() {
    folder("find_nothing").run(&["find", "a.json", "score = 4"]).check(4, "", "");
}

#[test]
fn a_wrong_expression_is_shown_with_a_caret() {
    folder("find_wrong").run(&["find", "a.json", "title = é and score <"]).check(
        2,
        "",
        "Error: a value must follow\n  title = é and score <\n                       ^\n\
         Hint: `jungle find --help` shows what expressions look like\n",
    );
}
