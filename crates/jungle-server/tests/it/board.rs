use crate::support::{Answer, Served, limits, no_long_reads};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Sends a form.
#[track_caller]
fn submit(served: &Served, path: &str, form: &str) -> Answer {
    served.send("POST", path, &[FORM], Some(form))
}

#[track_caller]
fn with_board() -> Served {
    let served = Served::memory();
    let made = submit(&served, "/boards", "name=Trees+%26+leaves");
    assert_eq!((made.status.as_u16(), made.header("location")), (303, BOARD));
    served
}

const BOARD: &str = "/boards/Trees%20%26%20leaves";

#[test]
fn boards_are_made_and_listed() {
    let served = with_board().tree("no board");
    let page = served.get("/boards").text;
    assert!(page.contains("Trees &#38; leaves") && page.contains(BOARD), "{page}");
    assert!(!page.contains("no board"), "{page}");
    let again = submit(&served, "/boards", "name=Trees+%26+leaves");
    assert_eq!(again.status, 409);
    assert!(again.text.contains("already"), "{}", again.text);
    for name in ["", "+", "..", "a%00"] {
        assert_eq!(submit(&served, "/boards", &format!("name={name}")).status, 400, "{name}");
    }
    assert_eq!(served.get("/").header("location"), "/boards");
}

#[test]
fn board_that_was_only_begun_is_made_and_no_other_tree_is() {
    let served = Served::memory();
    served.post("/api/v1/trees", r#"{"name":"begun"}"#).expect(201);
    assert_eq!(served.get("/boards/begun").status, 404);
    assert_eq!(submit(&served, "/boards", "name=begun").status, 303);
    assert_eq!(served.get("/boards/begun").status, 200);
    for (name, edit) in [
        ("nodes", r#"{"op":"append"}"#),
        ("attribute", r#"{"op":"put","attribute":"n","value":1}"#),
    ] {
        served.post("/api/v1/trees", &format!(r#"{{"name":"{name}"}}"#)).expect(201);
        let edits = format!(r#"{{"edits":[{edit}]}}"#);
        served.post(&format!("/api/v1/trees/{name}/commits"), &edits).expect(200);
        assert_eq!(submit(&served, "/boards", &format!("name={name}")).status, 409, "{name}");
        assert_eq!(served.get(&format!("/boards/{name}")).status, 404, "{name}");
    }
}

/// A page of the list: its boards, and where its links lead.
fn listed(served: &Served, place: &str) -> (Vec<String>, Vec<(String, String)>) {
    let page = served.get(place);
    assert_eq!(page.status, 200, "{place}: {}", page.text);
    let cards = page.text.split("class=\"card\"").skip(1);
    let name = |card: &str| card.split("<strong>").nth(1)?.split('<').next().map(str::to_owned);
    let boards = cards.map(|card| name(card).unwrap()).collect();
    let pages = page.text.split("<nav class=\"pages\"").nth(1).unwrap_or_default();
    let links = pages.split("</nav>").next().unwrap().split("href=\"").skip(1);
    let link = |link: &str| {
        let (place, text) = link.split_once("\">").unwrap();
        (text.split('<').next().unwrap().to_owned(), place.to_owned())
    };
    (boards, links.map(link).collect())
}

/// Follows a link until there is none; gives what was on each page.
fn follow(served: &Served, from: &str, name: &str) -> Vec<Vec<String>> {
    let (mut pages, mut place) = (Vec::new(), Some(from.to_owned()));
    while let Some(at) = place {
        let (boards, links) = listed(served, &at);
        pages.push(boards);
        place = links.into_iter().find(|(text, _)| text == name).map(|(_, place)| place);
    }
    pages
}

#[test]
fn many_boards_come_in_pages() {
    let served = Served::memory();
    let jungle = served.server.jungle();
    let mut expected: Vec<String> = (0..1000).map(|n| format!("board & {n}")).collect();
    for name in &expected {
        let tree = jungle.create_tree(name).unwrap();
        tree.update(|tx| tx.put_attribute(&[], "board", &**name)).unwrap();
        jungle.create_tree(&format!("{name} is none")).unwrap();
    }
    expected.sort();
    let expected: Vec<String> = expected.iter().map(|name| name.replace('&', "&#38;")).collect();
    let pages = follow(&served, "/boards", "Next");
    assert!(pages.iter().all(|page| page.len() == 50), "{pages:?}");
    assert_eq!(pages.concat(), expected);
    let (_, links) = listed(&served, "/boards");
    assert_eq!(links.iter().map(|(text, _)| &**text).collect::<Vec<_>>(), ["Next", "Last"]);
    let last = &links[1].1;
    let mut pages = follow(&served, last, "Previous");
    pages.reverse();
    assert_eq!(pages.concat(), expected);
    let (_, links) = listed(&served, last);
    assert_eq!(links.iter().map(|(text, _)| &**text).collect::<Vec<_>>(), ["First", "Previous"]);
    let (first, _) = listed(&served, &links[0].1);
    assert_eq!(first, expected[..50]);
    let (some, _) = listed(&served, "/boards?limit=200&after=board%20%26%2010");
    assert_eq!(some.len(), 200);
    // A name that is no board's is a place all the same.
    assert_eq!(listed(&served, "/boards?before=board%20%26%200%20is").0, expected[..1]);
    assert_eq!(listed(&served, "/boards?after=z").0, [""; 0]);
    for query in ["?limit=0", "?limit=201", "?before=1&after=1", "?after=1&last=1", "?x=1"] {
        assert_eq!(served.get(&format!("/boards{query}")).status, 400, "{query}");
    }
}

#[test]
fn field_of_an_edit_has_the_empty_lines_that_a_message_begins_with() {
    let served = with_board();
    assert_eq!(submit(&served, BOARD, "text=%0A%0A++a+poem").status, 303);
    let page = served.get(&format!("{BOARD}/0")).text;
    // Of what is in a field, browsers leave out the end of a line with which it begins.
    assert!(page.contains(">\n\n\n  a poem</textarea>"), "{page}");
}

#[test]
fn messages_are_posted_and_shown_escaped() {
    let served = with_board();
    let posted = submit(&served, BOARD, "author=%3Cb%3Eana&text=%3Cscript%3Ealert(1)%3C/script%3E");
    assert_eq!((posted.status.as_u16(), posted.header("location")), (303, BOARD));
    submit(&served, BOARD, "text=second%0D%0Aline");
    let page = served.get(BOARD).text;
    assert!(page.contains("&#60;script&#62;alert(1)&#60;/script&#62;"), "{page}");
    assert!(page.contains("&#60;b&#62;ana") && page.contains("anonymous"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(page.find("second\nline").unwrap() < page.find("alert(1)").unwrap(), "{page}");
    for form in ["", "text=", "text=+%0A", &format!("text={}", "x".repeat(70_000)), "text=a&x=b"] {
        assert_eq!(submit(&served, BOARD, form).status, 400, "{form:.20}");
    }
    assert_eq!(submit(&served, "/boards/nothing", "text=a").status, 404);
}

#[test]
fn message_is_as_long_as_whoever_serves_it_says() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.board_message_bytes_max = 40);
    });
    submit(&served, "/boards", "name=b");
    for (bytes, status) in [(40, 303), (41, 400)] {
        let form = format!("text={}", "x".repeat(bytes));
        assert_eq!(submit(&served, "/boards/b", &form).status, status, "{bytes}");
    }
    // What is written there fits, whatever it is.
    for page in ["/boards/b", "/boards/b/0"] {
        let page = served.get(page).text;
        assert!(page.contains("maxlength=\"10\""), "{page}");
    }
}

#[test]
fn script_in_any_name_or_message_is_text() {
    let served = Served::memory();
    let evil =
        "\"'><img src=x onerror=alert(1)><!--{{1234*4321}}</textarea><script>alert(1)</script>";
    let encoded: String = evil.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let made = submit(&served, "/boards", &format!("name={encoded}"));
    let place = made.header("location").to_owned();
    submit(&served, &place, &format!("author={encoded}&text={encoded}"));
    submit(&served, &format!("{place}/0"), &format!("author={encoded}&text={encoded}2&edits=0"));
    for path in ["/boards", &place, &format!("{place}/0"), &format!("/boards/{encoded}x")] {
        let page = served.get(path).text;
        assert!(!page.contains("<img src=x") && !page.contains("<script>alert"), "{path}: {page}");
        assert!(!page.contains("5332114"), "{path}: {page}");
    }
}

#[test]
fn message_is_edited_and_its_versions_are_shown() {
    let served = with_board();
    submit(&served, BOARD, "author=ana&text=one");
    submit(&served, BOARD, "author=ben&text=other");
    let place = format!("{BOARD}/0");
    for (edits, text) in [(0, "two"), (1, "three")] {
        let form = format!("author=ana&text={text}&edits={edits}");
        let saved = submit(&served, &place, &form);
        assert_eq!((saved.status.as_u16(), saved.header("location")), (303, BOARD));
    }
    let page = served.get(&place).text;
    let positions: Vec<_> =
        ["three", "two", "one"].iter().map(|text| page.find(&format!(">{text}<"))).collect();
    assert!(positions.is_sorted() && positions[0].is_some(), "{positions:?} {page}");
    assert!(!page.contains("other"), "{page}");
    assert!(served.get(BOARD).text.contains("edited"));
    assert_eq!(served.get(&format!("{BOARD}/7")).status, 404);
    assert_eq!(served.get(&format!("{BOARD}/x%20")).status, 400);
}

#[test]
fn edited_message_stays_that_of_its_author() {
    let served = with_board();
    submit(&served, BOARD, "author=ana&text=one");
    let tree = served.server.jungle().open_tree("Trees & leaves").unwrap();
    let of = |name: &str| {
        let snapshot = tree.snapshot();
        let (_, message) = snapshot.root().children().next().unwrap();
        message.attribute(name).map(|value| value.to_value())
    };
    let written = (of("author"), of("time"));
    let place = format!("{BOARD}/0");
    assert!(!served.get(&place).text.contains("edited by"));
    for (edits, author, by) in [(0, "", "anonymous"), (1, "ben", "ben")] {
        let form = format!("author={author}&text=words+{edits}&edits={edits}");
        assert_eq!(submit(&served, &place, &form).status, 303);
        assert_eq!((of("author"), of("time")), written);
        assert_eq!(of("edited_by"), Some(by.into()));
        let page = served.get(&place).text;
        assert!(page.contains("<strong>ana</strong>"), "{page}");
        assert!(page.contains(&format!("edited by {by}, <time datetime=")), "{page}");
    }
    assert!(served.get(BOARD).text.contains("<strong>ana</strong>"));
    // What changes nothing is no edit.
    let revision = tree.snapshot().revision();
    submit(&served, &place, "author=eve&text=words+1&edits=2");
    assert_eq!((of("edited_by"), tree.snapshot().revision()), (Some("ben".into()), revision));
}

#[test]
fn edit_of_what_was_edited_meanwhile_is_refused_and_not_lost() {
    let served = with_board();
    submit(&served, BOARD, "author=ana&text=one");
    let place = format!("{BOARD}/0");
    assert_eq!(submit(&served, &place, "author=ana&text=two&edits=0").status, 303);
    let late = submit(&served, &place, "author=ben&text=mine&edits=0");
    assert_eq!(late.status, 409);
    assert!(late.text.contains("mine</textarea>") && late.text.contains(">two<"), "{}", late.text);
    assert!(late.text.contains("name=\"edits\" value=\"1\""), "{}", late.text);
    assert!(served.get(BOARD).text.contains("two"));
}

#[test]
fn long_board_comes_in_pages() {
    let served = with_board();
    for n in 0..10 {
        submit(&served, BOARD, &format!("text=%5B{n}%5D"));
    }
    let numbers = |query: &str| {
        let page = served.get(&format!("{BOARD}{query}")).text;
        let texts = page.split("<div class=\"text\">[").skip(1);
        let numbers: String = texts.map(|text| text.split(']').next().unwrap()).collect();
        (numbers, page.contains(">Newer<"), page.contains(">Older<"))
    };
    for (query, expected, has_newer, has_older) in [
        ("?limit=4", "9876", false, true),
        ("?limit=4&before=6", "5432", true, true),
        ("?limit=4&before=2", "10", true, false),
        ("?limit=4&after=5", "9876", false, true),
        ("?limit=4&after=1", "5432", true, true),
        ("?limit=4&first=1", "3210", true, false),
        ("?before=0", "", false, false),
    ] {
        assert_eq!(numbers(query), (expected.to_owned(), has_newer, has_older), "{query}");
    }
    for query in ["?limit=0", "?limit=201", "?before=1&after=1", "?before=", "?x=1"] {
        assert_eq!(served.get(&format!("{BOARD}{query}")).status, 400, "{query}");
    }
}

/// Where a link leads.
fn link(page: &str, text: &str) -> String {
    let before = page.split(&format!("\">{text}</a>")).next().unwrap();
    before.rsplit("href=\"").next().unwrap().replace("&#38;", "&")
}

#[test]
fn what_is_no_message_or_board_ends_a_page_and_the_next_goes_on() {
    let served = with_board();
    submit(&served, BOARD, "text=%5Bfirst%5D");
    let tree = served.server.jungle().open_tree("Trees & leaves").unwrap();
    tree.update(|tx| (0..10_500).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    submit(&served, BOARD, "text=%5Blast%5D");
    let newest = served.get(BOARD).text;
    assert!(newest.contains("[last]") && !newest.contains("[first]"), "{newest}");
    let older = served.get(&link(&newest, "Older")).text;
    assert!(older.contains("[first]") && !older.contains(">Older<"), "{older}");
    // The way back is there, from either end.
    let newer = served.get(&link(&older, "Newer")).text;
    assert!(newer.contains(">Newer<") && !newer.contains("[last]"), "{newer}");
    let newer = served.get(&link(&newer, "Newer")).text;
    assert!(newer.contains("[last]") && !newer.contains(">Newer<"), "{newer}");
}

#[test]
fn page_of_long_messages_ends_early_and_the_next_goes_on() {
    let served = with_board();
    let long = "x".repeat(60_000);
    for n in 0..20 {
        assert_eq!(submit(&served, BOARD, &format!("text=%5B{n}%5D{long}")).status, 303);
    }
    let numbers = |page: &str| {
        let texts = page.split("<div class=\"text\">[").skip(1);
        let numbers = texts.map(|text| text.split(']').next().unwrap().parse::<u32>().unwrap());
        numbers.collect::<Vec<_>>()
    };
    for (query, name, begins) in [("", "Older", 19), ("?first=1", "Newer", 17)] {
        let page = served.get(&format!("{BOARD}{query}")).text;
        let next = served.get(&link(&page, name)).text;
        let (mut all, more) = (numbers(&page), numbers(&next));
        assert_eq!((all.len(), all[0], more.len()), (18, begins, 2), "{query}");
        all.extend(more);
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>(), "{query}");
    }
    let place = format!("{BOARD}/0");
    for edits in 0..20 {
        let form = format!("text=edit+{edits}+{long}&edits={edits}");
        assert_eq!(submit(&served, &place, &form).status, 303);
    }
    let page = served.get(&place).text;
    assert!(page.len() < 2 << 20 && page.contains("too many to be shown"), "{}", page.len());
}

#[test]
fn text_that_no_form_takes_is_shown_in_part() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.board_message_bytes_max = 40);
    });
    submit(&served, "/boards", "name=b");
    submit(&served, "/boards/b", "author=ana&text=short");
    let tree = served.server.jungle().open_tree("b").unwrap();
    let path: jungle::Path = "/0".parse().unwrap();
    let (text, author) = (format!("{}é, and on", "x".repeat(39)), "a".repeat(300));
    tree.update(|tx| {
        tx.put_attribute(&path, "text", &*text)?;
        tx.put_attribute(&path, "author", &*author)
    })
    .unwrap();
    let is_part = |page: &str| {
        page.contains(&format!(">{}<", "x".repeat(39)))
            && page.contains(&format!("<strong>{}</strong>", "a".repeat(255)))
            && !page.contains("and on")
    };
    for place in ["/boards/b", "/boards/b/0"] {
        let page = served.get(place).text;
        assert!(is_part(&page), "{place}: {page}");
        assert_eq!(served.get(&link(&page, "All of this message")).text, text, "{place}");
        // Whoever saved the part would lose the rest.
        assert!(!page.contains("name=\"edits\""), "{place}: {page}");
    }
    assert_eq!(submit(&served, "/boards/b/0", "text=new&edits=0").status, 303);
    let page = served.get("/boards/b/0").text;
    assert!(page.contains("new</textarea>") && is_part(&page), "{page}");
    assert_eq!(served.get(&link(&page, "All of this version")).text, text);
}

#[test]
fn versions_of_a_message_are_looked_up_in_line() {
    let served = Served::with(|options| options.limits = limits(no_long_reads));
    submit(&served, "/boards", "name=b");
    for text in ["text=one", "text=other"] {
        assert_eq!(submit(&served, "/boards/b", text).status, 303);
    }
    assert_eq!(submit(&served, "/boards/b/0", "text=two&edits=0").status, 303);
    for (place, status) in [("/boards/b/0", 429), ("/boards/b/1", 200), ("/boards/b", 200)] {
        assert_eq!(served.get(place).status, status, "{place}");
    }
}

#[test]
fn page_is_kept_until_something_is_posted() {
    let served = with_board();
    let first = served.get(BOARD);
    let tag = first.header("etag").to_owned();
    let again = served.send("GET", BOARD, &[("if-none-match", &tag)], None);
    assert_eq!(again.status, 304);
    submit(&served, BOARD, "text=new");
    let now = served.send("GET", BOARD, &[("if-none-match", &tag)], None);
    assert!(now.status == 200 && now.text.contains("new"), "{}", now.text);
}

#[test]
fn page_of_a_renamed_board_has_its_new_name() {
    let served = Served::memory();
    submit(&served, "/boards", "name=a");
    submit(&served, "/boards/a", "text=first");
    assert!(served.get("/boards/a").text.contains("/boards/a"));
    served.send("PATCH", "/api/v1/trees/a", &[], Some(r#"{"name":"b"}"#)).expect(200);
    let page = served.get("/boards/b").text;
    assert!(page.contains("\"/boards/b\"") && page.contains("/api/v1/trees/b/watch"), "{page}");
    assert!(!page.contains("/boards/a") && !page.contains("/trees/a/"), "{page}");
}

#[test]
fn page_says_where_new_messages_are_told() {
    let served = with_board();
    let page = served.get(BOARD).text;
    let watch =
        page.split("data-watch=\"/api/v1/trees/").nth(1).unwrap().split('"').next().unwrap();
    submit(&served, BOARD, "text=new");
    let mut events = served.watch(&watch.replace("&#38;", "&"), "");
    assert_eq!(events.next().unwrap().name, "change");
}

#[test]
fn page_says_which_commit_it_shows() {
    let watched = |served: &Served| {
        let page = served.get(BOARD).text;
        let rest = page.split("data-watch=\"").nth(1).unwrap();
        rest.split('"').next().unwrap().replace("&#38;", "&")
    };
    let [before, now] = [(); 2].map(|()| with_board());
    // Else a page would go on as if it had seen what came in place of that.
    assert_ne!(watched(&before), watched(&now));
    assert_eq!(now.get(&watched(&before)).status, 410);
}

#[test]
fn assets_are_there_and_nothing_else_is() {
    let served = Served::memory();
    let page = served.get("/boards").text;
    let assets: Vec<&str> = page.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert!(assets.len() >= 3, "{assets:?}");
    for asset in assets {
        assert_eq!(served.get(asset).status, 200, "{asset}");
    }
    for path in ["/assets/", "/assets/..%2fCargo.toml", "/assets/x"] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
}

#[test]
fn posting_by_get_is_there_for_load_tools_only() {
    let path = "/bench/post?board=Trees%20%26%20leaves&text=x";
    assert_eq!(with_board().get(path).status, 404);
    let served = Served::with(|options| options.bench = true);
    submit(&served, "/boards", "name=Trees+%26+leaves");
    assert_eq!(served.get(path).status, 200);
    // As a picture on a page of another site would have a browser ask for it.
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")] {
        assert_eq!(served.send("GET", path, &[(name, value)], None).problem(), "forbidden");
    }
    assert!(served.get(BOARD).text.contains("1 message,"));
    assert_eq!(served.get("/bench/hello?bytes=1000").text.len(), 1000);
}

#[test]
fn pages_are_served_one_after_the_other_on_one_connection() {
    let served = with_board();
    let request = format!("GET {BOARD} HTTP/1.1\r\nHost: localhost\r\n");
    let (more, last) = (format!("{request}\r\n"), format!("{request}Connection: close\r\n\r\n"));
    let answers = served.raw((more.repeat(9) + &last).as_bytes());
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 10);
}
