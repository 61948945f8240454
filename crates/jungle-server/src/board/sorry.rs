//! Pages that say that something was not done.

use askama::Template;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::problem::{Kind, Problem};

/// A problem, as a page for people.
pub(crate) struct Sorry(Problem);

#[derive(Template)]
#[template(path = "sorry.html")]
struct Page<'a> {
    title: &'a str,
    detail: &'a str,
}

impl<P: Into<Problem>> From<P> for Sorry {
    fn from(problem: P) -> Sorry {
        Sorry(problem.into())
    }
}

impl IntoResponse for Sorry {
    fn into_response(self) -> Response {
        let Sorry(problem) = self;
        let page = Page { title: problem.title(), detail: problem.detail() };
        match html(&page) {
            Ok(page) => {
                let mut answer = (problem.status(), page).into_response();
                problem.put_header(&mut answer);
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
