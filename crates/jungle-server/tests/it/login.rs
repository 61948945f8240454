//! Logging in, as a browser does.

use jungle_server::Role;

use crate::people::{Guarded, grant};
use crate::support::Answer;

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn with_ana(name: &str) -> Guarded {
    Guarded::with(name, &[], |access, _| {
        access.add_user("ana", Some("correct horse")).unwrap();
        access.grant(grant("ana", "*", "/", Role::Admin)).unwrap();
    })
}

fn log_in(guarded: &Guarded, form: &str) -> Answer {
    guarded.served.send("POST", "/login", &[FORM], Some(form))
}

/// The cookie of a new session.
#[track_caller]
fn session(guarded: &Guarded) -> String {
    let answer = log_in(guarded, "name=ana&password=correct+horse&next=%2Fexplorer%2F");
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/explorer/"));
    let cookie = answer.header("set-cookie");
    let (pair, rest) = cookie.split_once("; ").unwrap();
    assert_eq!(rest, "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict");
    pair.to_owned()
}

#[test]
fn session_lasts_from_log_in_to_log_out() {
    let guarded = with_ana("log-in");
    let served = &guarded.served;
    let page = served.get("/login?next=%2Fboards%2F%22%3E");
    assert!(page.text.contains("value=\"/boards/&#34;&#62;\"") && page.text.contains("password"));
    let cookie = session(&guarded);
    let get = |path: &str, cookie: &str| served.send("GET", path, &[("cookie", cookie)], None);
    assert_eq!(get("/boards", &cookie).status, 200);
    assert_eq!(get("/api/v1/trees", &format!("a=b; {cookie}; c=d")).status, 200);
    assert!(get("/login", &cookie).text.contains("<h1>ana</h1>"));
    for wrong in [&cookie[..cookie.len() - 1], "jungle_session=", "jungle_session"] {
        assert_eq!(get("/api/v1/trees", wrong).status, 401, "{wrong}");
    }
    // Of two of this name, one may be a neighbour's.
    let two = format!("{cookie}; jungle_session=x");
    assert_eq!(get("/api/v1/trees", &two).status, 401);
    let out = served.send("POST", "/logout", &[("cookie", &cookie)], None);
    assert_eq!((out.status.as_u16(), out.header("location")), (303, "/login"));
    assert!(out.header("set-cookie").starts_with("jungle_session=; Path=/; Max-Age=0;"));
    // Else whoever is there next sees by *Back* what they may not.
    assert_eq!(out.header("clear-site-data"), "\"cache\"");
    assert_eq!(get("/api/v1/trees", &cookie).status, 401);
    // Whichever of two is one's own.
    let (one, other) = (session(&guarded), session(&guarded));
    let both = format!("{one}; {other}");
    served.send("POST", "/logout", &[("cookie", &both)], None);
    let left = [&one, &other].map(|cookie| get("/api/v1/trees", cookie).status.as_u16());
    assert_eq!(left, [401, 401]);
}

#[test]
fn session_is_found_beside_any_cookies_of_others() {
    let guarded = with_ana("log-in-beside");
    let cookie = session(&guarded);
    for others in ["city=Zürich".as_bytes(), b"city=Z\xfcrich", b"\xff"] {
        let head: &[u8] = b"GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        let own = cookie.as_bytes();
        let cookies = [b"Cookie: ".as_slice(), others, b"; ", own, b"; ", others].concat();
        let asked = [head, &cookies, b"\r\n\r\n"].concat();
        let answer = guarded.served.raw(&asked);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{others:?}: {answer}");
    }
}

#[test]
fn whoever_logs_in_anew_ends_the_session_before() {
    let guarded = with_ana("log-in-anew");
    let status = |cookie: &str| {
        guarded.served.send("GET", "/api/v1/trees", &[("cookie", cookie)], None).status.as_u16()
    };
    let (first, other) = (session(&guarded), session(&guarded));
    let form = "name=ana&password=correct+horse";
    let log_in = |form: &str| {
        let headers = [FORM, ("cookie", &*first)];
        guarded.served.send("POST", "/login", &headers, Some(form)).status.as_u16()
    };
    assert_eq!((log_in("name=ana&password=wrong"), status(&first)), (403, 200));
    assert_eq!((log_in(form), status(&first), status(&other)), (303, 401, 200));
}

#[test]
fn page_of_another_site_cannot_use_a_session() {
    let guarded = with_ana("other-site");
    let cookie = session(&guarded);
    let own = format!("http://{}", guarded.served.address());
    let post = |path: &str, name: &str, value: &str| {
        let headers = [FORM, ("cookie", &*cookie), (name, value)];
        guarded.served.send("POST", path, &headers, Some("name=b")).status.as_u16()
    };
    for path in ["/boards", "/login", "/logout"] {
        assert_eq!(post(path, "origin", "http://evil.example"), 403, "{path}");
        assert_eq!(post(path, "origin", "null"), 403, "{path}");
        assert_eq!(post(path, "sec-fetch-site", "cross-site"), 403, "{path}");
        assert_eq!(post(path, "sec-fetch-site", "same-site"), 403, "{path}");
    }
    assert_eq!(post("/boards", "origin", &own), 303);
    // What is read by a page of another site is not given to it.
    let answer = guarded.served.send("GET", "/boards", &[("cookie", &cookie)], None);
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
}

#[test]
fn who_sends_a_form_and_is_logged_out_is_told_on_a_page() {
    let guarded = with_ana("form-logged-out");
    for path in ["/boards", "/boards/b", "/boards/b/0"] {
        let answer = guarded.served.send("POST", path, &[FORM], Some("text=Hello"));
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"jungle\"");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        assert!(answer.text.contains("href=\"/login\""), "{}", answer.text);
        assert!(answer.text.contains("go back to what you wrote"), "{}", answer.text);
    }
    let program = guarded.served.post("/api/v1/trees", "{}");
    assert_eq!((program.status.as_u16(), program.problem()), (401, "unauthorized".to_owned()));
}

#[test]
fn link_of_another_site_finds_who_is_logged_in() {
    let guarded = with_ana("linked");
    let (cookie, site) = (session(&guarded), ("sec-fetch-site", "cross-site"));
    let get =
        |path: &str, headers: &[(&str, &str)]| guarded.served.send("GET", path, headers, None);
    // The browser keeps the cookie back: our page leads on, and then it is sent.
    let asked = get("/explorer/?tree=t&path=/a", &[site]);
    let page = get(asked.header("location"), &[site]);
    let again = "/login?again=1&#38;next=%2Fexplorer%2F%3Ftree%3Dt%26path%3D%2Fa";
    assert_eq!(page.status, 200);
    assert!(page.text.contains(&format!("content=\"0; url={again}\"")), "{}", page.text);
    assert!(page.text.contains(&format!("href=\"{again}\"")), "{}", page.text);
    let again = again.replace("&#38;", "&");
    let known = get(&again, &[("cookie", &cookie), ("sec-fetch-site", "same-origin")]);
    let known = (known.status.as_u16(), known.header("location"));
    assert_eq!(known, (303, "/explorer/?tree=t&path=/a"));
    // Once only, whatever the browser says.
    for site in ["same-origin", "cross-site"] {
        let stranger = get(&again, &[("sec-fetch-site", site)]);
        assert_eq!(stranger.status, 200);
        assert!(stranger.text.contains("<h1>Log in</h1>"), "{site}");
    }
}

#[test]
fn wrong_names_and_passwords_are_refused_alike_and_soon_not_looked_at() {
    let guarded = with_ana("wrong-password");
    let refused = log_in(&guarded, "name=ana&password=wrong");
    assert_eq!(refused.status, 403);
    assert!(!refused.headers.contains_key("set-cookie"));
    let unknown = log_in(&guarded, "name=nobody&password=wrong");
    let named = unknown.text.replace("value=\"nobody\"", "value=\"ana\"");
    assert_eq!((unknown.status, named), (refused.status, refused.text));
    for form in ["", "name=ana", "password=correct+horse", "name=ANA&password=correct+horse"] {
        assert_eq!(log_in(&guarded, form).status, 403, "{form}");
    }
    assert_eq!(log_in(&guarded, "name=ana&password=correct+horse&x=1").status, 400);
    assert_eq!(log_in(&guarded, &format!("name={}&password=x", "a".repeat(256))).status, 400);
    let mut left = 0;
    while log_in(&guarded, "name=ana&password=wrong").status == 403 {
        left += 1;
        assert!(left < 20, "nobody stops it");
    }
    // The right one is not looked at either, or it could be found by trying.
    let late = log_in(&guarded, "name=ana&password=correct+horse");
    assert_eq!((late.status.as_u16(), late.header("retry-after")), (429, "12"));
}

#[test]
fn name_is_kept_when_a_log_in_is_refused() {
    let guarded = with_ana("name-kept");
    let field = |page: &Answer| {
        let line = page.text.lines().find(|line| line.starts_with("<input name=\"name\""));
        line.unwrap().to_owned()
    };
    let first = field(&guarded.served.get("/login"));
    assert!(first.contains("value=\"\"") && first.contains("autofocus"), "{first}");
    let refused = log_in(&guarded, "name=%22%3E%3Cb%3Eana&password=wrong");
    let again = field(&refused);
    assert!(again.contains("value=\"&#34;&#62;&#60;b&#62;ana\""), "{again}");
    // What is wrong is the password, most of the time, which nobody sends back.
    assert!(!again.contains("autofocus"), "{again}");
    assert!(!refused.text.contains("value=\"wrong\""), "{}", refused.text);
}

#[test]
fn form_of_a_stranger_is_short() {
    let guarded = with_ana("long-log-in");
    let longest = |next: usize| {
        let (name, password) = ("%C3%A9".repeat(127), "%C3%A9".repeat(512));
        format!("name={name}&password={password}&next={}", "%2F".repeat(next))
    };
    assert_eq!(log_in(&guarded, &longest(2 << 10)).status, 403);
    let refused = log_in(&guarded, &longest(5 << 10));
    assert_eq!((refused.status.as_u16(), refused.text.contains("16384 bytes")), (413, true));
}

#[test]
fn stream_ends_with_the_session_that_began_it() {
    let guarded = with_ana("log-out");
    let cookie = session(&guarded);
    let mut events = guarded.served.watch("t/watch", &format!("Cookie: {cookie}\r\n"));
    let tree = guarded.served.server.jungle().open_tree("t").unwrap();
    tree.update(|tx| tx.append(&[])).unwrap();
    assert_eq!(events.next().unwrap().name, "change");
    guarded.served.send("POST", "/logout", &[("cookie", &cookie)], None);
    assert_eq!(events.next(), None);
}

#[test]
fn behind_a_proxy_attempts_are_counted_by_client_and_cookies_are_for_encrypted_connections() {
    let guarded = Guarded::with("login-proxy", &[], |access, options| {
        access.add_user("ana", Some("correct horse")).unwrap();
        options.proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    let log_in = |client: &str, proto: &str, form: &str| {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("x-forwarded-for", client),
            ("x-forwarded-proto", proto),
        ];
        guarded.served.send("POST", "/login", &headers, Some(form))
    };
    let right = "name=ana&password=correct+horse";
    for (proto, is_secure) in [("https", true), ("http", false)] {
        let answer = log_in("192.0.2.1", proto, right);
        assert_eq!(answer.status, 303);
        let cookie = answer.header("set-cookie");
        assert_eq!(cookie.contains("; Secure"), is_secure, "{proto}");
        assert_eq!(cookie.starts_with("__Host-jungle_session="), is_secure, "{cookie}");
        let secret = cookie.split(['=', ';']).nth(1).unwrap();
        // A neighbour can set the one without the prefix.
        for (name, is_known) in
            [("__Host-jungle_session", is_secure), ("jungle_session", !is_secure)]
        {
            let cookie = format!("{name}={secret}");
            let headers = [("cookie", &*cookie), ("x-forwarded-proto", proto)];
            let status = guarded.served.send("GET", "/api/v1/me", &headers, None).status;
            assert_eq!(status == 200, is_known, "{name} {proto}");
        }
    }
    let headers = [("x-forwarded-proto", "https")];
    let out = guarded.served.send("POST", "/logout", &headers, None);
    let cookie = out.header("set-cookie");
    assert!(cookie.starts_with("__Host-jungle_session=; Path=/; Max-Age=0;"), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let mut left = 0;
    while log_in("192.0.2.2", "https", &format!("name=nobody-{left}&password=x")).status == 403 {
        left += 1;
        assert!(left < 20, "nobody stops it");
    }
    assert_eq!(log_in("192.0.2.2", "https", right).status, 429);
    assert_eq!(log_in("192.0.2.3", "https", right).status, 303);
}
