use serde_json::Value;

use crate::Folder;

#[test]
fn size_and_shape_are_told() {
    let folder = Folder::new("stat");
    folder.write("a.json", r#"{"a":1,"b":{"c":[1,2,{"d":"e"}]}}"#);
    let ended = folder.run(&["stat", "a.json", "--json"]);
    assert_eq!((ended.code, &*ended.err), (Some(0), ""));
    let told: Value = serde_json::from_str(&ended.out).unwrap();
    let expected = [("bytes", 33), ("nodes", 6), ("attributes", 4), ("depth", 3)];
    for (field, value) in expected {
        assert_eq!(told[field], value, "{field}");
    }
    assert_eq!(told["widest"], serde_json::json!({"path": "/b/c", "children": 3}));
    assert_eq!(told["content_hash"].as_str().unwrap().len(), 64);

    let text = folder.run(&["stat", "a.json"]).out;
    let hash = told["content_hash"].as_str().unwrap();
    for line in ["nodes         6\n", "widest node   /b/c (3 child nodes)\n", hash] {
        assert!(text.contains(line), "{text}");
    }
}
