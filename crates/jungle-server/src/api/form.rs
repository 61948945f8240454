//! The forms of documents: what they are called in an address, and of which types they are.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use jungle::json::Layout;
use jungle_formats::{ReadForm, WriteForm};

use super::written;
use crate::body;
use crate::problem::Problem;
use crate::query::Query;

/// What is written.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Json(Layout),
    /// All revisions, a line each.
    Ndjson,
    Other(WriteForm),
}

/// What each is called, and its type. No page of HTML is among them: it would be held whole, and
/// read again, which takes up to a gigabyte.
const WRITTEN: [(&str, Form, &str); 6] = [
    ("json", Form::Json(Layout::Compact), "application/json"),
    ("ndjson", Form::Ndjson, "application/x-ndjson"),
    ("yaml", Form::Other(WriteForm::Yaml), "application/yaml"),
    ("xml", Form::Other(WriteForm::Xml), "application/xml"),
    ("csv", Form::Other(WriteForm::Csv), "text/csv; charset=utf-8"),
    ("markdown", Form::Other(WriteForm::Markdown), "text/markdown; charset=utf-8"),
];

/// The types of what is read, and as what; JSON is no other form. A history is not among them: it
/// is many commits, of which some would be done where it breaks off, and has times of its own.
const READ: [(&str, Option<ReadForm>); 4] = [
    ("application/json", None),
    ("application/yaml", Some(ReadForm::Yaml)),
    ("application/xml", Some(ReadForm::Xml)),
    ("text/csv", Some(ReadForm::Csv)),
];

/// Of which type a body says that it is, and as what it is read.
pub(super) fn read_as(headers: &HeaderMap) -> Result<(&'static str, Option<ReadForm>), Problem> {
    let at = body::must_be_one_of(headers, &READ.map(|(media, _)| media))?;
    Ok(READ[at])
}

/// The form that is asked for.
pub(super) struct Asked {
    pub(super) form: Form,
    media: &'static str,
}

impl Asked {
    pub(super) fn of(query: &Query) -> Result<Asked, Problem> {
        let at = query.one_of("format", &WRITTEN.map(|(word, ..)| word))?;
        let layout = query.one_of("layout", &["compact", "pretty"])?;
        let (_, form, media) = WRITTEN[at];
        let form = match form {
            Form::Json(_) => Form::Json([Layout::Compact, Layout::Pretty][layout]),
            _ if layout > 0 => return Err(Problem::bad("layout is for JSON")),
            form => form,
        };
        Ok(Asked { form, media })
    }

    /// An answer with this body. A browser that is led there shows JSON, and saves anything else:
    /// what an outsider put there must never be a page.
    pub(super) fn answer(&self, body: Body) -> Response {
        let head = [(CONTENT_TYPE, self.media), (CONTENT_DISPOSITION, "attachment")];
        match self.form {
            Form::Json(_) => written(body),
            _ => (head, body).into_response(),
        }
    }
}
