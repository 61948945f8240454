//! Pages that say that something was not done.

use askama::Template;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::problem::{Kind, Problem};

/// A problem, as a page for people.
pub(crate) struct Sorry {
    problem: Problem,
    /// Where else to ask.
    places: Vec<String>,
}

#[derive(Template)]
#[template(path = "sorry.html")]
struct Page<'a> {
    title: &'a str,
    detail: &'a str,
    places: &'a [String],
}

impl Sorry {
    pub(crate) fn with_places(problem: Problem, places: Vec<String>) -> Sorry {
        Sorry { problem, places }
    }
}

impl<P: Into<Problem>> From<P> for Sorry {
    fn from(problem: P) -> Sorry {
        Sorry::with_places(problem.into(), Vec::new())
    }
}

impl IntoResponse for Sorry {
    fn into_response(self) -> Response {
        let Sorry { problem, places } = self;
        let page = Page { title: problem.title(), detail: problem.detail(), places: &places };
        match html(&page) {
            Ok(page) => {
                let mut answer = (problem.status(), page).into_response();
                problem.mark(&mut answer);
                answer
            }
            Err(_) => problem.into_response(),
        }
    }
}

/// A page.
pub(crate) fn html(page: &impl Template) -> Result<Response, Problem> {
    Ok(written(render(page)?))
}

/// A page that was rendered already.
pub(super) fn written(page: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

pub(super) fn render(page: &impl Template) -> Result<String, Problem> {
    page.render().map_err(|error| Problem::new(Kind::Failed, error))
}
