//! The page about the interface, as a browser without scripts has it.

use std::collections::BTreeSet;

use crate::contract::Contract;
use crate::support::Served;

/// What stands behind each of these up to a quote.
fn quoted<'p>(page: &'p str, before: &str) -> Vec<&'p str> {
    page.split(before).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn page_has_every_operation_with_an_example() {
    let served = Served::memory();
    let page = served.get("/docs");
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").starts_with("text/html"));
    let again = served.send("GET", "/docs", &[("if-none-match", page.header("etag"))], None);
    assert_eq!(again.status, 304);
    let articles = page.text.split("<article ").skip(1);
    let articles: Vec<&str> = articles.filter(|article| article.contains("<h4>Answers")).collect();
    let contract = Contract::read();
    let mut count = 0;
    for (path, method, id) in contract.operation_ids() {
        let of = format!("class=\"panel\" id=\"{id}\"");
        let article = articles.iter().find(|article| article.starts_with(&of)).expect(id);
        assert!(article.contains(&format!("<b>{method}</b> {path}</code>")), "{id}");
        assert!(article.contains("<dt><code>200</code>") || method != "GET", "{id}");
        assert!(article.contains("<code>curl ") && !article.contains("{}"), "{id}");
        count += 1;
    }
    assert_eq!(articles.len(), count);
    assert!(page.text.contains("curl &#39;http://127.0.0.1:7070/api/v1/trees&#39; --json"));
    for must_be_there in ["/merges?from=draft", "/reverts?revision=3"] {
        assert!(page.text.contains(must_be_there), "{must_be_there}");
    }
}

#[test]
fn page_has_every_problem() {
    let served = Served::memory();
    let page = served.get("/docs").text;
    let names = quoted(&page, "<dt id=\"problem-");
    assert!(names.len() > 25, "{names:?}");
    for (path, status) in [("/api/v1/trees/none", 404), ("/api/v1/trees?limit=x", 400)] {
        let name = served.get(path).problem();
        let row =
            format!("<code>/docs#problem-{name}</code> <span class=\"quiet\">{status}</span>");
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn links_within_the_page_lead_somewhere() {
    let page = Served::memory().get("/docs").text;
    let ids = quoted(&page, " id=\"");
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "one name for two");
    let links = quoted(&page, "href=\"#");
    assert!(links.len() > 100, "{}", links.len());
    for link in links {
        assert!(unique.contains(link), "{link}");
    }
}
