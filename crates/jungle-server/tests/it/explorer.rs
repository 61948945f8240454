use crate::support::Served;

#[test]
fn explorer_is_served_and_kept_by_browsers() {
    let served = Served::memory();
    assert_eq!(served.get("/explorer").header("location"), "/explorer/");
    let page = served.get("/explorer/?tree=notes&path=/a");
    assert_eq!(
        (page.status.as_u16(), page.header("content-type")),
        (200, "text/html; charset=utf-8")
    );
    let files = [
        ("/explorer/explorer.js", "text/javascript; charset=utf-8"),
        ("/explorer/explorer.css", "text/css; charset=utf-8"),
    ];
    for (name, media) in files {
        assert!(page.text.contains(&format!("\"{name}\"")), "{name}");
        let file = served.get(name);
        assert_eq!((file.status.as_u16(), file.header("content-type")), (200, media));
        let known = [("if-none-match", file.header("etag"))];
        assert_eq!(served.send("GET", name, &known, None).status, 304);
    }
    assert_eq!(served.get("/explorer/nothing").status, 404);
}

#[test]
fn explorer_needs_nothing_that_its_policy_forbids() {
    let page = Served::memory().get("/explorer/");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("script-src 'self'; style-src 'self'"), "{policy}");
    for inline in ["<style", "style=", "onclick", "<script>"] {
        assert!(!page.text.contains(inline), "{inline}");
    }
}
