//! Server-sent events, as they come.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::str::from_utf8;

/// No line is longer: of a revision up to 2 MiB are told.
const LINE_BYTES_MAX: u64 = 8 << 20;

/// A stream of events.
pub(super) struct Events<R>(BufReader<R>);

/// An event, or what stands between two: an id that comes alone, or a sign of life.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    /// By which one goes on after it.
    pub(super) id: Option<String>,
    pub(super) data: String,
}

impl<R: Read> Events<R> {
    pub(super) fn new(stream: R) -> Events<R> {
        Events(BufReader::new(stream))
    }

    /// The next one; none when the stream has ended, also in the middle of one.
    pub(super) fn next(&mut self) -> Result<Option<Event>> {
        let mut event = Event::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = self.0.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
            if line.pop() != Some(b'\n') {
                return match read as u64 {
                    LINE_BYTES_MAX => Err(wrong("a line of an event is too long")),
                    _ => Ok(None),
                };
            }
            let text = from_utf8(&line).map_err(|_| wrong("an event is no text"))?;
            let text = text.strip_suffix('\r').unwrap_or(text);
            if text.is_empty() {
                return Ok(Some(event));
            }
            let (field, value) = text.split_once(':').unwrap_or((text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut event.name),
                "id" => event.id = Some(value.to_owned()),
                // Those of servers of ours have one line each.
                "data" => value.clone_into(&mut event.data),
                _ => {}
            }
        }
    }
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, id: Option<&str>, data: &str) -> Event {
        Event { name: name.to_owned(), id: id.map(str::to_owned), data: data.to_owned() }
    }

    #[test]
    fn events_end_with_an_empty_line_and_not_before() {
        let stream = "retry: 1000\nid: 0\n\n:\n\n\
                      id:7-5\r\nevent: change\r\ndata: {\"a\": 1}\r\n\r\n\
                      event: gone\ndata: \"why\"\n";
        let mut events = Events::new(stream.as_bytes());
        let expected = [
            event("", Some("0"), ""),
            event("", None, ""),
            event("change", Some("7-5"), "{\"a\": 1}"),
        ];
        for expected in expected {
            assert_eq!(events.next().unwrap(), Some(expected));
        }
        assert_eq!(events.next().unwrap(), None, "it was cut off");
    }

    #[test]
    fn line_that_is_too_long_is_not_held() {
        let mut long = Events::new(std::io::repeat(b'x'));
        assert_eq!(long.next().unwrap_err().kind(), ErrorKind::InvalidData);
        let mut odd = Events::new(&b"data: \xff\n\n"[..]);
        assert_eq!(odd.next().unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
