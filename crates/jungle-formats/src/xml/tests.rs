use std::io::{self, ErrorKind};

use super::read::Json;

#[test]
fn text_is_not_longer_for_its_references() {
    let part = format!("{}&amp;", "x".repeat(1 << 20));
    for (parts, kind) in [(63, None), (64, Some(ErrorKind::FileTooLarge))] {
        let text = format!("<a>{}</a>", part.repeat(parts));
        let read = io::copy(&mut Json::new(text.as_bytes()), &mut io::sink());
        assert_eq!(read.err().map(|error| error.kind()), kind, "{parts}");
    }
    let read = io::copy(&mut Json::new(&b"<a>&amp;</b>"[..]), &mut io::sink());
    assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidData);
}

/// Each becomes six bytes.
#[test]
fn controls_are_no_more_as_json_than_is_held() {
    for (mib, kind) in [(21, None), (22, Some(ErrorKind::FileTooLarge))] {
        let text = format!("<a>{}</a>", "\u{1}".repeat(mib << 20));
        let read = io::copy(&mut Json::new(text.as_bytes()), &mut io::sink());
        assert_eq!(read.err().map(|error| error.kind()), kind, "{mib} MiB");
    }
}
