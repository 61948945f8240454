//! Who may write somewhere cannot use up what all trees share.

use jungle_server::Role;
use serde_json::{Value as Json, json};

use crate::people::Guarded;
use crate::support::{Answer, limits};

/// Puts attributes of so many different keys.
fn edits(path: &str, name: &str, count: usize) -> Json {
    let put = |n: usize| {
        let attributes = json!({(format!("{name} {n}")): n});
        json!({"op": "append", "path": path, "attributes": attributes})
    };
    (0..count).map(put).collect()
}

#[test]
fn who_may_write_to_one_node_leaves_attribute_keys_to_other_trees() {
    let granted = [
        ("ana", "*", "/", Role::Admin),
        ("ben", "t", "/a", Role::Write),
        ("eva", "t", "/", Role::Admin),
        ("eva", "u", "/", Role::Write),
    ];
    let guarded = Guarded::with("attribute-keys", &granted, |_, options| {
        options.limits = limits(|limits| limits.attribute_keys_max = 1_024);
    });
    let commit = |who: &str, tree: &str, edits: &Json| -> Answer {
        let path = format!("/api/v1/trees/{tree}/commits");
        guarded.send(who, "POST", &path, Some(&json!({"edits": edits}).to_string()))
    };
    commit("ben", "t", &edits("/a", "word", 1_024)).expect(200);

    let before = guarded.served.server.jungle().revision();
    let new = edits("/a", "new", 1);
    let several = json!({"trees": [
        {"tree": "u", "edits": [{"op": "append"}]},
        {"tree": "t", "edits": new},
    ]});
    let document = "/api/v1/trees/t/document?path=/a";
    let ben = guarded.header("ben");
    let as_yaml = [("authorization", &*ben), ("content-type", "application/yaml")];
    for refused in [
        commit("ben", "t", &new),
        commit("eva", "t", &new),
        commit("ben", "t", &edits("/a", "new", 100)),
        guarded.send("eva", "POST", "/api/v1/commits", Some(&several.to_string())),
        guarded.send("ben", "PUT", document, Some(r#"{"never seen": 1}"#)),
        guarded.served.send("PUT", document, &as_yaml, Some("never seen: 1\n")),
    ] {
        let told = (refused.status.as_u16(), refused.problem());
        assert_eq!(told, (507, "no-room".to_owned()), "{}", refused.text);
        let told = refused.json();
        assert_eq!(told["tree"], "t", "{told}");
        let (detail, hint) = (told["detail"].as_str().unwrap(), told["hint"].as_str().unwrap());
        assert!(detail.contains("has brought in 1024 attribute keys"), "{detail}");
        assert!(detail.contains("from 1024 on"), "{detail}");
        assert!(hint.contains("--limit attribute-keys"), "{hint}");
    }
    assert_eq!(guarded.served.server.jungle().revision(), before);

    commit("ben", "t", &edits("/a", "word", 1_024)).expect(200);
    commit("eva", "u", &edits("/", "other", 1)).expect(200);
    commit("ana", "t", &new).expect(200);
    // It is in the table now.
    commit("ben", "t", &new).expect(200);
}
